"""Samples and laws of terminal states, as users see them. Imports no JAX."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# All samples are in memory before the first is shown.
MAX_SAMPLES = 10_000_000


class Samples(NamedTuple):
    """Sampled terminal states by their labels, with `log R(x)`, in nats.

    `log_p_f` and `log_p_b` are `log p_F(tau)` and `log p_B(tau | x)` of the trajectories to them.
    """

    states: list[Any]
    log_reward: Floats
    log_p_f: Floats
    log_p_b: Floats


class Law(NamedTuple):
    """A learned distribution `p_T(x)` by label, one row per seed, with its target `R(x) / Z`."""

    labels: tuple[Any, ...]
    learned: Floats
    target: Floats
