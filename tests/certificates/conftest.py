"""A file for a certificate or for samples."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The name of a file that is not there yet, in a folder of its own."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder / "certificate"
