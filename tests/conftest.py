"""Settings of the tests, not of what they test."""

import os
import shutil
import signal
from pathlib import Path

import pytest

import pdai  # noqa: F401  (enters the tasks of its rooms)
from verify.lib.compilation import compile_quickly, forget_programs, keep_programs

# Compared are arithmetic, resumption and messages. `pdai verify --exhaustive` runs what ships. Now,
# as a room's own conftest.py may import JAX before anything is configured.
compile_quickly()
# Inherited by the workers of xdist, whose threads would wait for each other's: a search of small
# matrices takes a seventh of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts what runs in the background deaf to Ctrl-C, and its children inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    keep_programs(config)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        forget_programs()


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs, `a` and `b`, that differ in their seeds."""
    # Not above: pytest imports this file before it has set how JAX compiles.
    from tests.made_up_runs import two_runs

    return two_runs(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the run `a`, to be changed."""
    return Path(shutil.copytree(trained / "a", tmp_path / "run"))
