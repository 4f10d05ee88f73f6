"""A policy with a latent that is drawn anew on every step."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fast.dynamics.perceptron import Perceptron
from fast.environments import AbstractEnvironment
from fast.policies.backward import masked_log_softmax
from fast.stochastic.densities import Mixture, Normal

# Scales stay within this many nats of sigma, so that no density overflows.
LOG_RANGE = 3.0

Moments = tuple[Float[Array, "*batch d"], Float[Array, "*batch d"]]


class StochasticPolicy(eqx.Module):
    """`xi`, `p_F = p_{F,s} p_{F,w}` and `p_B` over pairs of a state and a latent in `R^d`.

        w_0 ~ xi,   s_{t+1} ~ softmax(head(psi(s_t), w_t)),
        w_{t+1} ~ N(memory w_t + phi(s_{t+1}, w_t), diag(scale(s_{t+1}, w_t))^2)

    Backwards, the parent `s_t` is uniform among those of `s_{t+1}`, and `w_t` is normal given
    `(s_t, s_{t+1}, w_{t+1})`, so that `p_B` is always normalised. With `memory^2 + sigma^2 = 1` and
    networks that are zero, forward and backward steps are those of one stationary reversible
    process with marginals `N(0, I)`: training starts with balanced latents.

    With `is_stochastic` False the latent is its mean, from the first mean of `xi` on. This is a
    deterministic lift, which does not read the scales, the weights of `xi` or the reverse network.
    The stochastic policy converges to it as all scales go to 0; the densities of its loss do not.

    (Paper: example "Lines" of the stochastic section; Lahlou et al., A theory of
    continuous GFlowNets, 2023.)

    Attributes:
        head: logits of the actions, from `(psi(s_t), w_t)`.
        transition: `phi` and the log scale, from `(psi(s_{t+1}), w_t)`.
        reverse: the same backwards, from `(psi(s_t), psi(s_{t+1}), w_{t+1})`.
        start: `xi`.
        sigma: the scale before training, positive.
        memory: the share of the latent that a step keeps.
        mu, covariance: of the latent at a terminal, read by `fast.stochastic.densities`.
        is_stochastic: whether the latent is random.
    """

    head: Perceptron
    transition: Perceptron
    reverse: Perceptron
    start: Mixture
    sigma: float = eqx.field(static=True)
    memory: float = eqx.field(static=True)
    mu: tuple[float, ...] = eqx.field(static=True)
    covariance: tuple[float, ...] = eqx.field(static=True)
    is_stochastic: bool = eqx.field(static=True)

    is_summable: ClassVar[bool] = False

    def __init__(
        self,
        features: int,
        actions: int,
        size: int,
        *,
        sigma: float,
        hidden: Sequence[int],
        components: int = 4,
        mu: tuple[float, ...] = (),
        covariance: tuple[float, ...] = (),
        is_stochastic: bool = True,
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key, 4)
        self.head = Perceptron([features + size, *hidden, actions], key=keys[0])
        self.transition = Perceptron([features + size, *hidden, 2 * size], key=keys[1])
        self.reverse = Perceptron([2 * features + size, *hidden, 2 * size], key=keys[2])
        self.start = Mixture(components, size, key=keys[3])
        self.sigma = sigma
        self.memory = math.sqrt(max(0.0, 1 - sigma**2))
        self.mu, self.covariance = mu, covariance
        self.is_stochastic = is_stochastic

    @property
    def is_markovian(self) -> bool:
        """Always false."""
        return False

    @property
    def actions(self) -> int:
        """The number of actions."""
        return len(self.head.biases[-1])

    @property
    def target(self) -> Normal:
        """The target distribution of the latent at a terminal."""
        return Normal.of(self.mu, self.covariance, self.start.means.shape[1])

    def log_p_f(
        self,
        seen: Float[Array, "*batch features"],
        latent: Float[Array, "*batch d"],
        mask: Bool[Array, "*batch actions"],
    ) -> Float[Array, "*batch actions"]:
        """`log p_{F,s}` of every action, in nats; about -1e9 where masked.

        Args:
            seen: the features of the state.
            latent: its latent.
            mask: the legal actions.
        """
        return masked_log_softmax(self.head(jnp.concatenate([seen, latent], -1)), mask)

    def forward(
        self, following: Float[Array, "*batch features"], latent: Float[Array, "*batch d"]
    ) -> Moments:
        """Mean and log scale of the latent on arrival in `s_{t+1}`, given the one before."""
        return self._moments(self.transition(jnp.concatenate([following, latent], -1)), latent)

    def backward(
        self,
        seen: Float[Array, "*batch features"],
        following: Float[Array, "*batch features"],
        latent: Float[Array, "*batch d"],
    ) -> Moments:
        """Mean and log scale of the latent at `s_t`, given the one at `s_{t+1}`.

        Args:
            seen: the features of s_t.
            following: the features of s_{t+1}.
            latent: the latent at s_{t+1}.
        """
        return self._moments(self.reverse(jnp.concatenate([seen, following, latent], -1)), latent)

    def _moments(self, outputs: Array, latent: Array) -> Moments:
        shift, free = jnp.split(outputs, 2, -1)
        log_scale = math.log(self.sigma) + LOG_RANGE * jnp.tanh(free / LOG_RANGE)
        return self.memory * latent + shift, log_scale


def features_of(environment: AbstractEnvironment, state: Any) -> Float[Array, " features"]:
    """`psi(s)`: the features of a state, and whether it is terminal."""
    ended = environment.is_terminal(state)
    seen = environment.observe(state)
    return jnp.append(seen, ended.astype(seen.dtype))
