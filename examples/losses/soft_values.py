"""Soft values: soft Q-learning with and without the reward `log p_B`; a fixed policy."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from examples.losses.balance import RIGHT
from examples.losses.graphs import BRANCH, GRAPHS, MEMORY, TREE, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import db_residuals
from fast.balance.steps import Steps
from fast.checking.instances import make_instance


@dataclass(frozen=True)
class SoftQ(TrajectoryLoss):
    """`(V(s) + e log p_F - r - m log p_F - V(s'))^2`, `V(x) = log R(x)` and `r = log p_B`.

    With `Q = V + e log p_F` this is soft Q-learning, V the soft maximum of Q.
    """

    needs_flow = True
    entropy: float = 1.0
    munchausen: float = 0.0
    corrected: bool = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        gap = db_residuals(steps) + (self.entropy - self.munchausen - 1) * steps.log_p_f
        if not self.corrected:
            gap = gap + steps.log_p_b
        return jnp.mean(jnp.sum(gap**2, 1))


COUNTED = {TREE: "right", WAYS: "wrong", MEMORY: "wrong"}

JUDGED = (
    Judged(
        "soft Q-learning with p_B in the reward",
        "Tiapkin et al., Generative flow networks as entropy-regularized RL, 2024",
        "(Q(s, a) - log p_B(s|s') - V(s'))^2, V the soft maximum of Q",
        "right",
        SoftQ(),
        RIGHT,
    ),
    Judged(
        "Munchausen soft Q-learning",
        "Tiapkin et al., Generative flow networks as entropy-regularized RL, 2024",
        "(Q(s, a) - log p_B(s|s') - m log p_F(a|s) - V(s'))^2, entropy coefficient e",
        "right under a condition",
        SoftQ(1.5, 0.5),
        RIGHT,
        "e - m = 1",
        (Case(SoftQ(1.0, 0.5), make_instance("tree", BRANCH), "wrong", "e - m = 1/2"),),
    ),
    Judged(
        "soft RL without correction (PCL, SQL)",
        "Deleu et al., Discrete probabilistic inference as control, 2024",
        "the same without log p_B in the reward",
        "right under a condition",
        SoftQ(corrected=False),
        COUNTED,
        "trees; elsewhere the law is in proportion to R(x) times the number of ways to x",
    ),
    Judged(
        "values of the uniform policy (RPE)",
        "He et al., Random policy evaluation uncovers policies of GFlowNets, 2025",
        "F(s) p_F(s'|s) = F(s'), F(s) the mean of R(x) times the product of numbers of children",
        "right under a condition",
        SoftQ(corrected=False),
        COUNTED,
        "trees, as the paper asks; elsewhere F(s') must be divided among the parents of s'",
        (Case(SoftQ(), GRAPHS[WAYS], "right", "divided among parents"),),
    ),
)
