"""Expected losses and gradients by edge sums, against sums over trajectories and differences."""

import math
from fractions import Fraction
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
    cb_objective,
    enumerate_dag,
    enumerate_rewards,
    forward_from_backward,
    lift,
    optimal_log_z,
    tb_objective,
)
from reference.fields.balls import enclose, precision
from reference.problems import Grid
from verify.lib.named_dags import DIAMOND
from verify.lib.small_scope import pointed_dags
from verify.test_col_objectives import LOG_Z, Instance, instances, make_instance


def losses(instance: Instance, log_z: float = LOG_Z, edge: int = 0, step: float = 0.0) -> Any:
    """TB and CB, with one logit moved."""
    forward, *given, explore = instance
    weights = list(forward.values)
    weights[edge] *= math.exp(step)
    moved = ForwardPolicy.from_weights(forward.dag, FLOAT64, weights)
    both = tb_objective(moved, *given, log_z, explore), cb_objective(moved, *given, explore)
    return np.array([objective.loss for objective in both])


def test_the_gradients_equal_central_differences() -> None:
    # The error of a central difference is step^2 times a third derivative of order 10.
    step = 1e-5
    for instance in list(instances())[::20]:
        tb = tb_objective(*instance[:3], LOG_Z, instance.exploratory)
        cb = cb_objective(*instance)
        slope, _ = (losses(instance, LOG_Z + step) - losses(instance, LOG_Z - step)) / (2 * step)
        assert tb.log_z_gradient == pytest.approx(slope, rel=1e-6, abs=1e-8)
        for edge, gradients in enumerate(zip(tb.logits_gradient, cb.logits_gradient, strict=True)):
            up, down = (losses(instance, LOG_Z, edge, h) for h in (step, -step))
            assert gradients == pytest.approx((up - down) / (2 * step), abs=1e-6)


@pytest.mark.catches(
    "The gradient of a soft-max reaches the logit of the action taken and no other.",
    "reference/objectives.py",
    "two * (delta[edge] - self.forward.values[edge] * through)",
    "two * (delta[edge] - self.forward.values[edge] * delta[edge])",
)
def test_the_gradient_of_each_row_sums_to_zero() -> None:
    for instance in instances():
        gradient = tb_objective(*instance[:3], LOG_Z, instance.exploratory).logits_gradient
        for row in instance.dag.out_edges:
            assert sum(gradient[edge] for edge in row) == pytest.approx(0, abs=1e-12)


def test_no_cancellation_spoils_a_loss_near_its_optimum() -> None:
    dag = lift(DIAMOND, History()).dag
    rewards = [Fraction(1), Fraction(2)]
    backward = BackwardPolicy.uniform(dag, RATIONAL)
    forward, _ = forward_from_backward(backward, rewards)
    (x_edge,) = (e for e, (u, v) in enumerate(dag.edges) if u == 0 and v == dag.edges[0][1])
    weights = [
        v * (1 + Fraction(1, 10**6)) if e == x_edge else v for e, v in enumerate(forward.values)
    ]
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
