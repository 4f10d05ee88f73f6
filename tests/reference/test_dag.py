"""Graphs, their lifts, sums over their paths, and the names under which they are public."""

import inspect
import re
from fractions import Fraction

import numpy as np
import pytest

import reference
from reference import (
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    PointedDAG,
    TooLargeError,
    cb_residuals,
    db_residuals,
    enumerate_dag,
    flows,
    fm_residuals,
    forward_from_backward,
    forward_from_law,
    longest_path,
    marginal,
    normalize,
    pointed_dag,
    product_rewards,
    subtb_residuals,
    tb_residuals,
)
from reference.bounds import one_sided_tv_bound
from reference.problems import Grid
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import all_small_lifts


def named_in_the_table(docstring: str) -> list[str]:
    """The second column of the table of names."""
    rows = docstring.partition("order of the paper::\n")[2].partition("\nBeside")[0].splitlines()
    columns = [re.split("  +", row[16:])[0] for row in rows]
    return [name for column in columns for name in re.findall(r"\w+", column)]


def test_the_table_of_the_reference_names_everything_public_once() -> None:
    names = named_in_the_table(reference.__doc__ or "")
    assert sorted(names) == sorted(reference.__all__)
    assert all(hasattr(reference, name) for name in names)
    # Control: a name that is missing is seen.
    broken = (reference.__doc__ or "").replace(", kl_divergence", "")
    assert {*names} - {*named_in_the_table(broken)} == {"kl_divergence"}


def test_siblings_keep_the_order_in_which_they_are_given() -> None:
    dag = pointed_dag({"o": ["b", "a"], "b": ["y"], "a": ["x"], "y": [], "x": []})
    assert dag.labels[0] == "o"
    assert [dag.labels[v] for v in dag.children[0]] == ["b", "a"]
    assert [dag.labels[v] for v in dag.terminals] == ["y", "x"]


@pytest.mark.catches(
    "Rewards by name are taken in the order in which they are given.",
    "reference/balance.py",
    "rewards = [rewards[name] for name in names]",
    "rewards = [*rewards.values()]",
)
def test_rewards_by_name_go_to_their_states_and_may_be_integers() -> None:
    """With `terminals=["y", "x"]` and the rewards 9 and 1, x had 9/10."""
    one, two = Fraction(1), Fraction(2)
    named, listed, converted = {"y": 2, "x": 1}, [1, 2], (one, two)
    p_b = BackwardPolicy.uniform(DIAMOND, RATIONAL)
    p_f, z = forward_from_backward(p_b, named)
    assert (marginal(p_f), z) == ((one / 3, two / 3), 3)
    flow = flows(p_b, converted)
    assert flow[0] == 3
    assert not any(gap for _, gap in tb_residuals(p_f, p_b, named, 3))
    sure = ForwardPolicy(DIAMOND, RATIONAL, [1, 0, 1, 1, 0, 1]).values
    assert [*map(type, sure)] == [Fraction] * 6
    for rewards in (named, listed, converted, np.array(listed)):
        assert flows(p_b, rewards) == flow
        assert forward_from_backward(p_b, rewards)[0].values == p_f.values
        assert not any(gap for _, gap in fm_residuals(p_f, flow, rewards))
        assert not any(gap for _, gap in db_residuals(p_f, p_b, flow, rewards))
        assert not any(gap for _, gap in subtb_residuals(p_f, p_b, flow, rewards))
        assert not any(gap for _, gap in tb_residuals(p_f, p_b, rewards, z))
        assert not any(gap for *_, gap in cb_residuals(p_f, p_b, rewards))
        assert one_sided_tv_bound(p_f, p_b, rewards, z) == 0
    assert normalize(listed) == (one / 3, two / 3)
    assert product_rewards(RATIONAL, [listed, listed]) == (1, 4)


def test_an_edge_is_named_by_its_states() -> None:
    p_b = BackwardPolicy.uniform(DIAMOND, RATIONAL)
    p_f, _ = forward_from_backward(p_b, [1, 2])
    flow, names = flows(p_b, [1, 2]), DIAMOND.labels
    edges = [DIAMOND.states((edge,)) for edge, _ in db_residuals(p_f, p_b, flow, [1, 2])]
    assert edges == [(names[u], names[v]) for u, v in DIAMOND.edges]
    for path, _ in subtb_residuals(p_f, p_b, flow, [1, 2]):
        first, *_ = states = DIAMOND.states(path)
        assert (first, len(states)) == (edges[path[0]][0], len(path) + 1)
    assert DIAMOND.states(()) == (names[0],)


