"""Environments: a pointed DAG (def:normalpointeddag) and its rewards as pure array code."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray
from typing_extensions import TypeVar

State = TypeVar("State", default=Any)

# Terminal states over which features are measured.
SAMPLES = 1024


class AbstractEnvironment(eqx.Module, Generic[State]):
    """A state graph written for one state; batch it with `jax.vmap`, step it in `lax.scan`.

    Parameters come from a problem of `reference.problems`; steps, masks and rewards are written
    again here, so that comparing the two means something (`fast.laws.enumeration`).

    Attributes:
        horizon: the largest number of steps of a trajectory, `T`.
        actions: the number of actions; `mask` says which are legal.
        parents: the number of backward actions; `parent_mask` says which are legal.
        is_graded: whether every trajectory has exactly `horizon` steps.
    """

    horizon: eqx.AbstractVar[int]
    actions: eqx.AbstractVar[int]
    parents: eqx.AbstractVar[int]
    is_graded: ClassVar[bool] = False

    @abstractmethod
    def initial(self) -> State:
        """The initial state `s_o`."""

    @abstractmethod
    def step(self, state: State, action: Int[Array, ""]) -> State:
        """The state after a legal action; a terminal state stays as it is."""

    @abstractmethod
    def backward_step(self, state: State, parent: Int[Array, ""]) -> State:
        """The parent reached by a legal backward action."""

    @abstractmethod
    def undo(self, state: State, action: Int[Array, ""]) -> Int[Array, ""]:
        """The backward action `b` that leads back from an action `a` that is legal in `s`.

        That is, `backward_step(step(s, a), b) = s`.
        """

    @abstractmethod
    def redo(self, state: State, parent: Int[Array, ""]) -> Int[Array, ""]:
        """The action `a` that leads forward again after a backward action `b` that is legal in `s`.

        That is, `step(backward_step(s, b), a) = s`.
        """

    @abstractmethod
    def mask(self, state: State) -> Bool[Array, " actions"]:
        """The legal actions, one per child; all True on terminal states (a soft-max needs one)."""

    @abstractmethod
    def parent_mask(self, state: State) -> Bool[Array, " parents"]:
        """The legal backward actions, one per parent; all False at `s_o`."""

    @abstractmethod
    def is_terminal(self, state: State) -> Bool[Array, ""]:
        """True if the state is in `X`."""

    @abstractmethod
    def random_terminal(self, key: PRNGKeyArray) -> State:
        """A terminal state, uniform on `X`."""

    @abstractmethod
    def observe(self, state: State) -> Float[Array, " features"]:
        """The features of a state, the input of the embedding `psi`."""

    @abstractmethod
    def log_reward(self, state: State) -> Float[Array, ""]:
        """`log R(x)` in nats; meaningless on a state that is not terminal."""

    @abstractmethod
    def encode(self, label: Any) -> State:
        """The state that stands for a node of the reference (host only, NumPy)."""

    def encode_batch(self, labels: Iterable[Any]) -> Any:
        """The batch of the states of all labels, as `encode` gives them."""
        return jax.tree.map(lambda *leaves: np.stack(leaves), *map(self.encode, labels))

    @abstractmethod
    def decode(self, state: State) -> Any:
        """The reference's label of a state (host only, NumPy): the inverse of `encode`."""


class AbstractSizedEnvironment(AbstractEnvironment[State]):
    """An environment whose sizes are static fields, set from those of a problem."""

    horizon: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    parents: int = eqx.field(static=True)


class AbstractPairedEnvironment(AbstractSizedEnvironment[State]):
    """A sized environment whose backward action `a` leads back from action `a`."""

    def undo(self, state: State, action: Int[Array, ""]) -> Int[Array, ""]:
        return action

    def redo(self, state: State, parent: Int[Array, ""]) -> Int[Array, ""]:
        return parent


# The environment class of each problem class, with the class method `from_problem`.
ENVIRONMENTS: dict[type, Any] = {}


def feature_count(environment: AbstractEnvironment) -> int:
    """The number of features of a state."""
    return int(jax.eval_shape(lambda: environment.observe(environment.initial())).shape[0])


def feature_norm(environment: AbstractEnvironment) -> Float[Array, ""]:
    """The typical length of the features of a state: `sqrt(E |observe(x)|^2)`, x uniform on X.

    It is `sqrt(k)` where k features are one and the others zero. The mean is over 1,024 terminal
    states, the same each time: trajectories of an untrained policy would not do, as those on a grid
    stop near its corner. It is 1 if the features of all these states are zero.
    """
    final = jax.vmap(environment.random_terminal)(jax.random.split(jax.random.key(0), SAMPLES))
    square = jnp.mean(jnp.sum(jax.vmap(environment.observe)(final) ** 2, -1))
    return jnp.sqrt(jnp.where(square > 0, square, 1.0))
