"""A file for a certificate or for samples, and what is certified of samples in a file."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import pdai
from reference.certificates.statement import Certificate


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The name of a file that is not there yet, in a folder of its own."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder / "certificate"


@pytest.fixture
def certify_lines(tmp_path: Path) -> Callable[..., Certificate]:
    """Certifies a file of these lines."""

    def certify(lines: Iterable[str], problem: Any = None, **options: Any) -> Certificate:
        file = tmp_path / "x.csv"
        file.write_text("\n".join(lines))
        return pdai.certify(file, problem, **{"level": 1e-3, **options})

    return certify
