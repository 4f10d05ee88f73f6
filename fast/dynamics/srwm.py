"""The self-referential weight matrix with a rotation (eq:ASRWM), without d x d products."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray

from fast.dynamics.base import AbstractDynamics
from fast.dynamics.fast_weights import delta_rule
from fast.dynamics.rotations import haar_bases, rotation_angles
from reference.errors import InputError, check_choice

Rotation = Literal["planes", "haar", "none"]
Link = Literal["elu", "softmax", "identity"]
WriteKey = Literal["q", "k"]
Erase = Literal["before", "after"]


class Writes(NamedTuple):
    """`U_t = sum_j u_j (x) w_j`, kept as its terms; the first is `W_o = a_o b_o^T`.

    Several heads are the last of the batch axes.

    Attributes:
        u: the columns `u_j`, at row j = 0, ..., t; the rest is zero.
        w: the write vectors `R^j zeta(q_j)`, likewise.
        t: the step, the same for the whole batch.
    """

    u: Float[Array, "*batch steps d_head"]
    w: Float[Array, "*batch steps d_head"]
    t: Int[Array, ""]


class Matrix(NamedTuple):
    """`U_t`, kept as a matrix; several heads are the last of the batch axes.

    Attributes:
        transposed: `U_t'`, so that summing over the axis that is not the last applies it.
        t: the step, the same for the whole batch.
    """

    transposed: Float[Array, "*batch d_head d_head"]
    t: Int[Array, ""]


SRWMLatent = Writes | Matrix

# Applying the terms costs 2 t d numbers and the matrix d^2, but more per number. Measured with
# d = 32 and a batch of 128, the matrix is the slower at 32 steps and the faster at 64.
DENSE_FROM = 1.5


class SRWM(AbstractDynamics[SRWMLatent]):
    """The modified self-referential weight matrix of the paper (eq:ASRWM).

        q, k, v, beta = W psi(s_t) + b
        W_t = W_{t-1} R + sigmoid(beta) (v - W_{t-1} zeta(k)) (x) zeta(q)
        y_t = W_t psi(s_t),   W_o = a_o b_o^T

    with `psi` a linear embedding of the features. At `s_o` the matrix is `W_o`. The gates come from
    the slow weights `W` alone, so this is a delta rule with a rotated memory.

    Substituting `W_t = U_t R^t` turns the rotation of a matrix into rotations of vectors,

        U_t = U_{t-1} + u_t (x) R^t zeta(q),   u_t = sigmoid(beta) (v - U_{t-1} R^{t-1} zeta(k)),

    and along a known trajectory the `u_t` solve one unit lower-triangular system (`delta_rule`), so
    that `unroll` needs neither a scan nor any d x d matrix. `W_o` is the write of step 0.

    Attributes:
        embedding: `psi`, shape (d, features).
        slow: the slow weights `W`, shape (3d + heads, d).
        bias: `b`, shape (3d + heads,).
        a: `a_o`, shape (d,); that of each head one after the other, like all vectors.
        b: `b_o`, shape (d,).
        output: d.
        horizon: the largest number of steps of a trajectory.
        heads: h; the latent is then h matrices of (d/h) x (d/h), each with its rate, and works on
            its part of q, k, v and psi (Irie et al., A modern self-referential weight matrix,
            2022). h independent matrices of e x e are `d = h e`; every h has the same slow weights
            up to the h rates, so that comparing several is about the memory alone.
        rotation: "planes" is R of incommensurable angles in the coordinate planes (j, j + d/2),
            "haar" the same in a fixed, uniformly drawn basis, R = Q' B Q (with the link
            "identity" a change of parameters), and "none" is R = I, the paper's ablation.
        link: `zeta`: "elu" is `(ELU(x) + 1) / sum(ELU(x) + 1)` (eq:sigmasa), "softmax" the
            example given with eq:ASRWM, "identity" the paper's ablation. All act per head.
        write_key: the vector of the outer product: "q" as printed, or "k", the key that is read,
            as in the delta rule.
        erase: whether the old value is read "before" the rotation, `W_{t-1} zeta(k)` as printed, or
            "after" it, `W_{t-1} R zeta(k)`. Only "after" with write_key "k" is stable, as then
            `W_t = W_{t-1} R (I - sigmoid(beta) zeta(k) zeta(k)') + ...` never lengthens `W`; as
            printed, `W` can grow exponentially.
        normalize: whether `y_t` is divided by its root mean square; not in the paper. A gain would
            be absorbed by the head's first layer.

    On the 16 x 16 grid, one-hot (study:srwm: 2,000 steps, three seeds; a TV of 0.25, 0.5 and 0.75
    is one, two and three of four modes missed), the printed form has a TV of 0.50 to 0.75 if 5 % of
    the first actions are random, and of 0.30 to 0.69 if half are. None of these brings all modes: a
    tenth of W_o, double slow weights, the stable read (write_key "k", erase "after"), the
    normalised read-out, three hidden layers. A learning rate of 0.01 does in one seed of three, if
    half of the actions are random. With a skip connection, and half random, all modes are found
    (TV about 0.02); with it and three hidden layers in the head also with 5 % (0.016 to 0.035),
    near what a GRU of that kind has. So what the printed head lacks is the state beside `y_t`.

    Raises:
        InputError: if the size does not divide into heads, or a head's into planes, or the horizon
            or a scale is not positive, or an option is none of its choices.
    """

    embedding: Float[Array, "d features"]
    slow: Float[Array, "rows d"]
    bias: Float[Array, " rows"]
    a: Float[Array, " d"]
    b: Float[Array, " d"]
    output: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    heads: int = eqx.field(static=True)
    rotation: Rotation = eqx.field(static=True)
    link: Link = eqx.field(static=True)
    write_key: WriteKey = eqx.field(static=True)
    erase: Erase = eqx.field(static=True)
    normalize: bool = eqx.field(static=True)

    def __init__(
        self,
        features: int,
        size: int,
        horizon: int,
        *,
        norm: Float[ArrayLike, ""] = 1.0,
        heads: int = 1,
        rotation: Rotation = "planes",
        link: Link = "elu",
        write_key: WriteKey = "q",
        erase: Erase = "before",
        normalize: bool = False,
        latent_scale: float = 1.0,
        slow_scale: float = 1.0,
        key: PRNGKeyArray,
    ):
        """Draws the weights.

        The entries of `psi` are of order one where the features are as long as `norm`, their
        typical length: whether one feature is active, or many, or they are large integers. The
        entries of `W_o` have standard deviation `latent_scale / sqrt(d / h)`, those of the slow
        weights `slow_scale / sqrt(d)`; the biases are zero, so that `sigmoid(beta)` is about 1/2.
        """
        check_choice("SRWM", "rotation", rotation, Rotation)
        check_choice("SRWM", "link", link, Link)
        check_choice("SRWM", "write_key", write_key, WriteKey)
        check_choice("SRWM", "erase", erase, Erase)
        unit = heads if rotation == "none" else 2 * heads
        if heads < 1 or size < unit or size % unit:
            raise InputError(
                f"SRWM has d = {size} and {heads} heads, but with rotation {rotation!r} d must be "
                f"a multiple of {unit}: a head rotates pairs of coordinates"
            )
        if horizon < 1:
            raise InputError(f"SRWM has horizon {horizon}, but trajectories have a step at least")
        for name, scale in (("latent_scale", latent_scale), ("slow_scale", slow_scale)):
            if not 0 < scale < float("inf"):
                raise InputError(f"SRWM has {name} = {scale}, but it must be positive and finite")
        keys = jax.random.split(key, 4)
        self.embedding = jax.random.normal(keys[0], (size, features)) / norm
        self.slow = jax.random.normal(keys[1], (3 * size + heads, size)) * slow_scale / size**0.5
        self.bias = jnp.zeros(3 * size + heads)
        factor = (size // heads) ** -0.25 * latent_scale**0.5
        self.a = jax.random.normal(keys[2], (size,)) * factor
        self.b = jax.random.normal(keys[3], (size,)) * factor
        self.output = size
        self.horizon = horizon
        self.heads = heads
        self.rotation = rotation
        self.link = link
        self.write_key = write_key
        self.erase = erase
        self.normalize = normalize

    def initial(self, batch: tuple[int, ...] = ()) -> SRWMLatent:
        u, w = self._first_write()
        d = u.shape[-1]
        if self.horizon > DENSE_FROM * d:
            return Matrix(jnp.broadcast_to(w.mT * u, (*batch, *self._axes, d, d)), jnp.int32(0))
        rows = (*batch, *self._axes, self.horizon + 1, d)
        first = (jnp.arange(self.horizon + 1) == 0)[:, None]
        return Writes(
            jnp.broadcast_to(jnp.where(first, u, 0), rows),
            jnp.broadcast_to(jnp.where(first, w, 0), rows),
            jnp.int32(0),
        )

    def advance(
        self, latent: SRWMLatent, observation: Float[Array, "*batch features"]
    ) -> SRWMLatent:
        t = latent.t + 1
        _, key, write, value = self._vectors(observation[..., None, :], t[None])
        u = value - _apply(latent, key)
        if isinstance(latent, Matrix):
            return Matrix(latent.transposed + write.mT * u, t)
        return Writes(
            lax.dynamic_update_slice_in_dim(latent.u, u, t, axis=-2),
            lax.dynamic_update_slice_in_dim(latent.w, write, t, axis=-2),
            t,
        )

    def read(
        self, latent: SRWMLatent, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch output"]:
        psi = (observation @ self.embedding.T)[..., None, :]
        y = _apply(latent, self._rotate(self._per_head(psi), latent.t[None]))
        return self._read_out(y)[..., 0, :]

    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time output"]:
        time = observations.shape[-2]
        if time > self.horizon + 1:
            raise InputError(
                f"SRWM has horizon {self.horizon}, but the trajectory has {time} states: at most "
                f"{self.horizon + 1} are possible"
            )
        t = jnp.arange(time)
        psi, key, write, value = self._vectors(observations, t)
        u, w = self._first_write()
        first = (t == 0)[:, None]
        y = delta_rule(
            key,
            jnp.where(first, w, write),
            self._rotate(self._per_head(psi), t),
            jnp.where(first, u, value),
        )
        return self._read_out(y)

    @property
    def _axes(self) -> tuple[int, ...]:
        """The axis of heads; a single head has none, which is an eighth of the time of `unroll`."""
        return (self.heads,) if self.heads > 1 else ()

    def _vectors(
        self, observations: Float[Array, "*batch time features"], t: Int[Array, " time"]
    ) -> tuple[Array, Array, Array, Array]:
        """`psi`, and per head what is read and written in `U`: keys, write vectors and values."""
        psi = observations @ self.embedding.T
        d = psi.shape[-1]
        q, k, v, beta = map(
            self._per_head, jnp.split(psi @ self.slow.T + self.bias, (d, 2 * d, 3 * d), axis=-1)
        )
        rate = jax.nn.sigmoid(beta)
        erased = self._zeta(k)
        written = self._zeta(q) if self.write_key == "q" else erased
        key = self._rotate(erased, t - 1 if self.erase == "before" else t)
        return psi, rate * key, self._rotate(written, t), rate * v

    def _first_write(
        self,
    ) -> tuple[Float[Array, "*heads 1 d_head"], Float[Array, "*heads 1 d_head"]]:
        """`W_o` as `u_0 (x) w_0`."""
        a, b = self._per_head(self.a[None]), self._per_head(self.b[None])
        return a, self._rotate(b, jnp.arange(1))

    def _zeta(self, x: Float[Array, "*batch d_head"]) -> Float[Array, "*batch d_head"]:
        if self.link == "identity":
            return x
        if self.link == "softmax":
            return jax.nn.softmax(x)
        # ELU(x) + 1; taken literally, it cancels for negative x, in the end to 0/0.
        positive = jnp.where(x >= 0, x + 1, jnp.exp(jnp.minimum(x, 0)))
        return positive / positive.sum(-1, keepdims=True)

    def _rotate(
        self, x: Float[Array, "*batch time d_head"], t: Int[Array, " time"]
    ) -> Float[Array, "*batch time d_head"]:
        """`R^t x` in the basis of the planes (j, j + d/2): `B^t Q x`, as `U_t` acts on `Q' x`."""
        if self.rotation == "none":
            return x
        if self.rotation == "haar":
            d = x.shape[-1]
            bases = haar_bases(self.heads, d).reshape(*self._axes, d, d)
            x = x @ jnp.asarray(bases, x.dtype).mT
        half = x.shape[-1] // 2
        # Tabulated: XLA would fuse a cosine into every use of the result, and compute it there.
        theta = rotation_angles(self.heads * half).reshape(*self._axes, 1, half)
        angles = np.arange(self.horizon + 1)[:, None] * theta
        cos = jnp.asarray(np.cos(angles), x.dtype)[..., t, :]
        sin = jnp.asarray(np.sin(angles), x.dtype)[..., t, :]
        first, second = x[..., :half], x[..., half:]
        return jnp.concatenate([cos * first - sin * second, sin * first + cos * second], -1)

    def _per_head(self, x: Float[Array, "*batch time n"]) -> Array:
        """Splits the last axis into heads, and puts them before the time."""
        if self.heads == 1:
            return x
        return jnp.swapaxes(x.reshape(*x.shape[:-1], self.heads, -1), -2, -3)

    def _read_out(
        self, y: Float[Array, "*batch time d_head"]
    ) -> Float[Array, "*batch time output"]:
        if self.heads > 1:
            y = jnp.swapaxes(y, -2, -3)
            y = y.reshape(*y.shape[:-2], self.output)
        if self.normalize:
            # y_t may vanish, and its gradient must not be infinite there.
            y = y * jax.lax.rsqrt(jnp.mean(y**2, -1, keepdims=True) + 1e-6)
        return y


def _apply(latent: SRWMLatent, x: Float[Array, "*batch 1 d_head"]) -> Array:
    """`U_t x`."""
    if isinstance(latent, Matrix):
        return (latent.transposed * x.mT).sum(-2, keepdims=True)
    return (x @ latent.w.mT) @ latent.u
