"""The self-referential weight matrix with a rotation (eq:ASRWM), without d x d products."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.dynamics.base import AbstractDynamics, Features, FeaturesAlong, ReadOut, ReadOutsAlong
from fast.dynamics.fast_weights import (
    LatentMatrix,
    Link,
    Matrix,
    applied,
    delta_rule,
    linked,
    one_term,
    with_term,
)
from fast.dynamics.residual import BlockOptions, Norm, check_heads, join_heads, split_heads
from fast.dynamics.rotations import Rotation, rotated
from reference.contract.errors import InputError, require

WriteKey = Literal["q", "k"]
Erase = Literal["before", "after"]
Start = Literal["rank-one", "full"]

# Applying the terms costs 2 t d numbers and the matrix d^2, but more per number. Measured with
# d = 32 and a batch of 128, the matrix is the slower at 32 steps and the faster at 64.
DENSE_FROM = 1.5


class SRWM(AbstractDynamics[LatentMatrix]):
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
        a: `a_o`, shape (d,); that of each head one after the other, like all vectors. Or, with the
            start "full", `W_o` of each head itself, shape (heads, d/h, d/h).
        b: `b_o`, shape (d,); None if `a` is the whole matrix.
        output: d.
        horizon: the largest number of steps of a trajectory.
        heads: h; the latent is then h matrices of (d/h) x (d/h), each with its rate, and works on
            its part of q, k, v and psi (Irie et al., A modern self-referential weight matrix,
            2022). Every h has the same slow weights up to the h rates.
        rotation: "planes" is R of incommensurable angles in the coordinate planes (j, j + d/2),
            "haar" the same in a fixed, uniformly drawn basis, R = Q' B Q (with the link
            "identity" a change of parameters), and "none" is R = I, the paper's ablation.
        erase: "before" if the old value is read before the rotation, `W_{t-1} zeta(k)` as printed,
            or "after" it, `W_{t-1} R zeta(k)`. Only "after" with write_key "k" is stable, as then
            `W_t = W_{t-1} R (I - sigmoid(beta) zeta(k) zeta(k)') + ...` never lengthens `W`; as
            printed, `W` can grow exponentially.
        angle_scale, link, start, write_key, normalize: as in `SRWMOptions`; `zeta` is per head.

    Raises:
        InputError: if the size does not divide into heads, or a head's into planes, or the horizon
            is not positive, or `SRWMOptions` refuses an option.
    """

    embedding: Float[Array, "d features"]
    slow: Float[Array, "rows d"]
    bias: Float[Array, " rows"]
    a: Float[Array, " d"] | Float[Array, "heads d_head d_head"]
    b: Float[Array, " d"] | None
    output: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    heads: int = eqx.field(static=True)
    rotation: Rotation = eqx.field(static=True)
    angle_scale: float = eqx.field(static=True)
    link: Link = eqx.field(static=True)
    start: Start = eqx.field(static=True)
    write_key: WriteKey = eqx.field(static=True)
    erase: Erase = eqx.field(static=True)
    normalize: bool = eqx.field(static=True)

    def __init__(
        self,
        features: int,
        size: int,
        horizon: int,
        *,
        norm: Norm = 1.0,
        key: PRNGKeyArray,
        **options: Any,
    ):
        """Draws the weights.

        The entries of `psi` are of order one where the features are as long as `norm`, their
        typical length, be they one-hot, dense or large integers. The entries of `W_o` have standard
        deviation `latent_scale / sqrt(d / h)`, those of the slow weights `slow_scale / sqrt(d)`;
        the biases are zero, so that `sigmoid(beta)` is about 1/2.
        """
        chosen = SRWMOptions(latent_size=size, **options)
        check_heads("SRWM", size, chosen.heads, 1 if chosen.rotation == "none" else 2)
        if horizon < 1:
            raise InputError(f"SRWM has horizon {horizon}, but trajectories have a step at least")
        heads, d_head = chosen.heads, size // chosen.heads
        keys = jax.random.split(key, 4)
        self.embedding = jax.random.normal(keys[0], (size, features)) / norm
        slow = jax.random.normal(keys[1], (3 * size + heads, size))
        self.slow = slow * chosen.slow_scale / size**0.5
        self.bias = jnp.zeros(3 * size + heads)
        deviation = chosen.latent_scale / d_head**0.5
        if chosen.start == "full":
            self.a = jax.random.normal(keys[2], (heads, d_head, d_head)) * deviation
            self.b = None
        else:
            self.a = jax.random.normal(keys[2], (size,)) * deviation**0.5
            self.b = jax.random.normal(keys[3], (size,)) * deviation**0.5
        self.output, self.horizon, self.heads = size, horizon, heads
        self.rotation, self.angle_scale = chosen.rotation, chosen.angle_scale
        self.link, self.normalize = chosen.link, chosen.normalize
        self.start, self.write_key, self.erase = chosen.start, chosen.write_key, chosen.erase

    def initial(self, batch: tuple[int, ...] = ()) -> LatentMatrix:
        first: LatentMatrix
        if self.b is None:
            first = Matrix(self._whole_start().mT, jnp.int32(0))
        elif self.horizon > DENSE_FROM * (self.output // self.heads):
            u, w = self._first_write()
            first = Matrix(w.mT * u, jnp.int32(0))
        else:
            first = one_term(*self._first_write(), self.horizon)
        broadcast: LatentMatrix = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (*batch, *x.shape)) if x.ndim else x, first
        )
        return broadcast

    def advance(self, latent: LatentMatrix, observation: Features) -> LatentMatrix:
        t = latent.t + 1
        _, key, write, value = self._vectors(observation[..., None, :], t[None])
        return with_term(latent, value - applied(latent, key), write)

    def read(self, latent: LatentMatrix, observation: Features) -> ReadOut:
        psi = (observation @ self.embedding.T)[..., None, :]
        y = applied(latent, self._rotate(self._per_head(psi), latent.t[None]))
        return self._read_out(y)[..., 0, :]

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        time = observations.shape[-2]
        if time > self.horizon + 1:
            raise InputError(
                f"SRWM has horizon {self.horizon}, but the trajectory has {time} states: at most "
                f"{self.horizon + 1} are possible"
            )
        t = jnp.arange(time)
        psi, key, write, value = self._vectors(observations, t)
        read, first = self._rotate(self._per_head(psi), t), (t == 0)[:, None]
        if self.b is None:
            # The sum starts from zero; the read-out of the first matrix is added.
            start = self._whole_start().mT
            value = jnp.where(first, 0, value - key @ start)
            return self._read_out(delta_rule(key, write, read, value) + read @ start)
        u, w = self._first_write()
        y = delta_rule(key, jnp.where(first, w, write), read, jnp.where(first, u, value))
        return self._read_out(y)

    def _vectors(
        self, observations: FeaturesAlong, t: Int[Array, " time"]
    ) -> tuple[Array, Array, Array, Array]:
        """`psi`, and per head the keys, write vectors and values of `U`."""
        psi = observations @ self.embedding.T
        d = psi.shape[-1]
        q, k, v, beta = map(
            self._per_head, jnp.split(psi @ self.slow.T + self.bias, (d, 2 * d, 3 * d), axis=-1)
        )
        rate = jax.nn.sigmoid(beta)
        erased = linked(k, self.link)
        written = linked(q, self.link) if self.write_key == "q" else erased
        key = self._rotate(erased, t - 1 if self.erase == "before" else t)
        return psi, rate * key, self._rotate(written, t), rate * v

    def _first_write(
        self,
    ) -> tuple[Float[Array, "*heads 1 d_head"], Float[Array, "*heads 1 d_head"]]:
        """`W_o` as `u_0 (x) w_0`."""
        assert self.b is not None
        a, b = self._per_head(self.a[None]), self._per_head(self.b[None])
        return a, self._rotate(b, jnp.arange(1))

    def _whole_start(self) -> Float[Array, "*heads d_head d_head"]:
        """`W_o` of full rank, its rows turned into the basis of the planes."""
        rows = self.a if self.heads > 1 else self.a[0]
        return self._rotate(rows, jnp.zeros(rows.shape[-1], jnp.int32))

    def _rotate(
        self, x: Float[Array, "*batch time d_head"], t: Int[Array, " time"]
    ) -> Float[Array, "*batch time d_head"]:
        """`R^t x`, in the basis of the planes."""
        return rotated(x, t, self.rotation, self.heads, self.horizon, self.angle_scale)

    def _per_head(self, x: Float[Array, "*batch time n"]) -> Array:
        return split_heads(x, self.heads)

    def _read_out(self, y: Array) -> ReadOutsAlong:
        y = join_heads(y, self.heads)
        if self.normalize:
            # y_t may vanish, and its gradient must not be infinite there.
            y = y * jax.lax.rsqrt(jnp.mean(y**2, -1, keepdims=True) + 1e-6)
        return y


