"""Runs pytest in a copy of the project, in forks of one process that has JAX at hand."""

import importlib
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("reference", "fast", "pdai", "verify", "tests", "examples")
# Imported once, as it takes seconds; nothing in them starts a thread before it is used.
AT_HAND = ("jax", "jax.numpy", "equinox", "optax", "scipy.stats", "hypothesis", "pytest")


def copy_project(to: Path) -> None:
    """A copy of all that tests read, compiled Python included."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, to / package, dirs_exist_ok=True)
    shutil.copytree(ROOT / "docs", to / "docs", dirs_exist_ok=True)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, to)


def warm_up(programs: Path) -> None:
    """Imports what every fork needs; to be called before anything has imported JAX.

    Args:
        programs: a folder for what JAX compiles. Only `pytest_in` with `keep` writes there: a
            process that is killed would leave half a program.
    """
    from verify.lib.compilation import compile_quickly

    compile_quickly()
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(programs)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "1e9"
    for module in AT_HAND:
        importlib.import_module(module)


def pytest_in(
    folder: Path,
    arguments: Sequence[str],
    seconds: float,
    plugins: Sequence[object] = (),
    keep: bool = False,
) -> int | None:
    """The exit code of pytest, or None if it did not end in time; what it says goes to `folder`.

    Args:
        folder: a copy of the project.
        arguments: of pytest.
        seconds: that it may take.
        plugins: of pytest.
        keep: whether what is compiled, by Python and by JAX, is kept.
    """
    if (child := os.fork()) == 0:
        os.setsid()
        output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = 70
        try:
            code = _run(folder, arguments, plugins, keep)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _run(folder: Path, arguments: Sequence[str], plugins: Sequence[object], keep: bool) -> int:
    import jax
    import pytest

    if keep:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    sys.dont_write_bytecode = not keep
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    sys.path[:] = [str(folder), *(path for path in sys.path if path not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--assert=plain", "-m", ""]
    return int(pytest.main([*options, *arguments], list(plugins)))
