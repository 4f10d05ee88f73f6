"""Training with a random latent, by trajectory balance.

The gradient is that of `E (log Z + f(tau))^2` over trajectories `tau` of states *and* latents:

- "fixed", the default: the trajectories are held fixed as they were drawn. The sampler then needs
  no density, may explore, and is not pulled to where residuals happen to be small. On-policy, for
  the parameters of `xi` and `p_F`, it is on average the gradient of `2 KL(p_F || p_B R / Z)`. A
  step of a latent is trained by its density alone, without backpropagation through time.
- "reparameterised": the gradient of the on-policy loss, through the latents as functions of noise
  and through the scores of components and actions, which are discrete. It is zero at balance as
  well, but elsewhere it also moves the samples to where residuals are small.
- A deterministic latent is a function of the states. The loss is differentiated through it, at
  fixed states; this is the default of `pdai train`.
"""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.balance.loss import log_ratio
from fast.balance.losses import tb_residuals
from fast.environments import AbstractEnvironment
from fast.policies.policy import Sampler
from fast.sampling.replay import Buffer
from fast.stochastic.densities import Normal
from fast.stochastic.options import GradientKind, MeanOptions
from fast.stochastic.policy import StochasticPolicy
from fast.stochastic.trajectories import (
    LatentTrajectories,
    draw_noise,
    evaluate,
    log_choices,
    sample_latent_trajectories,
    trace,
)
from fast.training.build import fitted
from fast.training.method import Gradient, Method, exploration
from fast.training.state import TrainState

# The number of trajectories for the first estimate of `log Z`.
FIRST_BATCH = 256


def stochastic_loss(
    sampler: Sampler,
    environment: AbstractEnvironment,
    target: Normal,
    trajectories: LatentTrajectories,
    gradient: GradientKind = "fixed",
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """A surrogate with the chosen gradient, and the mean squared residual.

    The two are equal for "fixed". For "reparameterised", with trajectories drawn on-policy, the
    surrogate also has a term of value 0 with the derivative of the sampling distribution.

    Args:
        sampler: the policy, with log Z where the loss learns one.
        environment: the state graph as array code.
        target: the law of the last latent.
        trajectories: the batch, padded to the horizon.
        gradient: "fixed" or "reparameterised".
    """
    policy: StochasticPolicy = sampler.policy
    if gradient == "fixed" and policy.is_stochastic:
        latents = trajectories.latents
    else:
        latents = trace(policy, environment, trajectories)
    steps = evaluate(policy, environment, target, trajectories, latents)
    losses = tb_residuals(steps, sampler.log_z) ** 2
    mean = jnp.mean(losses)
    if gradient == "fixed":
        return mean, mean
    score = log_choices(policy, environment, trajectories, latents)
    weighted = lax.stop_gradient(losses) * (score - lax.stop_gradient(score))
    return mean + jnp.mean(weighted), mean


class Latents(Method):
    """Trajectory balance with latents that are random, or their means."""

    goes_alone: ClassVar[bool] = False
    purposes: ClassVar[tuple[str, ...]] = ("policy", "log_z", "samples")

    def begin(
        self, environment: AbstractEnvironment, seed: Int[Array, ""]
    ) -> tuple[Sampler, Buffer | None]:
        """A random policy, and the `log Z` that is best for it."""
        dynamics, key = self.dynamics, self.key(seed, "policy")
        assert isinstance(dynamics, MeanOptions)

        def build(width: int) -> StochasticPolicy:
            return dynamics.build(environment, environment.actions, width, key=key)

        policy = fitted(dynamics, self.config.p_b, build)
        size = len(policy.target.mean)
        noise = draw_noise(self.key(seed, "log_z"), environment, FIRST_BATCH, size)
        drawn = sample_latent_trajectories(policy, environment, noise)
        steps = evaluate(policy, environment, policy.target, drawn, drawn.latents)
        return Sampler(policy, -jnp.mean(log_ratio(steps))), None

    def learn(
        self, environment: AbstractEnvironment, state: TrainState, key: PRNGKeyArray
    ) -> tuple[Gradient, Buffer | None]:
        """The gradient of the loss on a batch drawn by the exploring policy.

        Args:
            environment: the state graph as array code.
            state: the state of the training.
            key: a random key of JAX.
        """
        dynamics, policy = self.dynamics, state.sampler.policy
        assert isinstance(dynamics, MeanOptions)
        noise = draw_noise(key, environment, self.sampling.batch, dynamics.latent_size)
        exploring = exploration(self.sampling, self.steps, state.step)
        drawn = sample_latent_trajectories(policy, environment, noise, exploring)
        (_surrogate, loss), gradient = eqx.filter_value_and_grad(stochastic_loss, has_aux=True)(
            state.sampler, environment, policy.target, drawn, dynamics.gradient
        )
        return Gradient(loss, state.sampler.log_z, gradient, state.sampler.log_z), None
