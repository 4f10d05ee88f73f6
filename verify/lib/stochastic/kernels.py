"""Markov kernels on the finitely many states of a stochastic lift, in exact rationals."""

from collections.abc import Iterator, Mapping, Set
from fractions import Fraction
from typing import Any

LiftedState = tuple[int, Any]
"""A node of the DAG and a latent."""

Measure = Mapping[LiftedState, Fraction]
"""The mass of each lifted state; absent ones have none."""

Kernel = Mapping[LiftedState, Measure]
"""For each lifted state, a measure: `kernel[s][t] = kappa(s, {t})`."""

Path = tuple[LiftedState, ...]

ZERO = Fraction(0)


def support(measure: Measure) -> set[LiftedState]:
    """The states of positive mass."""
    return {s for s, mass in measure.items() if mass}


def restrict(measure: Measure, states: Set[LiftedState]) -> dict[LiftedState, Fraction]:
    """The restriction of a measure to a set."""
    return {s: mass for s, mass in measure.items() if s in states}


def scale(measure: Measure, factor: Fraction) -> dict[LiftedState, Fraction]:
    """A measure times a number."""
    return {s: mass * factor for s, mass in measure.items()}


def push(measure: Measure, kernel: Kernel) -> dict[LiftedState, Fraction]:
    """The measure one step later: `sum over s of measure(s) kernel(s, .)`."""
    image: dict[LiftedState, Fraction] = {}
    for s, mass in measure.items():
        if mass:
            for t, p in kernel[s].items():
                image[t] = image.get(t, ZERO) + mass * p
    return image


def compose(
    first: Kernel, second: Kernel, through: Set[LiftedState] | None = None
) -> dict[LiftedState, dict[LiftedState, Fraction]]:
    """`sum over s' of first(s, s') second(s', .)`, over all `s'` or over those in `through`."""
    return {
        s: push(row if through is None else restrict(row, through), second)
        for s, row in first.items()
    }


def power(kernel: Kernel, n: int, through: Set[LiftedState] | None = None) -> Kernel:
    """`kappa^n`, `n >= 1`, or with `through` the taboo composition of the paper, `kappa^{o n}`.

    The taboo composition keeps the paths whose `n - 1` states in between are all in `through` (in
    the paper, `S x Omega`), so its rows sum to at most one, and possibly to zero.
    """
    composed = kernel
    for _ in range(n - 1):
        composed = compose(composed, kernel, through)
    return composed


def visits(
    kernel: Kernel, start: Measure, through: Set[LiftedState], steps: int
) -> dict[LiftedState, Fraction]:
    """`sum over k = 1..steps of start kernel^{o k}`: the expected arrivals after the start."""
    total: dict[LiftedState, Fraction] = {}
    current = dict(start)
    for _ in range(steps):
        current = push(current, kernel)
        for s, mass in current.items():
            total[s] = total.get(s, ZERO) + mass
        current = restrict(current, through)
    return total


def paths(
    start: Measure, kernel: Kernel, n: int, through: Set[LiftedState] | None = None
) -> Iterator[tuple[Path, Fraction]]:
    """Yields each path of `n` steps with its weight, if positive, `start(s_0) prod kernel`.

    With `through`, only those whose states in between are in it. There can be exponentially many.
    """
    stack: list[tuple[Path, Fraction]] = [((s,), p) for s, p in start.items() if p]
    while stack:
        path, weight = stack.pop()
        if len(path) == n + 1:
            yield path, weight
        elif len(path) == 1 or through is None or path[-1] in through:
            stack += [((*path, t), weight * p) for t, p in kernel[path[-1]].items() if p]


def absorbed_after(kernel: Kernel, start: Set[LiftedState], target: Set[LiftedState]) -> int | None:
    """The smallest `n` with `kernel^n(s, target) = 1` for every `s` in `start`, or None.

    The set that can be occupied after `n` steps determines the next one, so its sequence is
    eventually periodic: a set that comes back settles that no `n` exists.
    """
    occupied, seen = frozenset(start), set[frozenset[LiftedState]]()
    while occupied not in seen:
        if occupied <= target:
            return len(seen)
        seen.add(occupied)
        occupied = successors(kernel, occupied)
    return None


def successors(kernel: Kernel, states: Set[LiftedState], steps: int = 1) -> frozenset[LiftedState]:
    """The states that can be occupied after exactly that many steps from one of `states`."""
    occupied = frozenset(states)
    for _ in range(steps):
        occupied = frozenset(t for s in occupied for t in support(kernel[s]))
    return occupied


def closure(kernel: Kernel, start: Set[LiftedState]) -> frozenset[LiftedState]:
    """The states that any number of steps, possibly none, from one of `start` can enter."""
    reached = frozenset(start)
    while not (entered := successors(kernel, reached)) <= reached:
        reached |= entered
    return reached
