"""The linear recurrence of the paper's linear policies (eq:linear_rec)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from fast.dynamics.base import AbstractDynamics, DynamicsOptions, ReadOut, ReadOutsAlong
from fast.dynamics.head import Network
from fast.dynamics.markov import AbstractMarkovian
from fast.dynamics.recurrence import check_size
from fast.environments import AbstractEnvironment, feature_count, feature_norm
from reference.contract.errors import InputError


class Linear(AbstractDynamics[Float[Array, "*batch d"]]):
    """The linear dynamics of prop:lines; its read-outs are logits.

        W_t = b a_t^T,   a_t = a_{t-1} + (w . psi(s_t)) v,   y_t = W_t psi(s_t) = b (a_t . psi(s_t))

    with `psi` the features themselves. `s_o` is not added, so that `a_t = a_o + (w . c_t) v` with
    `c_t = psi(s_1) + ... + psi(s_t)`, and a known trajectory needs a single cumulative sum of
    numbers. The latent is `a_t`; with `v = 0` the policy is Markovian and linear.

    Attributes:
        a: `a_o`, shape (d,), d the number of features.
        w: `w_a`, shape (d,).
        v: `v_a`, shape (d,).
        b: one number per action, drawn normally and fixed: a constant, not a parameter.
        output: the length of b, `M + 1` on Lines.

    Raises:
        InputError: if the size is not positive, or is not the length of b.
    """

    needs_head: ClassVar[bool] = False
    a: Float[Array, " d"]
    w: Float[Array, " d"]
    v: Float[Array, " d"]
    b: tuple[float, ...] = eqx.field(static=True)
    output: int = eqx.field(static=True)

    def __init__(
        self,
        features: int,
        size: int,
        *,
        norm: Float[ArrayLike, ""] = 1.0,
        b: Sequence[float] | None = None,
        key: PRNGKeyArray,
    ):
        """Draws the parameters, and b with a fixed seed unless it is given.

        Where features are as long as `norm`, their typical length, the products with w are of order
        one, those with a and v a hundredth: an untrained policy is nearly uniform.
        """
        check_size("Linear", size)
        if b is None:
            b = np.random.default_rng(0).normal(size=size).tolist()
        if len(b) != size:
            raise InputError(f"Linear has size {size}, but b has {len(b)} entries: one per action")
        a, w, v = jax.random.normal(key, (3, features)) / norm
        self.a, self.w, self.v = 0.01 * a, w, 0.01 * v
        self.b = tuple(map(float, b))
        self.output = size

    def initial(self, batch: tuple[int, ...] = ()) -> Float[Array, "*batch d"]:
        return jnp.broadcast_to(self.a, (*batch, self.a.size))

    def advance(
        self, latent: Float[Array, "*batch d"], observation: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        return latent + (observation @ self.w)[..., None] * self.v

    def read(
        self, latent: Float[Array, "*batch d"], observation: Float[Array, "*batch d"]
    ) -> ReadOut:
        return self._logits((latent * observation).sum(-1))

    def unroll(self, observations: Float[Array, "*batch time d"]) -> ReadOutsAlong:
        steps = observations @ self.w
        along = jnp.cumsum(steps, axis=-1) - steps[..., :1]
        return self._logits(observations @ self.a + along * (observations @ self.v))

    def _logits(self, number: Float[Array, "*batch"]) -> ReadOut:
        return number[..., None] * jnp.asarray(self.b, number.dtype)


class LinearMarkov(AbstractMarkovian):
    """The Markovian twin of `Linear`, with `v_a = 0`: `y_t = b (a . psi(s_t))`.

    `b` has one number per action, drawn like that of `Linear` and fixed. Raises InputError if there
    are none.
    """

    needs_head: ClassVar[bool] = False
    a: Float[Array, " d"]
    b: tuple[float, ...] = eqx.field(static=True)
    output: int = eqx.field(static=True)

    def __init__(
        self, features: int, size: int, *, norm: Float[ArrayLike, ""] = 1.0, key: PRNGKeyArray
    ):
        twin = Linear(features, size, norm=norm, key=key)
        self.a, self.b, self.output = twin.a, twin.b, size

    def read(self, latent: tuple[()], observation: Float[Array, "*batch d"]) -> ReadOut:
        return (observation @ self.a)[..., None] * jnp.asarray(self.b, self.a.dtype)


@dataclass(frozen=True)
class LinearOptions(DynamicsOptions[Network]):
    """The linear recurrence (eq:linear_rec) of prop:lines, whose read-outs are the logits."""

    name: ClassVar[str] = "linear"
    network: ClassVar[type[Linear | LinearMarkov]] = Linear

    # Only a learned backward policy has hidden layers.
    has_width = False

    def build(
        self, environment: AbstractEnvironment, outputs: int, width: int, *, key: PRNGKeyArray
    ) -> Linear | LinearMarkov:
        """The recurrence; the width is not read."""
        features, norm = feature_count(environment), feature_norm(environment)
        return self.network(features, outputs, norm=norm, key=jax.random.split(key)[0])


@dataclass(frozen=True)
class LinearMarkovOptions(LinearOptions):
    """The linear policy without its memory (prop:lines)."""

    name: ClassVar[str] = "linear-markov"
    network: ClassVar[type[Linear | LinearMarkov]] = LinearMarkov

    is_markovian = True
