"""Set generation as array code."""

import math
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.environments.base import ENVIRONMENTS, AbstractPairedEnvironment
from reference.problems import RewardForm, Sets
from reference.problems.sets import Items


class SetState(NamedTuple):
    """A set, as its indicator vector."""

    chosen: Bool[Array, " items"]


class SetEnvironment(AbstractPairedEnvironment[SetState]):
    """Subsets of a fixed size. Action i adds item i, backward action i takes it out again.

    The reward is the product or the sum of the items' weights.
    """

    is_graded = True

    log_weights: Float[Array, " items"]
    size: int = eqx.field(static=True)
    form: RewardForm = eqx.field(static=True)

    @classmethod
    def from_problem(cls, problem: Sets) -> "SetEnvironment":
        """The environment with the parameters of `problem`."""
        items = len(problem.weights)
        log_weights = [math.log(w.numerator) - math.log(w.denominator) for w in problem.weights]
        return cls(
            log_weights=jnp.array(log_weights, jnp.float32),
            size=problem.size,
            form=problem.form,
            horizon=problem.size,
            actions=items,
            parents=items,
        )

    def initial(self) -> SetState:
        return SetState(jnp.zeros(self.actions, bool))

    def step(self, state: SetState, action: Int[Array, ""]) -> SetState:
        added = (jnp.arange(self.actions) == action) & ~self.is_terminal(state)
        return SetState(state.chosen | added)

    def backward_step(self, state: SetState, parent: Int[Array, ""]) -> SetState:
        return SetState(state.chosen & (jnp.arange(self.parents) != parent))

    def mask(self, state: SetState) -> Bool[Array, " actions"]:
        return ~state.chosen | self.is_terminal(state)

    def parent_mask(self, state: SetState) -> Bool[Array, " parents"]:
        return state.chosen

    def is_terminal(self, state: SetState) -> Bool[Array, ""]:
        return state.chosen.sum() == self.size

    def random_terminal(self, key: PRNGKeyArray) -> SetState:
        return SetState(jax.random.permutation(key, self.actions) < self.size)

    def observe(self, state: SetState) -> Float[Array, " features"]:
        return state.chosen.astype(jnp.float32)

    def log_reward(self, state: SetState) -> Float[Array, ""]:
        if self.form == "sum":
            return jax.nn.logsumexp(self.log_weights, where=state.chosen)
        return jnp.sum(self.log_weights * state.chosen)

    def encode(self, label: Items) -> SetState:
        chosen = np.zeros(self.actions, bool)
        chosen[list(label.members)] = True
        return SetState(chosen)  # type: ignore[arg-type]

    def encode_batch(self, labels: Iterable[Items]) -> SetState:
        """The same for many at once."""
        members = [label.members for label in labels]
        chosen = np.zeros((len(members), self.actions), bool)
        rows = np.repeat(np.arange(len(members)), [len(each) for each in members])
        chosen[rows, np.fromiter(chain.from_iterable(members), int)] = True
        return SetState(chosen)  # type: ignore[arg-type]

    def decode(self, state: SetState) -> Items:
        return Items(tuple(np.flatnonzero(state.chosen).tolist()))


ENVIRONMENTS[Sets] = SetEnvironment
