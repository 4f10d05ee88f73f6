"""Environments by their problem or their name; each file of this folder registers its own."""

from dataclasses import fields
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import fast.environments
from fast import ENTERED_ENVIRONMENTS
from fast.encoding import Encoding
from fast.environments.base import ENVIRONMENTS, AbstractEnvironment
from reference.contract.errors import InputError, check_value
from reference.contract.loading import load_object
from reference.problems import Problem

for module in iter_modules(fast.environments.__path__, "fast.environments."):
    import_module(module.name)


def make_environment(
    problem: Problem[Any], encoding: Encoding = "one-hot", **seen: Any
) -> AbstractEnvironment:
    """The environment of a problem.

    Args:
        problem: the problem.
        encoding: the code of the numbers that a state is made of.
        seen: further options of how networks see states, such as `coarse`.

    Raises:
        InputError: if there is no environment for problems of that very class (a subclass may have
            another reward), or it does not have that encoding.
    """
    for module in ENTERED_ENVIRONMENTS:
        import_module(module)
    name = type(problem).__name__
    check_value(name, "the encoding", encoding, Encoding)
    if type(problem) not in ENVIRONMENTS:
        names = ", ".join(sorted(kind.__name__ for kind in ENVIRONMENTS))
        raise InputError(
            f"there is no environment for the problem {name}, only for {names}: enumerate it with "
            "`TabularEnvironment.from_problem`, or write an environment"
        )
    kind = ENVIRONMENTS[type(problem)]
    if "encoding" in {field.name for field in fields(kind)}:
        seen["encoding"] = encoding
    elif encoding != "one-hot":
        raise InputError(
            f"{name}: the encoding is {encoding!r}, but networks see its states only as indicators "
            "(of items; of edges, as an adjacency matrix): use 'one-hot'"
        )
    environment: AbstractEnvironment = kind.from_problem(problem, **seen)
    return environment


def load_environment(spec: str, problem: Problem[Any] | None) -> AbstractEnvironment:
    """The environment named by `module:Name`, which may lie in the working directory.

    It is an instance, or a class whose `from_problem` is called with the problem, if there is one.
    Raises InputError if there is no such module or name, or it does not give an environment.
    """
    part = load_object(spec, "environment", "fast.environments:GridEnvironment")
    if hasattr(part, "from_problem") and not isinstance(part, AbstractEnvironment):
        if problem is None:
            raise InputError(
                f"{spec!r} is made from a problem, but none is named: add --problem "
                "my_module:MyProblem, or name an instance"
            )
        try:
            part = part.from_problem(problem)
        except (AttributeError, TypeError) as error:
            raise InputError(
                f"{spec!r}: from_problem does not make an environment of the problem "
                f"{type(problem).__name__} ({error}): give the problem that it is written for, and "
                "define every method of AbstractEnvironment"
            ) from error
    if not isinstance(part, AbstractEnvironment):
        raise InputError(
            f"{spec!r} gives {part!r}, but must give an AbstractEnvironment: name an instance, or "
            "a class with the class method from_problem(problem)"
        )
    return part
