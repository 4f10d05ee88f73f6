"""Distances between laws, inputs of their bounds, and expected losses with their gradients."""

import math
import random
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from reference import (
    BALL,
    FLOAT64,
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    History,
    PointedDAG,
    cb_objective,
    enumerate_dag,
    enumerate_rewards,
    fcs,
    fcs_estimate,
    forward_from_backward,
    gamma,
    kl_divergence,
    lift,
    normalize,
    optimal_log_z,
    path_sums,
    pointed_dag,
    tb_objective,
    total_variation,
    uniform_batches,
)
from reference.bounds import kl_bound, roundings, tv_bound_from_loss
from reference.expressivity.memory import memory_kl
from reference.fields.balls import enclose, precision
from reference.metrics import fcs_under
from reference.problems import Grid
from tests.refusals import refused
from verify.lib.named_dags import DIAMOND
from verify.lib.small_scope import pointed_dags
from verify.test_col_objectives import LOG_Z, make_instance


def law(*hundredths: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(h, 100) for h in hundredths)


@pytest.mark.catches(
    "The KL of laws that are close is a small difference of large terms.",
    "reference/metrics.py",
    "    if abs(excess) < 1e-3:\n",
    "    if abs(excess) < 0:\n",
)
def test_divergences_of_close_laws_do_not_cancel() -> None:
    for power in (3, 6, 9, 12, 40):
        eps = Fraction(1, 10**power)
        p, q = (Fraction(1, 2) + eps, Fraction(1, 2) - eps), (Fraction(1, 2),) * 2
        # KL = 2 eps^2 + (4/3) eps^4 + ...; by default, approx lets anything below 1e-12 pass.
        expected = float(2 * eps**2 + Fraction(4, 3) * eps**4)
        close = 1e-11 if power > 3 else 1e-10
        assert kl_divergence(p, q) == pytest.approx(expected, rel=close, abs=0)


@pytest.mark.catches(
    "KL(q || p) is returned for KL(p || q).",
    "reference/metrics.py",
    "terms.append(_divergence(a, b))",
    "terms.append(_divergence(b, a))",
)
def test_divergences_of_far_laws_are_those_of_the_definition() -> None:
    rng = random.Random(0)
    for _ in range(200):
        weights = [[rng.randint(1, 10**6) for _ in range(5)] for _ in range(2)]
        p, q = ([Fraction(w, sum(row)) for w in row] for row in weights)
        direct = sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True))
        assert kl_divergence(p, q) == pytest.approx(direct, rel=1e-9, abs=1e-15)
        floats = [float(a) for a in p], [float(b) for b in q]
        assert kl_divergence(*floats) == pytest.approx(direct, rel=1e-9, abs=1e-14)


TINY = Fraction(1, 10**400)


@pytest.mark.parametrize(
    ("p", "q", "kl"),
    [
        (law(100, 0), law(50, 50), math.log(2)),
        (law(50, 50), law(100, 0), math.inf),
        (law(20, 80), law(20, 80), 0),
        (law(0, 100), law(0, 100), 0),
        ((0.0, 1.0), (0.0, 1.0), 0),
        ((0.5, 0.5), (0.0, 1.0), math.inf),
        ((TINY, 1 - TINY), law(50, 50), math.log(2)),
        (law(50, 50, 0), law(50, 25, 25), 0.5 * math.log(2)),
    ],
)
def test_divergences_at_zeros(p: Any, q: Any, kl: float) -> None:
    assert kl_divergence(p, q) == pytest.approx(kl)


@pytest.mark.catches(
    "Total variation is the sum of differences, not half of it.",
    "reference/metrics.py",
    "return sum(differences[1:], start=differences[0]) / 2",
    "return sum(differences[1:], start=differences[0])",
)
def test_total_variation_by_hand() -> None:
    assert total_variation(law(50, 25, 25), law(25, 25, 50)) == Fraction(1, 4)
    assert total_variation(law(50, 50), law(50, 50)) == 0


