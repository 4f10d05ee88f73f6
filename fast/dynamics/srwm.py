"""The self-referential weight matrix with a rotation (eq:ASRWM), without d x d products."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.dynamics.base import AbstractDynamics
from reference.errors import InputError

Rotation = Literal["planes", "none"]
Link = Literal["elu", "identity"]
WriteKey = Literal["q", "k"]


class SRWMLatent(NamedTuple):
    """`W_t R^{-t} = a_o b_o^T + sum_j u_j (x) R^j w_j`, kept as its rank-one updates.

    Attributes:
        u: the columns `u_j` written so far, at row j = 1, ..., t; the rest is zero.
        w: the rotated write vectors `R^j w_j`, likewise.
        t: the step, the same for the whole batch.
    """

    u: Float[Array, "*batch horizon d"]
    w: Float[Array, "*batch horizon d"]
    t: Int[Array, ""]


class SRWM(AbstractDynamics[SRWMLatent]):
    """The modified self-referential weight matrix of the paper (eq:ASRWM).

        q, k, v, beta = W psi(s_t) + b
        W_t = W_{t-1} R + sigmoid(beta) (v - W_{t-1} zeta(k)) (x) zeta(q)
        y_t = W_t psi(s_t),   W_o = a_o b_o^T

    with `psi` a linear embedding of the features, `zeta` the normalised ELU (eq:sigmasa) and `R` a
    rotation by incommensurable angles in d/2 coordinate planes. At `s_o` the matrix is `W_o`.

    Substituting `W_t = U_t R^t` turns the rotation of a matrix into rotations of vectors,

        U_t = U_{t-1} + u_t (x) R^t zeta(q),   u_t = sigmoid(beta) (v - U_{t-1} R^{t-1} zeta(k)),

    and along a known trajectory the `u_t` solve one unit lower-triangular system, so that `unroll`
    needs neither a scan nor any d x d matrix.

    Attributes:
        embedding: `psi`, shape (d, features).
        slow: the slow weights `W`, shape (3d + 1, d).
        bias: `b`, shape (3d + 1,).
        a: `a_o`, shape (d,).
        b: `b_o`, shape (d,).
        horizon: the largest number of steps of a trajectory.
        rotation: "planes", or "none" for `R = I` (the paper's ablation).
        link: `zeta`, "elu" or "identity" (the paper's ablation).
        write_key: the vector of the outer product: "q" as printed, or "k", the key that is read,
            as in the delta rule.
        skip: whether the read-out is `(y_t, psi(s_t))` instead of `y_t`; not in the paper.
    """

    embedding: Float[Array, "d features"]
    slow: Float[Array, "rows d"]
    bias: Float[Array, " rows"]
    a: Float[Array, " d"]
    b: Float[Array, " d"]
    output: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    rotation: Rotation = eqx.field(static=True)
    link: Link = eqx.field(static=True)
    write_key: WriteKey = eqx.field(static=True)
    skip: bool = eqx.field(static=True)

    def __init__(
        self,
        features: int,
        d: int,
        horizon: int,
        *,
        rotation: Rotation = "planes",
        link: Link = "elu",
        write_key: WriteKey = "q",
        skip: bool = False,
        key: PRNGKeyArray,
    ):
        if d < 2 or d % 2:
            raise InputError(f"SRWM has d = {d}, but d must be even: R rotates d/2 planes")
        keys = jax.random.split(key, 4)
        # A one-hot observation selects columns of the embedding: unit scale, whatever the width.
        self.embedding = jax.random.normal(keys[0], (d, features))
        self.slow = jax.random.normal(keys[1], (3 * d + 1, d)) / d**0.5
        self.bias = jnp.zeros(3 * d + 1)
        self.a = jax.random.normal(keys[2], (d,)) * d**-0.25
        self.b = jax.random.normal(keys[3], (d,)) * d**-0.25
        self.output = 2 * d if skip else d
        self.horizon = horizon
        self.rotation = rotation
        self.link = link
        self.write_key = write_key
        self.skip = skip

    def initial(self, batch: tuple[int, ...] = ()) -> SRWMLatent:
        empty = jnp.zeros((*batch, self.horizon, self.a.size), self.slow.dtype)
        return SRWMLatent(empty, empty, jnp.int32(0))

    def advance(
        self, latent: SRWMLatent, observation: Float[Array, "*batch features"]
    ) -> SRWMLatent:
        _, write, read, v, rate = self._project(observation)
        t = latent.t + 1
        u = rate[..., None] * (v - self._apply(latent, self._rotate(read, t - 1)))
        return SRWMLatent(
            lax.dynamic_update_index_in_dim(latent.u, u, t, axis=-2),
            lax.dynamic_update_index_in_dim(latent.w, self._rotate(write, t), t, axis=-2),
            t,
        )

    def read(
        self, latent: SRWMLatent, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch output"]:
        psi = observation @ self.embedding.T
        return self._with_skip(self._apply(latent, self._rotate(psi, latent.t)), psi)

    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time output"]:
        psi, write, read, v, rate = self._project(observations)
        time = observations.shape[-2]
        t = jnp.arange(time)
        # No update at s_o, where R^{t-1} wraps around and does not matter. Rows are steps; B holds
        # R^t zeta(q_t), A holds R^{t-1} zeta(k_t), Y holds R^t psi(s_t).
        rate = jnp.where(t == 0, 0.0, rate)[..., None]
        B, A, Y = self._rotate(write, t), self._rotate(read, t - 1), self._rotate(psi, t)
        earlier = jnp.tril(jnp.ones((time, time), B.dtype), -1)
        power = -rate * (A @ B.mT) * earlier
        u = rate * (v - (A @ self.b)[..., None] * self.a)
        # (I - P)^{-1} = (I + P)(I + P^2)(I + P^4) ... for the nilpotent P.
        covered = 1
        while covered < time:
            u = u + power @ u
            power = power @ power
            covered *= 2
        up_to_now = earlier + jnp.eye(time, dtype=B.dtype)
        y = (Y @ self.b)[..., None] * self.a + ((Y @ B.mT) * up_to_now) @ u
        return self._with_skip(y, psi)

    def _project(
        self, observation: Float[Array, "*batch features"]
    ) -> tuple[Array, Array, Array, Array, Array]:
        """`psi`, the written and the read vector after the link, `v`, and `sigmoid(beta)`."""
        d = self.a.size
        psi = observation @ self.embedding.T
        projected = psi @ self.slow.T + self.bias
        q, k, v = (projected[..., i * d : (i + 1) * d] for i in range(3))
        read = self._link(k)
        write = self._link(q) if self.write_key == "q" else read
        return psi, write, read, v, jax.nn.sigmoid(projected[..., 3 * d])

    def _link(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        if self.link == "identity":
            return x
        positive = jax.nn.elu(x) + 1
        return positive / positive.sum(-1, keepdims=True)

    def _rotate(self, x: Float[Array, "*batch d"], t: Int[Array, "*times"]) -> Array:
        """`R^t x`: plane j is spanned by the coordinates j and j + d/2."""
        if self.rotation == "none":
            return x
        half = self.a.size // 2
        # Tabulated: XLA would fuse a cosine into every use of the result, and compute it there.
        angles = np.arange(self.horizon + 1)[:, None] * rotation_angles(half)
        cos = jnp.asarray(np.cos(angles), x.dtype)[t]
        sin = jnp.asarray(np.sin(angles), x.dtype)[t]
        first, second = x[..., :half], x[..., half:]
        return jnp.concatenate([cos * first - sin * second, sin * first + cos * second], -1)

    def _with_skip(self, y: Float[Array, "*batch d"], psi: Float[Array, "*batch d"]) -> Array:
        return jnp.concatenate([y, psi], -1) if self.skip else y

    def _apply(self, latent: SRWMLatent, x: Float[Array, "*batch d"]) -> Array:
        """`W_t R^{-t} x`."""
        weights = jnp.einsum("...td,...d->...t", latent.w, x)
        return (x @ self.b)[..., None] * self.a + jnp.einsum("...td,...t->...d", latent.u, weights)


def rotation_angles(planes: int) -> npt.NDArray[np.float64]:
    """`theta_j = 2 pi frac(sqrt(p_j))`, `p_j` the j-th prime.

    1 and the square roots of distinct primes are independent over the rationals, so the rotation
    is ergodic on the torus of the plane phases (Weyl), which is what "ergodic" can mean for d > 2.
    """
    primes: list[int] = []
    candidate = 2
    while len(primes) < planes:
        if all(candidate % p for p in primes):
            primes.append(candidate)
        candidate += 1
    return 2 * np.pi * (np.sqrt(primes) % 1)
