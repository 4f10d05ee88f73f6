"""Units of the reference that no claim of the paper covers, against numbers worked out by hand."""

import math
import random
import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import reference
from reference import (
    FLOAT64,
    RATIONAL,
    ForwardPolicy,
    PointedDAG,
    enumerate_dag,
    enumerate_rewards,
    fcs,
    fcs_estimate,
    gamma,
    kl_divergence,
    longest_path,
    marginal,
    normalize,
    path_sums,
    pointed_dag,
    total_variation,
    uniform_batches,
)
from reference.problems import Cell, Grid, Lines, SyntheticSequences, TableSequences, dyadic
from tests.reference.test_metrics import law


def named_in_the_table(docstring: str) -> list[str]:
    """What stands in the second column of the table of names."""
    rows = docstring.partition("order of the paper:\n")[2].partition("\nBeside")[0].splitlines()
    columns = [re.split("  +", row[16:])[0] for row in rows]
    return [name for column in columns for name in re.findall(r"\w+", column)]


def test_the_table_of_the_reference_names_everything_public_once() -> None:
    names = named_in_the_table(reference.__doc__ or "")
    assert sorted(names) == sorted(reference.__all__)
    assert all(hasattr(reference, name) for name in names)


def test_control_a_name_missing_from_the_table_is_seen() -> None:
    broken = (reference.__doc__ or "").replace(", kl_divergence", "")
    assert "kl_divergence" in named_in_the_table(reference.__doc__ or "")
    assert "kl_divergence" not in named_in_the_table(broken)


def test_siblings_keep_the_order_in_which_they_are_given() -> None:
    dag = pointed_dag({"o": ["b", "a"], "b": ["y"], "a": ["x"], "y": [], "x": []})
    assert dag.labels[0] == "o"
    assert [dag.labels[v] for v in dag.children[0]] == ["b", "a"]
    assert [dag.labels[v] for v in dag.terminals] == ["y", "x"]


@pytest.mark.catches(
    "The unit roundoff of float64 is taken for the spacing at 1, which is twice as large.",
    "reference/fields/field.py",
    "UNIT_ROUNDOFF = 2.0**-53",
    "UNIT_ROUNDOFF = 2.0**-52",
)
def test_fields_agree_exactly_or_within_their_roundings() -> None:
    third = Fraction(1, 3)
    assert RATIONAL.agree(third * 3, RATIONAL.one, 0)
    assert not RATIONAL.agree(third + Fraction(1, 10**30), third, 1000)
    assert FLOAT64.agree(0.1 + 0.2, 0.3, 2)
    assert not FLOAT64.agree(0.1 + 0.2, 0.3, 0)
    # An absolute tolerance would let any number of this size pass.
    assert gamma(1) == pytest.approx(2.0**-53, rel=1e-9, abs=0)
    assert not FLOAT64.agree(1.0, 1.0 + 2.0**-52, 1)


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
    "The range of steps ends one too early.",
    "reference/problems/lines.py",
    "min(i + self.step, self.length) + 1)",
    "min(i + self.step, self.length))",
)
def test_lines_has_the_children_and_rewards_of_the_paper() -> None:
    problem = Lines.sparse(25, 2)
    assert problem.children("p0") == ("q0", "p1", "p2")
    assert problem.children("p24") == ("q24", "p25")
    assert problem.children("p25") == ("q25",)
    assert problem.children("q3") == ()
    assert problem.reward("q2") == 1000 * problem.reward("q1") == problem.reward("q20")
    tree = enumerate_dag(Lines.laplaces(16, 1))
    assert (len(tree.labels), tree.trajectory_count) == (34, 17)


def test_laplace_rewards_are_dyadic_and_peak_at_a_centre() -> None:
    problem = Lines.laplaces(16, 1, seed=3)
    assert all(Fraction(float(np.float32(float(r)))) == r for r in problem.rewards)
    assert Lines.laplaces(16, 1, seed=3) == problem != Lines.laplaces(16, 1, seed=4)
    # Each of the four terms decays by e per step, so neighbours differ by at most that factor.
    for a, b in zip(problem.rewards[:-1], problem.rewards[1:], strict=True):
        assert abs(math.log(a / b)) <= 1 + 1e-6


