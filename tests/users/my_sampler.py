"""An example of a user's own module: `mypy --strict` passes on it, and it trains."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

import pdai
from fast.balance.loss import RatioLoss
from fast.dynamics.recurrence import AbstractRecurrence, input_weights


class Words:
    """Words of two letters, built from the left; the reward is a float."""

    initial = ""

    def children(self, state: str) -> Iterable[str]:
        """With a letter more."""
        return [state + letter for letter in "ab"] if len(state) < 2 else []

    def reward(self, terminal: str) -> float:
        """More for each b."""
        return 0.5 + 1.25 * terminal.count("b")


@dataclass(frozen=True)
class Spread(RatioLoss):
    """The mean absolute deviation of the ratios."""

    weight: float = 1.0
    """Its factor."""

    def of_ratios(self, ratios: Float[Array, " batch"], key: PRNGKeyArray) -> Float[Array, ""]:
        """The deviation on a batch, in nats."""
        return self.weight * jnp.abs(ratios - ratios.mean()).mean()


class Leaky(AbstractRecurrence[Float[Array, "*batch d"]]):
    """`W_t = W_{t-1} / 2 + tanh(A psi(s_t))`."""

    inputs: Float[Array, "d features"]
    output: int = eqx.field(static=True)

    def __init__(self, features: int, size: int, *, key: PRNGKeyArray):
        self.inputs = input_weights(1, size, features, key=key)
        self.output = size

    def initial(self, batch: tuple[int, ...] = ()) -> Float[Array, "*batch d"]:
        """Zeros."""
        return jnp.zeros((*batch, self.output), self.inputs.dtype)

    def project(self, observation: Float[Array, "*batch features"]) -> Float[Array, "*batch d"]:
        """The features that the unit reads."""
        return observation @ self.inputs.T

    def update(
        self, latent: Float[Array, "*batch d"], projected: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        """The next latent."""
        return latent / 2 + jax.nn.tanh(projected)

    def visible(self, latent: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """All of it."""
        return latent


def main(folder: Path) -> float:
    """Trains, and gives the exact distance of the learned law to the target."""
    run = pdai.train(Words(), dynamics=Leaky, loss=Spread(0.5), steps=20, batch=16, out=folder)
    law = run.law()
    return float(abs(law.learned - law.target).sum() / 2)
