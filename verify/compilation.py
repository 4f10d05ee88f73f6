"""How tests compile: quickly, as what they compare is arithmetic and not speed."""

import os
from importlib.metadata import version


def compile_quickly() -> None:
    """Has JAX leave out most optimisations; before JAX starts, also for processes that tests start.

    Nearly all the time of a cross-check is that of the compiler, which makes unoptimised code, with
    fusions in the plain way, in less than half of the time. What a user has set stands.
    """
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    # A version that does not know the flag would stop; only these were tried.
    if version("jaxlib").startswith("0.10."):
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
