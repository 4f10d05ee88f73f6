"""Files of samples: bare terminal states, or trajectories with their log-probabilities."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reference.certificates.collisions import least_gap, probability
from reference.certificates.independence import written_out
from reference.certificates.state_texts import Outside, OutsideError, StateTexts
from reference.contract.errors import InputError, shown
from reference.contract.tables import SAMPLES, VALUES, Cell, Shape, Sheet, parts_of, read_sheet
from reference.rows.importance import Walks
from reference.rows.walks import LogRewards, Sampler

NUMBERS = ("log_p_f", "log_p_b", "log_reward")
# The column of terminal states with their log-probabilities under the sampler.
PRICED = "log_prob"
# The columns that say how often a line was drawn; those of weights; and those of several chains.
COUNTS, WEIGHTS = ("count", "frequency"), ("weight", "log_weight")
CHAINS = ("chain", "draw")
# One in so many weighted samples sets the weight to which larger ones of the others are cut.
CUTTING = 5
MUST_HAVE = (
    "terminal, log_p_f, log_p_b, log_reward, or terminal, log_prob, or terminal alone, or with "
    "count (of draws, under this name), weight, log_weight, or chain and draw"
)
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
    but what is outside of the terminal states, for bare samples, and where some are outside, as
    that shows the sampler wrong without `log_prob`. A histogram is written out.
    """

    terminals: list[Hashable]
    numbers: Mapping[str, np.ndarray[Any, Any]] | None
    outside: Sequence[Cell] = ()
    is_histogram: bool = False
    leaves_numbers_out: bool = False
    notes: Sequence[str] = ()
    conditions: Sequence[str] = ()


def read_record(
    source: Path | Sheet,
    texts: StateTexts,
    shape: Shape = SAMPLES,
    *,
    tolerant: bool = False,
    seed: int = 0,
) -> Record:
    """Reads samples.

    Without a header each line is a terminal state. A header names the columns: `terminal`, or
    another of `VALUES`, or a column for each part of a state; and for trajectories `log_p_f`,
    `log_p_b` and `log_reward`, in nats, or for terminal states `log_prob`. `log_reward` is not read
    if it stands alone. With a column `count`, samples are written out in a random order
    (`written_out`); with `chain`, they are put chain by chain; with `weight`, they are thinned.

    Args:
        source: a file that `read_sheet` reads, or a sheet.
        texts: reads terminal states.
        shape: what is looked for.
        tolerant: True if fewer than half of the samples without trajectories may lie outside the
            enumerated terminal states: the sampler is wrong by their share.
        seed: of that random order, and of thinning.

    Raises:
        InputError: if the file cannot be read, a column is missing, unknown or repeated, a number
            is invalid, or a sample is no terminal state.
    """
    shape = shape._replace(whole=texts.listed)
    sheet = source if isinstance(source, Sheet) else read_sheet(source, shape)
    parts = parts_of(sheet, shape, ("terminal",), _may_stand, MUST_HAVE)
    if not parts.values:
        raise InputError(f"{sheet.source} has no samples: one terminal state per line")
    columns, notes = dict(parts.beside), [*sheet.notes]
    is_priced = PRICED in columns
    if not is_priced and "log_p_f" not in columns:
        columns.pop("log_reward", None)
    states, outside, wrong = _states(parts.values, texts)
    strange = [x for x in outside if x not in texts.excluded]
    is_unsaid = shape.header is None and sheet.names is None and len(states) > 1
    first = parts.values[0]
    # A number names no column.
    if is_unsaid and strange == [first] and isinstance(first, str) and math.isnan(_number(first)):
        raise InputError(
            f"{sheet.source} begins with {shown(first)}, and every other line is a terminal "
            "state: add --header if it names the column, and --no-header if it is a sample"
        )
    if sheet.names is not None and not {*VALUES}.isdisjoint(outside):
        raise InputError(
            f"{sheet.source} has its header once more among its samples: of files that are joined, "
            "leave out all headers but the first"
        )
    is_histogram = not {*COUNTS}.isdisjoint(columns)
    order, cut = _order(sheet.source, parts.values, columns, seed)
    notes += cut[1:]
    if order is not None:
        places = order.tolist()
        outside = [parts.values[i] for i in places if states[i] == Outside()]
        strange = [x for x in outside if x not in texts.excluded]
        states = [states[i] for i in places]
    bare = not columns
    few = tolerant and (bare or is_priced) and texts.listed and 2 * len(strange) < len(states)
    if wrong and not (few and isinstance(wrong, OutsideError)):
        raise InputError(f"{sheet.source}: {wrong}")
    leaves_out = bool(outside) and not bare
    numbers = (
        None
        if bare or leaves_out
        else {name: _numbers(sheet.source, name, columns[name]) for name in columns}
    )
    if numbers is not None and order is not None:
        numbers = {name: column[order] for name, column in numbers.items()}
    return Record(states, numbers, outside, is_histogram, leaves_out, notes, cut[:1])


