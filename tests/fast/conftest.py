"""Runs that many tests look at, each trained once."""

import re
import shutil
from pathlib import Path

import pytest

from tests.command_lines import SMALL, answer


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


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the command line, of a path-dependent sampler, whose display was right."""
    folder = tmp_path_factory.mktemp("finished")
    done = answer("train", *SMALL, cwd=folder)
    assert "TV to the target (float64)" in done.stdout
    assert "untrained (uniform)" in done.stdout
    # Between two measurements the last is shown with the step it is of.
    assert re.search(r"step 300 .* TV 0\.\d{4} \(step 200\)", done.stderr)
    assert re.search(r"step 400 .* TV 0\.\d{4}  \d+ s", done.stderr)
    return folder / "runs" / "lines-gru-0"
