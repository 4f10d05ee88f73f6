"""Graphs as arrays: what is accepted, and sums in float64 and in integers against `reference`."""

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import reference
from reference import (
    FLOAT64,
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    InputError,
    PointedDAG,
    TooLargeError,
    enumerate_dag,
    float_sums,
    gamma,
    integer_sums,
    pointed_dag,
)
from reference.integer_rows import IntegerRows
from reference.levels import LevelDAG
from reference.problems import Grid, Lines, SyntheticSequences
from verify.lib.small_scope import pointed_dags

HALF = Fraction(1, 2)


def array(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


def random_dag(rng: random.Random, nodes: int) -> PointedDAG[int]:
    """Nodes in any order, edges over any number of levels."""
    names = rng.sample(range(nodes), nodes)
    children: dict[int, list[int]] = {name: [] for name in names}
    for i, name in enumerate(names[1:], 1):
        for parent in rng.sample(names[:i], min(i, rng.randint(1, 4))):
            children[parent].append(name)
    return pointed_dag(children)


def graphs() -> Iterator[PointedDAG[Any]]:
    yield from pointed_dags(4)
    yield from map(enumerate_dag, (Grid(7), Grid(3, 3), Lines.laplaces(12, 3)))  # type: ignore[arg-type]
    yield enumerate_dag(SyntheticSequences.random(4, 2))
    rng = random.Random(0)
    yield from (random_dag(rng, nodes) for nodes in (2, 10, 40, 150))


def levels_by_definition(dag: PointedDAG[Any]) -> list[int]:
    level = [0] * len(dag.labels)
    for u, v in dag.edges:
        level[v] = max(level[v], level[u] + 1)
    return level


def given(graph: LevelDAG) -> tuple[Any, Any]:
    """The given number of each node and each edge."""
    return (
        np.arange(len(graph.first) - 1)[graph.nodes],
        np.arange(len(graph.children))[graph.edges],
    )


def test_a_graph_of_levels_has_the_edges_and_levels_of_the_dag() -> None:
    for dag in graphs():
        graph = LevelDAG.from_dag(dag)
        nodes, edges = given(graph)
        assert sorted(nodes) == list(range(len(dag.labels)))
        parents = np.repeat(nodes, np.diff(graph.first))
        assert [dag.edges[e] for e in edges] == list(
            zip(parents, nodes[graph.children], strict=True)
        )
        level = np.array(levels_by_definition(dag))[nodes]
        assert level.tolist() == np.repeat(range(graph.depth + 1), np.diff(graph.starts)).tolist()
        assert tuple(graph.terminals) == dag.terminals
        assert graph.depth == max(levels_by_definition(dag))


def test_edges_and_nodes_may_be_given_in_any_order() -> None:
    rng = np.random.default_rng(0)
    for dag in graphs():
        names = rng.permutation(len(dag.labels))
        order = rng.permutation(len(dag.edges))
        parents, children = np.array(dag.edges)[order].T
        graph = LevelDAG.from_edges(names[parents], names[children])
        values = rng.random(len(dag.edges))
        sums = float_sums.path_sums(graph, values[order])
        assert sums[names] == pytest.approx(
            float_sums.path_sums(LevelDAG.from_dag(dag), values), rel=1e-13
        )
        assert set(graph.terminals) == set(names[list(dag.terminals)])


def test_an_array_graph_by_level_shares_the_arrays_that_it_is_given() -> None:
    parents, children = array(0, 0, 1, 2), array(1, 2, 3, 3)
    graph = LevelDAG.from_edges(parents, children)
    assert np.shares_memory(graph.children, children)
    assert graph.nodes == graph.edges == slice(None)


@pytest.mark.parametrize(
    ("parents", "children", "message"),
    [
        ([0], array(1), "the parents are of type list, but must be a NumPy array of integers"),
        (array(0), np.array([1.0]), "the children are of type float64"),
        (array(0), np.array([True]), "the children are of type bool"),
        (array(0), np.array([[1]]), r"the children have shape \(1, 1\)"),
        (array(0, 0), array(1), "2 parents and 1 children"),
        (array(), array(), "0 parents and 0 children.*at least one edge"),
        (array(0, -1), array(1, 2), "the parents have the number -1 at edge 1"),
        (array(0, 0), array(1, 9), "the largest node is 9, but 2 edges connect at most 3"),
        (array(0, 0), array(1, 1), "node 0 lists the child 1 twice.*once"),
        (array(0, 1, 0), array(1, 2, 1), "node 0 lists the child 1 twice.*once"),
        (array(0, 1, 2, 3), array(1, 3, 3, 4), "this one has 2: 0, 2; connect"),
        (array(0, 0, 1), array(1, 3, 3), "this one has 2: 0, 2; connect"),
        (array(*range(6), 6), array(*[7] * 6, 7), r"has 7: 0, 1, 2, 3, 4, \.\.\.; connect"),
        (array(0, 0, 1, 2, 3, 2), array(1, 4, 2, 3, 1, 5), "cycle 1 -> 2 -> 3 -> 1, .*remove one"),
        (array(0, 1, 0), array(2, 1, 3), "cycle 1 -> 1, "),
        (array(0, 1), array(1, 0), "cycle 0 -> 1 -> 0, "),
    ],
)
def test_edges_that_make_no_pointed_dag_are_refused(
    parents: Any, children: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        LevelDAG.from_edges(parents, children)


def test_node_numbers_beyond_32_bits_are_refused() -> None:
    with pytest.raises(TooLargeError, match=r"up to 4,294,967,296, but .*32 bits"):
        LevelDAG.from_edges(np.array([0, 0]), np.array([1, 2**32]))


def test_of_all_small_graphs_exactly_the_pointed_dags_are_accepted() -> None:
    # By pointed_dag, which verify/ holds against the definition. OEIS A003025.
    pairs = [(u, v) for u in range(4) for v in range(4) if u != v]
    accepted = 0
    for bits in range(1, 2 ** len(pairs)):
        edges = [pair for i, pair in enumerate(pairs) if bits >> i & 1]
        rows = {u: [v for w, v in edges if w == u] for u in range(1 + max(map(max, edges)))}
        good = is_accepted(pointed_dag, rows)
        assert is_accepted(LevelDAG.from_edges, *np.array(edges).T) == good
        accepted += good and len(rows) == 4
    assert accepted == 316


def is_accepted(build: Callable[..., object], *arguments: Any) -> bool:
    try:
        build(*arguments)
    except InputError:
        return False
    return True


def weights_on(dag: PointedDAG[Any], rng: random.Random) -> list[int]:
    return rng.choices(range(1, 1000), k=len(dag.edges))


def largest_error(exact: Sequence[Fraction], rounded: Any) -> Fraction:
    return max(abs(Fraction(q) - p) / p for p, q in zip(exact, rounded, strict=True))


def test_float_path_sums_are_within_their_bound_of_the_exact_ones() -> None:
    rng = random.Random(1)
    for dag in graphs():
        graph, weights = LevelDAG.from_dag(dag), weights_on(dag, rng)
        for policy in (ForwardPolicy, BackwardPolicy):
            values = np.array(policy.from_weights(dag, FLOAT64, weights).values)
            exact = reference.path_sums(policy.from_weights(dag, RATIONAL, weights))
            error = largest_error(exact, float_sums.path_sums(graph, values))
            assert error <= Fraction(gamma(float_sums.roundings(graph)))


def test_float_flows_are_within_their_bound_of_the_exact_ones() -> None:
    rng = random.Random(2)
    for dag in graphs():
        graph, weights = LevelDAG.from_dag(dag), weights_on(dag, rng)
        rewards = [Fraction(rng.randint(1, 9)) for _ in dag.terminals]
        p_b = np.array(BackwardPolicy.from_weights(dag, FLOAT64, weights).values)
        exact = reference.flows(BackwardPolicy.from_weights(dag, RATIONAL, weights), rewards)
        error = largest_error(exact, float_sums.flows(graph, p_b, np.array(rewards, float)))
        assert error <= Fraction(gamma(float_sums.roundings(graph, "forward")))


def test_control_the_bound_is_exceeded_by_edge_values_that_are_slightly_wrong() -> None:
    dag = enumerate_dag(Grid(7))
    graph, uniform = LevelDAG.from_dag(dag), ForwardPolicy.uniform(dag, RATIONAL)
    values = np.array([float(value) for value in uniform.values])
    bound = Fraction(gamma(float_sums.roundings(graph)))
    exact = reference.path_sums(uniform)
    assert largest_error(exact, float_sums.path_sums(graph, values)) <= bound
    assert largest_error(exact, float_sums.path_sums(graph, values * (1 + 1e-14))) > bound


def test_the_bound_counts_depth_and_the_largest_degree_of_each_level() -> None:
    # Levels 0 | 1 2 | 3 | 4: in-degrees at most 0, 1, 3, 2, out-degrees at most 3, 2, 1, 0.
    graph = LevelDAG.from_edges(array(0, 0, 0, 1, 2, 2, 3), array(1, 2, 3, 3, 3, 4, 4))
    assert float_sums.roundings(graph) == 2 * 3 + 0 + 1 + 3 + 2
    assert float_sums.roundings(graph, "forward") == 2 * 3 + 3 + 2 + 1 + 0


def test_a_marginal_is_one_number_per_terminal_and_sums_to_one() -> None:
    rng = random.Random(3)
    for dag in graphs():
        graph, weights = LevelDAG.from_dag(dag), weights_on(dag, rng)
        p_f = ForwardPolicy.from_weights(dag, RATIONAL, weights)
        exact = integer_sums.marginal(IntegerRows.from_weights(graph, "forward", weights))
        assert exact == reference.marginal(p_f)
        rounded = float_sums.marginal(graph, np.array([float(value) for value in p_f.values]))
        assert rounded == pytest.approx([float(value) for value in exact], rel=1e-12)


def test_integer_path_sums_are_the_exact_ones() -> None:
    rng = random.Random(4)
    for dag in graphs():
        graph, weights = LevelDAG.from_dag(dag), weights_on(dag, rng)
        nodes = range(len(dag.labels))
        forward = ForwardPolicy.from_weights(dag, RATIONAL, weights)
        backward = BackwardPolicy.from_weights(dag, RATIONAL, weights)
        # Of a p_B, whose forward rows do not sum to one, too.
        for policy in (forward, backward):
            rows = IntegerRows.from_fractions(graph, "forward", policy.values)
            assert list(integer_sums.path_sums(rows).fractions(nodes)) == reference.path_sums(
                policy
            )
        sums = integer_sums.path_sums(IntegerRows.from_weights(graph, "forward", weights))
        assert list(sums.fractions(nodes)) == reference.path_sums(forward)
        assert sums.fractions(dag.terminals) == reference.marginal(forward)
        assert sums.fractions([]) == ()


def test_integer_flows_are_the_exact_ones() -> None:
    rng = random.Random(5)
    for dag in graphs():
        graph, weights = LevelDAG.from_dag(dag), weights_on(dag, rng)
        rewards = [Fraction(rng.randint(0, 9), rng.randint(1, 9)) for _ in dag.terminals]
        p_b = BackwardPolicy.from_weights(dag, RATIONAL, weights)
        exact = reference.flows(p_b, rewards)
        for rows in (
            IntegerRows.from_weights(graph, "backward", weights),
            IntegerRows.from_fractions(graph, "backward", p_b.values),
        ):
            flow = integer_sums.flows(rows, rewards)
            assert list(flow.fractions(range(len(dag.labels)))) == exact


def test_control_integer_sums_see_a_weight_that_is_off_by_one() -> None:
    dag = enumerate_dag(Grid(4))
    graph, weights = LevelDAG.from_dag(dag), weights_on(dag, random.Random(6))
    before = integer_sums.marginal(IntegerRows.from_weights(graph, "forward", weights))
    weights[5] += 1
    assert integer_sums.marginal(IntegerRows.from_weights(graph, "forward", weights)) != before


def test_zeros_are_allowed_where_a_row_keeps_something() -> None:
    dag = enumerate_dag(Grid(3))
    graph, weights = LevelDAG.from_dag(dag), [0] * len(dag.edges)
    for row in dag.out_edges:
        if row:
            weights[row[-1]] = 7
    rows = IntegerRows.from_weights(graph, "forward", weights)
    assert sorted(integer_sums.marginal(rows)) == [0] * 8 + [1]


FORK = LevelDAG.from_edges(array(0, 0, 1, 2), array(1, 2, 3, 3))
HALVES = [HALF, HALF, Fraction(1), Fraction(1)]


def floats(*values: float) -> Any:
    return np.array(values, float)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: float_sums.path_sums(FORK, [1.0] * 4), "the values are of type list"),  # type: ignore[arg-type]
        (lambda: float_sums.path_sums(FORK, array(1, 1, 1, 1)), "of type int32, but must be a fl"),
        (lambda: float_sums.path_sums(FORK, floats(1, 1)), r"shape \(2,\), but .* needs \(4,\)"),
        (lambda: float_sums.path_sums(FORK, floats(1, 1, -1, 1)), "hold -1.0 at edge 2"),
        (lambda: float_sums.path_sums(FORK, floats(1, np.nan, 1, 1)), "hold nan at edge 1"),
        (lambda: float_sums.path_sums(FORK, floats(1, 1, 1, np.inf)), "hold inf at edge 3"),
        (lambda: float_sums.flows(FORK, floats(1, 1, 1, 1), floats(1, 1)), r"rewards have shape"),
        (lambda: float_sums.flows(FORK, floats(1, 1, 1, 1), floats(-2)), "-2.0 at terminal 0"),
        (lambda: float_sums.marginal(FORK, floats(0.5, 0.6, 1, 1)), "forward row of node 0 .*1.1"),
        (
            lambda: float_sums.check_policy(FORK, floats(1, 1, 0.5, 0.4), "backward"),
            "backward row of node 3 sums to 0.9",
        ),
        (lambda: IntegerRows.from_fractions(FORK, "forward", HALVES[:3]), "3 values for a graph"),
        (
            lambda: IntegerRows.from_fractions(FORK, "forward", [*HALVES[:3], 1.0]),  # type: ignore[list-item]
            "hold a float, but exact sums .* Fraction",
        ),
        (
            lambda: IntegerRows.from_fractions(FORK, "forward", [*HALVES[:3], -HALF]),
            "the values hold -1/2 at edge 3",
        ),
        (lambda: IntegerRows.from_weights(FORK, "forward", [1, 1, 1, True]), "hold a bool"),
        (lambda: IntegerRows.from_weights(FORK, "forward", [1, 1, 1, -1]), "hold -1 at edge 3"),
        (
            lambda: IntegerRows.from_weights(FORK, "forward", [1, 1, 1, 0]),
            "the forward weights of node 2 sum to 0",
        ),
        (
            lambda: IntegerRows.from_weights(FORK, "backward", [1, 1, 0, 0]),
            "the backward weights of node 3 sum to 0",
        ),
        (
            lambda: integer_sums.marginal(
                IntegerRows.from_fractions(FORK, "forward", [HALF, HALF / 3, HALF, HALF])
            ),
            "the forward row of node 0 sums to 2/3, not to 1",
        ),
        (
            lambda: integer_sums.path_sums(IntegerRows.from_fractions(FORK, "backward", HALVES)),
            "path sums run from parents to children, but the values are in 'backward' rows",
        ),
        (
            lambda: integer_sums.flows(IntegerRows.from_fractions(FORK, "forward", HALVES), [HALF]),
            "flows run from children to parents, but the values are in 'forward' rows",
        ),
        (
            lambda: integer_sums.flows(IntegerRows.from_fractions(FORK, "backward", HALVES), []),
            "0 rewards for a graph of 1 terminals",
        ),
        (
            lambda: integer_sums.flows(
                IntegerRows.from_fractions(FORK, "backward", HALVES),
                [0.5],  # type: ignore[list-item]
            ),
            "the rewards hold a float",
        ),
        (
            lambda: integer_sums.flows(
                IntegerRows.from_fractions(FORK, "backward", HALVES), [-HALF]
            ),
            "the rewards hold -1/2 at terminal 0",
        ),
    ],
)
def test_values_that_are_none_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_refusals_name_nodes_and_edges_by_their_given_numbers() -> None:
    # Levels 3 | 1 | 0 2: neither nodes nor edges come by level.
    graph = LevelDAG.from_edges(array(1, 3, 1), array(0, 1, 2))
    assert graph.terminals.tolist() == [0, 2]
    with pytest.raises(InputError, match="hold nan at edge 1"):
        float_sums.path_sums(graph, floats(1, np.nan, 1))
    with pytest.raises(InputError, match=r"forward row of node 1 sums to 1\.25"):
        float_sums.check_policy(graph, floats(0.5, 1, 0.75), "forward")
    with pytest.raises(InputError, match="forward weights of node 3 sum to 0"):
        IntegerRows.from_weights(graph, "forward", [1, 0, 1])
    assert float_sums.path_sums(graph, floats(0.25, 1, 0.75)).tolist() == [0.25, 1, 0.75, 1]


def test_a_soft_max_in_float64_passes_as_a_policy() -> None:
    rng = np.random.default_rng(0)
    dag = enumerate_dag(SyntheticSequences.random(6, 2))
    graph = LevelDAG.from_dag(dag)
    for policy, rows in ((ForwardPolicy, "forward"), (BackwardPolicy, "backward")):
        values = np.exp(3 * rng.normal(size=len(dag.edges)))
        for _, row in policy.rows(dag):
            values[list(row)] /= values[list(row)].sum()
        float_sums.check_policy(graph, values, rows)  # type: ignore[arg-type]
        values[0] += 1e-12
        with pytest.raises(InputError, match="not to 1: normalise it in float64"):
            float_sums.check_policy(graph, values, rows)  # type: ignore[arg-type]
