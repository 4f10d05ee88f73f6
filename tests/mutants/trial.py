"""Whether the tests notice a mutant."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tests.mutants.callers import Caller
from tests.mutants.forks import pytest_in
from tests.mutants.mutant import Mutant

Ending = Literal["killed", "did not end", "survived", "no test"]
# Seconds of tests that are tried at first, and on what survives these.
QUICK, LONG = 25.0, 150.0


def tests_of(mutant: Mutant, callers: Iterable[Caller]) -> list[Caller]:
    """The tests that call what is changed, of each test function the quickest first.

    What tests with the same parameters share is computed for the first of them, which alone is
    known to call it: the others in its file are taken too. What no test calls, such as a constant
    or a function that JAX had compiled before, is left to those of the function around it, and
    then to those of the file.
    """
    callers, inside = list(callers), f"{mutant.file}:"
    groups = [[c for c in callers if place in c.calls] for place in mutant.within]
    groups.append([c for c in callers if any(call.startswith(inside) for call in c.calls)])
    found = {_shares(caller) for caller in next((group for group in groups if group), [])}
    return _in_turns([caller for caller in callers if _shares(caller) in found])


def _shares(caller: Caller) -> tuple[str, str]:
    """The file and the parameters of a test."""
    return caller.test.partition("::")[0], caller.test.partition("[")[2]


def _in_turns(callers: Sequence[Caller]) -> list[Caller]:
    """One of each test function, then a second of each, and so on."""
    turns: defaultdict[str, int] = defaultdict(int)
    keyed = []
    for caller in sorted(callers, key=lambda caller: caller.seconds):
        function = caller.test.partition("[")[0]
        keyed.append((turns[function], caller.seconds, caller))
        turns[function] += 1
    return [caller for *_, caller in sorted(keyed, key=lambda key: key[:2])]


def within(callers: Sequence[Caller], seconds: float) -> list[Caller]:
    """As many as take so long together, in their order, at least one; long ones are passed over."""
    first, *others = callers
    chosen, left = [first], seconds - first.seconds
    for caller in others:
        if caller.seconds <= left:
            chosen.append(caller)
            left -= caller.seconds
    return chosen


class Trial(NamedTuple):
    """What became of a mutant.

    Attributes:
        mutant: which.
        ending: what became of it.
        tests: how many were run on it.
        said: the end of what pytest said.
    """

    mutant: Mutant
    ending: Ending
    tests: int
    said: str


def attempt(
    mutant: Mutant, callers: Sequence[Caller], copy: Path, budgets: Sequence[float] = (QUICK, LONG)
) -> Trial:
    """Runs tests on a copy of the project with the mutant in it, up to the first that fails."""
    found = tests_of(mutant, callers)
    if not found:
        return Trial(mutant, "no test", 0, "")
    mutant.apply(copy)
    try:
        tried: list[Caller] = []
        for seconds in budgets:
            chosen = [caller for caller in within(found, seconds) if caller not in tried]
            tried += chosen
            if not chosen:
                break
            limit = 60 + 4 * sum(caller.seconds for caller in chosen)
            code = pytest_in(copy, [caller.test for caller in chosen], limit)
            said = (copy / "output.txt").read_text(errors="replace")[-300:]
            if code != 0:
                ending: Ending = "did not end" if code is None else "killed"
                return Trial(mutant, ending, len(tried), said)
        return Trial(mutant, "survived", len(tried), "")
    finally:
        mutant.undo(copy)


def write(trial: Trial, file: Path) -> None:
    """Appends a trial to a file, as a line of JSON."""
    with file.open("a") as lines:
        lines.write(json.dumps([trial.mutant, *trial[1:]]) + "\n")


def read(file: Path) -> list[Trial]:
    """What `write` wrote."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    mutants = [Mutant(*row[:-1], within=tuple(row[-1])) for row, *_ in rows]
    return [Trial(m, *row[1:]) for m, row in zip(mutants, rows, strict=True)]
