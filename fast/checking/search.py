"""The search for liars: policies without loss whose terminal law is not the target."""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from fast.checking.landscape import Landscape
from fast.laws.enumeration import Floats

# A loss this little above that of the balanced policy is none. Batches have a probability of 1/500
# at least: of a mean of squares each residual is then below 3e-5 nats, and so is the distance.
NO_LOSS = 1e-12

# Below the balanced policy by this much, at rows as good as deterministic, a loss has no end.
FALLEN, DETERMINISTIC = 30.0, 100.0

# A total variation above this is a lie.
LIE = 1e-3

# The share of starts that are peaked, and how far from uniform the logits are, in nats.
PEAKED_SHARE, PEAKED, PLAIN = 0.4, 4.0, 1.0


class Minimum(NamedTuple):
    """Where a search ended.

    Attributes:
        vector: the policy, with its flows and log Z.
        loss: how much above that of the balanced policy.
        distance: the total variation between its terminal law and the target.
    """

    vector: Floats
    loss: float
    distance: float

    @property
    def has_no_loss(self) -> bool:
        """Whether the loss cannot tell it from the balanced policy."""
        return self.loss <= NO_LOSS

    @property
    def has_no_end(self) -> bool:
        """Whether the loss went on falling, as logits went on growing."""
        return self.loss < -FALLEN and float(np.abs(self.vector).max()) > DETERMINISTIC

    @property
    def is_lie(self) -> bool:
        """Whether it has no loss and the wrong law."""
        return self.has_no_loss and self.distance > LIE


def search(landscape: Landscape, starts: int, seed: int) -> list[Minimum]:
    """Minimises a loss from many random policies, some of them nearly deterministic.

    Args:
        landscape: the loss.
        starts: how many.
        seed: of the starts.
    """
    rng = np.random.default_rng(seed)
    size = len(landscape.balanced)
    found = []
    for number in range(starts):
        scale = PEAKED if number < PEAKED_SHARE * starts else PLAIN
        vector = landscape.minimum(scale * rng.normal(size=size), np.arange(size))
        loss = landscape.graded(vector)[0] - landscape.floor
        found.append(Minimum(vector, loss, landscape.distance(vector)))
    return found


def clearest(landscape: Landscape, minima: list[Minimum]) -> Minimum | None:
    """The lie that is told best: far from the target, with no probability near zero; or None."""

    def clarity(minimum: Minimum) -> float:
        least = 1.0
        for row in landscape.rows:
            least = min(least, float(softmax(minimum.vector[row.places]).min()))
        return minimum.distance * least

    return max((each for each in minima if each.is_lie), key=clarity, default=None)
