"""The law that the target gives the latent, checked. Imports no JAX: a command line reads it."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference.errors import InputError

Floats = npt.NDArray[np.float64]


def mean_vector(mean: Sequence[float], size: int) -> Floats:
    """`mu` as an array; zeros if it is empty.

    Raises:
        InputError: if it does not have that size, or is not finite.
    """
    if not mean:
        return np.zeros(size)
    if len(mean) != size or not all(map(math.isfinite, mean)):
        raise InputError(
            f"mu is {tuple(mean)}, but must be {size} finite numbers, one per latent coordinate"
        )
    return np.array(mean, np.float64)


def covariance_factor(entries: Sequence[float], size: int) -> Floats:
    """The lower triangular `L` with `L L^T = Lambda`; the identity if `entries` is empty.

    Args:
        entries: `Lambda` row by row, or its diagonal alone.
        size: its number of rows.

    Raises:
        InputError: if it has another number of entries, or is not symmetric positive definite.
    """
    if not entries:
        return np.eye(size)
    if len(entries) not in (size, size**2):
        raise InputError(
            f"Lambda has {len(entries)} entries, but must have {size} (its diagonal) or {size**2} "
            "(row by row), as the latent has that many coordinates"
        )
    values = np.array(entries, np.float64)
    matrix = np.diag(values) if len(entries) == size else values.reshape(size, size)
    if not np.isfinite(matrix).all() or not np.array_equal(matrix, matrix.T):
        raise InputError(f"Lambda is {matrix.tolist()}, but must be finite and symmetric")
    try:
        factor: Floats = np.linalg.cholesky(matrix).astype(np.float64)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise InputError(
            f"Lambda is not positive definite, its smallest eigenvalue being {smallest:.3g}, so "
            "that the latent would have no density: add a positive number to its diagonal"
        ) from None
    return factor
