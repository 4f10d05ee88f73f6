"""Runs pytest in the current folder and writes down how each test ended, as JSON.

python -m tests.faults.probe FILE [arguments of pytest]

A test ends as "passed", by an "assertion", by a "refusal" (an `InputError` of the project), or by
whatever else is described.
"""

import json
import sys
from collections.abc import Generator

import pytest

ASSERTIONS = (AssertionError, pytest.fail.Exception)


class Recorder:
    """A plugin of pytest.

    Attributes:
        endings: how each test ended, by node id.
    """

    def __init__(self) -> None:
        self.endings: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keeps the first thing that is not a success, else the success of the test itself."""
        report = yield
        if call.excinfo is not None:
            self.endings.setdefault(item.nodeid, _ending(call.excinfo.value, call.when))
        elif call.when == "call":
            self.endings.setdefault(item.nodeid, "passed")
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keeps what could not be collected."""
        if report.failed:
            self.endings[report.nodeid] = f"not collected: {str(report.longrepr)[-300:]}"


def _ending(error: BaseException, when: str) -> str:
    # Hypothesis groups the different failures that it finds.
    errors = error.exceptions if isinstance(error, BaseExceptionGroup) else (error,)
    if when == "call" and all(isinstance(e, ASSERTIONS) for e in errors):
        return "assertion"
    # By name: a fault may be in the module that defines it, which is not to be imported here.
    if all(type(e).__name__ == "InputError" for e in errors):
        return "refusal"
    return f"{type(error).__name__} in {when}: {str(error)[:300]}"


if __name__ == "__main__":
    recorder = Recorder()
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-m", ""]
    pytest.main([*options, *sys.argv[2:]], [recorder])
    with open(sys.argv[1], "w") as results:
        json.dump(recorder.endings, results)