@pytest.mark.catches(
    "A reward is cut to 24 bits instead of rounded.",
    "reference/problems/base.py",
    "Fraction(round(mantissa * 2**bits))",
    "Fraction(int(mantissa * 2**bits))",
)
def test_dyadic_rounds_to_what_float32_holds() -> None:
    for value in (1 / 3, math.e * 1e-20, 2.0**40 / 7, 1.0):
        assert dyadic(value) == Fraction(float(np.float32(value)))


@pytest.mark.catches(
    "The band of a grid's modes includes its boundary, where floats put one more cell.",
    "reference/problems/grid.py",
    "3 * last < 5 * n[x] < 4 * last",
    "3 * last <= 5 * n[x] < 4 * last",
)
@pytest.mark.parametrize(
    ("side", "band", "z"),
    [
        (8, (1, 6), Fraction(16_064, 1000)),
        (16, (2, 13), Fraction(40_256, 1000)),
        (32, (4, 5, 6, 25, 26, 27), Fraction(201_024, 1000)),
    ],
)
def test_grid_rewards_have_their_modes_in_the_bands(
    side: int, band: tuple[int, ...], z: Fraction
) -> None:
    problem = Grid(side)
    dag = enumerate_dag(problem)
    rewards = dict(zip(dag.terminals, enumerate_rewards(problem, dag), strict=True))
    modes = {dag.labels[x].coordinates for x, r in rewards.items() if r == Fraction(2501, 1000)}
    assert modes == {(i, j) for i in band for j in band}
    assert max(rewards.values()) == Fraction(2501, 1000)
    assert sum(rewards.values()) == z


@pytest.mark.catches(
    "A coordinate may be increased once more at the side of the grid.",
    "reference/problems/grid.py",
    "if x[i] + 1 < self.side",
    "if x[i] + 1 <= self.side",
)
def test_grid_steps_stay_inside() -> None:
    assert Grid(2).children(Cell((1, 0))) == (Cell((1, 0), stopped=True), Cell((1, 1)))
    assert Grid(2).children(Cell((1, 1))) == (Cell((1, 1), stopped=True),)
    assert str(Cell((1, 0), stopped=True)) == "1 0 stop"


def test_a_run_of_one_letter_has_one_edge_for_both_ends() -> None:
    problem = SyntheticSequences.random(4, 2, "prepend-append")
    assert problem.children("") == ("a", "b")
    assert problem.children("aa") == ("aaa", "aab", "baa")
    assert problem.children("ab") == ("aba", "abb", "aab", "bab")
    assert problem.children("abab") == ()
    assert SyntheticSequences.random(4, 2, "append").children("aa") == ("aaa", "aab")


def test_six6_is_the_measured_table() -> None:
    problem = TableSequences.six6()
    dag = enumerate_dag(problem)
    assert (len(dag.labels), len(dag.edges)) == (87_381, 174_728)
    assert dag.trajectory_count == 7_190_236
    rewards = enumerate_rewards(problem, dag)
    best = dag.labels[dag.terminals[max(range(len(rewards)), key=lambda i: rewards[i])]]
    assert best in ("AGGTATCA", "TGATACCT")
    assert problem.reward("AGGTATCA") == problem.reward("TGATACCT") == 10 == max(rewards)
    assert min(rewards) == Fraction(1, 1000)
    # Both strands were measured as one.
    strand = str.maketrans("ACGT", "TGCA")
    for sequence in ("ACGTACGT", "AAAAAAAC", "GATTACAG"):
        assert problem.reward(sequence) == problem.reward(sequence.translate(strand)[::-1])
    uniform = ForwardPolicy.uniform(dag, FLOAT64)
    assert sum(marginal(uniform)) == pytest.approx(1, rel=gamma(100_000))


@pytest.mark.catches(
    "Total variation is the sum of differences, not half of it.",
    "reference/metrics.py",
    "return sum(differences[1:], start=differences[0]) / 2",
    "return sum(differences[1:], start=differences[0])",
)
def test_total_variation_and_divergence_by_hand() -> None:
    p, q = law(50, 25, 25), law(25, 25, 50)
    assert total_variation(p, q) == Fraction(1, 4)
    assert total_variation(p, p) == 0
    assert kl_divergence(p, q) == pytest.approx(0.25 * math.log(2))
    assert kl_divergence(p, p) == 0
    assert kl_divergence(p, law(50, 50, 0)) == math.inf
    assert kl_divergence(law(50, 50, 0), p) == pytest.approx(0.5 * math.log(2))


