"""The pointed DAG lifted by a latent dynamical system (def:pointeddag)."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any, Generic, Protocol, TypeVar

from reference.contract.errors import (
    InputError,
    TooLargeError,
    check_hashable,
    check_integer,
    check_takes,
    checked,
    shown,
)
from reference.dag import Pictured, PointedDAG, Trajectory

S = TypeVar("S", bound=Hashable)
S_contra = TypeVar("S_contra", bound=Hashable, contravariant=True)
W = TypeVar("W", bound=Hashable)


class Dynamics(Protocol[S_contra, W]):
    """A deterministic latent dynamical system: `W_t = advance(s_t, W_{t-1})`.

    The paper writes `advance(s, W) = W + phi(s, W)`. Every map is of this form in an additive
    group, so the `+` restricts nothing, and any hashable latent is allowed here.
    """

    @property
    def initial(self) -> W:
        """The latent `W_o` at the initial state."""
        ...

    def advance(self, state: S_contra, latent: W) -> W:
        """The latent on arrival in the non-terminal `state`, from that of its parent."""
        ...


@dataclass(frozen=True)
class Additive(Generic[S]):
    """`W_t = W_{t-1} + phi(s_t, W_{t-1})`: numbers, vectors of R^d as tuples, any type with `+`."""

    phi: Callable[[S, Any], Any]
    initial: Any = 0

    def advance(self, state: S, latent: Any) -> Any:
        """`W + phi(s, W)`; raises InputError if the two cannot be added."""
        step = self.phi(state, latent)
        try:
            if type(latent) is tuple:  # whose own `+` concatenates
                return tuple(a + b for a, b in zip(latent, step, strict=True))
            return latent + step
        except (TypeError, ValueError, ArithmeticError) as error:
            raise InputError(
                f"Additive: phi({shown(state)}, {shown(latent)}) is {shown(step)}, which cannot be "
                f"added to the latent ({error}): return a value of the latent's type"
            ) from None


@dataclass(frozen=True)
class Forgetful:
    """No memory: the latent is constant, and the lift is the base DAG."""

    initial: None = None

    def advance(self, state: Hashable, latent: None) -> None:
        """The constant latent."""


@dataclass(frozen=True)
class History:
    """Full memory: the latent is the path so far, so that no two histories share a lifted state.

    Every other lift is a quotient of this one.
    """

    initial: tuple[Any, ...] = ()

    def advance(self, state: Hashable, latent: tuple[Any, ...]) -> tuple[Any, ...]:
        """The path, extended by `state`."""
        return (*latent, state)


@dataclass(frozen=True)
class Table(Generic[S, W]):
    """Dynamics written out: `transitions[s, W]` is the latent on arrival in `s`."""

    transitions: Mapping[tuple[S, W], W]
    initial: W

    def advance(self, state: S, latent: W) -> W:
        """The latent in the table; raises InputError if the table lacks the pair."""
        if (state, latent) not in self.transitions:
            raise InputError(
                f"Table: no latent is given on arrival in {shown(state)} with {shown(latent)}: add "
                f"the entry ({shown(state)}, {shown(latent)})"
            )
        return self.transitions[state, latent]


@dataclass(frozen=True, eq=False, repr=False)
class LiftedDAG(Pictured, Generic[S]):
    """A pointed DAG lifted by `phi` and `W_o` (def:pointeddag, with paths that start at `s_o*`).

    The printed definition lets the paths of its condition (2) start anywhere, so that every
    `(s_o, W)` is a source; here, as it must be meant, they start at `(s_o, W_o)`.

    Attributes:
        base: the unlifted DAG.
        dag: the lifted DAG: its labels are `(s, W)` for non-terminal `s`, and `x` itself for
            terminals, which are not lifted. The children of a lifted state are in the order of
            the children of its base state.
        projection: the base node of each lifted node.
        base_edge: the number of the base edge below each lifted edge.
    """

    base: PointedDAG[S]
    dag: PointedDAG[Any]
    projection: tuple[int, ...]
    base_edge: tuple[int, ...]

    def above(self, trajectory: Trajectory) -> Trajectory:
        """The lifted trajectory above a trajectory of the base DAG from `s_o`.

        Lifted and base trajectories are in bijection, because the latents are functions of the
        states. Raises InputError if it is not a trajectory of the base DAG.
        """
        node, path = 0, []
        for edge in trajectory:
            row = self.base.out_edges[self.projection[node]]
            if edge not in row:
                raise InputError(
                    f"{trajectory} is not a trajectory of the base DAG: its edge {edge} does not "
                    f"leave the state {shown(self.base.labels[self.projection[node]])}"
                )
            path.append(self.dag.out_edges[node][edge - row.start])
            node = self.dag.edges[path[-1]][1]
        return tuple(path)

    def __repr__(self) -> str:
        return f"LiftedDAG({self.dag.size}, over {self.base.size})"


@checked
def lift(
    base: PointedDAG[S], dynamics: Dynamics[S, Any], max_nodes: int = 2_000_000
) -> LiftedDAG[S]:
    """Lifts `base` by `dynamics`, merging states whose latents are equal.

    Args:
        base: the DAG.
        dynamics: `W_o`, and the latent on arrival in a state.
        max_nodes: the most states of the lift.

    Raises:
        TooLargeError: if the lift has more states.
        InputError: if a latent is not hashable, or holds a NaN.
    """
    check_integer("lift", "max_nodes", max_nodes, 1, most=10**12)
    for member in ("initial", "advance"):
        if not hasattr(dynamics, member):
            raise InputError(
                f"lift: the dynamics {shown(dynamics)} lacks {member!r}: give an object with "
                "`initial` and `advance(state, latent)`, such as History()"
            )
    check_takes("lift: advance of the dynamics", dynamics.advance, 2)
    # A terminal is not lifted: it has the one latent None.
    latents: list[dict[Any, None]] = [{} if row else {None: None} for row in base.children]
    _add(latents[0], dynamics.initial, base.labels[0])
    children: dict[tuple[int, Any], list[tuple[int, Any]]] = {}
    count = len(base.terminals)
    # Base nodes come in topological order, so a node is reached when all its latents are complete.
    for u, row in enumerate(base.children):
        count += len(latents[u]) if row else 0
        if count > max_nodes:
            raise TooLargeError(
                f"the lift has more than {max_nodes:,} states (stopped at state "
                f"{shown(base.labels[u])}, {u + 1:,} of {len(base.labels):,}): use a smaller "
                "instance, a latent that merges more histories, or raise `max_nodes`"
            )
        for latent in latents[u]:
            children[u, latent] = lifted_row = []
            for v in row:
                arrived = None
                if base.children[v]:
                    arrived = dynamics.advance(base.labels[v], latent)
                    _add(latents[v], arrived, base.labels[v])
                lifted_row.append((v, arrived))
    node = {key: i for i, key in enumerate(children)}
    labels = ((base.labels[u], w) if base.children[u] else base.labels[u] for u, w in children)
    rows = (tuple(map(node.__getitem__, keys)) for keys in children.values())
    return LiftedDAG(
        base=base,
        dag=PointedDAG(tuple(labels), tuple(rows)),
        projection=tuple(u for u, _ in children),
        base_edge=tuple(edge for u, _ in children for edge in base.out_edges[u]),
    )


def _add(latents: dict[Any, None], latent: Any, state: Any) -> None:
    """Adds a latent to the latents of a state, unless it has an equal one."""
    check_hashable(f"the latent on arrival in state {shown(state)}", latent)
    if latent in latents:
        return
    if _has_nan(latent):
        raise InputError(
            f"the latent on arrival in state {shown(state)} is {shown(latent)}: a NaN equals "
            "nothing, so equal latents would not be merged: check phi for overflow or 0/0"
        )
    latents[latent] = None


def _has_nan(latent: Any) -> bool:
    if isinstance(latent, tuple | frozenset):
        return any(_has_nan(part) for part in latent)
    return isinstance(latent, Number) and bool(latent != latent)
