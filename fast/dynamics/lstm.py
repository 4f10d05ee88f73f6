"""The long short-term memory as latent dynamics (fig:gatedsa)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Features
from fast.dynamics.head import Network
from fast.dynamics.recurrence import (
    AbstractRecurrence,
    Projected,
    check_size,
    input_weights,
    recurrent_weights,
)
from fast.dynamics.wrappers import CellOptions


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
