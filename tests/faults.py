"""Makes each mistake of a `catches` marker in a copy of the project; its test must see it.

The marker stands at the test, with the file, the right text and the wrong one. The test must pass
on an untouched copy, and fail by an assertion (or a refusal, where the marker says so) on the copy
with the fault. An import that fails or a crash does not count.

python -m tests.faults
python -m tests.faults --only test_losses --jobs 2

With --claims each claim's own marked tests, which `pdai verify --claim` runs, must notice one of
the mistakes in the files that they import; the claims that notice none are listed.

python -m tests.faults --claims --only price-of
"""

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console
from rich.markup import escape
from rich.table import Table

ROOT = Path(__file__).parents[1]
COPIED = ("reference", "fast", "pdai", "verify", "tests", "proofs_notes", "examples", "docs",
          "benchmarks")  # fmt: skip
# Unoptimised machine code is made twice as fast.
SETTINGS = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
RESULTS = "FAULTS_RESULTS"
# Of one process, in seconds: a fault may make a loop endless.
LIMIT = 900
ASSERTIONS = (AssertionError, pytest.fail.Exception)


@dataclass(frozen=True)
class Fault:
    """One edit of one file, and the test that must fail.

    Attributes:
        test: the node id of the test.
        mistake: what people do wrong, in a sentence.
        file: the file that has it.
        right: the source text, which occurs in the file exactly once.
        wrong: its replacement.
        by: how the test fails: by an "assertion", or, for a rule that the project itself checks
            (an environment against its problem), by a "refusal", an `InputError`.
    """

    test: str
    mistake: str
    file: str
    right: str
    wrong: str
    by: str = "assertion"

    def apply(self, root: Path) -> None:
        """Makes the edit in the copy of the project at `root`.

        Raises:
            ValueError: if the text does not occur in the file exactly once.
        """
        path = root / self.file
        source = path.read_text()
        if (count := source.count(self.right)) != 1:
            raise ValueError(f"{self.mistake} Its text occurs {count} times in {self.file}")
        path.write_text(source.replace(self.right, self.wrong))


def faults_in(source: str, file: str) -> Iterator[Fault]:
    """The faults of the markers in a test file, read without importing it.

    `catches(mistake, file, right, wrong, only="", by="assertion")`: `only` names the parameters.
    """
    for node in ast.parse(source).body:
        for mark in getattr(node, "decorator_list", ()):
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.catches":
                options = {str(k.arg): ast.literal_eval(k.value) for k in mark.keywords}
                only = options.pop("only", "")
                test = f"{file}::{getattr(node, 'name', '')}" + f"[{only}]" * bool(only)
                yield Fault(test, *map(ast.literal_eval, mark.args), **options)


FAULTS = tuple(
    fault
    for package in ("verify", "tests")
    for path in sorted((ROOT / package).rglob("test_*.py"))
    for fault in faults_in(path.read_text(), path.relative_to(ROOT).as_posix())
)


class Trial(NamedTuple):
    """The outcome of a fault."""

    fault: Fault
    ending: str
    seconds: float

    @property
    def caught(self) -> bool:
        """Whether the test failed as it should."""
        return self.ending == self.fault.by


