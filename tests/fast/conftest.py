"""A run that many tests look at, trained once."""

import re
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the command line, of a path-dependent sampler, whose display was right."""
    # Not above: other tests need no command line.
    from tests.command_lines import SMALL, answer

    folder = tmp_path_factory.mktemp("finished")
    done = answer("train", *SMALL, cwd=folder)
    assert "TV to the target (float64)" in done.stdout
    assert "untrained (uniform)" in done.stdout
    # Between two measurements the last is shown with the step it is of.
    assert re.search(r"step 300 of 400 \(75%\) .* TV 0\.\d{4} \(step 200\)", done.stderr)
    assert re.search(r"step 400 .* TV 0\.\d{4}  \d+ s", done.stderr)
    return folder / "runs" / "lines-gru-0"
