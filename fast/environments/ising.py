"""The Ising model as array code."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fast.encoding import Encoding
from fast.environments.assignments import AbstractAssignmentEnvironment, Assignment
from fast.environments.base import ENVIRONMENTS
from reference.problems import Ising
from reference.problems.ising import Spins

DOWN, UP = 1, 2


class IsingEnvironment(AbstractAssignmentEnvironment):
    """Spins set one by one: value 1 is the spin -1, value 2 the spin +1.

    Attributes:
        fields: `h`.
        direction: `v`; the couplings are `J = v v' - diag(v v')`.
    """

    fields: Float[Array, " spins"]
    direction: Float[Array, " spins"]

    @classmethod
    def from_problem(cls, problem: Ising, encoding: Encoding = "one-hot") -> "IsingEnvironment":
        """The environment with the parameters of `problem`."""
        spins = len(problem.fields)
        return cls(
            fields=jnp.array([float(h) for h in problem.fields], jnp.float32),
            direction=jnp.array([float(v) for v in problem.direction], jnp.float32),
            places=spins,
            choices=2,
            order=problem.order,
            encoding=encoding,
            horizon=spins,
            actions=2 * spins if problem.order == "any" else 2,
            parents=spins if problem.order == "any" else 1,
        )

    def numbers(self, state: Assignment) -> Float[Array, " features"]:
        up, down = state.values == UP, state.values == DOWN
        return up.astype(jnp.float32) - down

    def log_reward(self, state: Assignment) -> Float[Array, ""]:
        x, v = self.numbers(state), self.direction
        return jnp.sum(self.fields * x) + (jnp.sum(v * x) ** 2 - jnp.sum(v * v)) / 2

    def encode(self, label: Spins) -> Assignment:
        values = [{-1: DOWN, 0: 0, 1: UP}[spin] for spin in label.values]
        return Assignment(np.array(values, np.int32))  # type: ignore[arg-type]

    def decode(self, state: Assignment) -> Spins:
        return Spins(tuple((0, -1, 1)[int(value)] for value in state.values))


ENVIRONMENTS[Ising] = IsingEnvironment
