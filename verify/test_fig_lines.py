"""fig:lines, eq:lines: the graph of Lines against its edges as printed, and balance on it."""

import random
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from typing import Any

import pytest

from reference.balance import tb_residuals
from reference.contract.errors import InputError
from reference.dag import PointedDAG, pointed_dag
from reference.fields.field import RATIONAL
from reference.lifted import History, lift
from reference.marginals import marginal, path_sums
from reference.metrics import normalize
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.problems import Grid, Lines
from reference.problems.enumeration import enumerate_dag, enumerate_rewards
from reference.solve import forward_from_backward
from verify.lib.laws import by_label

Edges = dict[tuple[str, str], Fraction]
SIZES = [(length, step) for length in range(1, 7) for step in range(1, length + 1)]


def lines(length: int, step: int) -> PointedDAG[str]:
    return enumerate_dag(Lines.laplaces(length, step))


def sequences(length: int, step: int) -> Iterator[tuple[int, ...]]:
    """Every increasing sequence of eq:lines."""
    stack: list[tuple[int, ...]] = [(0,)]
    while stack:
        sequence = stack.pop()
        yield sequence
        last = sequence[-1]
        stack += [(*sequence, j) for j in range(last + 1, min(last + step, length) + 1)]


def by_name(dag: PointedDAG[Any], values: Any) -> Edges:
    return {
        (dag.labels[u], dag.labels[v]): value
        for (u, v), value in zip(dag.edges, values, strict=True)
    }


@pytest.mark.claim("fig:lines", "lines-lift", "misprints")
def test_lines_is_a_pointed_dag_with_the_printed_edges_and_a_tree_iff_steps_are_single(
    scope: Any,
) -> None:
    for length in range(1, 9):
        for step in range(1, 10):
            dag = lines(length, step)
            stop = {(f"p{i}", f"q{i}") for i in range(length + 1)}
            move = {
                (f"p{i}", f"p{i + k}")
                for i in range(length + 1)
                for k in range(1, min(step, length - i) + 1)
            }
            assert set(by_name(dag, dag.edges)) == stop | move
            # One action more than steps forward.
            for i in range(length + 1):
                assert len(dag.children[dag.index[f"p{i}"]]) == min(step, length - i) + 1
            assert {dag.labels[x] for x in dag.terminals} == {f"q{i}" for i in range(length + 1)}
            assert [v for v, row in enumerate(dag.in_edges) if not row] == [dag.index["p0"]]
            assert sum(marginal(ForwardPolicy.uniform(dag, RATIONAL))) == 1
            tree = min(length, step) == 1
            assert all(len(row) <= 1 for row in dag.in_edges) == tree
            assert (len(lift(dag, History()).dag.labels) == len(dag.labels)) == tree
    scope("all N <= 8, M <= 9")


@pytest.mark.claim("fig:lines")
def test_trajectories_are_counted_by_compositions() -> None:
    for length in range(1, 9):
        for step in range(1, length + 1):
            # Paths to p_k: compositions of k into parts of at most M.
            paths = [1]
            for _ in range(length):
                paths.append(sum(paths[-step:]))
            assert len(list(lines(length, step).trajectories())) == sum(paths)
            assert len(list(sequences(length, step))) == sum(paths)
    assert [len(list(lines(n, 1).trajectories())) for n in (1, 2, 8)] == [2, 3, 9]
    assert [len(list(lines(n, 2).trajectories())) for n in (1, 2, 3, 4)] == [2, 4, 7, 12]
    assert len(list(lines(8, 8).trajectories())) == 2**8


@pytest.mark.claim("fig:lines")
@pytest.mark.parametrize("length", range(1, 9))
def test_with_single_steps_lines_is_the_hypergrid_of_dimension_one(length: int) -> None:
    grid = enumerate_dag(Grid(length + 1, 1, "standard"))

    def name(cell: Any) -> str:
        (i,) = cell.coordinates
        return f"{'q' if cell.stopped else 'p'}{i}"

    edges = {(name(grid.labels[u]), name(grid.labels[v])) for u, v in grid.edges}
    dag = lines(length, 1)
    assert edges == set(by_name(dag, dag.edges))


@pytest.mark.control("fig:lines")
def test_without_one_way_to_stop_lines_is_no_pointed_dag() -> None:
    # Without p_0 -> q_0, q_0 is a second source.
    with pytest.raises(InputError, match="has 2: 'p0', 'q0'"):
        pointed_dag({"p0": ["p1"], "p1": ["q1"], "q0": [], "q1": []})
    # Without p_1 -> q_1 and q_1, p_1 has no children and is no terminal: half of the law is lost.
    dag = pointed_dag({"p0": ["q0", "p1"], "q0": [], "p1": []})
    visits = path_sums(ForwardPolicy.uniform(dag, RATIONAL))
    assert visits[dag.index["q0"]] == Fraction(1, 2)


