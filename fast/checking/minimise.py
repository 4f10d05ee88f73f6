"""A local minimum of a function of a policy's numbers, by a quasi-Newton method. Imports no JAX."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Vector = npt.NDArray[np.float64]

# The value and the slope where a function overflows: worse than all others, and flat.
OVERFLOW = 1e30


@dataclass(frozen=True)
class Minimiser:
    """L-BFGS over the free entries of a vector.

    Attributes:
        graded: the value at a vector, and the gradient.
        free: the places of the entries that may move.
        options: those of SciPy's L-BFGS-B: the most steps, and when a search has ended.
        scale: units of the search in one of each free entry; entries whose slopes are small, as a
            row that is hardly visited, are measured in smaller units.
        largest: the largest size of a free entry.
    """

    graded: Callable[[Vector], tuple[float, Vector]]
    free: npt.NDArray[np.int64]
    options: Any
    scale: Vector | float = 1.0
    largest: float = np.inf

    def minimum(self, start: Vector) -> Vector:
        """A local minimum near a vector."""
        if not len(self.free):
            return start

        def moved(scaled: Vector) -> Vector:
            vector = start.copy()
            vector[self.free] = scaled / self.scale
            return vector

        def objective(scaled: Vector) -> tuple[float, Vector]:
            value, gradient = self.graded(moved(scaled))
            if not np.isfinite(value) or not np.isfinite(gradient).all():
                return OVERFLOW, np.zeros(len(scaled))
            return value, gradient[self.free] / self.scale

        most: Any = self.largest * np.broadcast_to(self.scale, len(self.free))
        bounds: Any = None if np.isinf(self.largest) else np.stack([-most, most], 1)
        ended: Any = minimize(
            objective,
            start[self.free] * self.scale,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=self.options,
        )
        return moved(ended.x)
