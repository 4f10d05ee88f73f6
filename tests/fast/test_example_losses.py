"""Losses of other papers, written as a user would write them, under `check_loss`."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.forward_looking import ForwardLooking
from examples.losses.graphs import with_potential
from examples.stop_balance import StopBalance
from fast.balance.losses import db_residuals
from fast.balance.steps import Steps, evaluate
from fast.checking.instances import EXIT, STOPS, TRIANGLE, Instance, all_trajectories, make_instance
from fast.checking.loss import LossReport, check_loss
from fast.checking.tabular_policy import balanced_sampler
from reference import History
from reference.contract.errors import InputError
from tests.fast.test_check_loss import certain

pytestmark = pytest.mark.long


def check(loss: Any, *instances: Instance) -> LossReport:
    return check_loss(loss, instances=instances, starts=6)


def test_forward_looking_balance_learns_the_right_law() -> None:
    instances = (with_potential(TRIANGLE, {}), with_potential(EXIT, {}, History()))
    report = check(ForwardLooking(), *instances)
    assert report.learns_the_target
    assert report.reached == report.starts == 12


def test_its_potential_may_be_anything_at_the_start_and_inside() -> None:
    wild = with_potential(TRIANGLE, {"o": 7.0, "a": -9.0})
    assert check(ForwardLooking(), wild).learns_the_target


def test_its_residuals_are_those_of_detailed_balance() -> None:
    instance = with_potential(EXIT, {}, History())
    environment, everything = instance.environment, all_trajectories(instance)
    loss = ForwardLooking()
    with jax.enable_x64(True):
        drawn = balanced_sampler(loss, instance)
        rng = np.random.default_rng(0)
        sampler = jax.tree.map(
            lambda leaf: leaf + rng.normal(size=leaf.shape) if eqx.is_inexact_array(leaf) else leaf,
            drawn,
        )
        steps = evaluate(sampler.policy, environment, everything)
        context = loss.context(environment, everything)
        ours = loss.residuals(steps._replace(context=context))
        # F = F~ exp(phi).
        flow = jnp.where(steps.active, steps.log_flow + context[:, :-1], 0.0)
        theirs = db_residuals(steps._replace(log_flow=flow))
        assert float(jnp.abs(ours - theirs).max()) <= 1e-14
        assert float(jnp.abs(ours).max()) > 0.1
        z = loss.learned_log_z(sampler, environment)
        assert float(z) == float(steps.log_flow[0, 0] + context[0, 0])


def test_control_an_inner_potential_of_minus_infinity_leaves_no_loss_to_be_had() -> None:
    report = check(ForwardLooking(), with_potential(TRIANGLE, {"a": -math.inf}))
    assert not report.learns_the_target
    assert (report.reached, report.balanced_loss) == (0, math.inf)


class LeavesOut(ForwardLooking):
    """Steps from and to states without potential are left out, as one would to stay finite."""

    def residuals(self, steps: Steps) -> Any:
        context = steps.context
        is_finite = jnp.isfinite(context[:, :-1]) & jnp.isfinite(context[:, 1:])
        finite = steps._replace(context=jnp.where(jnp.isfinite(context), context, 0.0))
        return jnp.where(is_finite, super().residuals(finite), 0.0)


def test_control_to_leave_such_steps_out_is_to_lie() -> None:
    counterexample = certain(check(LeavesOut(), with_potential(TRIANGLE, {"a": -math.inf})))
    # Only o -> x is asked for anything, and F~(o) pays for it: every law passes.
    assert counterexample.law["x"] + counterexample.law["y"] == 1
    assert counterexample.distance > 0.01
    # Without the infinity nothing is left out.
    assert check(LeavesOut(), with_potential(TRIANGLE, {})).learns_the_target


def test_control_an_environment_without_potential_is_refused() -> None:
    with pytest.raises(InputError, match=r"TabularEnvironment.*log_potential"):
        check(ForwardLooking(), make_instance("triangle", TRIANGLE))


def test_modified_balance_learns_the_right_law_where_every_state_can_stop() -> None:
    with_memory = make_instance("stops, history", STOPS, History())
    report = check(StopBalance(), make_instance("stops", STOPS), with_memory)
    assert report.learns_the_target
    assert report.reached == report.starts


def test_control_modified_balance_without_p_b_is_told_from_the_right_one() -> None:
    class Forgets(StopBalance):
        def residuals(self, policy: Any, environment: Any, trajectories: Any) -> Any:
            uniform = dataclasses.replace(policy, backward=_One())
            return super().residuals(uniform, environment, trajectories)

    report = check(Forgets(), make_instance("stops", STOPS))
    assert report.spurious_minima == {"stops": report.starts}
    counterexample = certain(report)
    # c is reached in two ways, and s = x_c counts twice: (1, 2, 3, 8) for R = (1, 2, 3, 4).
    assert {x: str(p) for x, p in counterexample.law.items()} == {
        "p": "1/14",
        "q": "1/7",
        "r": "3/14",
        "s": "4/7",
    }


class _One(eqx.Module):
    """`p_B = 1` along every edge."""

    reads_latent = False
    is_uniform = False
    outputs = 0

    def log_p_b(self, outputs: Any, observation: Any, mask: Any) -> Any:
        return jnp.zeros(mask.shape)
