"""Files of samples: bare terminal states, or trajectories with their log-probabilities."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reference.certificates.collisions import least_gap, probability
from reference.certificates.independence import written_out
from reference.certificates.inputs import VALUES, columns_of, read_rows
from reference.certificates.state_texts import Outside, OutsideError, StateTexts
from reference.contract.errors import InputError, shown
from reference.rows.importance import Walks
from reference.rows.walks import LogRewards, Sampler

NUMBERS = ("log_p_f", "log_p_b", "log_reward")
COLUMNS = ("terminal", *NUMBERS)
# The column of terminal states with their log-probabilities under the sampler.
PRICED = "log_prob"
# The column that says how often a line was drawn.
COUNT = "count"
# The most by which probabilities of distinct states may sum to more than 1: float32.
EXCESS = 1e-4
# The logarithm of one over the level at which samples show that their `log_prob` is of others.
OTHERS = math.log(1e9)
AS_DRAWN = (
    "give that of the sampler as it draws, normalised, in nats, with its temperature and whatever "
    "else it leaves out"
)
ALL_STEPS = "give log p_F in nats, summed over all steps"
AS_OFTEN = (
    "give every trajectory as often as it came, without dropping repeats, and log p_F as it was "
    "drawn, with its temperature and exploration"
)
# The largest difference of a recorded log reward from the problem's, relative to its size: float32.
REWARD_TOLERANCE = 1e-4


class Record(NamedTuple):
    """The content of a file: terminal states, `Outside()` for a sample that is none, and numbers.

    It has `log p_F`, `log p_B`, `log R` per trajectory, in nats, or `log_prob` alone; no numbers,
    but the texts outside of the terminal states, for bare samples, and where some are outside, as
    that shows the sampler wrong without `log_prob`. A histogram is written out.
    """

    terminals: list[Hashable]
    numbers: Mapping[str, np.ndarray[Any, Any]] | None
    outside: Sequence[str] = ()
    is_histogram: bool = False
    leaves_numbers_out: bool = False


def read_record(
    path: Path,
    texts: StateTexts,
    header: bool | None = None,
    *,
    tolerant: bool = False,
    seed: int = 0,
) -> Record:
    """Reads a file of samples.

    Without a header each line is a terminal state. A header names the columns: `terminal`, or
    another of `VALUES`, and for trajectories `log_p_f`, `log_p_b` and `log_reward`, in nats, or for
    terminal states `log_prob`. `log_reward` is not read if it stands alone. With a column `count`,
    samples are written out in a random order (`written_out`).

    Args:
        path: a file that `read_rows` reads.
        texts: reads terminal states.
        header: whether the file has a header; None if its first line shows that.
        tolerant: True if fewer than half of the samples without trajectories may lie outside the
            enumerated terminal states: the sampler is wrong by their share.
        seed: of that random order.

    Raises:
        InputError: if the file cannot be read, a column is missing, unknown or repeated, a number
            is invalid, or a sample is no terminal state.
    """
    columns, has_header = _columns(path, header)
    counts = columns.pop(COUNT, None)
    if PRICED not in columns and "log_p_f" not in columns:
        columns.pop("log_reward", None)
    bare = len(columns) == 1
    states, outside, wrong = _states(columns["terminal"], texts)
    strange = [text for text in outside if text not in texts.excluded]
    is_unsaid = header is None and not has_header and len(states) > 1
    # A number names no column.
    if is_unsaid and strange == [columns["terminal"][0]] and math.isnan(_number(strange[0])):
        raise InputError(
            f"{str(path)!r} begins with {shown(outside[0])}, and every other line is a terminal "
            "state: add --header if it names the column, and --no-header if it is a sample"
        )
    if has_header and not VALUES.isdisjoint(outside):
        raise InputError(
            f"{str(path)!r} has its header once more among its samples: of files that are joined, "
            "leave out all headers but the first"
        )
    order: Any = None
    if counts is not None:
        order = written_out(repr(str(path)), columns["terminal"], counts, seed)
        places = order.tolist()
        outside = [columns["terminal"][i] for i in places if states[i] == Outside()]
        strange = [text for text in outside if text not in texts.excluded]
        states = [states[i] for i in places]
    is_alone = bare or PRICED in columns
    few = tolerant and is_alone and texts.listed and 2 * len(strange) < len(states)
    if wrong and not (few and isinstance(wrong, OutsideError)):
        raise InputError(f"{str(path)!r}: {wrong}")
    names = [name for name in columns if name != "terminal"]
    leaves_out = bool(outside) and not bare
    numbers = (
        None
        if bare or leaves_out
        else {name: _numbers(path, name, columns[name]) for name in names}
    )
    if numbers is not None and order is not None:
        numbers = {name: column[order] for name, column in numbers.items()}
    return Record(states, numbers, outside, order is not None, leaves_out)


def _states(
    column: Sequence[str], texts: StateTexts
) -> tuple[list[Hashable], list[str], InputError | None]:
    """The states of a column, the texts outside the terminal states, and the first grave error."""
    states: list[Hashable] = []
    outside: list[str] = []
    wrong: InputError | None = None
    for text in column:
        try:
            states.append(texts.read(text))
        except InputError as error:
            if wrong is None or not isinstance(error, OutsideError):
                wrong = error
            states.append(Outside())
            outside.append(text)
    return states, outside, wrong


def _columns(path: Path, header: bool | None) -> tuple[dict[str, Sequence[str]], bool]:
    """The columns of a file by name, and whether it has a header."""
    named, lines = read_rows(path, header)
    rows = [row for row in lines if row]
    names = columns_of(named or ["terminal"], header, "terminal")
    if not rows:
        raise InputError(f"{str(path)!r} has no samples: one terminal state per line")
    kinds = ({"terminal"}, {"terminal", "log_reward"}, {"terminal", PRICED}, {*COLUMNS})
    if {*names} - {COUNT} not in kinds or len(set(names)) < len(names):
        raise InputError(
            f"{str(path)!r} has the columns {', '.join(names)}, but must have "
            f"{', '.join(COLUMNS)}, or terminal, {PRICED}, or terminal alone: add those that are "
            f"missing, and leave others out ({COUNT} may stand beside them: how often a line was "
            "drawn)"
        )
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise InputError(
                f"{str(path)!r}: sample {number} has {len(row)} columns, but must have "
                f"{len(names)}, {', '.join(names)}: write a state as one value, in quotes if it "
                f"contains commas, or name the columns in the first line, such as terminal,{PRICED}"
            )
    return dict(zip(names, zip(*rows, strict=True), strict=True)), named is not None


def _numbers(path: Path, name: str, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    numbers = np.array([_number(text) for text in texts])
    for number, text in enumerate(texts, 1):
        if np.isnan(numbers[number - 1]):
            raise InputError(
                f"{str(path)!r}: {name} of sample {number} is {text!r}, but must be a number in "
                "nats: check what recorded it"
            )
    return numbers


def _number(text: str) -> float:
    try:
        # Python reads 1_0 as 10, and the digits of every script.
        return math.nan if "_" in text or not text.isascii() else float(text)
    except ValueError:
        return math.nan


def priced(record: Record, problem: Any) -> Record:
    """Terminal states with `log_prob` as trajectories of one step, with the problem's rewards.

    Raises InputError if there is no problem, a state has two probabilities, those of distinct
    states sum to more than 1, or the samples show that they have others.
    """
    assert record.numbers is not None
    if problem is None:
        raise InputError(f"{PRICED} is given without a target: give a problem, or a law")
    logs = np.asarray(record.numbers[PRICED], float)
    by_state: dict[Hashable, float] = {}
    for x, log in zip(record.terminals, logs.tolist(), strict=True):
        if math.isinf(log):
            raise InputError(
                f"the {PRICED} of {shown(x)} is {log:g}, but must be finite, as it was drawn"
            )
        if not abs(by_state.setdefault(x, log) - log) <= EXCESS:
            raise InputError(
                f"{shown(x)} has the {PRICED} {by_state[x]:g} and {log:g}: one sampler has one"
            )
    own = LogRewards(problem)
    reward = np.array([own(x).value for x in record.terminals])
    columns = dict(zip(NUMBERS, (logs, np.zeros(len(logs)), reward), strict=True))
    check_drawn(record.terminals, by_state, f"their {PRICED}", AS_DRAWN)
    return record._replace(numbers=columns)


def check_mass(total: float, of: str, fix: str = AS_DRAWN) -> None:
    """Raises InputError if probabilities of distinct states sum to more than 1.

    Args:
        total: their sum.
        of: the states, in words.
        fix: the advice.
    """
    if total > 1 + EXCESS:
        raise InputError(f"the probabilities of {of} sum to {total:.6g}, more than 1: {fix}")


class Likeliest:
    """The likeliest trajectory to each state so far: together they have a mass of at most 1."""

    def __init__(self) -> None:
        self._logs: dict[Hashable, float] = {}
        self._mass = 0.0

    def add(self, terminals: Sequence[Hashable], log_p_f: np.ndarray[Any, Any]) -> None:
        """Adds trajectories to ends, () if unknown; raises InputError if their mass is above 1."""
        for x, log in zip(terminals, log_p_f.tolist(), strict=False):
            if log > (before := self._logs.setdefault(x, -math.inf)):
                self._logs[x] = log
                self._mass += math.exp(log) - math.exp(before)
        check_mass(self._mass, f"trajectories to {len(self._logs):,} distinct states", ALL_STEPS)

    def check_drawn(self, terminals: Sequence[Hashable]) -> None:
        """Checks that all that were added came as often as their numbers say; raises InputError."""
        if len(terminals) > 1:
            check_drawn(terminals, self._logs, "their log p_F", AS_OFTEN, is_least=True)


def check_drawn(
    samples: Sequence[Hashable],
    logs: Mapping[Hashable, float],
    by: str,
    fix: str,
    *,
    is_least: bool = False,
) -> None:
    """Checks that samples may be draws of a law.

    Args:
        samples: in the order of the draws.
        logs: the log-probability of each value, in nats.
        by: where these are from, in words.
        fix: the advice.
        is_least: True if they are lower bounds.

    Raises:
        InputError: if probabilities sum to more than 1, or values that came often, or seldom, in
            one half of the samples do so in the other.
    """
    mass = math.fsum(math.exp(min(log, 1.0)) for log in logs.values())
    check_mass(mass, f"{len(logs):,} distinct samples", fix)
    half = len(samples) // 2
    first, rest = Counter(samples[:half]), samples[half:]
    for sign in (1, -1):
        event = {x for x, count in first.items() if sign * (count / half - math.exp(logs[x])) > 0}
        share, seen = math.fsum(math.exp(logs[x]) for x in event), sum(x in event for x in rest)
        bounds = probability(seen, len(rest), OTHERS)
        if least_gap(bounds._replace(low=0.0) if is_least else bounds, share) > EXCESS:
            raise InputError(
                f"{len(event):,} values came in {seen:,} of {len(rest):,} samples, but have the "
                f"probability {share:.3g} by {by}: {fix}"
            )


class Recorded(Sampler):
    """Recorded trajectories, with their numbers, as a sampler that can be drawn from once.

    They are assumed to be independent draws of one sampler, with correct numbers. With a problem,
    its rewards are used, and must agree with the recorded ones up to float32. Raises InputError if
    `log p_F` or `log p_B` is above 0, or a reward disagrees.
    """

    def __init__(self, record: Record, problem: Any = None):
        assert record.numbers is not None
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
        likeliest = Likeliest()
        likeliest.add(self.terminals, p_f)
        likeliest.check_drawn(self.terminals)
        off: Any = 0.0
        if problem is not None:
            own = LogRewards(problem)
            tolerance = REWARD_TOLERANCE * np.maximum(1, np.abs(reward))
            rows = zip(self.terminals, reward.tolist(), tolerance.tolist(), strict=True)
            reward, off = np.array([own.confirm(*row, "record") for row in rows]).T
        size = np.abs(p_f) + np.where(np.isfinite(p_b), np.abs(p_b), 0.0) + np.abs(reward)
        error = 2.0**-50 * (size + 1) + off
        self._walks, self._at = Walks(self.terminals, p_f, p_b, reward, error), 0

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """The next trajectories; fewer than requested at the end."""
        part = self._walks.part(slice(self._at, self._at + count))
        self._at += len(part.log_p_f)
        return part

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """Refuses: a recorded sampler cannot draw."""
        raise InputError(
            "a recorded sampler cannot be asked for the probability of other trajectories: give "
            "the sampler itself, or log Z, without --paths"
        )

    def findings(self) -> Sequence[str]:
        """The assumption of independent draws, as a sentence."""
        return [
            "assumes that the recorded trajectories are independent draws of one sampler, and that "
            "their numbers are right"
        ]