@pytest.mark.catches(
    "The standard error divides by n instead of n - 1.",
    "reference/metrics.py",
    "values.std(ddof=1)",
    "values.std(ddof=0)",
)
@pytest.mark.parametrize(
    ("p", "q", "batches", "mean", "error"),
    [
        # TV is 0 and 1/2: mean 1/4, variance 1/8 with n - 1, standard error 1/4.
        ([0.25] * 4, [0.2, 0.2, 0.0, 0.6], [[0, 1], [2, 3]], 0.25, 0.25),
        # A terminal in no batch is not seen: TV is 1/2.
        ([0.25, 0.25, 0.5], [0.5, 0.5, 0.0], [[0, 1], [0, 1]], 0, 0),
        # Empty under one law is disjoint, and under both agreement.
        ([0.0, 0.0, 1.0], [0.5, 0.5, 0.0], [[0, 1], [0, 2]], 1, 0),
        ([0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 3.0, 1.0], [[0, 1], [2, 3]], 0.25, 0.25),
    ],
)
def test_fcs_of_two_batches_by_hand(p: Any, q: Any, batches: Any, mean: Any, error: Any) -> None:
    estimate = fcs_estimate(np.array(p), np.array(q), np.array(batches))
    assert (estimate.mean, estimate.standard_error) == pytest.approx((mean, error))


def test_the_fcs_estimator_over_all_batches_is_exact() -> None:
    p, q = normalize(law(10, 20, 30, 40)), normalize(law(40, 10, 20, 5))
    batches = np.array(list(combinations(range(4), 2)))
    floats = [np.array([float(x) for x in row]) for row in (p, q)]
    assert fcs_estimate(*floats, batches).mean == pytest.approx(float(fcs(p, q, 2)), rel=1e-12)


def test_uniform_batches_hold_distinct_terminals() -> None:
    batches = uniform_batches(50, 20, 30, seed=0)
    assert batches.shape == (30, 20)
    assert all(len(set(batch)) == 20 for batch in batches.tolist())
    assert uniform_batches(5, 128, 2, seed=0).shape == (2, 5)


@pytest.mark.catches(
    "Only the first two histories of a state are compared.",
    "reference/expressivity/memory.py",
    "kl_divergence(p, q) for p in laws for q in laws)",
    "kl_divergence(p, q) for p in laws[:2] for q in laws[:2])",
)
@pytest.mark.parametrize("odd", range(3))
def test_memory_is_compared_over_all_histories_of_a_state(odd: int) -> None:
    children = {"o": [*"abd"], **{state: ["c"] for state in "abd"}, "c": ["x", "y"]}
    lifted = lift(pointed_dag({**children, "x": [], "y": []}), History())
    weights = [1] * len(lifted.dag.edges)
    copies = [v for v, u in enumerate(lifted.projection) if lifted.base.labels[u] == "c"]
    weights[lifted.dag.out_edges[copies[odd]][1]] = 3
    kl = memory_kl(lifted, ForwardPolicy.from_weights(lifted.dag, RATIONAL, weights))
    assert kl["c"] == pytest.approx(math.log(4 / 3) / 2)


def test_laws_of_batches_in_floats_may_miss_one_by_their_rounding() -> None:
    p, q = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    # Ten times 0.1 is 1 - 1e-16; more than that is a mistake.
    batches = {(i % 3,): 0.1 for i in range(3)} | {(i % 3, (i + 1) % 3): 0.7 / 3 for i in range(3)}
    assert sum(batches.values()) == pytest.approx(1.0, abs=3e-16)
    assert 0 < fcs_under(p, q, batches) < 1
    refused("sums to", fcs_under, p, q, {(0,): 0.5, (1, 2): 0.5 + 1e-12})


@pytest.mark.catches(
    "The roundings of a path sum are counted without those of its products.",
    "reference/bounds.py",
    "return 2 * max(depth) + sum(widest)",
    "return sum(widest)",
)
def test_roundings_count_two_per_step_and_the_widest_sum_of_each_depth() -> None:
    # Depths 0 | 1 1 | 2 | 3, with in-degrees at most 0, 1, 3, 2.
    dag = PointedDAG(("o", "u", "v", "w", "x"), ((1, 2, 3), (3,), (3, 4), (4,), ()))
    assert roundings(dag) == 2 * 3 + 0 + 1 + 3 + 2


