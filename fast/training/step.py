"""One step's batch, its loss and the gradient: on one device, or shared by several."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, PartitionSpec
from jaxtyping import Array, Float, Int

from fast.balance.flow_matching import fm_residuals
from fast.balance.gradients import evaluate_with_pullback
from fast.balance.losses import (
    PENALTIES,
    aggregated_ratio,
    db,
    log_ratio,
    log_variance,
    streaming_ratio,
    subtb,
    tb,
)
from fast.balance.steps import Steps, evaluate
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.replay import Buffer, add, choose
from fast.sampling.rollout import (
    Exploration,
    Known,
    Trajectories,
    sample_backward,
    sample_trajectories,
)
from fast.training.config import TrainConfig
from reference.errors import InputError


class Sampler(eqx.Module):
    """What training learns."""

    policy: Policy
    log_z: Float[Array, ""]


class Given(eqx.Module):
    """Trained samplers that stand for factors of the reward, and are not changed.

    Attributes:
        policies: theirs; outside of `vmap` with a leading axis, one entry per seed.
        environments: the state graph with the features that each sampler sees.
        rewarded: whether the reward of other factors enters beside them (a step of a stream), or
            none is evaluated (an aggregate).
    """

    policies: tuple[Policy, ...] = ()
    environments: tuple[AbstractEnvironment[Any], ...] = ()
    rewarded: bool = eqx.field(static=True, default=True)

    def evaluate(self, trajectories: Trajectories) -> list[Steps]:
        """What each says of base trajectories, replayed through its own latent."""
        pairs = zip(self.policies, self.environments, strict=True)
        return [evaluate(policy, environment, trajectories) for policy, environment in pairs]


NONE_GIVEN = Given()


class TrainState(NamedTuple):
    """What the next step needs; every leaf has a leading axis, one entry per seed.

    Attributes:
        sampler: what is learned.
        optimizer: the state of the optimiser.
        buffer: terminal states for replay, or None.
        step: how many steps were done.
    """

    sampler: Sampler
    optimizer: Any
    buffer: Buffer | None
    step: Int[Array, " seeds"]


class Batch(NamedTuple):
    """The trajectories of a step.

    Attributes:
        trajectories: as drawn.
        known: what sampling found out about the policy, or None if some were drawn backwards.
    """

    trajectories: Trajectories
    known: Known | None


def draw_batch(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    state: TrainState,
    draws: Float[Array, "rows batch"],
) -> tuple[Batch, Buffer | None]:
    """Trajectories drawn forwards by the exploring policy, the rest backwards from the buffer.

    Returns:
        the batch, and the buffer with the ends of what was drawn forwards.
    """
    policy = state.sampler.policy
    decay = 1 - state.step / (config.epsilon_until * config.steps)
    exploration = Exploration(
        config.epsilon and config.epsilon * jnp.clip(decay, 0, 1), config.temperature
    )
    replayed = 0 if state.buffer is None else round(config.replay_share * draws.shape[1])
    forward, known = sample_trajectories(
        policy,
        environment,
        draws[1:, replayed:],
        exploration,
        skip_ended=config.seeds == 1,
        record=state.buffer is None and config.loss != "fm",
    )
    if state.buffer is None:
        return Batch(forward, known), None
    buffer = add(state.buffer, forward.final, forward.log_reward)
    ends = choose(buffer, config.replay, draws[0, :replayed])
    backward = sample_backward(policy, environment, ends, draws[1:, :replayed])
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), forward, backward)
    return Batch(both, None), buffer


def loss_and_gradient(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    sampler: Sampler,
    batch: Batch,
    axis: str | None = None,
    given: Given = NONE_GIVEN,
) -> tuple[Float[Array, ""], Float[Array, ""], Sampler]:
    """The loss on a batch, an estimate of `log Z`, and the gradient by what is learned.

    Args:
        config: says which loss.
        environment: the state graph.
        sampler: what is learned.
        batch: the trajectories, or this device's share of them.
        axis: the name of the devices' axis, if several share the batch.
        given: samplers that stand for factors of the reward (log_variance only).
    """
    trajectories, known = batch
    if config.loss == "fm":
        return _flow_matching(config, environment, sampler, trajectories, axis)
    steps, pullback = evaluate_with_pullback(
        sampler.policy, environment, trajectories, known, skip_ended=config.seeds == 1
    )
    # The terms of all devices are few numbers: each computes the whole loss, and keeps its share
    # of the derivatives.
    said = given.evaluate(trajectories)
    everyone, *others = [
        terms if axis is None else Steps(*(_gather(x, axis) for x in terms))
        for terms in (steps, *said)
    ]

    def loss_of(terms: Array, log_z: Array) -> tuple[Array, Array]:
        log_p_f, log_p_b, log_flow = terms
        whole = Steps(log_p_f, log_p_b, log_flow, everyone.active, everyone.log_reward)
        return _loss(config, whole, log_z, others, given.rewarded)

    (loss, log_z), (by_terms, by_log_z) = jax.value_and_grad(loss_of, (0, 1), has_aux=True)(
        jnp.stack(everyone[:3]), sampler.log_z
    )
    if axis is None:
        return loss, log_z, Sampler(pullback(by_terms), by_log_z)
    share = len(steps.active)
    own = lax.dynamic_slice_in_dim(by_terms, lax.axis_index(axis) * share, share, axis=1)
    return loss, log_z, Sampler(_total(pullback(own), axis), by_log_z)


def combined_ratio(
    steps: Steps, given: Sequence[Steps], *, rewarded: bool
) -> Float[Array, " batch"]:
    """The log ratio of a run that is given nothing, of a step of a stream, or of an aggregate."""
    if not given:
        return log_ratio(steps)
    if rewarded:
        (previous,) = given
        return streaming_ratio(steps, previous)
    return aggregated_ratio(steps, given)


def _loss(
    config: TrainConfig, steps: Steps, log_z: Array, given: Sequence[Steps], rewarded: bool
) -> tuple[Array, Array]:
    """The loss, and an estimate of `log Z`."""
    penalty = PENALTIES[config.penalty]
    if config.loss == "tb":
        return tb(steps, log_z, penalty), log_z
    if config.loss == "log_variance":
        ratios = combined_ratio(steps, given, rewarded=rewarded)
        return log_variance(ratios), -jnp.mean(ratios)
    flow_at_start = steps.log_flow[0, 0]
    if config.loss == "db":
        return db(steps, penalty), flow_at_start
    if config.loss == "subtb":
        return subtb(steps, config.subtb_lambda, penalty), flow_at_start
    raise InputError(
        f"loss is {config.loss!r}, but of whole trajectories it must be 'tb', 'log_variance', 'db' "
        "or 'subtb'"
    )


def _flow_matching(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    sampler: Sampler,
    trajectories: Trajectories,
    axis: str | None,
) -> tuple[Array, Array, Sampler]:
    penalty = PENALTIES[config.penalty]

    count = _total(jnp.sum(trajectories.active), axis)

    def loss_of(sampler: Sampler) -> tuple[Array, Array]:
        residuals = fm_residuals(sampler.policy, environment, trajectories)
        loss = jnp.sum(jnp.where(trajectories.active, penalty(residuals), 0.0)) / count
        start = environment.observe(environment.initial())
        return loss, sampler.policy.log_flow(sampler.policy.network.evaluate((), start))

    (loss, log_z), gradient = eqx.filter_value_and_grad(loss_of, has_aux=True)(sampler)
    return _total(loss, axis), log_z, _total(gradient, axis)


def _gather(x: Array, axis: str) -> Array:
    """The shares of all devices, one after the other."""
    gathered: Array = lax.all_gather(x, axis, axis=0, tiled=True)
    return gathered


def _total(x: Any, axis: str | None) -> Any:
    """The sum over all devices."""
    return x if axis is None else lax.psum(x, axis)  # type: ignore[no-untyped-call]


def loss_and_gradient_on_devices(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    state: TrainState,
    draws: Float[Array, "rows batch"],
    given: Given = NONE_GIVEN,
) -> tuple[Array, Array, Sampler]:
    """The same, each device with its columns of the draws: as one device, up to rounding."""
    mesh = jax.make_mesh((config.devices,), ("batch",), axis_types=(AxisType.Auto,))

    def share(environment: Any, state: TrainState, given: Given, draws: Any) -> Any:
        batch, _ = draw_batch(config, environment, state, draws)
        return loss_and_gradient(config, environment, state.sampler, batch, "batch", given)

    every = PartitionSpec()  # type: ignore[no-untyped-call]
    split = jax.shard_map(
        share,
        mesh=mesh,
        in_specs=(every, every, every, PartitionSpec(None, "batch")),  # type: ignore[no-untyped-call]
        out_specs=every,
        check_vma=False,
    )
    result: tuple[Array, Array, Sampler] = split(environment, state, given, draws)
    return result
