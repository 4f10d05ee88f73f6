"""def:normalpointeddag: what a pointed DAG is.

Printed: a tuple (S, X, E) with edges in S x (S u X); the elements of X are the only nodes without
outgoing edges; there is a unique s_o in S without incoming edges and connected to every x in X.

Two things are missing. S must be finite, or a backward walk need not end in s_o. And "unique" must
mean that no other state is without incoming edges; "the only source connected to every x" would
allow further sources, and balance would then say nothing about the target.

With both: every state is reachable from s_o (walk backwards: the walk ends, and only s_o has no
parent), and every walk ends in X (walk forwards: it ends, and only X has no children). So any
forward policy gives a law on X.
"""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from reference import (
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    InputError,
    PointedDAG,
    marginal,
    path_sums,
    pointed_dag,
    tb_residuals,
)
from verify import strategies
from verify.small_scope import pointed_dags

LABEL = "def:normalpointeddag"


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


@pytest.mark.claim(LABEL)
def test_every_small_pointed_dag_has_one_source_and_walks_that_end_in_terminals(scope: Any) -> None:
    count = 0
    for nodes in (2, 3, 4, 5):
        for dag in pointed_dags(nodes):
            assert satisfies_the_definition(dag)
            count += 1
    scope(f"all {count} labelled DAGs up to 5 states")


@pytest.mark.claim(LABEL)
@given(strategies.pointed_dags())
def test_every_drawn_pointed_dag_satisfies_the_definition(dag: PointedDAG[int]) -> None:
    assert satisfies_the_definition(dag)


@pytest.mark.claim(LABEL)
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


@pytest.mark.control(LABEL)
def test_with_a_second_source_balance_holds_for_the_wrong_law() -> None:
    # o -> x, o -> y, u -> x: only o is connected to every terminal. Built without validation.
    dag = PointedDAG(("o", "u", "x", "y"), ((2, 3), (2,), (), ()))
    assert not satisfies_the_definition(dag)
    backward = BackwardPolicy.uniform(dag, RATIONAL)
    third = Fraction(1, 3)
    forward = ForwardPolicy(dag, RATIONAL, [third, 2 * third, Fraction(1)])
    rewards = (Fraction(1), Fraction(1))
    residuals = [value for _, value in tb_residuals(forward, backward, rewards, Fraction(3, 2))]
    assert residuals == [0, 0]
    assert marginal(forward) == (third, 2 * third)
