"""Bounds from residuals and losses compared with exact distances, and cases that attain them."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, product
from typing import Any, NamedTuple

import pytest

from reference.balance import log_tb_residuals
from reference.bounds import (
    kl_bound,
    one_sided_tv_bound,
    residual_spread,
    tv_bound,
    tv_bound_from_loss,
    tv_within,
)
from reference.fields.field import FLOAT64, RATIONAL
from reference.fields.symbolic import Symbolic
from reference.marginals import marginal, mass
from reference.metrics import kl_divergence, normalize, total_variation
from reference.objectives import cb_objective
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from verify.lib.laws import path_laws
from verify.lib.named_dags import FORK
from verify.lib.scopes import Scope, all_small_lifts


class Instance(NamedTuple):
    """A sampler and its target."""

    forward: ForwardPolicy[Fraction]
    backward: BackwardPolicy[Fraction]
    rewards: tuple[Fraction, ...]

    def laws(self) -> tuple[list[Fraction], list[Fraction]]:
        """`p_F` and `mu` on the trajectories."""
        laws = path_laws(*self)
        return laws.p_f, laws.mu


def instances(every: int = 1) -> Iterator[Instance]:
    """On every small lift, or on one in so many, with weights of very different sizes."""
    for draw in islice(all_small_lifts(), 0, None, every):
        dag, rng = draw.lifted.dag, draw.rng

        def weights(count: int, rng: random.Random = rng) -> list[int]:
            return [rng.choice([1, 2, 3, rng.randint(1, 1000)]) for _ in range(count)]

        yield Instance(
            ForwardPolicy.from_weights(dag, RATIONAL, weights(len(dag.edges))),
            BackwardPolicy.from_weights(dag, RATIONAL, weights(len(dag.edges))),
            tuple(map(Fraction, weights(len(dag.terminals)))),
        )


def rho_of(p_f: list[Fraction], mu: list[Fraction]) -> Fraction:
    """`rho = exp(Delta)`, exactly."""
    ratios = [p / m for p, m in zip(p_f, mu, strict=True)]
    return max(ratios) / min(ratios)


def on_fork(p_f: Fraction, mu: Fraction) -> Instance:
    """Two trajectories, the first with these probabilities under `p_F` and `mu`."""
    return Instance(
        ForwardPolicy(FORK, RATIONAL, [p_f, 1 - p_f]),
        BackwardPolicy.uniform(FORK, RATIONAL),
        (mu, 1 - mu),
    )


def two_valued(rho: int, mass: Fraction) -> Instance:
    """A residual with two values, of ratio rho, the upper one with that mass under mu."""
    return on_fork(mass * rho / (mass * rho + 1 - mass), mass)


@pytest.mark.claim("residual-tv-bound")
def test_masses_other_than_one_widen_the_bound_by_their_ratio() -> None:
    exceeded, factors = 0, [Fraction(1), Fraction(2), Fraction(1, 3)]
    for forward, backward, rewards in instances():
        dag, rng = forward.dag, random.Random(len(forward.values))
        kernel = BackwardKernel(dag, RATIONAL, [v * rng.choice(factors) for v in backward.values])
        masses, rho = mass(kernel), rho_of(*path_laws(forward, kernel, rewards))
        tv = total_variation(marginal(forward), normalize(rewards))
        assert tv_within(tv, rho * max(masses) / min(masses))
        exceeded += not tv_within(tv, rho)
    # Without their ratio the bound is false.
    assert exceeded


@pytest.mark.catches(
    "Of the two one-sided expectations the smaller is returned.",
    "reference/bounds.py",
    "return below if field.positive(below - above) else above",
    "return above if field.positive(below - above) else below",
)
@pytest.mark.claim("residual-tv-bound", "one-sided-tv-bound")
def test_residuals_bound_the_total_variation_on_every_small_lift(scope: Scope) -> None:
    for instance in scope.over(instances()):
        p_f, mu = instance.laws()
        tv, rho = total_variation(p_f, mu), rho_of(p_f, mu)
        assert tv_within(tv, rho)
        p_t, pi = marginal(instance.forward), normalize(instance.rewards)
        assert total_variation(p_t, pi) <= tv
        assert all(q / rho <= p <= q * rho for p, q in zip(p_t, pi, strict=True))
        z = sum(instance.rewards, Fraction(0))
        assert tv == one_sided_tv_bound(*instance, z)
        assert tv <= one_sided_tv_bound(*instance, z * Fraction(1 + scope.count % 40, 20))
    scope(scope.walked)


@pytest.mark.catches(
    "Log-probabilities pass through float32 before they are added up.",
    "reference/bounds.py",
    "np.asarray(values, dtype=np.float64)",
    "np.asarray(values, dtype=np.float32)",
)
@pytest.mark.catches(
    "log Z enters the residual of trajectory balance twice.",
    "reference/balance.py",
    "yield tau, log_z + log_float(p_f)",
    "yield tau, 2 * log_z + log_float(p_f)",
)
@pytest.mark.claim("residual-tv-bound")
def test_the_oscillation_as_computed_bounds_distance_and_divergence(scope: Scope) -> None:
    for instance in scope.over(instances(every=3), "in floats on {} of these"):
        p_f, mu = instance.laws()
        oscillation = residual_spread(*instance).oscillation
        assert total_variation(p_f, mu) <= Fraction(tv_bound(oscillation))
        # The divergence is a float: it may be rounded up.
        assert kl_divergence(p_f, mu) <= kl_bound(oscillation) + 1e-15
        # Found without trajectories, it encloses what they have, for any log Z, and tightly.
        deltas = [delta for _, delta in log_tb_residuals(*instance, 0.5)]
        spread = residual_spread(*instance, 0.5)
        assert spread.least <= min(deltas)
        assert max(deltas) <= spread.largest
        assert spread.oscillation == pytest.approx(max(deltas) - min(deltas), abs=1e-12)


@pytest.mark.catches(
    "The bound of TV has Delta / 8 for Delta / 4: residuals within eps, not of range eps.",
    "reference/bounds.py",
    "math.tanh(_nonnegative(oscillation) / 4)",
    "math.tanh(_nonnegative(oscillation) / 8)",
)
@pytest.mark.catches(
    "The bound of KL has the variance Delta^2 / 12 of a uniform variable for Hoeffding's.",
    "reference/bounds.py",
    "return _up(_nonnegative(oscillation) ** 2 / 8)",
    "return _up(_nonnegative(oscillation) ** 2 / 12)",
)
@pytest.mark.claim("residual-tv-bound")
def test_the_bounds_are_the_stated_functions_of_the_oscillation() -> None:
    assert tv_bound(2.0) == pytest.approx(math.tanh(0.5), rel=1e-15)
    assert tv_bound(1e6) == 1.0
    assert kl_bound(2.0) == pytest.approx(0.5, rel=1e-15)


@pytest.mark.claim("residual-tv-bound")
def test_the_best_mass_of_a_two_valued_residual_for_all_ratios_at_once(scope: Any) -> None:
    # w = a on mass 1 - t, a r^2 on mass t, of mean 1: TV = t (a r^2 - 1).
    field = Symbolic("r t")
    r, t = field.symbols
    one = field.one
    a = one / (one + t * (r * r - one))
    tv = t * (a * r * r - one)
    # The bound (r - 1) / (r + 1) is missed by a square, zero at t = 1 / (1 + r) only.
    slack = one - t * (r + one)
    gap = (r - one) * slack * slack / ((r + one) * (one + t * (r * r - one)))
    assert (r - one) / (r + one) - tv == gap
    ratio = (one + (r - one) / (r + one)) / (one - (r - one) / (r + one))
    assert ratio * ratio == r * r
    scope("the extremal case for all rho at once")


@pytest.mark.claim("residual-tv-bound")
def test_the_bound_is_attained_by_a_two_valued_residual() -> None:
    p_f, mu = two_valued(9, Fraction(1, 4)).laws()
    tv = total_variation(p_f, mu)
    assert rho_of(p_f, mu) == 9
    assert tv == Fraction(1, 2)
    assert (1 + tv) ** 2 == 9 * (1 - tv) ** 2
    assert tv_bound(math.log(9)) == pytest.approx(0.5, abs=1e-14)
    assert tv_bound(math.log(9)) >= 0.5


@pytest.mark.claim("residual-tv-bound")
def test_no_smaller_constants_would_do_for_ratios_and_divergence() -> None:
    # p_T / pi comes as near to rho as one likes: upper value on little mass.
    (p, _), (q, _) = two_valued(9, Fraction(1, 10_000)).laws()
    assert Fraction(899, 100) < p / q < 9
    # KL(p_F || mu) / Delta^2 comes near to 1/8: both values equally likely under p_F, Delta small.
    instance = on_fork(Fraction(1, 2), Fraction(100, 201))
    p_f, mu = instance.laws()
    delta = math.log(rho_of(p_f, mu))
    assert delta < 0.02
    assert 0.1249 < kl_divergence(p_f, mu) / delta**2 < 0.125


@pytest.mark.control("residual-tv-bound")
def test_a_smaller_bound_is_violated() -> None:
    tv = total_variation(*two_valued(9, Fraction(1, 4)).laws())
    assert not tv_within(tv, Fraction(9) - Fraction(1, 10**9))
    assert tv > Fraction(math.tanh(math.log(9) * 0.999 / 4))


@pytest.mark.claim("one-sided-tv-bound")
def test_the_one_sided_bound_holds_on_a_fork_with_and_without_zeros(scope: Any) -> None:
    # Where p_F or mu is zero, delta is infinite, and its product with the probability is not.
    twelfths = [Fraction(k, 12) for k in range(13)]
    for p, m in product(twelfths, repeat=2):
        instance, tv = on_fork(p, m), abs(p - m)
        assert total_variation(*instance.laws()) == tv
        for z in (Fraction(1, 100), Fraction(1, 2), Fraction(9, 10), Fraction(3), Fraction(100)):
            assert tv <= one_sided_tv_bound(*instance, z)
        assert tv == one_sided_tv_bound(*instance, Fraction(1))
    scope("all pairs of laws in twelfths on two trajectories, six Z")


@pytest.mark.claim("one-sided-tv-bound")
@pytest.mark.control("one-sided-tv-bound")
def test_either_side_alone_vanishes_for_some_z_by_hand() -> None:
    # p_F = (3/4, 1/4), mu = (1/2, 1/2), TV = 1/4. Z = 2 Z*: all e^delta >= 1, the second term is
    # 3/4 (1 - 1/3) + 1/4 (1 - 1) = 1/2. Z = Z* / 2: the first is 1/2 (1 - 3/4) + 1/2 (1 - 1/4).
    instance = on_fork(Fraction(3, 4), Fraction(1, 2))
    p_f, mu = instance.laws()
    for z, below_vanishes in ((2, True), (Fraction(1, 2), False)):
        below = sum(max(m - z * p, Fraction(0)) for p, m in zip(p_f, mu, strict=True))
        above = sum(max(p - m / z, Fraction(0)) for p, m in zip(p_f, mu, strict=True))
        assert (below, above) == ((0, Fraction(1, 2)) if below_vanishes else (Fraction(1, 2), 0))
        assert one_sided_tv_bound(*instance, Fraction(z)) == Fraction(1, 2)


def in_floats(instance: Instance) -> tuple[ForwardPolicy[float], BackwardPolicy[float]]:
    dag = instance.forward.dag
    return (
        ForwardPolicy(dag, FLOAT64, [float(v) for v in instance.forward.values]),
        BackwardPolicy(dag, FLOAT64, [float(v) for v in instance.backward.values]),
    )


@pytest.mark.catches(
    "The bound from the CB loss forgets that the loss is twice a variance.",
    "reference/bounds.py",
    "(2 * coverage)) / 2)",
    "(4 * coverage)) / 2)",
)
@pytest.mark.claim("loss-tv-bound")
def test_the_loss_bounds_the_distance_where_exploration_covers(scope: Scope) -> None:
    worst = 0.0
    for instance in scope.over(instances(every=4)):
        p_f, mu = instance.laws()
        dag = instance.forward.dag
        uniform = ForwardPolicy.uniform(dag, RATIONAL)
        coverage = min(
            2 * uniform.along(tau) / (p + m)
            for tau, p, m in zip(dag.trajectories(), p_f, mu, strict=True)
        )
        rewards = [float(r) for r in instance.rewards]
        loss = cb_objective(*in_floats(instance), rewards, ForwardPolicy.uniform(dag, FLOAT64)).loss
        # The loss is a float: it may be rounded down.
        bound = tv_bound_from_loss(loss * (1 + 1e-9), float(coverage))
        tv = float(total_variation(p_f, mu))
        assert tv <= bound
        if 0 < bound < 1:
            worst = max(worst, tv / bound)
    assert worst > 0.5
    scope(f"p_E uniform on {scope.count} small lifts; TV is up to {worst:.2f} of the bound")


@pytest.mark.claim("loss-tv-bound")
def test_the_total_variation_is_the_mean_of_a_hyperbolic_tangent() -> None:
    # f = log(p_F / mu), m = (p_F + mu) / 2: tanh(f / 2) = (p_F - mu) / (p_F + mu).
    for instance in instances(every=16):
        p_f, mu = instance.laws()
        pairs = list(zip(p_f, mu, strict=True))
        tangents = [math.tanh(math.log(p / m) / 2) for p, m in pairs]
        middle = [float(p + m) / 2 for p, m in pairs]
        mean = math.fsum(w * t for w, t in zip(middle, tangents, strict=True))
        absolute = math.fsum(w * abs(t) for w, t in zip(middle, tangents, strict=True))
        # Up to a rounding of each of at most eight terms.
        assert mean == pytest.approx(0, abs=1e-14)
        assert absolute == pytest.approx(float(total_variation(p_f, mu)), abs=1e-14)


@pytest.mark.claim("loss-tv-bound")
def test_no_smaller_constant_would_do_for_the_loss() -> None:
    # p_F = (1/2 + e, 1/2 - e), mu the reverse, p_E = m uniform, c = 1: |f| is constant, and
    # TV = tanh(|f| / 2) against |f| / 2.
    eps = Fraction(1, 100)
    instance = on_fork(Fraction(1, 2) + eps, Fraction(1, 2) - eps)
    explore = ForwardPolicy.uniform(FORK, FLOAT64)
    rewards = [float(r) for r in instance.rewards]
    loss = cb_objective(*in_floats(instance), rewards, explore).loss
    tv, bound = float(2 * eps), tv_bound_from_loss(loss, 1.0)
    assert tv == pytest.approx(math.tanh(bound))
    assert 0.9998 < tv / bound < 1
