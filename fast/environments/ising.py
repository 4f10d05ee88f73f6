"""Ising models as array code."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fast.encoding import Encoding
from fast.environments.assignments import AbstractAssignmentEnvironment, Assignment
from fast.environments.base import ENVIRONMENTS
from reference.problems import Ising, Torus
from reference.problems.ising import Spins

DOWN, UP = 1, 2


class AbstractSpinEnvironment(AbstractAssignmentEnvironment):
    """Spins set one by one: value 1 is the spin -1, value 2 the spin +1."""

    def numbers(self, state: Assignment) -> Float[Array, " features"]:
        up, down = state.values == UP, state.values == DOWN
        return up.astype(jnp.float32) - down

    def encode(self, label: Spins) -> Assignment:
        values = [{-1: DOWN, 0: 0, 1: UP}[spin] for spin in label.values]
        return Assignment(np.array(values, np.int32))  # type: ignore[arg-type]

    def decode(self, state: Assignment) -> Spins:
        return Spins(tuple((0, -1, 1)[int(value)] for value in state.values))


class IsingEnvironment(AbstractSpinEnvironment):
    """Fields `h` and couplings of rank one, `J = v v' - diag(v v')` for the direction `v`."""

    fields: Float[Array, " spins"]
    direction: Float[Array, " spins"]

    @classmethod
    def from_problem(cls, problem: Ising, encoding: Encoding = "one-hot") -> "IsingEnvironment":
        """The environment with the parameters of `problem`."""
        return cls(
            fields=jnp.array([float(h) for h in problem.fields], jnp.float32),
            direction=jnp.array([float(v) for v in problem.direction], jnp.float32),
            encoding=encoding,
            **cls.sizes(problem.spins, 2, problem.order),
        )

    def log_reward(self, state: Assignment) -> Float[Array, ""]:
        x, v = self.numbers(state), self.direction
        return jnp.sum(self.fields * x) + (jnp.sum(v * x) ** 2 - jnp.sum(v * v)) / 2


class TorusEnvironment(AbstractSpinEnvironment):
    """A square lattice on a torus, with the coupling `K`."""

    coupling: Float[Array, ""]
    rows: int = eqx.field(static=True)

    @classmethod
    def from_problem(cls, problem: Torus, encoding: Encoding = "one-hot") -> "TorusEnvironment":
        """The environment with the parameters of `problem`."""
        return cls(
            coupling=jnp.float32(problem.coupling),
            rows=problem.rows,
            encoding=encoding,
            **cls.sizes(problem.spins, 2, problem.order),
        )

    def log_reward(self, state: Assignment) -> Float[Array, ""]:
        x = self.numbers(state).reshape(self.rows, -1)
        return self.coupling * jnp.sum(x * (jnp.roll(x, 1, 0) + jnp.roll(x, 1, 1)))


ENVIRONMENTS[Ising] = IsingEnvironment
ENVIRONMENTS[Torus] = TorusEnvironment
