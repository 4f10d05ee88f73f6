"""Training of policies with a deterministic latent: every loss, and replay."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from fast.balance.loss import Loss, RatioLoss, log_ratio
from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.policies.policy import Sampler, uniform_policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.replay import Buffer, empty_buffer
from fast.sampling.trajectories import uniforms
from fast.training.build import make_policy
from fast.training.combined import combined_loss
from fast.training.method import FIRST_BATCH, Gradient, Method
from fast.training.state import TrainState
from fast.training.step import draw_batch, loss_and_gradient, loss_and_gradient_on_devices


class Networks(Method):
    """Training of policies with a deterministic latent."""

    def begin(
        self, environment: AbstractEnvironment[Any], seed: Int[Array, ""]
    ) -> tuple[Sampler, Buffer | None]:
        """The initial policy, random or frozen, and the best `log Z` for a uniform policy."""
        config = self.config
        if config.factors.warm:
            (policy,) = self.frozen.policies
        else:
            policy = make_policy(config, environment, key=self.key(seed, "policy"))
        log_z = jnp.zeros(())
        if config.loss.learns_log_z:
            # The best constant: `log Z` may be far from 0.
            draws = uniforms(self.key(seed, "log_z"), environment, FIRST_BATCH)
            uniform = uniform_policy(policy)
            # A uniform policy costs nothing, so no row is skipped.
            drawn, _ = sample_trajectories(uniform, environment, draws, skip_ended=False)
            log_z = -jnp.mean(log_ratio(evaluate(uniform, environment, drawn)))
        buffer = None
        if config.replay.capacity:
            buffer = empty_buffer(environment, config.replay.capacity)
        return Sampler(policy, log_z), buffer

    def learn(
        self, environment: AbstractEnvironment[Any], state: TrainState, key: PRNGKeyArray
    ) -> tuple[Gradient, Buffer | None]:
        """The gradient of the loss on a batch, on one device or several."""
        config, loss = self.config, self._loss()
        draws = jax.random.uniform(key, (environment.horizon + 1, config.sampling.batch))
        key = jax.random.fold_in(key, 1)
        if config.run.devices > 1:
            gradient = loss_and_gradient_on_devices(config, loss, environment, state, draws, key)
            return gradient, None
        batch, buffer = draw_batch(config, environment, state, draws)
        gradient = loss_and_gradient(
            loss, environment, state.sampler, batch, key, skip_ended=config.run.seeds == 1
        )
        return gradient, buffer

    def _loss(self) -> Loss:
        loss = self.config.loss
        if not self.frozen.policies:
            return loss
        assert isinstance(loss, RatioLoss)
        return combined_loss(loss, self.frozen)
