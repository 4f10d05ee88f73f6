"""Which test calls which function of the project, and how long it takes: found by running it."""

import json
from collections.abc import Generator
from cProfile import Profile
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest


class Caller(NamedTuple):
    """A test that passes on the code as it is.

    Attributes:
        test: its node id.
        seconds: that it and its fixtures took.
        calls: the functions that it calls, as "file:first line", decorators counted.
    """

    test: str
    seconds: float
    calls: frozenset[str]


class Recorder:
    """A plugin of pytest that writes down every test that passes, as a line of JSON.

    JAX calls a function only to compile it: of tests in one file that share a program, the first
    alone counts as a caller.

    Args:
        root: of the project; what lies elsewhere is left out.
        package: the folder below it whose functions count.
        file: is appended to.
    """

    def __init__(self, root: Path, package: str, file: Path):
        self.root, self.file = root, file
        self.inside = f"{root / package}/"
        self.profile = Profile(builtins=False)
        self.seconds = 0.0
        self.has_passed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watches the test and its fixtures."""
        self.seconds, self.has_passed = 0.0, False
        self.profile = Profile(builtins=False)
        self.profile.enable()
        try:
            return (yield)
        finally:
            self.profile.disable()
            if self.has_passed:
                self._write(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds up what the test took."""
        self.seconds += report.duration
        self.has_passed |= report.when == "call" and report.passed

    def _write(self, test: str) -> None:
        codes = (entry.code for entry in self.profile.getstats())
        calls = sorted(
            f"{Path(code.co_filename).relative_to(self.root)}:{code.co_firstlineno}"
            for code in codes
            if isinstance(code, CodeType) and code.co_filename.startswith(self.inside)
        )
        with self.file.open("a") as file:
            file.write(json.dumps([test, round(self.seconds, 2), calls]) + "\n")


def read_callers(file: Path) -> list[Caller]:
    """What a `Recorder` wrote, the quickest first."""
    lines = file.read_text().splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines]
    callers = [Caller(test, seconds, frozenset(calls)) for test, seconds, calls in rows]
    return sorted(callers, key=lambda caller: caller.seconds)
