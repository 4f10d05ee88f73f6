"""Small worlds of random shape, whose distances are computed in rationals, by nothing of ours."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from reference.contract.errors import InputError

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

    def __repr__(self) -> str:
        return f"{self.rows}, R {self.weights}, p_F {self.policy}"

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


worlds = st.integers(0, 10**6).map(lambda seed: World(Random(seed)))


def unless_refused(call: Callable[[], Any]) -> Any:
    """The answer of a call; None if it is refused by an `InputError`."""
    try:
        return call()
    except InputError:
        return None
