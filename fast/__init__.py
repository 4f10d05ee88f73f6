"""The JAX sampler and trainer, cross-checked against `reference`.

A package above this one enters its parts here when it is imported, so that they are found by name.
"""

# `module:Class` of the options of a task, by its name.
ENTERED_TASKS: dict[str, str] = {}
# The modules that add to `fast.environments.ENVIRONMENTS` when they are imported.
ENTERED_ENVIRONMENTS: set[str] = set()
