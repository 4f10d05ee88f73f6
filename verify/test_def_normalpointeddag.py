"""def:normalpointeddag: all small graphs, and what the constructor of a DAG refuses."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from reference.balance import tb_residuals
from reference.contract.errors import InputError
from reference.dag import PointedDAG, pointed_dag
from reference.fields.field import RATIONAL
from reference.marginals import marginal, path_sums
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.solve import forward_from_backward
from verify.lib import strategies
from verify.lib.scopes import Scope
from verify.lib.small_scope import pointed_dags_up_to


def satisfies_the_definition(dag: PointedDAG[Any]) -> bool:
    sources = [v for v, row in enumerate(dag.in_edges) if not row]
    uniform = ForwardPolicy.uniform(dag, RATIONAL)
    return (
        sources == [0]
        and all(u < v for u, v in dag.edges)
        and set(dag.terminals) == {v for v, row in enumerate(dag.out_edges) if not row}
        and 0 not in dag.terminals
        and all(visit > 0 for visit in path_sums(uniform))
        and sum(marginal(uniform)) == 1
    )


@pytest.mark.claim("def:normalpointeddag")
def test_every_small_pointed_dag_has_one_source_and_walks_that_end_in_terminals(
    scope: Scope,
) -> None:
    for dag in scope.over(pointed_dags_up_to(5), "all {} naturally labelled DAGs up to 5 states"):
        assert satisfies_the_definition(dag)


@pytest.mark.claim("def:normalpointeddag")
@settings(max_examples=settings().max_examples // 4)
@given(strategies.pointed_dags())
def test_every_drawn_pointed_dag_satisfies_the_definition(dag: PointedDAG[int]) -> None:
    assert satisfies_the_definition(dag)


def is_accepted(children: dict[int, list[int]]) -> bool:
    try:
        pointed_dag(children)
    except InputError:
        return False
    return True


@pytest.mark.claim("def:normalpointeddag")
@pytest.mark.parametrize(("nodes", "labelled"), [(2, 2), (3, 15), (4, 316)])
def test_of_all_graphs_exactly_those_of_the_definition_are_accepted(
    nodes: int, labelled: int, scope: Any
) -> None:
    # Independently of the constructor: the powers of the matrix count walks, so that there is no
    # cycle iff none has `nodes` steps, and their sum says what is reachable. OEIS A003025.
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    accepted = 0
    for chosen in product((0, 1), repeat=len(pairs)):
        matrix = np.zeros((nodes, nodes), int)
        for pair, present in zip(pairs, chosen, strict=True):
            matrix[pair] = present
        powers = [np.linalg.matrix_power(matrix, k) for k in range(nodes + 1)]
        sources = np.flatnonzero(~matrix.any(0))
        pointed = len(sources) == 1 and not powers[-1].any()
        assert is_accepted({u: np.flatnonzero(matrix[u]).tolist() for u in range(nodes)}) == pointed
        accepted += pointed
        if pointed:
            assert np.sum(powers, axis=0)[sources[0]].all()
    assert accepted == labelled
    scope(f"all {2 ** len(pairs):,} graphs on {nodes} states")


@pytest.mark.catches(
    "A graph with two initial states passes as a pointed DAG.",
    "reference/dag.py",
    "    if len(sources) != 1:\n",
    "    if not sources:\n",
)
@pytest.mark.claim("def:normalpointeddag")
@pytest.mark.parametrize(
    ("children", "message"),
    [
        ({"o": ["a"], "a": ["b", "x"], "b": ["a"], "x": []}, "cycle 'b' -> 'a' -> 'b'"),
        ({"o": ["x", "y"], "u": ["x"], "x": [], "y": []}, "has 2: 'o', 'u'"),
        ({"o": []}, "has no children"),
    ],
)
def test_what_breaks_the_definition_is_refused(
    children: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        pointed_dag(children)


@pytest.mark.control("def:normalpointeddag")
@pytest.mark.parametrize("length", [1, 2, 10])
def test_with_a_second_source_balance_holds_for_the_wrong_law(length: int) -> None:
    # o -> x, o -> y and ... -> u_2 -> u_1 -> x: only o is connected to every terminal. Endless, the
    # line has no source, so that the printed words hold and only finiteness is broken; the law does
    # not depend on its length. It is made past the constructor, which refuses it.
    dag: PointedDAG[Any] = object.__new__(PointedDAG)
    children = ((length + 1, length + 2), *((v + 1,) for v in range(1, length + 1)), (), ())
    vars(dag).update(labels=("o", *range(length, 0, -1), "x", "y"), children=children)
    assert not satisfies_the_definition(dag)
    p_b = BackwardPolicy.uniform(dag, RATIONAL)
    forward, _ = forward_from_backward(p_b, (Fraction(1), Fraction(1)))
    residuals = [r for _, r in tb_residuals(forward, p_b, (Fraction(1),) * 2, Fraction(3, 2))]
    assert residuals == [0, 0]
    assert marginal(forward) == (Fraction(1, 3), Fraction(2, 3))
