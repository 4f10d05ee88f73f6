"""How tests compile: quickly, as what they compare is arithmetic and not speed."""

import gc
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

# A compiled program takes 18 of a process's memory maps, of which Linux allows 65,530; what asks
# for one more ends the process. A file of tests compiles some hundred programs.
MOST_MAPS = 10_000


def compile_quickly() -> None:
    """Has JAX leave out most optimisations; before JAX starts, also for processes that tests start.

    Nearly all the time of a cross-check is that of the compiler, which makes unoptimised code, with
    fusions in the plain way, in less than half of the time. What a user has set stands.
    """
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    # A version that does not know the flag would stop; only these were tried.
    if version("jaxlib").startswith("0.10."):
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")


def keep_programs(config: Any) -> None:
    """Has JAX keep what it compiles beside pytest's own cache, for later runs.

    A program is found by all that it is made of, so that changed code is compiled again. Nothing is
    kept if pytest keeps nothing (`-p no:cacheprovider`), and what a user has set stands.
    """
    if hasattr(config, "cache"):
        # Of each worker apart: to read what another has half written ends the process.
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        programs, name = str(config.cache.mkdir("programs")), "JAX_COMPILATION_CACHE_DIR"
        # A worker inherits what the process that started it has set.
        if os.environ.get(name, programs).startswith(programs):
            os.environ[name] = os.path.join(programs, worker)
        # Nearly all are small: a tenth of a second each, thousands of them.
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def forget_programs() -> None:
    """Has JAX drop what it has compiled, before a process has too many memory maps."""
    maps = Path("/proc/self/maps")
    if "jax" in sys.modules and maps.is_file() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        sys.modules["jax"].clear_caches()
        gc.collect()