def test_fcs_of_the_whole_space_is_total_variation() -> None:
    rng = random.Random(1)
    for _ in range(20):
        p, q = (normalize([Fraction(rng.randint(1, 9)) for _ in range(5)]) for _ in range(2))
        assert fcs(p, q, 5) == total_variation(p, q)
        assert fcs(p, q, 1) == 0
        assert fcs(p, p, 2) == 0


def test_fcs_is_neither_an_upper_nor_a_lower_bound_of_total_variation() -> None:
    p, q = law(98, 1, 1), law(98, 2, 0)
    assert fcs(p, q, 2) == Fraction(13, 75) > total_variation(p, q) == Fraction(1, 100)
    p, q = law(49, 49, 1, 1), law(1, 1, 49, 49)
    assert fcs(p, q, 2) == Fraction(64, 100) < total_variation(p, q) == Fraction(96, 100)


def test_fcs_over_batches_that_miss_a_terminal_does_not_see_it() -> None:
    p, q = law(25, 25, 50), law(50, 50, 0)
    assert total_variation(p, q) == Fraction(1, 2)
    floats = [np.array([float(x) for x in row]) for row in (p, q)]
    assert fcs_estimate(*floats, np.array([[0, 1], [0, 1]])).mean == 0


def test_the_fcs_estimator_over_all_batches_is_exact() -> None:
    p, q = normalize(law(10, 20, 30, 40)), normalize(law(40, 10, 20, 5))
    batches = np.array(list(combinations(range(4), 2)))
    floats = [np.array([float(x) for x in row]) for row in (p, q)]
    assert fcs_estimate(*floats, batches).mean == pytest.approx(float(fcs(p, q, 2)), rel=1e-12)


def test_fcs_batches_of_empty_cells_count_as_disjoint() -> None:
    p, q = np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.0])
    assert fcs_estimate(p, q, np.array([[0, 1], [0, 2]])).mean == 1.0


def test_fcs_batches_that_are_empty_under_both_laws_count_as_agreement() -> None:
    p, q = np.array([0.0, 0.0, 1.0, 3.0]), np.array([0.0, 0.0, 3.0, 1.0])
    assert fcs_estimate(p, q, np.array([[0, 1], [2, 3]])).mean == 0.25


def test_uniform_batches_hold_distinct_terminals() -> None:
    batches = uniform_batches(50, 20, 30, seed=0)
    assert batches.shape == (30, 20)
    assert all(len(set(batch)) == 20 for batch in batches.tolist())
    assert uniform_batches(5, 128, 2, seed=0).shape == (2, 5)


@pytest.mark.catches(
    "A maximum over paths starts at zero, so that negative sums are lost.",
    "reference/marginals.py",
    "best = np.full(len(dag.labels), -np.inf)",
    "best = np.zeros(len(dag.labels))",
)
def test_the_longest_path_is_the_largest_sum_over_trajectories() -> None:
    rng = np.random.default_rng(0)
    dag: PointedDAG[Cell] = enumerate_dag(Grid(3))
    values = rng.normal(size=len(dag.edges))
    best = longest_path(dag, values)
    for x in dag.terminals:
        sums = [values[list(tau)].sum() for tau in dag.trajectories() if dag.end(tau) == x]
        assert best[x] == pytest.approx(max(sums), rel=1e-12)


def test_float64_marginals_are_within_their_bound_of_the_rational_ones() -> None:
    dag = enumerate_dag(Grid(12))
    rng = random.Random(2)
    weights = [rng.randint(1, 999) for _ in dag.edges]
    exact = path_sums(ForwardPolicy.from_weights(dag, RATIONAL, weights))
    rounded = path_sums(ForwardPolicy.from_weights(dag, FLOAT64, weights))
    # Depth 23: two roundings to normalise a row of three, one to multiply, one to add, per step.
    bound = Fraction(gamma(23 * 6))
    errors = [abs(Fraction(q) - p) / p for p, q in zip(exact, rounded, strict=True)]
    assert max(errors) <= bound
    # Control: the bound is not so wide that it sees nothing.
    assert max(errors) > bound / 10_000
