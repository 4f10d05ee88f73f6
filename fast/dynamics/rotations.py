"""The fixed rotation of eq:ASRWM: incommensurable angles in orthogonal planes."""

from typing import Literal

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Int

Rotation = Literal["planes", "haar", "none"]
Floats = npt.NDArray[np.float64]


def rotation_angles(planes: int) -> Floats:
    """`theta_j = 2 pi frac(sqrt(p_j))`, `p_j` the j-th prime.

    1 and the square roots of distinct primes are independent over the rationals, so the powers of
    the rotation are dense in the torus of the plane angles (Weyl), which is the only sense of
    "ergodic" for d > 2: the length of a vector in each plane never changes.
    """
    primes: list[int] = []
    candidate = 2
    while len(primes) < planes:
        if all(candidate % p for p in primes):
            primes.append(candidate)
        candidate += 1
    return 2 * np.pi * (np.sqrt(primes) % 1)


def haar_bases(count: int, d: int) -> Floats:
    """Orthogonal matrices drawn from the uniform (Haar) law with a fixed seed, (count, d, d).

    The QR decomposition of a Gaussian matrix is uniform once the signs are fixed by a positive
    diagonal of the triangle (Mezzadri, How to generate random matrices from the classical compact
    groups, 2007).
    """
    bases, triangles = np.linalg.qr(np.random.default_rng(0).normal(size=(count, d, d)))
    signed: Floats = bases * np.sign(np.diagonal(triangles, axis1=-2, axis2=-1))[:, None, :]
    return signed


def rotated(
    x: Float[Array, "*batch time d_head"],
    t: Int[Array, " time"],
    rotation: Rotation,
    heads: int,
    horizon: int,
    angle_scale: float = 1.0,
) -> Float[Array, "*batch time d_head"]:
    """`R^t x` in the basis of the planes (j, j + d/2): `B^t Q x`, as `U_t` acts on `Q' x`.

    Several heads, each with its own angles and basis, are the axis of `x` before the time; each row
    has its power, at most `horizon`. "planes" is `Q = I`, "haar" a fixed random basis, "none" is `R
    = I`.

    Args:
        x: vectors, for each head.
        t: the power of each row.
        rotation: the kind of R.
        heads: the number of heads.
        horizon: the largest number of steps.
        angle_scale: the factor of all angles.
    """
    if rotation == "none":
        return x
    d = x.shape[-1]
    axes = (heads,) if heads > 1 else ()
    if rotation == "haar":
        x = x @ jnp.asarray(haar_bases(heads, d).reshape(*axes, d, d), x.dtype).mT
    half = d // 2
    # Tabulated: XLA would fuse a cosine into every use of the result, and compute it there.
    theta = angle_scale * rotation_angles(heads * half).reshape(*axes, 1, half)
    angles = np.arange(horizon + 1)[:, None] * theta
    cos = jnp.asarray(np.cos(angles), x.dtype)[..., t, :]
    sin = jnp.asarray(np.sin(angles), x.dtype)[..., t, :]
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([cos * first - sin * second, sin * first + cos * second], -1)
