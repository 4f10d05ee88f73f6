"""Hypothesis strategies: exact, valid by construction, shrinking to a path without memory."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from reference import LiftedDAG, PointedDAG, Table, lift
from verify.lib.scopes import Draw
from verify.lib.small_scope import from_parents

MAX_NODES = 8


@st.composite
def pointed_dags(draw: st.DrawFn, max_nodes: int = MAX_NODES) -> PointedDAG[int]:
    """Pointed DAGs: each node draws a non-empty set of earlier parents."""
    parents = []
    for j in range(1, draw(st.integers(2, max_nodes))):
        # Listing the latest node first makes the simplest draw the path.
        choice = draw(st.sets(st.sampled_from(range(j - 1, -1, -1)), min_size=1, max_size=j))
        parents.append(sorted(choice))
    return from_parents(parents)


@st.composite
def lifts(draw: st.DrawFn, dag: PointedDAG[int]) -> LiftedDAG[int]:
    """Deterministic lifts of a DAG: each arrival draws one of the latents met so far, or a new."""
    latents: dict[int, list[Any]] = {0: [(0, 0)]}
    transitions: dict[Any, Any] = {}
    for v in range(1, len(dag.labels)):
        if not dag.children[v]:
            continue
        blocks = 0
        for w in (w for e in dag.in_edges[v] for w in latents[dag.edges[e][0]]):
            # At most three latents per state, or their number could grow exponentially.
            block = draw(st.integers(0, min(blocks, 2)))
            blocks = max(blocks, block + 1)
            transitions[v, w] = (v, block)
        latents[v] = [(v, b) for b in range(blocks)]
    return lift(dag, Table(transitions, (0, 0)))


@st.composite
def lifted_dags(draw: st.DrawFn, max_nodes: int = MAX_NODES) -> LiftedDAG[int]:
    """A pointed DAG with a lift."""
    return draw(lifts(draw(pointed_dags(max_nodes))))


@st.composite
def draws(draw: st.DrawFn, max_nodes: int = MAX_NODES) -> Draw:
    """A lift with random positive rewards, which draws policies on it."""
    lifted, rng = draw(lifted_dags(max_nodes)), draw(st.randoms(use_true_random=False))
    rewards = tuple(Fraction(rng.randint(1, 9)) for _ in lifted.base.terminals)
    return Draw(lifted, rewards, rng)
