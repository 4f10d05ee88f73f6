"""The search for spurious minima: policies without loss whose terminal law is not the target."""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from fast.checking.landscape import ENDED, Landscape
from fast.laws.enumeration import Floats

# A loss counts as zero if it exceeds the balanced policy's by no more than this. Batches have a
# probability of 1/500 at least: each residual in a mean of squares is then below 3e-5 nats, and so
# is the distance.
NO_LOSS = 1e-12

# A loss is unbounded if it is this far below the balanced one, at nearly deterministic rows.
FALLEN, DETERMINISTIC = 30.0, 100.0

# The total variation from the target above which a minimum without loss is spurious.
SPURIOUS = 1e-3

# A search without a gradient is stuck above this loss. Below, losses may be flat: fourth powers of
# 0.03 nats.
STUCK = 1e-6

# The share of peaked starts, and the scales of peaked and plain logits, in nats.
PEAKED_SHARE, PEAKED, PLAIN = 0.4, 4.0, 1.0


class Minimum(NamedTuple):
    """The end of a search: a policy, with its flows and log Z, and the TV of its law to the target.

    The loss is that above the balanced policy's, and the slope the largest entry of its gradient.
    """

    vector: Floats
    loss: float
    slope: float
    distance: float

    @property
    def has_no_loss(self) -> bool:
        """True if the loss is that of the balanced policy."""
        return self.loss <= NO_LOSS

    @property
    def has_no_end(self) -> bool:
        """True if the loss kept falling as logits kept growing."""
        return self.loss < -FALLEN and float(np.abs(self.vector).max()) > DETERMINISTIC

    @property
    def is_spurious(self) -> bool:
        """True if it has no loss and a wrong terminal law."""
        return self.has_no_loss and self.distance > SPURIOUS

    @property
    def is_stuck(self) -> bool:
        """True if it has a loss, no gradient, and a wrong terminal law."""
        return self.loss > STUCK and self.slope <= ENDED and self.distance > SPURIOUS


def search(landscape: Landscape, starts: int, seed: int) -> list[Minimum]:
    """Minimises a loss from many random policies, some of them nearly deterministic.

    Args:
        landscape: the loss on a small lift.
        starts: the number of searches.
        seed: the seed of their starts.
    """
    rng = np.random.default_rng(seed)
    size = len(landscape.balanced)
    minima = []
    for number in range(starts):
        scale = PEAKED if number < PEAKED_SHARE * starts else PLAIN
        vector = landscape.minimum(scale * rng.normal(size=size), np.arange(size))
        loss, gradient = landscape.graded(vector)
        slope = float(np.abs(gradient).max())
        minima.append(Minimum(vector, loss - landscape.floor, slope, landscape.distance(vector)))
    return minima


def clearest(landscape: Landscape, minima: list[Minimum]) -> Minimum | None:
    """The clearest spurious minimum: far from the target, no probability near zero; or None."""

    def clarity(minimum: Minimum) -> float:
        shares = (float(softmax(minimum.vector[row.places]).min()) for row in landscape.rows)
        return minimum.distance * min(shares, default=1.0)

    return max((each for each in minima if each.is_spurious), key=clarity, default=None)
