"""Fixtures of the tests of the experiments."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from pdai.experiments import running


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process, which has JAX already; that of a run that was cut off has its own."""
    monkeypatch.setattr(running, "LocalProcesses", lambda jobs, **_: ThreadPoolExecutor(jobs))
