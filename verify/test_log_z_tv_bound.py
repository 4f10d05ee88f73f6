"""Bounds from log Z and samples, computed exactly, and where they fail."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from reference.certificates.expectations import exact_lines
from reference.fields.field import RATIONAL, log_float
from reference.marginals import marginal
from reference.metrics import normalize, total_variation
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.rows.importance import shortfall
from verify.lib.laws import PathLaws, path_laws
from verify.lib.named_dags import TWO_TO_ONE
from verify.lib.scopes import Scope, all_small_lifts


class Laws(PathLaws):
    """`p_F` and `R p_B` of each trajectory, and the means of the bounds."""

    def from_model(self, z: Fraction) -> Fraction:
        """`E_pF[(1 - R p_B / (z p_F))_+]`."""
        pairs = zip(*self, strict=True)
        return RATIONAL.sum(p * max(1 - w / (z * p), Fraction(0)) for p, w in pairs if p)

    def from_target(self, z: Fraction) -> Fraction:
        """`E_mu[(1 - z p_F / (R p_B))_+]`."""
        pairs = zip(*self, strict=True)
        return RATIONAL.sum(w * max(1 - z * p / w, Fraction(0)) for p, w in pairs if w) / self.z

    def event(self, z: Fraction) -> Fraction:
        """`mu(A) - p_F(A)` for the event that `R p_B > z p_F`."""
        pairs = zip(*self, strict=True)
        return RATIONAL.sum(w / self.z - p for p, w in pairs if w > z * p)


def laws_of(forward: Any, backward: Any, rewards: Any) -> Laws:
    return Laws(*path_laws(forward, backward, rewards))


def instances() -> Iterator[tuple[ForwardPolicy[Fraction], Any, tuple[Fraction, ...]]]:
    """Every small lift with weights of different sizes; zeros of `p_F` where a row allows them."""
    for draw in all_small_lifts():
        dag, rng = draw.lifted.dag, draw.rng
        weights = [rng.choice([0, 1, 2, 3, rng.randint(1, 1000)]) for _ in dag.edges]
        for row in dag.out_edges:
            if row and not any(weights[e] for e in row):
                weights[rng.choice(row)] = 1
        yield (
            ForwardPolicy.from_weights(dag, RATIONAL, weights),
            BackwardPolicy.from_weights(dag, RATIONAL, [rng.choice([1, 2, 50]) for _ in dag.edges]),
            tuple(Fraction(rng.choice([1, 2, 300])) for _ in dag.terminals),
        )


def on_fork(p: Fraction, m: Fraction) -> Laws:
    return Laws([p, 1 - p], [m, 1 - m])


@pytest.mark.claim("log-z-tv-bound", "target-sample-tv-bound")
def test_the_means_enclose_the_distance_on_every_small_lift(scope: Scope) -> None:
    missed = 0
    for instance in scope.over(instances()):
        laws = laws_of(*instance)
        z, tv = laws.z, laws.tv
        missed += 0 in laws.p_f
        assert laws.from_model(z) == laws.from_target(z) == laws.event(z) == tv
        one = Fraction(1)
        for low, high in product((one / 3, one * 9 / 10, one), (one, one * 11 / 10, one * 7)):
            wide = laws.from_model(z * high)
            assert laws.from_model(z * low) <= tv <= wide
            assert wide - laws.from_model(z * low) <= 1 - low / high
        assert sum(w for p, w in zip(*laws, strict=True) if p) <= z
        for factor in (Fraction(1, 5), Fraction(4, 5), Fraction(5, 4), 9):
            sides = laws.from_model(z * factor), laws.from_target(z * factor)
            assert min(sides) <= tv <= max(sides)
            assert laws.event(z * factor) <= tv
    assert missed > 100
    scope(f"{scope.walked}, {missed} with trajectories that p_F misses")


@pytest.mark.claim("log-z-tv-bound")
def test_the_width_that_bounds_of_z_cost_is_attained() -> None:
    same = on_fork(Fraction(1, 3), Fraction(1, 3))
    assert same.from_model(Fraction(5, 4)) - same.from_model(Fraction(1)) == 1 - Fraction(4, 5)


@pytest.mark.catches(
    "The ratio of p_F to mu is taken for that of mu to p_F.",
    "reference/rows/importance.py",
    "np.minimum(log_ratio + sign * error, 0.0)",
    "np.minimum(sign * error - log_ratio, 0.0)",
)
@pytest.mark.claim("log-z-tv-bound")
def test_the_variable_as_computed_encloses_the_exact_one(scope: Any) -> None:
    count = 0
    for forward, backward, rewards in instances():
        laws = laws_of(forward, backward, rewards)
        pairs = [(p, w) for p, w in zip(*laws, strict=True) if p]
        logs = np.array([log_float(w) - log_float(p) - log_float(laws.z) for p, w in pairs])
        low, high = shortfall(logs, np.full(len(logs), 1e-12))
        for (p, w), least, most in zip(pairs, low.tolist(), high.tolist(), strict=True):
            exact = max(1 - w / (laws.z * p), Fraction(0))
            assert Fraction(least) <= exact <= Fraction(most)
            assert most - least < 1e-10
            count += 1
    scope(f"the variable in float64 on {count:,} trajectories")


@pytest.mark.control("log-z-tv-bound")
def test_a_z_that_is_too_small_bounds_nothing() -> None:
    laws = on_fork(Fraction(3, 4), Fraction(1, 2))
    assert laws.tv == Fraction(1, 4)
    assert laws.from_model(laws.z) == Fraction(1, 4)
    assert laws.from_model(laws.z / 2) == 0


@pytest.mark.control("log-z-tv-bound")
def test_with_a_backward_mass_other_than_one_the_mean_is_not_the_distance() -> None:
    ones = BackwardKernel(TWO_TO_ONE, RATIONAL, [Fraction(1)] * len(TWO_TO_ONE.edges))
    forward, rewards = ForwardPolicy.uniform(TWO_TO_ONE, RATIONAL), (Fraction(1), Fraction(1))
    assert laws_of(forward, ones, rewards).from_model(Fraction(2)) == 0
    assert total_variation(marginal(forward), normalize(rewards)) == Fraction(1, 6)


@pytest.mark.control("target-sample-tv-bound")
def test_at_another_z_neither_mean_is_the_distance() -> None:
    laws = on_fork(Fraction(3, 4), Fraction(1, 2))
    for factor in (2, Fraction(1, 2)):
        sides = laws.from_model(laws.z * factor), laws.from_target(laws.z * factor)
        assert sorted(sides) == [0, Fraction(1, 2)]
        assert laws.event(laws.z * factor) <= 0
    assert laws.tv == Fraction(1, 4)


@pytest.mark.claim("expectation-error-bound")
def test_expectations_differ_by_at_most_the_distance_on_every_small_lift(scope: Scope) -> None:
    for number, (forward, backward, rewards) in scope.over(enumerate(instances())):
        p_t, pi = marginal(forward), normalize(rewards)
        tv = total_variation(p_t, pi)
        assert tv <= laws_of(forward, backward, rewards).tv
        table = list(zip(range(len(pi)), p_t, pi, strict=True))
        values = {x: Fraction((7 * x + number) % 8, 8) for x, _, _ in table}
        lines = exact_lines(lambda x, v=values: {"f": float(v[x])}, table)  # type: ignore[misc]
        model, target = (line.value for line in lines)
        spread = max(values.values()) - min(values.values())
        assert abs(model - target) <= tv * spread  # type: ignore[operator]
        # Attained by the indicator of where the sampler has too much.
        more = {x: p > q for x, p, q in table}
        assert sum((p - q for x, p, q in table if more[x]), Fraction(0)) == tv
    scope(scope.walked)


@pytest.mark.control("expectation-error-bound")
def test_without_the_range_the_bound_of_expectations_fails() -> None:
    p_t, pi = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 2))
    difference = sum(2 * (p - q) for p, q in zip(p_t[:1], pi[:1], strict=True))
    assert difference == Fraction(1, 2) > total_variation(p_t, pi) == Fraction(1, 4)
