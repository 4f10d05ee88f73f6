"""`Z` estimated in each batch."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from examples.losses.balance import RIGHT
from examples.losses.graphs import GRAPHS, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import RatioLoss


@dataclass(frozen=True)
class BatchZ(RatioLoss):
    """Trajectory balance with `Z` the mean of `R p_B / p_F` in groups of a batch."""

    group: int = 2

    def of_ratios(self, ratios: Any, key: Any) -> Any:
        groups = ratios[: len(ratios) // self.group * self.group].reshape(-1, self.group)
        log_z = jax.nn.logsumexp(-groups, 1, keepdims=True) - jnp.log(self.group)
        return jnp.mean((groups + log_z) ** 2)


JUDGED = (
    Judged(
        "Z of the batch (GFlowRL)",
        "2607.13394; as read",
        "(log Z(batch) + log p_F - log p_B - log R)^2, Z(batch) the mean of R p_B / p_F",
        "right under a condition",
        BatchZ(),
        RIGHT,
        "groups of two or more; the zero does not depend on their size, a minimum above zero does",
        (Case(BatchZ(1), GRAPHS[WAYS], "wrong", "groups of one"),),
    ),
)