# --- inside a copy, as a plugin of pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps the first thing that is not a success, else the success of the test itself."""
    report = yield
    if call.excinfo is not None:
        _endings(item.config).setdefault(item.nodeid, _ending(call.excinfo.value, call.when))
    elif call.when == "call":
        _endings(item.config).setdefault(item.nodeid, "passed")
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes how each test ended."""
    Path(os.environ[RESULTS]).write_text(json.dumps(_endings(session.config)))


def _endings(config: pytest.Config) -> dict[str, str]:
    return config.stash.setdefault(_KEY, {})


_KEY = pytest.StashKey[dict[str, str]]()


def _ending(error: BaseException, when: str) -> str:
    # Hypothesis groups the different failures that it finds.
    errors = error.exceptions if isinstance(error, BaseExceptionGroup) else (error,)
    if when == "call" and all(isinstance(e, ASSERTIONS) for e in errors):
        return "assertion"
    # By name: a fault may be in the module that defines it, which is not to be imported here.
    if all(type(e).__name__ == "InputError" for e in errors):
        return "refusal"
    return f"{type(error).__name__} in {when}: {str(error)[:300]}"


# --- outside


def endings(tests: Sequence[str], fault: Fault | None = None) -> dict[str, str]:
    """The outcome of tests on a copy of the project, up to the first failure if it has a fault."""
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        copy = Path(folder)
        for package in COPIED:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, copy / package, ignore=ignored)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copy)
        results, options = copy / "endings.json", list(tests)
        if fault is not None:
            fault.apply(copy)
            options.append("-x")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", ""]
        try:
            done = subprocess.run(
                [*command, "-p", "tests.faults", *options],
                cwd=copy,
                env={**os.environ, **SETTINGS, "PYTHONPATH": folder, RESULTS: str(results)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return dict.fromkeys(tests, f"not done after {LIMIT} s")
        ends: dict[str, str] = json.loads(results.read_text()) if results.exists() else {}
        return ends or dict.fromkeys(tests, f"did not run: {done.stdout[-500:]}")


def ending_of(test: str, ends: Mapping[str, str]) -> str:
    """The outcome of a test; the first of its parameters that did not pass decides."""
    own = [end for node, end in ends.items() if node == test or node.startswith(f"{test}[")]
    return next((end for end in own if end != "passed"), "passed" if own else "did not run")


def failing_untouched(faults: Sequence[Fault], pool: Executor) -> dict[str, str]:
    """The tests that do not even pass without a fault, and how they end."""
    by_file: dict[str, list[str]] = {}
    for test in sorted({fault.test for fault in faults}):
        by_file.setdefault(test.partition("::")[0], []).append(test)
    ends: dict[str, str] = {}
    for tests, own in zip(by_file.values(), pool.map(endings, by_file.values()), strict=True):
        ends |= {test: ending_of(test, own) for test in tests}
    return {test: end for test, end in ends.items() if end != "passed"}


def attempt(fault: Fault) -> Trial:
    """Makes a fault and runs its test."""
    start = time.perf_counter()
    ending = ending_of(fault.test, endings([fault.test], fault))
    return Trial(fault, ending, time.perf_counter() - start)


def faults_by_claim() -> dict[str, tuple[list[str], list[Fault]]]:
    """The marked tests of each claim, and the faults in what their files import, own ones first."""
    # Not above: this module is a plugin in copies, where a fault may be in what that one imports.
    from verify.lib.ledger import marks_of_claims

    tests: dict[str, list[str]] = {}
    files: dict[str, set[str]] = {}
    for mark in marks_of_claims():
        tests.setdefault(mark.label, []).append(f"verify/{mark.file}::{mark.name}")
        module = import_module(f"verify.{mark.file.removesuffix('.py').replace('/', '.')}")
        for value in vars(module).values():
            # The module of an object, or a module itself.
            name = getattr(value, "__module__", getattr(value, "__name__", None))
            file = Path(getattr(sys.modules.get(str(name)), "__file__", None) or "/")
            if file.is_relative_to(ROOT):
                files.setdefault(mark.label, set()).add(file.relative_to(ROOT).as_posix())
    return {
        claim: (
            list(dict.fromkeys(own)),
            sorted(
                (fault for fault in FAULTS if fault.file in files[claim]),
                key=lambda fault: fault.test.partition("[")[0] not in own,
            ),
        )
        for claim, own in tests.items()
    }


def first_noticed(tests: Sequence[str], faults: Sequence[Fault]) -> Fault | None:
    """The first fault that any of the tests, which all pass without one, sees."""
    if faults and {*endings(tests).values()} != {"passed"}:
        raise RuntimeError(f"these do not pass without a fault: {', '.join(tests)}")
    seen = (fault for fault in faults if fault.by in endings(tests, fault).values())
    return next(seen, None)


def claims_without_notice(wanted: str, jobs: int) -> int:
    """The number of claims, with that in their label, whose own tests notice no mistake."""
    of_claims = {c: pair for c, pair in faults_by_claim().items() if wanted in c}
    silent = 0
    with ThreadPoolExecutor(jobs) as pool:
        noticed = pool.map(lambda pair: first_noticed(*pair), of_claims.values())
        for (claim, (_, faults)), fault in zip(of_claims.items(), noticed, strict=True):
            silent += fault is None
            print(f"{claim}: {fault.mistake if fault else f'NONE of {len(faults)}'}", flush=True)
    print(f"{silent} of {len(of_claims)} claims notice no mistake in what their tests import")
    return silent


def options_of(arguments: Any = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="faults with that in file, test or mistake"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    parser.add_argument(
        "--claims", action="store_true", help="by claims, with --only in their name"
    )
    options = parser.parse_args(arguments)
    wanted = options.only
    options.faults = [f for f in FAULTS if wanted in f"{f.file} {f.test} {f.mistake}"]
    if not options.claims and not options.faults:
        parser.error(f"no fault has {wanted!r} in its file, its test or its mistake")
    return options


def main() -> int:
    """Runs the faults; 1 if one survives, or a test fails without any."""
    options = options_of()
    if options.claims:
        return 1 if claims_without_notice(options.only, options.jobs or 1) else 0
    faults, jobs = options.faults, options.jobs or 1
    start, console = time.perf_counter(), Console()
    with ThreadPoolExecutor(jobs) as pool:
        if failing := failing_untouched(faults, pool):
            for test, ending in failing.items():
                console.print(f"FAILS WITHOUT A FAULT: {test}: {ending}", markup=False)
            return 1
        trials = []
        for trial in pool.map(attempt, faults):
            trials.append(trial)
            console.print(f"{trial.fault.mistake} {trial.ending}", markup=False)
    table = Table("mistake", "caught by", "s")
    for trial in trials:
        test = trial.fault.test.replace("::", "\n") if trial.caught else "NOTHING"
        table.add_row(escape(trial.fault.mistake), escape(test), f"{trial.seconds:.1f}")
    console.print(table)
    survivors = [trial for trial in trials if not trial.caught]
    for fault, ending, _ in survivors:
        console.print(f"SURVIVES: {fault.file}: {fault.mistake} ({ending})", markup=False)
    console.print(
        f"{len(trials) - len(survivors)} of {len(trials)} faults caught, by "
        f"{len({fault.test for fault in faults})} tests, in {time.perf_counter() - start:.0f} s"
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
