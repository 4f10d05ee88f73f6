"""several-paths-tv-bound: terminal states with several backward paths each, exactly."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pytest

from reference import RATIONAL, BackwardPolicy, marginal, normalize, total_variation
from reference.rows.importance import Walks
from reference.rows.walks import Sampler, SeveralPaths, averaged
from verify.lib.scopes import Scope
from verify.test_log_z_tv_bound import instances, laws_of

ZERO = Fraction(0)


class Paths(NamedTuple):
    """The paths to a terminal state: `pi(x)`, and `p_F` and `p_B` of each."""

    pi: Fraction
    p_f: list[Fraction]
    p_b: list[Fraction]

    def tuples(self, count: int) -> Iterator[tuple[Fraction, Fraction, Fraction | None]]:
        """Tuples of paths: `p_F` of the first times `p_B` of the others; their `p_B`; and `q`.

        `q` is None where it is infinite.
        """
        for drawn in product(range(len(self.p_f)), repeat=count):
            others = prod((self.p_b[k] for k in drawn[1:]), start=Fraction(1))
            chance = self.p_f[drawn[0]] * others
            if not self.p_b[drawn[0]]:
                yield chance, ZERO, None
            elif others:
                yield chance, self.p_b[drawn[0]] * others, self.mean(drawn)

    def mean(self, drawn: Sequence[int]) -> Fraction:
        """`q`: the mean of `p_F / p_B` over paths."""
        return RATIONAL.sum(self.p_f[k] / self.p_b[k] for k in drawn) / len(drawn)

    def from_model(self, count: int) -> Fraction:
        """The part of this state in `E[(1 - pi / q)_+]`."""
        return RATIONAL.sum(
            chance * (1 if q is None else max(1 - self.pi / q, ZERO))
            for chance, _, q in self.tuples(count)
            if chance
        )

    def from_target(self, count: int) -> Fraction:
        """Its part in `E[(1 - q / pi)_+]`, with all paths from `p_B`."""
        return RATIONAL.sum(
            self.pi * chance * max(1 - q / self.pi, ZERO)
            for _, chance, q in self.tuples(count)
            if q is not None
        )

    def without_the_drawn_one(self, count: int) -> Fraction:
        """`from_model` with a `q` that leaves out the path along which `x` was drawn."""
        part = ZERO
        for drawn in product(range(len(self.p_f)), repeat=count):
            chance = sum(self.p_f) * prod((self.p_b[k] for k in drawn), start=Fraction(1))
            if chance and (q := self.mean(drawn)):
                part += chance * max(1 - self.pi / q, ZERO)
        return part


def states(forward: Any, backward: Any, rewards: Any) -> list[Paths]:
    dag, pi = forward.dag, normalize(rewards)
    made = [Paths(p, [], []) for p in pi]
    place = {x: i for i, x in enumerate(dag.terminals)}
    for tau in dag.trajectories():
        paths = made[place[dag.end(tau)]]
        paths.p_f.append(forward.along(tau))
        paths.p_b.append(backward.along(tau))
    return made


@pytest.mark.claim("several-paths-tv-bound")
def test_more_paths_come_nearer_to_the_distance_of_terminals_on_every_small_lift(
    scope: Scope,
) -> None:
    strict = 0
    for number, (forward, backward, rewards) in scope.over(enumerate(instances())):
        if number % 2:
            # Zeros of p_B, where p_F may have none: q is infinite along such paths.
            weights = [int(value > Fraction(1, 60)) for value in backward.values]
            if all(any(weights[e] for e in row) for _, row in BackwardPolicy.rows(forward.dag)):
                backward = BackwardPolicy.from_weights(forward.dag, RATIONAL, weights)
        made = states(forward, backward, rewards)
        counts = (1, 2) if number % 4 else (1, 2, 3)
        bounds = [RATIONAL.sum(x.from_model(count) for x in made) for count in counts]
        terminals = total_variation(marginal(forward), normalize(rewards))
        assert bounds[0] == laws_of(forward, backward, rewards).tv
        assert [*bounds, terminals] == sorted([*bounds, terminals], reverse=True)
        assert bounds == [RATIONAL.sum(x.from_target(count) for x in made) for count in counts]
        strict += len({*bounds, terminals}) == len(counts) + 1
    assert strict > 100
    scope(f"{scope.walked}, two paths, and three on a quarter; all differ on {strict}")


def on_two(p_f: Sequence[Fraction]) -> list[Paths]:
    """One end with two paths of `p_B` 1/2, another with one; both as good."""
    half = Fraction(1, 2)
    return [Paths(half, [*p_f[:2]], [half, half]), Paths(half, [p_f[2]], [Fraction(1)])]


@pytest.mark.control("several-paths-tv-bound")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_without_the_drawn_path_there_is_no_bound(count: int) -> None:
    """The sampler has too much of the first end by 1/4, most of it along one of two paths."""
    made = on_two([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])
    tv = Fraction(1, 4)
    assert RATIONAL.sum(x.from_model(count) for x in made) >= tv
    assert RATIONAL.sum(x.without_the_drawn_one(count) for x in made) < tv


class Given(Sampler):
    """A sampler of trajectories with given numbers: one forward, then one backward per call."""

    def __init__(self, batches: list[Walks]):
        self.batches, self.asked = batches, list[Any]()

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """The forward batch."""
        assert labels
        return self.batches[0]

    def draw_backward(self, terminals: Sequence[Any]) -> Walks:
        """The next backward batch."""
        self.asked.append(terminals)
        return self.batches[len(self.asked)]

    def findings(self) -> list[str]:
        """No remarks."""
        return []


@pytest.mark.catches(
    "The mean over paths leaves out the path that was drawn.",
    "reference/rows/walks.py",
    "return averaged([first, *others])",
    "return averaged([*others] or [first])",
)
@pytest.mark.claim("several-paths-tv-bound")
@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_weight_as_computed_encloses_the_exact_one(count: int) -> None:
    """Paths of very different probabilities; the second state has a path without `p_B`."""
    rng = np.random.default_rng(count)
    p_f = [[Fraction(int(k), 2**60) for k in row] for row in rng.integers(1, 2**59, (count, 3))]
    p_f[-1][0] /= 2**200
    p_b = [[Fraction(int(k), 2**9) for k in row] for row in rng.integers(1, 2**9, (count, 3))]
    rewards = [Fraction(1, 3), Fraction(2), Fraction(10**9)]
    batches = [
        Walks(
            [*"xyz"],
            np.array([np.log(float(p)) for p in p_f[k]]),
            np.array(
                [np.log(float(p)) if (k, i) != (0, 1) else -np.inf for i, p in enumerate(p_b[k])]
            ),
            np.array([np.log(float(reward)) for reward in rewards]),
            np.full(3, 1e-12),
        )
        for k in range(count)
    ]
    sampler = Given(batches)
    made = SeveralPaths(sampler, count).draw(3)
    assert sampler.asked == [[*"xyz"]] * (count - 1)
    assert made.log_weight[1] == -np.inf
    for i in (0, 2):
        q = sum(p_f[k][i] / p_b[k][i] for k in range(count)) / count
        exact = np.log(float(rewards[i] / q))
        assert abs(made.log_weight[i] - exact) <= made.error[i] < 1e-11
    assert averaged(batches[:1]) is batches[0]
