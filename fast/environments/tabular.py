"""Any problem that can be enumerated, as an environment made of tables."""

import dataclasses
import hashlib
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.environments.base import AbstractSizedEnvironment
from reference.contract.errors import InputError, TooLargeError
from reference.contract.user_code import Asked, Of, number_or_infinite, truth_as_number
from reference.dag import PointedDAG
from reference.fields.field import log_float
from reference.problems import Problem, enumerate_dag, enumerate_rewards
from reference.problems.base import MAX_NODES

S = TypeVar("S", bound=Hashable)

# 400 MB for each table of integers.
MAX_ENTRIES = 100_000_000

LARGEST = float(np.finfo(np.float32).max)


class NodeState(NamedTuple):
    """A node of the enumerated DAG, by its number."""

    node: Int[Array, ""]


class TabularEnvironment(AbstractSizedEnvironment[NodeState]):
    """A problem of your own, without array code: its enumerated DAG as tables.

    Action i leads to the i-th child that the problem lists, backward action j to the j-th parent in
    the order of nodes. This environment is derived from the reference, so that its agreement with
    it is no evidence.

    Attributes:
        children: the node that each action leads to; the node itself where there is no child.
        legal: which actions are legal; all on terminal nodes.
        parent_nodes: the node that each backward action leads to; the node itself where there is no
            parent.
        parent_legal: which backward actions are legal.
        undone: the backward action that undoes each action.
        redone: the action that each backward action undoes.
        log_rewards: `log R` in nats; 0 on nodes that are not terminal.
        features: the features of each node, or `None` for the one-hot vector of its number.
        dag: the enumerated DAG, which gives the labels.
    """

    children: Int[Array, "nodes actions"]
    legal: Bool[Array, "nodes actions"]
    parent_nodes: Int[Array, "nodes parents"]
    parent_legal: Bool[Array, "nodes parents"]
    undone: Int[Array, "nodes actions"]
    redone: Int[Array, "nodes parents"]
    log_rewards: Float[Array, " nodes"]
    features: Float[Array, "nodes features"] | None
    dag: PointedDAG[Any] = eqx.field(static=True)

    @classmethod
    def from_problem(
        cls,
        problem: Problem[S],
        features: Callable[[S], Iterable[float]] | None = None,
        max_nodes: int = MAX_NODES,
    ) -> "TabularEnvironment":
        """The environment of a problem.

        Args:
            problem: anything with `initial`, `children` and `reward`.
            features: the features of a state, equally many finite numbers for each. Without them,
                networks see the number of the node, one-hot, and cannot generalise.
            max_nodes: more states than these are refused.

        Raises:
            TooLargeError: if there are too many states, or entries in a table.
            InputError: if the problem or its features break a rule.
        """
        dag = enumerate_dag(problem, max_nodes)
        rewards = enumerate_rewards(problem, dag)
        nodes, actions = len(dag.labels), max(map(len, dag.children))
        parents = max(map(len, dag.in_edges))
        if nodes * max(actions, parents) > MAX_ENTRIES:
            raise TooLargeError(
                f"{type(problem).__name__} has {nodes:,} states with up to {actions:,} children "
                f"and {parents:,} parents, but a table has at most {MAX_ENTRIES:,} entries: use a "
                "smaller instance, or write an environment"
            )
        here = np.arange(nodes, dtype=np.int32)[:, None]
        children, parent_nodes = np.tile(here, actions), np.tile(here, parents)
        legal, parent_legal = np.zeros((nodes, actions), bool), np.zeros((nodes, parents), bool)
        undone = np.zeros((nodes, actions), np.int32)
        redone = np.zeros((nodes, parents), np.int32)
        for v, edges in enumerate(dag.in_edges):
            for b, edge in enumerate(edges):
                u = dag.edges[edge][0]
                a = edge - dag.out_edges[u].start
                children[u, a], legal[u, a], undone[u, a] = v, True, b
                parent_nodes[v, b], parent_legal[v, b], redone[v, b] = u, True, a
        legal[list(dag.terminals)] = True
        return cls(
            children=jnp.array(children),
            legal=jnp.array(legal),
            parent_nodes=jnp.array(parent_nodes),
            parent_legal=jnp.array(parent_legal),
            undone=jnp.array(undone),
            redone=jnp.array(redone),
            log_rewards=_log_rewards(dag, rewards),
            features=None if features is None else jnp.array(_table(features, dag), jnp.float32),
            dag=dag,
            horizon=max(dag.depths),
            actions=actions,
            parents=parents,
        )

    def digest(self) -> str:
        """A checksum of the states in their order, the edges, rewards and features."""
        checksum = hashlib.sha256()
        for label, row in zip(self.dag.labels, self.dag.children, strict=True):
            checksum.update(f"{_stable_text(label)} {row}\n".encode())
        checksum.update(np.asarray(self.log_rewards).tobytes())
        if self.features is not None:
            checksum.update(np.asarray(self.features).tobytes())
        return checksum.hexdigest()

    def initial(self) -> NodeState:
        return NodeState(jnp.int32(0))

    def step(self, state: NodeState, action: Int[Array, ""]) -> NodeState:
        return NodeState(self.children[state.node, action])

    def backward_step(self, state: NodeState, parent: Int[Array, ""]) -> NodeState:
        return NodeState(self.parent_nodes[state.node, parent])

    def undo(self, state: NodeState, action: Int[Array, ""]) -> Int[Array, ""]:
        return self.undone[state.node, action]

    def redo(self, state: NodeState, parent: Int[Array, ""]) -> Int[Array, ""]:
        return self.redone[state.node, parent]

    def mask(self, state: NodeState) -> Bool[Array, " actions"]:
        return self.legal[state.node]

    def parent_mask(self, state: NodeState) -> Bool[Array, " parents"]:
        return self.parent_legal[state.node]

    def is_terminal(self, state: NodeState) -> Bool[Array, ""]:
        return self.children[state.node, 0] == state.node

    def random_terminal(self, key: PRNGKeyArray) -> NodeState:
        return NodeState(jax.random.choice(key, jnp.array(self.dag.terminals, jnp.int32)))

    def observe(self, state: NodeState) -> Float[Array, " features"]:
        if self.features is None:
            return (jnp.arange(len(self.children)) == state.node).astype(jnp.float32)
        return self.features[state.node]

    def log_reward(self, state: NodeState) -> Float[Array, ""]:
        return self.log_rewards[state.node]

    def encode(self, label: Hashable) -> NodeState:
        return NodeState(np.int32(self.dag.index[label]))  # type: ignore[arg-type]

    def decode(self, state: NodeState) -> Any:
        return self.dag.labels[int(state.node)]


