"""Recurrent cells as latent dynamics: the paper's recurrence, and gated ones (fig:gatedsa)."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Features
from fast.dynamics.head import Network
from fast.dynamics.recurrence import (
    AbstractRecurrence,
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
    structure in time, 1990). The paper writes rows; the weights here act on columns.
    (subsec:latent, where the left-hand side is printed `phi(s_t, W_t)`.)

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

    def unit(self, environment: AbstractEnvironment, *, key: PRNGKeyArray) -> RNN:
        features = feature_count(environment)
        return RNN(features, self.latent_size, activation=self.activation, key=key)


class GRU(VectorRecurrence):
    """A gated recurrent unit, the gate r applied after the product.

        r = sigmoid(A_r psi(s_t) + U_r W_{t-1} + b_r)
        z = sigmoid(A_z psi(s_t) + U_z W_{t-1} + b_z)
        n = tanh(A_n psi(s_t) + b_n + r o (U_n W_{t-1} + c))
        W_t = W_{t-1} + (1 - z) o (n - W_{t-1}),   y_t = W_t

    Cho et al. (Learning phrase representations, 2014) apply r before the product `U_n`, which then
    cannot be made with the others; this is the form of cuDNN and of `equinox.nn.GRUCell`, which
    takes one sample at a time and whose products with the input cannot be hoisted out of a scan.

    Attributes:
        inputs: `A psi` of r, z and n, shape (3d, features).
        recurrent: `U` of r, z and n, shape (3d, d).
        bias: `b` of r, z and n, shape (3d,).
        candidate_bias: `c`, shape (d,).
        start: `W_o`, shape (d,).
        output: d, which must be positive.
    """

    inputs: Float[Array, "rows features"]
    recurrent: Float[Array, "rows d"]
    bias: Float[Array, " rows"]
    candidate_bias: Float[Array, " d"]
    start: Float[Array, " d"]
    output: int = eqx.field(static=True)

    def __init__(self, features: int, size: int, *, key: PRNGKeyArray):
        check_size("GRU", size)
        input_key, recurrent_key = jax.random.split(key)
        self.inputs = input_weights(3, size, features, key=input_key)
        self.recurrent = recurrent_weights(3, size, key=recurrent_key)
        self.bias = jnp.zeros(3 * size)
        self.candidate_bias = jnp.zeros(size)
        self.start = jnp.zeros(size)
        self.output = size

    def project(self, observation: Features) -> Projected:
        return observation @ self.inputs.T + self.bias

    def update(self, latent: Vector, projected: Projected) -> Vector:
        reset_in, keep_in, new_in = jnp.split(projected, 3, axis=-1)
        reset_of, keep_of, new_of = jnp.split(latent @ self.recurrent.T, 3, axis=-1)
        reset, keep = jax.nn.sigmoid(reset_in + reset_of), jax.nn.sigmoid(keep_in + keep_of)
        new = jnp.tanh(new_in + reset * (new_of + self.candidate_bias))
        return latent + (1 - keep) * (new - latent)


@dataclass(frozen=True)
class GRUOptions(CellOptions):
    """A gated recurrent unit."""

    name: ClassVar[str] = "gru"
    network: ClassVar[type[Network]] = GRU


class LSTMLatent(NamedTuple):
    """`W_t = (h_t, c_t)`: the output and the cell."""

    h: Float[Array, "*batch d"]
    c: Float[Array, "*batch d"]


class LSTM(AbstractRecurrence[LSTMLatent]):
    """A long short-term memory with a forget gate.

        i, f, g, o = A psi(s_t) + U h_{t-1} + b
        c_t = sigmoid(f) o c_{t-1} + sigmoid(i) o tanh(g)
        h_t = sigmoid(o) o tanh(c_t),   y_t = h_t

    (Hochreiter and Schmidhuber, 1997; the forget gate of Gers et al., 2000, with bias one as of
    Jozefowicz et al., 2015.)

    Attributes:
        inputs: `A psi` of i, f, g and o, shape (4d, features).
        recurrent: `U`, shape (4d, d).
        bias: `b`, shape (4d,).
        start: `(h_o, c_o)`, each of shape (d,).
        output: d, which must be positive.
    """

    inputs: Float[Array, "rows features"]
    recurrent: Float[Array, "rows d"]
    bias: Float[Array, " rows"]
    start: LSTMLatent
    output: int = eqx.field(static=True)

    def __init__(self, features: int, size: int, *, key: PRNGKeyArray):
        check_size("LSTM", size)
        input_key, recurrent_key = jax.random.split(key)
        self.inputs = input_weights(4, size, features, key=input_key)
        self.recurrent = recurrent_weights(4, size, key=recurrent_key)
        # Remember at first: no gradient flows back through erased entries.
        self.bias = jnp.zeros(4 * size).at[size : 2 * size].set(1)
        self.start = LSTMLatent(jnp.zeros(size), jnp.zeros(size))
        self.output = size

    def initial(self, batch: tuple[int, ...] = ()) -> LSTMLatent:
        shape = (*batch, self.output)
        return LSTMLatent(*(jnp.broadcast_to(part, shape) for part in self.start))

    def project(self, observation: Features) -> Projected:
        return observation @ self.inputs.T + self.bias

    def update(self, latent: LSTMLatent, projected: Projected) -> LSTMLatent:
        i, f, g, o = jnp.split(projected + latent.h @ self.recurrent.T, 4, axis=-1)
        c = jax.nn.sigmoid(f) * latent.c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return LSTMLatent(jax.nn.sigmoid(o) * jnp.tanh(c), c)

    def visible(self, latent: LSTMLatent) -> Float[Array, "*batch d"]:
        return latent.h


@dataclass(frozen=True)
class LSTMOptions(CellOptions):
    """A long short-term memory."""

    name: ClassVar[str] = "lstm"
    network: ClassVar[type[Network]] = LSTM


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