@pytest.mark.control("fig:lines")
def test_with_double_steps_there_are_two_ways_to_p2() -> None:
    lifted = lift(lines(2, 2), History())
    assert len(lifted.dag.labels) == len(lifted.base.labels) + 1 == 7


def check_balance(problem: Lines, backward: BackwardPolicy[Fraction]) -> None:
    """Eq:lines for the history-dependent p_F that p_B forces, by its own formula."""
    lifted = lift(backward.dag, History())
    rewards = enumerate_rewards(problem, backward.dag)
    forward, z = forward_from_backward(backward.on(lifted), rewards)
    p_f = {
        (lifted.dag.labels[u], lifted.base.labels[lifted.projection[v]]): value
        for (u, v), value in zip(lifted.dag.edges, forward.values, strict=True)
    }
    p_b = by_name(backward.dag, backward.values)
    every = list(sequences(problem.length, problem.step))
    for sequence in every:
        path = [f"p{i}" for i in sequence]
        above = [(path[j], tuple(path[1 : j + 1])) for j in range(len(path))]
        children = [*path[1:], f"q{sequence[-1]}"]
        going = prod(p_f[s, child] for s, child in zip(above, children, strict=True))
        assert p_b[path[-1], children[-1]] == 1
        back = prod(p_b[u, v] for u, v in zip(path, children, strict=True))
        assert going / back == problem.rewards[sequence[-1]] / z
    assert len(every) == lifted.dag.trajectory_count
    assert z == problem.z()
    assert marginal(forward) == normalize(rewards)


@pytest.mark.claim("eq:lines")
def test_balance_on_every_sequence_is_trajectory_balance(scope: Any) -> None:
    rng = random.Random(0)
    for length, step in SIZES:
        problem = Lines(tuple(Fraction(rng.randint(1, 9)) for _ in range(length + 1)), step)
        dag = enumerate_dag(problem)
        for _ in range(3):
            weights = rng.choices(range(1, 10), k=len(dag.edges))
            check_balance(problem, BackwardPolicy.from_weights(dag, RATIONAL, weights))
    scope(f"all {len(SIZES)} (N, M) with M <= N <= 6")


@pytest.mark.claim("eq:lines")
def test_with_single_steps_the_balanced_policy_stops_in_proportion_to_what_is_left() -> None:
    problem = Lines(tuple(map(Fraction, (1, 2, 3))), 1)
    dag = enumerate_dag(problem)
    backward = BackwardPolicy.uniform(dag, RATIONAL)
    assert set(backward.values) == {1}
    forward, _ = forward_from_backward(backward, enumerate_rewards(problem, dag))
    stop = by_name(dag, forward.values)
    assert [stop[f"p{i}", f"q{i}"] for i in range(3)] == [Fraction(1, 6), Fraction(2, 5), 1]


@pytest.mark.control("eq:lines")
def test_with_a_p_b_that_is_not_normalised_balance_counts_paths() -> None:
    # N = M = 2, R = 1 and weights 1: one path to q_0, one to q_1, two to q_2.
    dag = lines(2, 2)
    ones = BackwardKernel(dag, RATIONAL, [Fraction(1)] * len(dag.edges))
    quarter = Fraction(1, 4)
    rows = {
        "p0": {"q0": quarter, "p1": 2 * quarter, "p2": quarter},
        "p1": {"q1": 2 * quarter, "p2": 2 * quarter},
        "p2": {"q2": 4 * quarter},
    }
    forward = ForwardPolicy.from_rows(dag, RATIONAL, rows)
    rewards = (Fraction(1),) * 3
    assert all(r == 0 for _, r in tb_residuals(forward, ones, rewards, Fraction(4)))
    assert by_label(forward) == {"q0": quarter, "q1": quarter, "q2": 2 * quarter}


@pytest.mark.control("eq:lines")
def test_one_changed_stop_leaves_residuals_and_the_wrong_law() -> None:
    dag = lines(1, 1)
    third = Fraction(1, 3)
    rows = {"p0": {"q0": third, "p1": 2 * third}, "p1": {"q1": 3 * third}}
    forward = ForwardPolicy.from_rows(dag, RATIONAL, rows)
    backward, rewards = BackwardPolicy.uniform(dag, RATIONAL), (Fraction(1),) * 2
    residuals = sorted(r for _, r in tb_residuals(forward, backward, rewards, Fraction(2)))
    assert residuals == [-third, third]
    assert sorted(marginal(forward)) == [third, 2 * third]
