"""The state of training between two steps."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Int

from fast.policies.policy import Sampler
from fast.sampling.replay import Buffer


class TrainState(NamedTuple):
    """The input of the next step; every leaf has a leading axis, one entry per seed.

    The buffer has terminal states for replay, and `step` is the number of steps done.
    """

    sampler: Sampler
    optimizer: Any
    buffer: Buffer | None
    step: Int[Array, " seeds"]

    def policy(self, row: int) -> Any:
        """The policy of one of the seeds, by its place."""
        # With NumPy, and copied: JAX would compile a program for every operation and shape, and the
        # next steps write where these arrays lie.
        return jax.tree.map(
            lambda leaf: jax.device_put(np.array(np.asarray(leaf)[row])), self.sampler.policy
        )
