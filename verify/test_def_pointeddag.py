"""def:pointeddag: lifts of all small and of drawn DAGs against the literal definition."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import comb
from typing import Any

import pytest
from hypothesis import given, settings

from reference.contract.errors import InputError
from reference.dag import PointedDAG, pointed_dag
from reference.lifted import Additive, History, LiftedDAG, Table, lift
from reference.problems import Grid, enumerate_dag
from verify.lib import strategies
from verify.lib.markovian import copies
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Scope
from verify.lib.small_scope import pointed_dags_up_to


def check_properties(lifted: LiftedDAG[Any]) -> None:
    base, dag = lifted.base, lifted.dag
    # (i), by the independent validation of pointed_dag.
    checked = pointed_dag({v: dag.children[v] for v in range(len(dag.labels))}, initial=0)
    ends = {checked.labels[x] for x in checked.terminals}
    assert ends == {v for v, u in enumerate(lifted.projection) if u in base.terminals}
    # (ii)
    for node, u in enumerate(lifted.projection):
        assert [lifted.projection[v] for v in dag.children[node]] == list(base.children[u])
        assert [lifted.base_edge[e] for e in dag.out_edges[node]] == list(base.out_edges[u])
    # (iii)
    projected = [tuple(lifted.base_edge[e] for e in tau) for tau in dag.trajectories()]
    assert sorted(projected) == sorted(base.trajectories())
    # (iv)
    number, paths = Counter(lifted.projection), base.path_counts
    assert all(1 <= number[v] <= paths[v] for v in range(len(base.labels)))
    assert all(number[x] == 1 for x in base.terminals)
    # (v)
    for node, v in enumerate(lifted.projection):
        parents = [base.edges[e][0] for e in base.in_edges[v]]
        if not base.children[v]:
            assert len(dag.in_edges[node]) == sum(number[u] for u in parents)
        else:
            assert {lifted.projection[dag.edges[e][0]] for e in dag.in_edges[node]} <= set(parents)


@pytest.mark.claim("def:pointeddag")
def test_every_small_lift_is_a_pointed_dag_with_the_trajectories_of_its_base(scope: Scope) -> None:
    for draw in scope.lifts(one_in=1):
        check_properties(draw.lifted)


@pytest.mark.claim("def:pointeddag")
@settings(max_examples=settings().max_examples // 4)
@given(strategies.lifted_dags())
def test_every_drawn_lift_is_a_pointed_dag_with_the_trajectories_of_its_base(
    lifted: LiftedDAG[int],
) -> None:
    check_properties(lifted)


def pairs() -> Iterator[tuple[PointedDAG[int], dict[tuple[int, int], int]]]:
    """Every small DAG with every phi on two latents."""
    for base in pointed_dags_up_to(4):
        arguments = list(product((v for v in base.labels[1:] if base.children[v]), range(2)))
        for values in product(range(2), repeat=len(arguments)):
            yield base, dict(zip(arguments, values, strict=True))


@pytest.mark.claim("def:pointeddag")
def test_states_and_edges_are_those_of_the_repaired_definition_for_every_phi_on_two_latents(
    scope: Scope,
) -> None:
    for base, phi in scope.over(
        pairs(), "all {} pairs of a naturally labelled DAG up to 4 states and a phi on 2 latents"
    ):
        dag = lift(base, Table(phi, initial=0)).dag
        # Conditions (2) to (4), word for word, along every path that starts at (s_o, W_o).
        states: set[tuple[int, int]] = set()
        edges: set[tuple[Any, Any]] = set()
        stack = [(0, 0)]
        while stack:
            s, w = stack.pop()
            states.add((s, w))
            for child in base.children[s]:
                if base.children[child]:
                    stack.append((child, phi[child, w]))
                    edges.add(((s, w), stack[-1]))
                else:
                    edges.add(((s, w), child))
        assert set(dag.labels) == states | set(base.terminals)
        assert len(dag.edges) == len(edges)
        assert {(dag.labels[u], dag.labels[v]) for u, v in dag.edges} == edges


@pytest.mark.claim("def:pointeddag")
def test_inner_states_may_have_more_lifted_parents_than_base_parents_or_fewer() -> None:
    # o -> {a, b} -> c -> d -> x: c remembers which way, d forgets it.
    base = pointed_dag({"o": ["a", "b"], "a": ["c"], "b": ["c"], "c": ["d"], "d": ["x"], "x": []})
    place = {"a": 1, "b": 2}
    forgetting: Additive[str] = Additive(lambda s, w: -w if s == "d" else place.get(s, 0))
    lifted = lift(base, forgetting)
    (d,) = (v for v, u in enumerate(lifted.projection) if base.labels[u] == "d")
    assert len(base.in_edges[base.index["d"]]) == 1
    assert len(lifted.dag.in_edges[d]) == 2
    lifted = lift(DIAMOND, History())
    assert [len(lifted.dag.in_edges[v]) for v in copies(lifted, "c")] == [1, 1]
    assert [len(lifted.dag.in_edges[x]) for x in lifted.dag.terminals] == [2, 2]


@pytest.mark.catches(
    "The full history keeps only where it began and where it is, so that histories that "
    "differ in between share a lifted state.",
    "reference/lifted.py",
    "return (*latent, state)",
    "return (*latent[:1], state)",
)
@pytest.mark.claim("def:pointeddag")
@pytest.mark.parametrize("side", [2, 3, 4])
def test_the_history_lift_of_a_grid_counts_lattice_paths(side: int) -> None:
    lifted = lift(enumerate_dag(Grid(side)), History())
    inner = sum(1 for row in lifted.dag.children if row)
    assert inner == sum(comb(i + j, i) for i in range(side) for j in range(side))


@pytest.mark.control("def:pointeddag")
@pytest.mark.parametrize(
    ("arrival", "message"),
    [
        # Every latent is arrived at, so that only the copies of s_o are sources.
        ([1, 2, 0], r"has 3: \('o', 0\), \('o', 1\), \('o', 2\)"),
        # Two latents are never arrived at: two copies each of a, b and c are sources as well.
        ([0, 0, 0], "has 9: "),
    ],
)
def test_paths_that_may_start_anywhere_give_a_lift_with_three_sources_or_more(
    arrival: list[int], message: str
) -> None:
    # The printed condition (2) on a diamond with three latents: every pair qualifies.
    omega = range(3)
    children: dict[Any, list[Any]] = {x: [] for x in ("x", "y")}
    for u, row in enumerate(DIAMOND.children):
        for w in omega if row else ():
            children[DIAMOND.labels[u], w] = [
                (DIAMOND.labels[v], arrival[w]) if DIAMOND.children[v] else DIAMOND.labels[v]
                for v in row
            ]
    with pytest.raises(InputError, match=message):
        pointed_dag(children)
