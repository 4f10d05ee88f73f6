"""Compilation in tests: quick, as they compare arithmetic and not speed."""

import ctypes
import gc
import os
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from reference.contract.files import read_file

# A version that does not know the flag would stop; only these were tried.
_PLAIN = version("jaxlib").startswith("0.10.")
# Of `jax.jit`: unoptimised machine code, which is made several times faster.
UNOPTIMISED = {"xla_backend_optimization_level": 0} | (
    {"xla_cpu_use_fusion_emitters": False} if _PLAIN else {}
)


def compile_quickly() -> None:
    """Make JAX leave out most optimisations, before it starts, also in processes that tests start.

    Nearly all the time of a cross-check is that of the compiler, which makes unoptimised code, with
    fusions in the plain way and a program in one piece, in less than half of the time. Pieces are
    for other cores, which have tests of their own. What a user has set stands.
    """
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    # As `fast.runs.frozen.arithmetic`, which tests of single layers do not enter: a GPU keeps ten
    # bits of each factor otherwise.
    os.environ.setdefault("JAX_DEFAULT_MATMUL_PRECISION", "float32")
    if _PLAIN:
        plain = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
        os.environ.setdefault("XLA_FLAGS", plain)


def keep_programs(config: Any) -> None:
    """Make JAX keep what it compiles beside pytest's own cache, for later runs.

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


def forget_programs(above: float = 0.75) -> None:
    """Make JAX drop what it has compiled, and the process give the memory back.

    A worker would come to 4 GiB otherwise, and to too many memory maps: a program takes 18 of them,
    of which Linux allows 65,530. Without `malloc_trim`, of glibc, nearly all of what is dropped
    stays with the process. One that holds less, in GiB, or is not on Linux keeps its programs.
    """
    held = Path("/proc/self/statm")
    if "jax" not in sys.modules or not held.is_file():
        return
    pages = int(read_file(held).split()[1])
    if pages * os.sysconf("SC_PAGE_SIZE") > above * 2**30:
        sys.modules["jax"].clear_caches()
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