def _may_stand(names: set[str]) -> bool:
    """True if samples may have such columns beside them."""
    others = names & {*COUNTS, *CHAINS, *WEIGHTS}
    ways = (set[str](), {"chain"}, {*CHAINS}, *({name} for name in (*COUNTS, *WEIGHTS)))
    kinds = (set[str](), {"log_reward"}, {PRICED}, {*NUMBERS})
    is_weighted = not others.isdisjoint(WEIGHTS)
    return others in ways and names - others in kinds[: 1 if is_weighted else 4]


# Samples by their places, and a condition with its note, if any.
_Order = tuple[np.ndarray[Any, Any] | None, tuple[str, ...]]


def _order(
    source: str, values: Sequence[Cell], columns: dict[str, Sequence[str]], seed: int
) -> _Order:
    """The samples that are taken, in their order: None for all, in that of the file.

    Takes the columns that say so out of the others.
    """
    taken = {name: columns.pop(name) for name in (*COUNTS, *CHAINS, *WEIGHTS) if name in columns}
    for name, column in taken.items():
        if name in COUNTS:
            return written_out(source, values, column, seed), ()
        if name in WEIGHTS:
            return _thinned(source, name, _numbers(source, name, column), seed)
    if "chain" not in taken:
        return None, ()
    names = {chain: number for number, chain in enumerate(dict.fromkeys(taken["chain"]))}
    chains = np.array([names[chain] for chain in taken["chain"]])
    draws = np.arange(len(values))
    if "draw" in taken:
        draws = _numbers(source, "draw", taken["draw"])
        if len({*zip(chains.tolist(), draws.tolist(), strict=True)}) < len(draws):
            raise InputError(f"{source}: a chain has a draw twice: give each draw of a chain once")
    return np.lexsort((draws, chains)), ()


def _thinned(source: str, name: str, weights: np.ndarray[Any, Any], seed: int) -> _Order:
    """Independent draws of the weighted law, of independent weighted samples, in their order.

    The largest weight c of the first samples is fixed. Each of the others is kept with probability
    `min(w, c) / c`, so that what is kept are independent draws of the law of weights `min(w, c)`.
    Of larger weights, which may be rare, samples show nothing: that is the condition.
    """
    if name == "weight" and (weights < 0).any():
        raise InputError(f"{source}: a weight is {weights.min():g}, but must be at least 0")
    logs = weights
    if name == "weight":
        logs = np.log(weights, where=weights > 0, out=np.full(len(weights), -np.inf))
    first = max(1, len(logs) // CUTTING)
    most = logs[:first].max()
    if len(logs) < 2 or most == -np.inf or (logs == np.inf).any():
        raise InputError(
            f"{source}: weights must be finite, and one of the first {first:,} above 0: give the "
            "samples in the order drawn, each with its weight"
        )
    chances = 1 - np.random.default_rng(seed).random(len(logs) - first)
    kept = first + np.flatnonzero(np.log(chances) <= logs[first:] - most)
    larger = int((logs[first:] > most).sum())
    cut = f"{math.exp(most):.6g}" if abs(most) < 20 else f"exp({most:.6g})"
    note = (
        f"weighted samples: the first {first:,} set the largest weight, {cut}; {larger:,} of the "
        f"{len(chances):,} others have a larger one, which is cut to it; {len(kept):,} are kept, "
        "with probability weight / largest each, and are independent draws of the weighted law"
    )
    return kept, (f"no weight is above {cut}" if not larger else f"weights are cut to {cut}", note)


def _states(
    column: Sequence[Cell], texts: StateTexts
) -> tuple[list[Hashable], list[Cell], InputError | None]:
    """The states of cells, those outside the terminal states, and the first grave error."""
    states: list[Hashable] = []
    outside: list[Cell] = []
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


def _numbers(source: str, name: str, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    numbers = np.array([_number(text) for text in texts])
    for number, text in enumerate(texts, 1):
        if np.isnan(numbers[number - 1]):
            raise InputError(
                f"{source}: {name} of sample {number} is {text!r}, but must be a number"
                f"{' in nats' * name.startswith('log')}: check what recorded it"
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
