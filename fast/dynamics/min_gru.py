"""The minimal gated unit, whose gates read the state alone."""

from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Features
from fast.dynamics.head import Network
from fast.dynamics.recurrence import Projected, Vector, VectorRecurrence, check_size, input_weights
from fast.dynamics.wrappers import CellOptions


class MinGRU(VectorRecurrence):
    """A gated recurrent unit without products of the latent.

        z = sigmoid(A_z psi(s_t) + b_z),   h = A_h psi(s_t) + b_h
        W_t = W_{t-1} + z o (h - W_{t-1}),   y_t = W_t

    so `phi(s, W) = z(s) o (h(s) - W)`: a lift whose map from `W_{t-1}` to `W_t` is linear and
    diagonal. All matrix products come before the scan. (The minGRU of Feng et
    al., Were RNNs all we needed?, 2024, with biases and a learned `W_o`; not in the paper.)

    Attributes:
        inputs: `A psi` of z and h, shape (2d, features).
        bias: `b` of z and h, shape (2d,).
        start: `W_o`, shape (d,).
        output: d, which must be positive.
    """

    steps_at_once: ClassVar[int] = 8
    inputs: Float[Array, "rows features"]
    bias: Float[Array, " rows"]
    start: Float[Array, " d"]
    output: int = eqx.field(static=True)

    def __init__(self, features: int, size: int, *, key: PRNGKeyArray):
        check_size("MinGRU", size)
        self.inputs = input_weights(2, size, features, key=key)
        self.bias = jnp.zeros(2 * size)
        self.start = jnp.zeros(size)
        self.output = size

    def project(self, observation: Features) -> Projected:
        gate, candidate = jnp.split(observation @ self.inputs.T + self.bias, 2, axis=-1)
        return jnp.concatenate([jax.nn.sigmoid(gate), candidate], -1)

    def update(self, latent: Vector, projected: Projected) -> Vector:
        gate, candidate = jnp.split(projected, 2, axis=-1)
        return latent + gate * (candidate - latent)


@dataclass(frozen=True)
class MinGRUOptions(CellOptions):
    """A GRU whose gates read the state alone."""

    name: ClassVar[str] = "mingru"
    network: ClassVar[type[Network]] = MinGRU