def _log_rewards(dag: PointedDAG[Any], rewards: Iterable[Fraction]) -> Float[Array, " nodes"]:
    """`log R` of every node, 0 where it is not terminal."""
    log_rewards = np.zeros(len(dag.labels))
    log_rewards[list(dag.terminals)] = [log_float(reward) for reward in rewards]
    return jnp.array(log_rewards, jnp.float32)


def _stable_text(label: object) -> str:
    """The text of a label, the same in every process: sets are sorted."""
    if isinstance(label, frozenset):
        return f"{{{', '.join(sorted(map(_stable_text, label)))}}}"
    if isinstance(label, tuple):
        return f"({', '.join(map(_stable_text, label))})"
    if dataclasses.is_dataclass(label):
        values = [getattr(label, field.name) for field in dataclasses.fields(label)]
        return f"{type(label).__name__}({', '.join(map(_stable_text, values))})"
    return type(label).__name__ if type(label).__repr__ is object.__repr__ else repr(label)


def _table(features: Callable[[S], Iterable[float]], dag: PointedDAG[S]) -> npt.NDArray[np.float32]:
    """The features of every node, refused unless they are equally many finite numbers."""
    length = 0

    def read(answer: Any, label: S) -> list[float]:
        nonlocal length
        entries = list(answer) if isinstance(answer, Iterable) else []
        length = length or len(entries)
        if not entries or len(entries) != length:
            raise InputError(
                f"features({label!r}) is {answer!r}, but must be a list of numbers, at least one "
                "and as many for every state: pad or cut it"
            )
        row = [
            number_or_infinite(truth_as_number(entry), Of("an entry of features", label))
            for entry in entries
        ]
        if max(map(abs, row)) > LARGEST:
            raise InputError(
                f"features({label!r}) is {answer!r}, but features are finite numbers that float32 "
                "can hold: replace or rescale it"
            )
        return row

    asked = Asked("the problem", "features", features, read)
    rows = np.array([*map(asked, dag.labels)], np.float32)
    asked.ask_again()
    return rows