@pytest.mark.catches(
    "The depth of a state is that of its last parent plus one, not that of a longest path.",
    "reference/dag.py",
    "depths[v] = max(depths[v], depths[u] + 1)",
    "depths[v] = depths[u] + 1",
)
def test_the_depth_of_a_state_is_that_of_its_longest_path() -> None:
    # The last parent of x is w, which is less deep than v.
    dag = PointedDAG(("o", "u", "v", "w", "x"), ((1, 3), (2,), (4,), (4,), ()))
    assert dag.depths == (0, 1, 2, 1, 3)


@pytest.mark.catches(
    "Exactly as many trajectories as the limit are refused.",
    "reference/dag.py",
    "if self.trajectory_count > limit:",
    "if self.trajectory_count >= limit:",
)
def test_states_and_trajectories_are_listed_up_to_the_limit_and_not_beyond() -> None:
    assert len(enumerate_dag(Grid(3), max_nodes=18).labels) == 18
    with pytest.raises(TooLargeError):
        enumerate_dag(Grid(3), max_nodes=17)

    def listed(limit: int) -> int:
        try:
            return len(list(DIAMOND.trajectories(limit)))
        except TooLargeError:
            return 0

    assert [listed(limit) for limit in (3, 4, 5)] == [0, 4, 4]


@pytest.mark.catches(
    "A base trajectory is lifted along the first child instead of the one that it takes.",
    "reference/lifted.py",
    "self.dag.out_edges[node][edge - row.start]",
    "self.dag.out_edges[node][0]",
)
def test_trajectories_lift_and_project_back() -> None:
    for lifted, *_ in all_small_lifts():
        above = [lifted.above(tau) for tau in lifted.base.trajectories()]
        assert set(above) == set(lifted.dag.trajectories())
        below = [tuple(lifted.base_edge[e] for e in tau) for tau in above]
        assert below == list(lifted.base.trajectories())


@pytest.mark.catches(
    "A maximum over paths starts at zero, so that negative sums are lost.",
    "reference/bounds.py",
    "best = np.full(len(dag.labels), -np.inf)",
    "best = np.zeros(len(dag.labels))",
)
def test_the_longest_path_is_the_largest_sum_over_trajectories() -> None:
    dag = enumerate_dag(Grid(3))
    values = np.random.default_rng(0).normal(size=len(dag.edges))
    best = longest_path(dag, values)
    for x in dag.terminals:
        sums = [values[list(tau)].sum() for tau in dag.trajectories() if dag.end(tau) == x]
        assert best[x] == pytest.approx(max(sums), rel=1e-12)


@pytest.mark.catches(
    "Subtrajectory balance starts at the initial state only.",
    "reference/balance.py",
    "    for start in range(len(dag.labels)):\n",
    "    for start in range(1):\n",
)
def test_subtrajectory_balance_looks_at_every_path_between_two_states() -> None:
    p_b = BackwardPolicy.uniform(DIAMOND, RATIONAL)
    rewards = (Fraction(1), Fraction(2))
    p_f, _ = forward_from_backward(p_b, rewards)
    paths = [tau for tau, _ in subtb_residuals(p_f, p_b, flows(p_b, rewards), rewards)]
    # Of 1 edge: 6; of 2: o-a-c, o-b-c, a-c-x, a-c-y, b-c-x, b-c-y; of 3: the 4 trajectories.
    assert sorted(map(len, paths)) == [1] * 6 + [2] * 6 + [3] * 4
    assert len(set(paths)) == 16


@pytest.mark.catches(
    "Where a law does not go, the row is uniform instead of the one given.",
    "reference/solve.py",
    "return _normalized(dag, field, through, elsewhere.values)",
    "return _normalized(dag, field, through)",
)
def test_rows_that_a_law_does_not_visit_are_those_of_the_policy_given() -> None:
    dag = pointed_dag({"o": ["a", "b"], "a": ["x", "y"], "b": ["x", "y"], "x": [], "y": []})
    given = ForwardPolicy.from_weights(dag, RATIONAL, [1, 1, 1, 2, 3, 4])
    first, *_ = dag.trajectories()
    p_f = forward_from_law(given, lambda tau: Fraction(tau == first))
    assert p_f.values == [1, 0, 1, 0, Fraction(3, 7), Fraction(4, 7)]


def test_the_labels_of_the_map_stand_where_the_names_are_defined() -> None:
    row = re.compile(r"^ {4}\w* +((?:\w+, )*\w+) +((?:def|eq|col|prop):[\w:.]+)", re.MULTILINE)
    rows = row.findall(str(reference.__doc__))
    assert len(rows) == 15
    for names, label in rows:
        for name in {*names.split(", ")} - {"Trajectory"}:
            assert label in inspect.getsource(inspect.getmodule(getattr(reference, name)))
