"""The fixed rotation of eq:ASRWM: incommensurable angles in orthogonal planes."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def rotation_angles(planes: int) -> Floats:
    """`theta_j = 2 pi frac(sqrt(p_j))`, `p_j` the j-th prime.

    1 and the square roots of distinct primes are independent over the rationals, so the powers of
    the rotation are dense in the torus of the plane angles (Weyl), which is what "ergodic" can
    mean for d > 2: the length of a vector in each plane never changes.
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
    gaussian = np.random.default_rng(0).normal(size=(count, d, d))
    bases, triangles = np.linalg.qr(gaussian)
    signed: Floats = bases * np.sign(np.diagonal(triangles, axis1=-2, axis2=-1))[:, None, :]
    return signed
