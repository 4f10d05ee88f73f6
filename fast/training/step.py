"""A batch, its loss and the gradient (col:objectives): on one device, or shared by several."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, PartitionSpec
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.loss import Loss, PolicyLoss, TrajectoryLoss
from fast.balance.own import context_of, penalties_of, value_of
from fast.balance.rows import evaluate_with_pullback
from fast.balance.steps import Evaluation
from fast.environments import AbstractEnvironment
from fast.policies.policy import Sampler
from fast.sampling.replay import Buffer
from fast.sampling.trajectories import Cached, Trajectories
from fast.schedule import Schedule, schedule_for
from fast.training.method import Gradient
from fast.training.processes import gathered
from fast.training.state import TrainState
from fast.training.tables import by_row, rows_of_batch, with_rows

# A gradient, and the buffer after it, from an environment, a state of training and draws.
OfDraws = Callable[
    [AbstractEnvironment, TrainState, Float[Array, "rows batch"]], tuple[Gradient, Buffer | None]
]
# The name of the axis of devices.
AXIS = "batch"


class Batch(NamedTuple):
    """The trajectories of a step, and values cached while sampling if all were drawn forwards."""

    trajectories: Trajectories
    cached: Cached | None


def loss_and_gradient(
    loss: Loss,
    environment: AbstractEnvironment,
    sampler: Sampler,
    batch: Batch,
    key: PRNGKeyArray,
    *,
    axis: str | None = None,
    schedule: Schedule | None = None,
) -> Gradient:
    """The loss on a batch, an estimate of `log Z`, and the gradient of the sampler's parameters.

    If several devices share the batch, each has its share of it.

    Args:
        loss: the loss.
        environment: the state graph as array code.
        sampler: the policy, with `log Z` where the loss learns it.
        batch: the trajectories.
        key: the random key, equal on all devices.
        axis: the axis of devices that share the batch, if several do.
        schedule: the layout of the batch; by default that of the platform.
    """
    if isinstance(loss, PolicyLoss):
        return _of_policy(loss, environment, sampler, batch.trajectories, axis)
    assert isinstance(loss, TrajectoryLoss), loss
    trajectories, cached = batch
    rows = rows_of_batch(sampler.policy, environment, trajectories)
    rows = gathered(rows, axis)
    policy = with_rows(sampler.policy, rows)
    steps, pullback = evaluate_with_pullback(
        Evaluation(policy, environment, trajectories, cached, schedule or schedule_for())
    )
    steps = steps._replace(context=context_of(loss, environment, trajectories))
    # The terms of all devices are few numbers: each computes the whole loss, and keeps its share
    # of the derivatives.
    everyone = gathered(steps, axis)

    def loss_of(terms: Array, log_z: Array) -> tuple[Array, Array]:
        log_p_f, log_p_b, log_flow = terms
        whole = everyone._replace(log_p_f=log_p_f, log_p_b=log_p_b, log_flow=log_flow)
        return value_of(loss, whole, log_z, key), loss.estimate_log_z(whole, log_z)

    start = lax.stop_gradient(loss.starting_log_z(everyone, sampler.log_z))
    (value, log_z), (by_terms, by_log_z) = jax.value_and_grad(loss_of, (0, 1), has_aux=True)(
        jnp.stack(everyone[:3]), start
    )
    if axis is not None:
        share = len(steps.active)
        by_terms = lax.dynamic_slice_in_dim(by_terms, lax.axis_index(axis) * share, share, axis=1)
    by_policy = by_row(_total(pullback(by_terms), axis), policy, rows)
    return Gradient(value, log_z, Sampler(by_policy, by_log_z), start, rows)


def _of_policy(
    loss: PolicyLoss,
    environment: AbstractEnvironment,
    sampler: Sampler,
    trajectories: Trajectories,
    axis: str | None,
) -> Gradient:
    count = _total(jnp.sum(trajectories.active), axis)

    def loss_of(sampler: Sampler) -> tuple[Array, Array]:
        penalties = penalties_of(loss, sampler.policy, environment, trajectories)
        log_z = loss.learned_log_z(sampler, environment)
        return jnp.sum(penalties) / count, jnp.zeros(()) if log_z is None else log_z

    (value, log_z), gradient = eqx.filter_value_and_grad(loss_of, has_aux=True)(sampler)
    return Gradient(_total(value, axis), log_z, _total(gradient, axis), sampler.log_z)


def _total(x: Any, axis: str | None) -> Any:
    """The sum over all devices."""
    return x if axis is None else lax.psum(x, axis)  # type: ignore[no-untyped-call]


def on_devices(function: OfDraws, devices: int) -> OfDraws:
    """A function of the draws of a batch whose columns are shared by devices, along `AXIS`.

    The result of the function is equal on all devices.
    """
    every = PartitionSpec()  # type: ignore[no-untyped-call]
    split: OfDraws = jax.shard_map(
        function,
        mesh=jax.make_mesh((devices,), (AXIS,), axis_types=(AxisType.Auto,)),
        in_specs=(every, every, PartitionSpec(None, AXIS)),  # type: ignore[no-untyped-call]
        out_specs=every,
        check_vma=False,
    )
    return split
