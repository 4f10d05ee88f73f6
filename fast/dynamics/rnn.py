"""The single-layer recurrent network of the paper's recurrent policy networks."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Features
from fast.dynamics.recurrence import (
    Projected,
    Vector,
    VectorRecurrence,
    check_size,
    input_weights,
    recurrent_weights,
)
from fast.dynamics.wrappers import CellOptions
from fast.environments import AbstractEnvironment, feature_count

Activation = Literal["identity", "tanh"]


class RNN(VectorRecurrence):
    """The plain recurrence, by default with the identity activation as in the paper.

        phi(s_t, W_{t-1}) = psi(s_t) W_s + W_{t-1} (W_h - I) + b_h
        W_t = W_{t-1} + phi(s_t, W_{t-1}) = psi(s_t) W_s + W_{t-1} W_h + b_h,   y_t = W_t

    and, with the activation "tanh", `W_t = tanh(psi(s_t) W_s + W_{t-1} W_h + b_h)` (Elman, Finding
    structure in time, 1990). The paper writes rows; the weights here act on columns. (Section
    "Choosing a latent dynamical system"; the paper prints `phi(s_t, W_t)` on the left.)

    Attributes:
        inputs: `psi W_s`, transposed, shape (d, features).
        recurrent: `W_h`, transposed, shape (d, d).
        bias: `b_h`, shape (d,).
        start: `W_o`, shape (d,).
        output: d, which must be positive.
        activation: "identity" or "tanh".
    """

    inputs: Float[Array, "d features"]
    recurrent: Float[Array, "d d"]
    bias: Float[Array, " d"]
    start: Float[Array, " d"]
    output: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(
        self, features: int, size: int, *, activation: Activation = "identity", key: PRNGKeyArray
    ):
        check_size("RNN", size)
        input_key, recurrent_key = jax.random.split(key)
        self.inputs = input_weights(1, size, features, key=input_key)
        self.recurrent = recurrent_weights(1, size, key=recurrent_key)
        self.bias = jnp.zeros(size)
        self.start = jnp.zeros(size)
        self.output = size
        self.activation = activation

    def project(self, observation: Features) -> Projected:
        return observation @ self.inputs.T + self.bias

    def update(self, latent: Vector, projected: Projected) -> Vector:
        total = projected + latent @ self.recurrent.T
        return jnp.tanh(total) if self.activation == "tanh" else total


@dataclass(frozen=True)
class RNNOptions(CellOptions):
    """The plain recurrence."""

    name: ClassVar[str] = "rnn"

    activation: Activation = "identity"
    """The paper's, which is linear, or Elman's."""

    def unit(self, environment: AbstractEnvironment[Any], *, key: PRNGKeyArray) -> RNN:
        features = feature_count(environment)
        return RNN(features, self.latent_size, activation=self.activation, key=key)
