"""Makes each fault in a copy of the project, and demands that its test sees it.

The test must pass on an untouched copy, and fail by an assertion (or a refusal, where the fault
says so) on the copy with the fault. An import that fails or a crash does not count.

python -m tests.faults
python -m tests.faults --only biased-variance --jobs 2
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.faults import FAULTS
from tests.faults.fault import Fault

ROOT = Path(__file__).parents[2]
COPIED = ("reference", "fast", "pdai", "verify", "tests")
# Unoptimised machine code is made twice as fast.
SETTINGS = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
# Of one process, in seconds: a fault may make a loop endless.
LIMIT = 900


class Trial(NamedTuple):
    """What became of a fault."""

    fault: Fault
    ending: str
    seconds: float

    @property
    def caught(self) -> bool:
        """Whether the test failed as it should."""
        return self.ending == self.fault.seen_as


def endings(tests: Sequence[str], fault: Fault | None = None) -> dict[str, str]:
    """How tests end on a copy of the project, up to the first failure if there is a fault in it."""
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        copy = Path(folder)
        for package in COPIED:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, copy / package, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", copy)
        results, options = copy / "endings.json", list(tests)
        if fault is not None:
            fault.apply(copy)
            options.append("-x")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tests.faults.probe", str(results), *options],
                cwd=copy,
                env={**os.environ, **SETTINGS},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return dict.fromkeys(tests, f"not done after {LIMIT} s")
        found: dict[str, str] = json.loads(results.read_text()) if results.exists() else {}
        return found or dict.fromkeys(tests, f"did not run: {done.stdout[-500:]}")


def ending_of(test: str, found: Mapping[str, str]) -> str:
    """How a test ended; of its parameters, the first that did not pass decides."""
    own = [end for node, end in found.items() if node == test or node.startswith(f"{test}[")]
    # A file that could not be collected has an ending of its own.
    own = own or [end for node, end in found.items() if test.startswith(node)] or ["did not run"]
    return next((end for end in own if end != "passed"), "passed")


def failing_untouched(faults: Sequence[Fault], pool: Executor) -> dict[str, str]:
    """The tests that do not even pass without a fault, and how they end."""
    by_file: dict[str, list[str]] = {}
    for test in sorted({fault.test for fault in faults}):
        by_file.setdefault(test.partition("::")[0], []).append(test)
    ends: dict[str, str] = {}
    for tests, found in zip(by_file.values(), pool.map(endings, by_file.values()), strict=True):
        ends |= {test: ending_of(test, found) for test in tests}
    return {test: end for test, end in ends.items() if end != "passed"}


def attempt(fault: Fault) -> Trial:
    """Makes a fault and runs its test."""
    start = time.perf_counter()
    ending = ending_of(fault.test, endings([fault.test], fault))
    return Trial(fault, ending, time.perf_counter() - start)


def chosen_faults() -> tuple[list[Fault], int]:
    """The faults that the command line asks for, and how many processes to run at once."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", metavar="NAME", action="append", help="that fault; may repeat")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    options = parser.parse_args()
    names = [fault.name for fault in FAULTS]
    for name in options.only or ():
        if name not in names:
            parser.error(f"no fault is named {name}; there are {', '.join(names)}")
    return [f for f in FAULTS if not options.only or f.name in options.only], options.jobs or 1


def main() -> int:
    """Runs the faults; 1 if one survives, or a test fails without any."""
    faults, jobs = chosen_faults()
    start, console = time.perf_counter(), Console()
    with ThreadPoolExecutor(jobs) as pool:
        if failing := failing_untouched(faults, pool):
            for test, ending in failing.items():
                console.print(f"FAILS WITHOUT A FAULT: {test}: {ending}", markup=False)
            return 1
        trials = []
        for trial in pool.map(attempt, faults):
            trials.append(trial)
            console.print(f"{trial.fault.name}: {trial.ending}", markup=False)
    table = Table("fault", "caught by", "s")
    for trial in trials:
        test = trial.fault.test.replace("::", "\n") if trial.caught else "NOTHING"
        table.add_row(trial.fault.name, escape(test), f"{trial.seconds:.1f}")
    console.print(table)
    survivors = [trial for trial in trials if not trial.caught]
    for fault, ending, _ in survivors:
        console.print(f"SURVIVES: {fault.name}: {fault.mistake} ({ending})", markup=False)
    console.print(
        f"{len(trials) - len(survivors)} of {len(trials)} faults caught, by "
        f"{len({fault.test for fault in faults})} tests, in {time.perf_counter() - start:.0f} s"
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
