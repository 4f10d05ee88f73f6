"""Samples that somebody else drew: bare terminal states, or trajectories with their numbers."""

import ast
import csv
import io
import math
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reference.certificates.importance import Walks
from reference.errors import InputError
from reference.files import read_file
from reference.problems.base import exact_reward
from reference.problems.closed_form import Enclosure

NUMBERS = ("log_p_f", "log_p_b", "log_reward")
# By how much a recorded log reward may differ from the problem's, relative to its size: float32.
REWARD_TOLERANCE = 1e-4


class Record(NamedTuple):
    """What a file holds.

    Attributes:
        terminals: labels of terminal states.
        numbers: `log p_F`, `log p_B`, `log R` per trajectory, in nats; None of bare samples.
    """

    terminals: list[Hashable]
    numbers: Mapping[str, np.ndarray[Any, Any]] | None


def read_record(path: Path, labels: Mapping[str, Hashable] | None = None) -> Record:
    """Reads a CSV file of samples.

    Without a header each line is a terminal state. A header names the columns: `terminal`, and for
    trajectories `log_p_f`, `log_p_b` and `log_reward`, in nats. Beside these numbers it may be
    called `state`, as `pdai sample` does.

    Args:
        path: the file.
        labels: the terminal states by how they are written; None where they are not enumerated:
            then they are read as Python literals, or as text.

    Raises:
        InputError: if the file cannot be read, a column is missing, a number is none, or a state is
            not among the terminal ones.
    """
    try:
        text = read_file(path, follow=True).decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{str(path)!r} cannot be read as CSV ({error})") from None
    header = ["terminal"]
    if rows and "terminal" in rows[0]:
        header, *rows = rows
    elif rows and {"state", *NUMBERS} <= set(rows[0]):
        names, *rows = rows
        header = ["terminal" if name == "state" else name for name in names]
    if not rows:
        raise InputError(f"{str(path)!r} has no samples: one terminal state per line")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise InputError(
                f"{str(path)!r}: sample {number} has {len(row)} columns for {header}: quote states "
                "that contain commas"
            )
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    terminals = [_label(text, labels) for text in columns["terminal"]]
    there = [name for name in NUMBERS if name in columns]
    if not there:
        return Record(terminals, None)
    if missing := [name for name in NUMBERS if name not in columns]:
        raise InputError(f"{str(path)!r} has the columns {there} but not {missing}: add them")
    return Record(terminals, {name: _numbers(path, name, columns[name]) for name in NUMBERS})


def _label(text: str, labels: Mapping[str, Hashable] | None) -> Hashable:
    if labels is not None:
        if text not in labels:
            some = next(iter(labels))
            raise InputError(
                f"the sample {text!r} is none of the problem's {len(set(labels.values())):,} "
                f"terminal states: write them as the problem does, such as {some!r}"
            )
        return labels[text]
    try:
        found: Hashable = ast.literal_eval(text)
        hash(found)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return found


def _numbers(path: Path, name: str, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    try:
        found = np.array([float(text) for text in texts])
    except ValueError as error:
        raise InputError(f"{str(path)!r}: {name}: {error}") from None
    if np.isnan(found).any():
        raise InputError(
            f"{str(path)!r}: {name} of sample {int(np.isnan(found).argmax()) + 1} is NaN: check "
            "what recorded it"
        )
    return found


class Recorded:
    """Recorded trajectories as a sampler that can be asked once.

    That they are independent draws of one sampler, and that their numbers are right, is the word of
    whoever recorded them.

    Args:
        record: the trajectories.
        problem: whose rewards count, and are those recorded up to float32; None to take these.

    Raises:
        InputError: if they are bare samples, `log p_F` or `log p_B` is above 0, or a reward
            disagrees with the problem.
    """

    def __init__(self, record: Record, problem: Any = None):
        if record.numbers is None:
            raise InputError("these samples have no log_p_f and log_p_b: they are bare samples")
        self.terminals = record.terminals
        p_f, p_b, reward = (np.asarray(record.numbers[name], float) for name in NUMBERS)
        for name, column in (("log_p_f", p_f), ("log_p_b", p_b)):
            if column.max() > 1e-6:
                raise InputError(
                    f"{name} is {column.max()} in a recorded trajectory, but the logarithm of a "
                    "probability is at most 0: record sums of log-probabilities, in nats"
                )
        if not (np.isfinite(reward).all() and np.isfinite(p_f).all()):
            raise InputError("a recorded trajectory has log_p_f or log_reward that is not finite")
        off: Any = 0.0
        if problem is not None:
            reward, off = np.array(_own_rewards(self.terminals, reward, problem)).T
        size = np.abs(p_f) + np.where(np.isfinite(p_b), np.abs(p_b), 0.0) + np.abs(reward)
        error = 2.0**-50 * (size + 1) + off
        self._walks, self._at = Walks(self.terminals, p_f, p_b, reward, error), 0

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """The next ones; fewer than asked for where they end."""
        part = self._walks.part(slice(self._at, self._at + count))
        self._at += len(part.log_p_f)
        return part

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """Refused: nothing is drawn of a recorded sampler."""
        raise InputError(
            "a recorded sampler cannot be asked for the probability of other trajectories: give "
            "the sampler itself, or log Z"
        )

    def findings(self) -> Sequence[str]:
        """On whose word this rests."""
        return [
            "that the recorded trajectories are independent draws of one sampler, and their "
            "numbers right, is the word of whoever recorded them"
        ]


def _own_rewards(terminals: Sequence[Hashable], recorded: Any, problem: Any) -> list[Enclosure]:
    """`log R(x)` of the problem, with which those that were recorded must agree."""
    known: dict[Hashable, Enclosure] = {}
    for x, given in zip(terminals, recorded.tolist(), strict=True):
        if x not in known:
            try:
                ended = not problem.children(x)
            except (TypeError, ValueError, AttributeError, LookupError) as error:
                raise InputError(f"{x!r} is no state of the problem ({error!r})") from None
            if not ended:
                raise InputError(f"{x!r} is not terminal: record the ends of trajectories")
            log = Enclosure.log_of(exact_reward(problem, x))
            # A reward that is given by its logarithm is known within 2^-51 of itself.
            known[x] = Enclosure(log.value, log.error + 2.0**-50)
        own = known[x].value
        if not math.isclose(given, own, rel_tol=REWARD_TOLERANCE, abs_tol=REWARD_TOLERANCE):
            raise InputError(
                f"log R({x!r}) was recorded as {given:.9g}, but is {own:.9g} in the problem: "
                "certify against the reward that was trained on, or correct one of them"
            )
    return [known[x] for x in terminals]