@dataclass(frozen=True)
class SRWMOptions(BlockOptions):
    """The paper's fast-weight matrix (eq:ASRWM): gates from slow weights, and a rotation."""

    name: ClassVar[str] = "srwm"

    rotation: Rotation = "planes"
    """R: incommensurable rotations of d/2 planes, the same in a random basis, or the identity."""
    angle_scale: float = 1.0
    """Factor of all angles of R, which are up to a full turn per step at 1."""
    link: Link = "elu"
    """zeta: the normalised ELU, the soft-max, or the identity."""
    start: Start = "rank-one"
    """W_o: of rank one, as printed, or of full rank."""
    write_key: WriteKey = "q"
    """Write at q, as printed, or at k, as in the delta rule."""
    erase: Erase = "before"
    """Erase before the rotation, as printed, or after it: stable with --write-key k."""
    normalize: bool = False
    """Divide y_t by its root mean square; not in the paper."""
    latent_scale: float = 1.0
    """Scale of W_o."""
    slow_scale: float = 1.0
    """Scale of the slow weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("angle_scale", "latent_scale", "slow_scale"):
            require(self, name, 0 < getattr(self, name) < float("inf"), "be positive and finite")

    def alone(self, features: int, norm: Norm, horizon: int, *, key: PRNGKeyArray) -> SRWM:
        options = dict(vars(self))
        size = options.pop("latent_size")
        return SRWM(features, size, horizon, norm=norm, key=key, **options)
