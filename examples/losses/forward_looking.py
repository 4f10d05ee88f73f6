"""Forward-looking balance: an energy on the way (FL-DB), also a learned one (LED)."""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from examples.forward_looking import ForwardLooking
from examples.losses.balance import RIGHT
from examples.losses.graphs import BRANCH, MEMORY, TREE, WAYS, with_potential
from examples.losses.judging import Case, Judged
from fast.balance.steps import Steps
from fast.checking.instances import EXIT, TRIANGLE
from reference import History

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
        "FL-DB",
        "Pan et al., Better training with local credit and incomplete trajectories, 2023",
        "(log F~(s) + log p_F - log p_B - log F~(s') + phi(s) - phi(s'))^2, F~(x) = 1",
        "right under a condition",
        ForwardLooking(),
        RIGHT,
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
        RIGHT,
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
)
