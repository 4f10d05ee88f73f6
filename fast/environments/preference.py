"""Preference learning as array code."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fast.encoding import Encoding
from fast.environments.assignments import AbstractAssignmentEnvironment, Assignment
from fast.environments.base import ENVIRONMENTS
from reference.problems import Preference
from reference.problems.preference import Weights


class PreferenceEnvironment(AbstractAssignmentEnvironment):
    """Components chosen one by one: value k is the weight `k - 1 - m`, with the bound m.

    Natural features are the weights, 0 where open, and then indicators of the chosen components.
    The differences `x_k` have one row per comparison.
    """

    differences: Float[Array, "comparisons components"]
    bound: int = eqx.field(static=True)

    @classmethod
    def from_problem(
        cls, problem: Preference, encoding: Encoding = "one-hot"
    ) -> "PreferenceEnvironment":
        """The environment with the parameters of `problem`."""
        return cls(
            differences=jnp.array(problem.differences, jnp.float32),
            bound=problem.bound,
            encoding=encoding,
            **cls.sizes(problem.dimension, 2 * problem.bound + 1, problem.order),
        )

    def numbers(self, state: Assignment) -> Float[Array, " features"]:
        return jnp.concatenate([self._weights(state), state.values > 0]).astype(jnp.float32)

    def log_reward(self, state: Assignment) -> Float[Array, ""]:
        # The scores are integers below 100, exact in any precision of matrix products.
        return jnp.sum(jax.nn.log_sigmoid(self.differences @ self._weights(state)))

    def encode(self, label: Weights) -> Assignment:
        values = [0 if w is None else w + self.bound + 1 for w in label.components]
        return Assignment(np.array(values, np.int32))  # type: ignore[arg-type]

    def decode(self, state: Assignment) -> Weights:
        values = [int(value) for value in state.values]
        return Weights(tuple(k - 1 - self.bound if k else None for k in values))

    def _weights(self, state: Assignment) -> Float[Array, " components"]:
        weights = state.values - 1 - self.bound
        return jnp.where(state.values > 0, weights, 0).astype(jnp.float32)


ENVIRONMENTS[Preference] = PreferenceEnvironment
