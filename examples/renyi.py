"""A loss of one's own: the Renyi gap of `f(tau) = log p_F / (p_B R)`, zero iff `f` is constant."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.loss import RatioLoss


@dataclass(frozen=True)
class Renyi(RatioLoss):
    """`(1/a) log E exp(a f) - E f`, at least 0 by Jensen's inequality."""

    order: float = 0.5
    """a; as it goes to 0, the gap over a goes to half the variance of f."""

    def of_ratios(self, ratios: Float[Array, " batch"], key: PRNGKeyArray) -> Float[Array, ""]:
        """The gap on a batch, in nats."""
        mean = jax.nn.logsumexp(self.order * ratios) - jnp.log(len(ratios))
        return mean / self.order - ratios.mean()
