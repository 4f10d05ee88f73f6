"""Certificates hold on random instances, are attained where they are sharp, and can fail."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from reference import (
    FLOAT64,
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    History,
    InputError,
    cb_objective,
    enumerate_dag,
    gamma,
    lift,
    log_tb_residuals,
    marginal,
    normalize,
    path_sums,
    pointed_dag,
    total_variation,
)
from reference.bounds import (
    combined_tv_bound,
    kl_bound,
    one_sided_tv_bound,
    residual_spread,
    roundings,
    tv_bound,
    tv_bound_from_loss,
    tv_within,
)
from reference.metrics import kl_divergence
from reference.problems import Grid
from verify.small_scope import lifts, pointed_dags

FORK = pointed_dag({"o": ["x", "y"], "x": [], "y": []})


class Instance(NamedTuple):
    forward: ForwardPolicy[Fraction]
    backward: BackwardPolicy[Fraction]
    rewards: tuple[Fraction, ...]

    def laws(self) -> tuple[list[Fraction], list[Fraction]]:
        """`p_F` and `mu` on the trajectories."""
        dag = self.forward.dag
        reward = dict(zip(dag.terminals, self.rewards, strict=True))
        trajectories = list(dag.trajectories())
        return (
            [self.forward.along(tau) for tau in trajectories],
            [
                reward[dag.end(tau)] * self.backward.along(tau) / sum(self.rewards)
                for tau in trajectories
            ],
        )

    def ratio(self) -> Fraction:
        """`rho = exp(Delta)`, exactly."""
        ratios = [p / m for p, m in zip(*self.laws(), strict=True)]
        return max(ratios) / min(ratios)


def instances(count: int = 400, spread: int = 1000) -> Iterator[Instance]:
    rng = random.Random(1)
    dags = list(pointed_dags(5))
    for _ in range(count):
        dag = rng.choice(list(lifts(rng.choice(dags)))).dag

        def weights(n: int) -> list[int]:
            return [rng.choice([1, 2, 3, rng.randint(1, spread)]) for _ in range(n)]

        yield Instance(
            ForwardPolicy.from_weights(dag, RATIONAL, weights(len(dag.edges))),
            BackwardPolicy.from_weights(dag, RATIONAL, weights(len(dag.edges))),
            tuple(map(Fraction, weights(len(dag.terminals)))),
        )


def test_the_oscillation_bounds_the_total_variation_and_the_divergence() -> None:
    for instance in instances():
        p_f, mu = instance.laws()
        tv, rho = total_variation(p_f, mu), instance.ratio()
        terminal = total_variation(marginal(instance.forward), normalize(instance.rewards))
        assert terminal <= tv
        assert tv_within(tv, rho)
        oscillation = residual_spread(*instance).oscillation
        assert tv <= Fraction(tv_bound(oscillation))
        assert kl_divergence(p_f, mu) <= kl_bound(oscillation) + 1e-15


def test_the_spread_without_trajectories_encloses_the_enumerated_one_tightly() -> None:
    for instance in instances(100):
        deltas = [delta for _, delta in log_tb_residuals(*instance, 0.5)]
        spread = residual_spread(*instance, 0.5)
        assert spread.least <= min(deltas)
        assert max(deltas) <= spread.largest
        assert spread.oscillation == pytest.approx(max(deltas) - min(deltas), abs=1e-12)


def two_valued(rho: int, mass: Fraction) -> Instance:
    """A residual with two values, of ratio rho, the upper one with that mass under mu."""
    scale = mass * rho + 1 - mass
    forward = ForwardPolicy(FORK, RATIONAL, [mass * rho / scale, (1 - mass) / scale])
    return Instance(forward, BackwardPolicy.uniform(FORK, RATIONAL), (mass, 1 - mass))


def test_the_bound_is_attained_by_a_two_valued_residual() -> None:
    extremal = two_valued(9, Fraction(1, 4))
    tv = total_variation(*extremal.laws())
    assert (extremal.ratio(), tv) == (9, Fraction(1, 2))
    assert (1 + tv) ** 2 == 9 * (1 - tv) ** 2
    assert tv_bound(math.log(9)) == pytest.approx(0.5, abs=1e-14)
    assert tv_bound(math.log(9)) >= 0.5


def test_control_a_smaller_bound_is_violated() -> None:
    tv = total_variation(*two_valued(9, Fraction(1, 4)).laws())
    assert not tv_within(tv, Fraction(9) - Fraction(1, 10**9))
    assert tv > Fraction(math.tanh(math.log(9) * 0.999 / 4))


def test_errors_of_clients_add_and_their_bound_is_attained() -> None:
    # Each of T clients is off by a residual ratio of 4, all in the same direction.
    for clients in range(1, 8):
        p = [Fraction(2) ** clients, Fraction(1, 2) ** clients]
        tv = total_variation(normalize(p), [Fraction(1, 2)] * 2)
        assert tv == Fraction(4**clients - 1, 4**clients + 1) / 2
        assert tv_within(tv, Fraction(4) ** clients)
    for steps in range(1, 8):
        # A ratio of 4 over T steps, at the worst target: TV = (2^T - 1) / (2^T + 1).
        worst = two_valued(4**steps, Fraction(1, 1 + 2**steps))
        tv = total_variation(*worst.laws())
        assert tv == Fraction(2**steps - 1, 2**steps + 1)
        assert combined_tv_bound([math.log(4)] * steps) == pytest.approx(float(tv), abs=1e-13)
        assert Fraction(combined_tv_bound([math.log(4)] * steps)) >= tv


def test_the_one_sided_bound_holds_for_any_z() -> None:
    for number, instance in enumerate(instances(200)):
        tv = total_variation(*instance.laws())
        for factor in (Fraction(1), Fraction(1, 3), Fraction(5), Fraction(number + 1, 50)):
            assert tv <= one_sided_tv_bound(*instance, factor * sum(instance.rewards))
        assert tv == one_sided_tv_bound(*instance, sum(instance.rewards))


def test_the_loss_bounds_the_distance_where_exploration_covers() -> None:
    worst = 0.0
    for instance in instances(200):
        p_f, mu = instance.laws()
        dag = instance.forward.dag
        floats = [
            kind(dag, FLOAT64, [float(v) for v in policy.values])
            for kind, policy in (
                (ForwardPolicy, instance.forward),
                (BackwardPolicy, instance.backward),
            )
        ]
        explore = ForwardPolicy.uniform(dag, FLOAT64)
        uniform = ForwardPolicy.uniform(dag, RATIONAL)
        coverage = min(
            2 * uniform.along(tau) / (p + m)
            for tau, p, m in zip(dag.trajectories(), p_f, mu, strict=True)
        )
        loss = cb_objective(*floats, [float(r) for r in instance.rewards], explore).loss
        bound = tv_bound_from_loss(loss * (1 + 1e-9), float(min(coverage, Fraction(2))))
        tv = float(total_variation(p_f, mu))
        assert tv <= bound
        if bound < 1:
            worst = max(worst, tv / bound if bound else 0.0)
    assert worst > 0.5  # the bound is not idle


def test_control_on_policy_the_loss_bounds_nothing() -> None:
    for eta in (1e-3, 1e-6, 1e-12):
        p_f = ForwardPolicy.from_weights(FORK, FLOAT64, [1 - eta, eta])
        p_b = BackwardPolicy.uniform(FORK, FLOAT64)
        loss = cb_objective(p_f, p_b, [1.0, 1.0], p_f).loss
    tv = abs(0.5 - eta)
    assert tv > 0.49
    # As if p_E = p_F covered everything evenly.
    assert tv_bound_from_loss(loss, 1.0) < 1e-4


def test_floats_stay_within_the_roundings_of_the_graph() -> None:
    for dag in (enumerate_dag(Grid(6, 2)), lift(enumerate_dag(Grid(4, 2)), History()).dag):
        rng = random.Random(0)
        exact = ForwardPolicy.from_weights(
            dag, RATIONAL, [2 ** rng.randint(0, 3) for _ in dag.edges]
        )
        rounded = ForwardPolicy(dag, FLOAT64, [float(v) for v in exact.values])
        # The rounded policy itself as rationals: only the sums round.
        given = [Fraction(v) for v in rounded.values]
        sums = [Fraction(0)] * len(dag.labels)
        sums[0] = Fraction(1)
        for (u, v), value in zip(dag.edges, given, strict=True):
            sums[v] += sums[u] * value
        bound = Fraction(gamma(roundings(dag)))
        for value, truth in zip(path_sums(rounded), sums, strict=True):
            assert abs(Fraction(value) - truth) <= bound * truth


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tv_bound(-0.1), "number >= 0"),
        (lambda: tv_bound(math.nan), "number >= 0"),
        (lambda: kl_bound("1"), "number >= 0"),  # type: ignore[arg-type]
        (lambda: tv_bound_from_loss(1.0, 0.0), r"coverage c is 0.0"),
        (
            lambda: residual_spread(
                ForwardPolicy(FORK, RATIONAL, [Fraction(1), Fraction(0)]),
                BackwardPolicy.uniform(FORK, RATIONAL),
                (Fraction(1), Fraction(1)),
            ),
            "need all positive",
        ),
    ],
)
def test_bounds_refuse_what_they_cannot_bound(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
