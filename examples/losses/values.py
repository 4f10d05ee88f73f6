"""Losses with soft values, energies on the way, or a stop at every state in place of flows."""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from examples.forward_looking import ForwardLooking
from examples.losses.graphs import BRANCH, GRAPHS, MEMORY, STOPPING, TREE, WAYS, with_potential
from examples.losses.judging import Case, Judged, Outcome
from examples.stop_balance import StopBalance
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import db_residuals
from fast.balance.steps import Steps
from fast.checking.instances import DIAMOND, EXIT, TRIANGLE, make_instance
from reference import History


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


COUNTED: dict[str, Outcome] = {TREE: "right", WAYS: "wrong", MEMORY: "wrong"}
POTENTIALS = {
    TREE: with_potential(BRANCH, {}),
    WAYS: with_potential(TRIANGLE, {}),
    MEMORY: with_potential(EXIT, {}, History()),
}
# The energies of the steps on a way sum to `log R` if only the last one has any.
AT_THE_END = {
    TREE: with_potential(BRANCH, {"o": 0, "a": 0}),
    WAYS: with_potential(TRIANGLE, {"o": 0, "a": 0}),
    MEMORY: with_potential(EXIT, {"o": 0, "a": 0, "b": 0, "c": 0}, History()),
}


@dataclass(frozen=True)
class Led(ForwardLooking):
    """The same with an energy of each step, here `phi(s')`, that a network has learned."""

    def residuals(self, steps: Steps) -> Any:
        flow = jnp.pad(jnp.where(steps.active, steps.log_flow, 0), ((0, 0), (0, 1)))
        energy = steps.context[:, 1:]
        gap = flow[:, :-1] + steps.log_p_f - steps.log_p_b - flow[:, 1:] - energy
        return jnp.where(steps.active, gap, 0)

    def estimate_log_z(self, steps: Steps, log_z: Any) -> Any:
        return steps.log_flow[0, 0]


JUDGED = (
    Judged(
        "soft Q-learning with p_B in the reward",
        "Tiapkin et al., Generative flow networks as entropy-regularized RL, 2024",
        "(Q(s, a) - log p_B(s|s') - V(s'))^2, V the soft maximum of Q",
        "right",
        SoftQ(),
    ),
    Judged(
        "Munchausen soft Q-learning",
        "Tiapkin et al., Generative flow networks as entropy-regularized RL, 2024",
        "(Q(s, a) - log p_B(s|s') - m log p_F(a|s) - V(s'))^2, entropy coefficient e",
        "right under a condition",
        SoftQ(1.5, 0.5),
        "e - m = 1",
        (Case(SoftQ(1.0, 0.5), make_instance("tree", BRANCH), "wrong", "e - m = 1/2"),),
    ),
    Judged(
        "soft RL without correction (PCL, SQL)",
        "Deleu et al., Discrete probabilistic inference as control, 2024",
        "the same without log p_B in the reward",
        "right under a condition",
        SoftQ(corrected=False),
        "trees; elsewhere the law is in proportion to R(x) times the number of ways to x",
        outcomes=COUNTED,
    ),
    Judged(
        "values of the uniform policy (RPE)",
        "He et al., Random policy evaluation uncovers policies of GFlowNets, 2025",
        "F(s) p_F(s'|s) = F(s'), F(s) the mean of R(x) times the product of numbers of children",
        "right under a condition",
        SoftQ(corrected=False),
        "trees, as the paper asks; elsewhere F(s') must be divided among the parents of s'",
        (Case(SoftQ(), GRAPHS[WAYS], "right", "divided among parents"),),
        outcomes=COUNTED,
    ),
    Judged(
        "FL-DB",
        "Pan et al., Better training with local credit and incomplete trajectories, 2023",
        "(log F~(s) + log p_F - log p_B - log F~(s') + phi(s) - phi(s'))^2, F~(x) = 1",
        "right under a condition",
        ForwardLooking(),
        "phi(x) = log R(x) at the ends, and phi is finite inside",
        (
            Case(
                ForwardLooking(),
                with_potential(TRIANGLE, {"y": math.log(6)}),
                "wrong",
                "phi(y) = log 6 for R(y) = 2",
            ),
        ),
        graphs=POTENTIALS,
    ),
    Judged(
        "LED-GFN",
        "Jang et al., Learning energy decompositions for partial inference, 2024",
        "(log F~(s) + log p_F - log p_B - log F~(s') - phi(s, s'))^2, F~(x) = 1",
        "right under a condition",
        Led(),
        "the learned energies sum to log R(x) on every trajectory, and not only on average",
        (
            Case(
                Led(),
                with_potential(TRIANGLE, {"o": 0, "a": math.log(2)}),
                "wrong",
                "one way to x has the sum log 2 for R(x) = 1",
            ),
        ),
        graphs=AT_THE_END,
    ),
    Judged(
        "modified detailed balance",
        "Deleu et al., Bayesian structure learning with generative flow networks, 2022",
        "(log R(s) + log p_F(s'|s) + log p_F(stop|s') - log R(s') - log p_B - log p_F(stop|s))^2",
        "right under a condition",
        StopBalance(),
        "every state can stop, in an end of its own",
        (
            Case(
                StopBalance(), make_instance("diamond", DIAMOND), "wrong", "only one state can stop"
            ),
        ),
        graphs=STOPPING,
    ),
)
