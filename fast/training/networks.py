"""Gradients of losses (col:objectives) of policies with a deterministic latent, and replay."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.balance.loss import Loss, RatioLoss
from fast.environments import AbstractEnvironment
from fast.policies.policy import Sampler
from fast.sampling.backward import sample_backward
from fast.sampling.forward import sample_trajectories
from fast.sampling.replay import Buffer, add, choose, empty_buffer
from fast.training.build import make_policy
from fast.training.combined import combined_loss
from fast.training.method import Gradient, Method, annealed, exploration, inverse_temperature
from fast.training.processes import gathered
from fast.training.state import TrainState
from fast.training.step import AXIS, Batch, loss_and_gradient, on_devices


class Networks(Method):
    """Training of policies with a deterministic latent."""

    def begin(
        self, environment: AbstractEnvironment, seed: Int[Array, ""]
    ) -> tuple[Sampler, Buffer | None]:
        """The initial policy, random or frozen; a learned `log Z` is set by the first batch."""
        if self.config.factors.warm:
            (policy,) = self.frozen.policies
        else:
            policy = make_policy(self.config, environment, key=self.key(seed, "policy"))
        buffer, replay = None, self.replay
        if replay.capacity:
            buffer = empty_buffer(environment, replay.capacity, with_densities=replay.by_density)
        # NaN until the first batch, as `TrajectoryLoss.starting_log_z` says.
        log_z = jnp.full((), jnp.nan if self.loss.learns_log_z else 0.0, float)
        return Sampler(policy, log_z), buffer

    def learn(
        self, environment: AbstractEnvironment, state: TrainState, key: PRNGKeyArray
    ) -> tuple[Gradient, Buffer | None]:
        """The gradient of the loss on a batch, on one device or several."""
        draws = jax.random.uniform(key, (environment.horizon + 1, self.sampling.batch))
        key = jax.random.fold_in(key, 1)
        if self.devices == 1:
            return self.gradient_of_draws(environment, state, draws, key=key)
        shared = on_devices(partial(self.gradient_of_draws, key=key, axis=AXIS), self.devices)
        # The columns in the order in which each device has its share of the replayed ones.
        batch = self.sampling.batch
        kinds = np.split(np.arange(batch), [self.replay.replayed(batch)])
        shares = [kind.reshape(self.devices, len(kind) // self.devices) for kind in kinds]
        return shared(environment, state, draws[:, np.concatenate(shares, axis=1).reshape(-1)])

    def draw_batch(
        self,
        environment: AbstractEnvironment,
        state: TrainState,
        draws: Float[Array, "rows batch"],
        axis: str | None = None,
    ) -> tuple[Batch, Buffer | None]:
        """Draws trajectories forwards by the exploring policy, the rest backwards from the buffer.

        The buffer is returned with the new ends of the forward ones.

        Args:
            environment: the state graph as array code.
            state: the state before the step.
            draws: uniform on [0, 1), of shape (horizon + 1, batch): one row to choose from the
                buffer, then one per step.
            axis: the axis of devices that share the batch, if several do.
        """
        policy = state.sampler.policy
        replayed = 0 if state.buffer is None else self.replay.replayed(draws.shape[1])
        forward, cached = sample_trajectories(
            policy,
            environment,
            draws[1:, replayed:],
            exploration(self.sampling, self.steps, state.step),
            schedule=self.schedule,
            cache=self.schedule.branches and state.buffer is None and self.loss.reads_cache,
        )
        if state.buffer is None:
            return Batch(forward, cached), None
        # Every device remembers the ends of all, so that all have the same buffer.
        beta = inverse_temperature(self.sampling, self.steps, state.step)
        buffer = add(state.buffer, *gathered((forward.final, forward.log_reward), axis), beta)
        ends = choose(buffer, draws[0, :replayed], beta, by_reward=self.replay.by_reward)
        backward = sample_backward(policy, environment, ends, draws[1:, :replayed])
        both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), forward, backward)
        return Batch(both, None), buffer

    def gradient_of_draws(
        self,
        environment: AbstractEnvironment,
        state: TrainState,
        draws: Float[Array, "rows batch"],
        *,
        key: PRNGKeyArray,
        axis: str | None = None,
    ) -> tuple[Gradient, Buffer | None]:
        """The gradient on the batch of `draw_batch`.

        Args:
            environment: the state graph as array code.
            state: the state before the step.
            draws: those of `draw_batch`.
            key: the random key of the loss.
            axis: the axis of devices that share the batch, if several do.
        """
        batch, buffer = self.draw_batch(environment, state, draws, axis)
        trajectories = annealed(batch.trajectories, self.sampling, self.steps, state.step)
        batch = batch._replace(trajectories=trajectories)
        loss: Loss = self.loss
        if self.frozen.policies:
            assert isinstance(loss, RatioLoss)
            loss = combined_loss(loss, self.frozen)
        gradient = loss_and_gradient(
            loss, environment, state.sampler, batch, key, axis=axis, schedule=self.schedule
        )
        return gradient, buffer