def test_floats_stay_within_the_roundings_of_the_graph() -> None:
    for dag in (enumerate_dag(Grid(6, 2)), lift(enumerate_dag(Grid(4, 2)), History()).dag):
        rng = random.Random(0)
        weights = [2 ** rng.randint(0, 3) for _ in dag.edges]
        exact = ForwardPolicy.from_weights(dag, RATIONAL, weights)
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


def test_no_bound_on_total_variation_is_above_one() -> None:
    assert tv_bound_from_loss(1e6, 0.5) == 1.0
    assert tv_bound_from_loss(0.01, 1.0) < 0.05


def test_a_bound_in_floats_is_not_below_its_formula() -> None:
    for spread in (number / 3 for number in range(1, 100)):
        assert Fraction(kl_bound(spread)) >= Fraction(spread) ** 2 / 8


def test_no_cancellation_spoils_a_loss_near_its_optimum() -> None:
    dag = lift(DIAMOND, History()).dag
    rewards = [Fraction(1), Fraction(2)]
    backward = BackwardPolicy.uniform(dag, RATIONAL)
    forward, _ = forward_from_backward(backward, rewards)
    (x_edge,) = (e for e, (u, v) in enumerate(dag.edges) if u == 0 and v == dag.edges[0][1])
    weights = [*forward.values]
    weights[x_edge] *= 1 + Fraction(1, 10**6)
    off = ForwardPolicy.from_weights(dag, RATIONAL, weights)

    def loss(field: Any) -> Any:
        near = ForwardPolicy(dag, field, [field.convert(v) for v in off.values])
        p_b = BackwardPolicy(dag, field, [field.convert(v) for v in backward.values])
        return cb_objective(near, p_b, [field.convert(r) for r in rewards], near).loss

    with precision(200):
        exact = float(enclose(loss(BALL))[0])
    # The loss is about 1e-12 and its terms enter with relative errors of 1e-16 / 1e-6.
    assert 1e-14 < exact < 1e-12
    # By default, approx lets any difference below 1e-12 pass.
    assert loss(FLOAT64) == pytest.approx(exact, rel=1e-8, abs=0)


def test_balls_enclose_the_float_losses() -> None:
    for seed, dag in enumerate(list(pointed_dags(5))[::30]):
        floats, balls = make_instance(dag, seed), make_instance(dag, seed, BALL)
        with precision(100):
            ball = tb_objective(*balls[:3], BALL.convert(LOG_Z), balls.exploratory).loss
            lower, upper = enclose(ball)
        loss = tb_objective(*floats[:3], LOG_Z, floats.exploratory).loss
        assert float(lower) == pytest.approx(loss, rel=1e-11)
        assert upper - lower < Fraction(1, 10**12)


def test_a_policy_with_zeros_that_exploration_never_meets_is_allowed() -> None:
    rows = {"o": {"a": 1}, "a": {"c": 1}, "b": {"c": 1}, "c": {"x": 0.5, "y": 0.5}}
    forward = ForwardPolicy.from_rows(DIAMOND, FLOAT64, rows)
    backward = BackwardPolicy.from_weights(DIAMOND, FLOAT64, [1, 1, 1, 0, 1, 1])
    assert cb_objective(forward, backward, [1.0, 1.0], forward).loss == 0.0


def test_losses_of_a_grid_with_millions_of_trajectories_take_one_pass() -> None:
    problem = Grid(8, 2)
    dag = enumerate_dag(problem)
    rewards = [float(r) for r in enumerate_rewards(problem, dag)]
    backward = BackwardPolicy.uniform(dag, FLOAT64)
    forward, z = forward_from_backward(backward, rewards)
    assert cb_objective(forward, backward, rewards, forward).loss < 1e-28
    assert optimal_log_z(forward, backward, rewards, forward) == pytest.approx(math.log(z))
