"""Cases of input that is nearly right: a call, and whether what it answers is right.

What is right is computed in rationals, and nothing of the project is used for it.
"""

import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from reference.contract.errors import InputError

Ending = Literal["refused", "right", "silent wrong", "foreign error"]
ENDINGS: tuple[Ending, ...] = ("refused", "right", "silent wrong", "foreign error")


# Seconds after which a call hangs; on a busy machine a right one may take a minute.
LIMIT = 300


class Case(NamedTuple):
    """A call, what it is in words, and whether an answer of it is right."""

    story: str
    call: Callable[[], Any]
    is_right: Callable[[Any], bool]


class HungError(BaseException):
    """A call took too long; nothing of ours catches it."""


def stop(*_: object) -> None:
    """Ends a call that takes too long."""
    raise HungError


def outcome(case: Case) -> tuple[Ending, str]:
    """The outcome of a case, and its result."""
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        # A warning is no refusal: what is answered beside it counts.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = case.call()
            right = case.is_right(answer)
    except InputError:
        return "refused", ""
    except (Exception, HungError):
        return "foreign error", f"{case.story}\n{traceback.format_exc(limit=-3)}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return ("right", "") if right else ("silent wrong", f"{case.story}: {answer!r:.300}")


def endings(kind: Callable[[Random], Case], count: int) -> Counter[Ending]:
    """The outcomes of that many cases of a kind, none of which may go wrong."""
    ends = Counter[Ending]()
    for number in range(count):
        ending, story = outcome(kind(Random(number)))
        assert ending in ("refused", "right"), story
        ends[ending] += 1
    return ends


def table(kinds: dict[Callable[[Random], Case], int], count: int, seed: int = 0) -> int:
    """Tries so many cases, and prints what became of them; 1 if one failed.

    Args:
        kinds: what makes a case of each kind, and its share.
        count: how many.
        seed: of all.
    """
    makers = [kind for kind, share in kinds.items() for _ in range(share)]
    ends = {kind.__name__: Counter[Ending]() for kind in kinds}
    for number in range(count):
        kind = makers[number % len(makers)]
        ending, story = outcome(kind(Random(f"{seed} {number}")))
        ends[kind.__name__][ending] += 1
        if story:
            print(f"{ending}: {story}", file=sys.stderr, flush=True)
    print(f"| nearly right | cases | {' | '.join(ENDINGS)} |\n|---|{'---:|' * 5}")
    every = sum(ends.values(), start=Counter[Ending]())
    for name, row in [*ends.items(), ("all", every)]:
        counts = " | ".join(f"{row[ending]:,}" for ending in ENDINGS)
        print(f"| {name} | {row.total():,} | {counts} |")
    return int(every["silent wrong"] + every["foreign error"] > 0)


# Of distances that pass through float64; everything else is compared exactly.
ROUNDING = 1e-12
SHAPES: list[dict[Any, list[Any]]] = [
    {"o": ["x", "y"]},
    {"o": ["x", "y", "z"]},
    {"o": ["a", "x"], "a": ["x", "y"]},
    {"o": ["a", "b"], "a": ["aa", "ab"], "b": ["ba", "bb"]},
    {"o": ["a", "b"], "a": ["c"], "b": ["c", "z"], "c": ["x", "y"]},
]


class World:
    """A random shape with small rewards, and a policy of sixteenths, which every float holds.

    Attributes:
        rows: the children of each state.
        terminals: the terminal states.
        weights: the reward of each.
        policy: the row of each state.
    """

    def __init__(self, rng: Random, rows: dict[Any, list[Any]] | None = None):
        self.rows = rows or rng.choice(SHAPES)
        listed = {child for row in self.rows.values() for child in row}
        self.terminals = sorted((x for x in listed if x not in self.rows), key=repr)
        self.weights = {x: Fraction(rng.randint(1, 9)) for x in self.terminals}
        cuts = {s: sorted(rng.sample(range(1, 16), len(row) - 1)) for s, row in self.rows.items()}
        self.policy = {
            s: [Fraction(b - a, 16) for a, b in pairwise([0, *row, 16])] for s, row in cuts.items()
        }

    def __str__(self) -> str:
        return f"{self.rows}, R {shown(self.weights)}, p_F {shown(self.policy)}"

    @property
    def z(self) -> Fraction:
        """The sum of the rewards."""
        return sum(self.weights.values(), start=Fraction(0))

    def problem(self, rewards: dict[Any, Any] | None = None, name: str = "reward") -> Any:
        """The problem, of other rewards if they are given, or of their logarithms."""
        given = self.weights if rewards is None else rewards
        children = lambda s: self.rows.get(s, [])  # noqa: E731
        return SimpleNamespace(initial="o", children=children, **{name: lambda x: given[x]})

    def sampler(self, state: Any) -> list[float]:
        """The policy."""
        return [float(p) for p in self.policy[state]]

    def trajectories(self) -> list[tuple[Any, Fraction, Fraction]]:
        """The end, `p_F` and the uniform `p_B` of every complete trajectory."""
        ways = [("o", Fraction(1), Fraction(1))]
        for state, p, b in ways:
            for child, q in zip(self.rows.get(state, []), self.policy.get(state, []), strict=True):
                ways.append((child, p * q, b / sum(child in row for row in self.rows.values())))
        return [way for way in ways if way[0] not in self.rows]

    def tv(self) -> Fraction:
        """Terminal states."""
        law = dict.fromkeys(self.terminals, Fraction(0))
        for x, p, _ in self.trajectories():
            law[x] += p
        off = [abs(law[x] - self.weights[x] / self.z) for x in law]
        return sum(off, start=Fraction(0)) / 2

    def shortfall(self, factor: float = 1.0) -> float:
        """`E[(1 - w)_+]` of trajectories at the normaliser `Z / factor`: TV, at `Z`."""
        ratio = Fraction(factor) / self.z
        terms = [max(0, p - ratio * self.weights[x] * b) for x, p, b in self.trajectories()]
        return float(sum(terms))

    def bears_out(self, made: Any) -> bool:
        """Whether a certificate is true, exactly where it says so."""
        if made.regime == "E":
            return bool(made.tv == self.tv()) and contains(made, self.tv())
        return contains(made, self.shortfall())


def contains(made: Any, truth: float | Fraction) -> bool:
    """Whether the interval of a certificate is one of distances, and holds the truth."""
    low, high = made.interval
    return bool(0 <= low <= high <= 1 and low - ROUNDING <= truth <= high + ROUNDING)


def exponentials(logs: list[Fraction]) -> list[Fraction]:
    """Their exponentials over that of the largest, to 50 digits."""
    with localcontext() as context:
        context.prec = 50
        off = [max(value - max(logs), Fraction(-2000)) for value in logs]
        return [Fraction((Decimal(v.numerator) / Decimal(v.denominator)).exp()) for v in off]


def shown(given: Any) -> str:
    """Values with their kinds."""
    if isinstance(given, dict):
        return str({key: shown(value) for key, value in given.items()})
    if isinstance(given, list):
        return str([*map(shown, given)])
    return str(given) if isinstance(given, Fraction) else f"{type(given).__name__} {given!r:.60}"
