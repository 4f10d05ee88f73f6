"""Tasks against numbers worked out by hand, published, or computed another way."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from reference import (
    RATIONAL,
    BackwardPolicy,
    TooLargeError,
    enumerate_dag,
    enumerate_rewards,
    flows,
    normalize,
    total_variation,
)
from reference.problems import (
    BitSequences,
    Cell,
    Grid,
    Ising,
    LazyRandomWalk,
    Lines,
    Sets,
    SyntheticSequences,
    TableSequences,
    bit_distances,
    dyadic,
)
from reference.problems.ising import Spins
from reference.problems.preference import Weights
from reference.problems.random_walk import Walker
from reference.problems.sets import Items, elementary_symmetric
from reference.problems.tables import QM9


def fractions(*values: Any) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


def in_float32(values: Any) -> bool:
    """Whether each is what float32 holds."""
    return all(Fraction(float(np.float32(float(value)))) == value for value in values)


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
    "The range of steps ends one too early.",
    "reference/problems/lines.py",
    "min(i + self.step, self.length) + 1)",
    "min(i + self.step, self.length))",
)
def test_lines_has_the_children_and_rewards_of_the_paper() -> None:
    problem = Lines.sparse(25, 2)
    assert problem.children("p0") == ("q0", "p1", "p2")
    assert problem.children("p25") == ("q25",)
    assert problem.reward("q2") == 1000 * problem.reward("q1") == problem.reward("q20")


def test_laplace_rewards_are_dyadic_and_peak_at_a_centre() -> None:
    problem = Lines.laplaces(16, 1, seed=3)
    assert in_float32(problem.rewards)
    assert Lines.laplaces(16, 1, seed=3) == problem != Lines.laplaces(16, 1, seed=4)
    # Each of the four terms decays by e per step, so neighbours differ by at most that factor.
    for a, b in zip(problem.rewards[:-1], problem.rewards[1:], strict=True):
        assert abs(math.log(a / b)) <= 1 + 1e-6


@pytest.mark.catches(
    "The band of a grid's modes includes its boundary, where floats put one more cell.",
    "reference/problems/grid.py",
    "3 * last < 5 * n[x] < 4 * last",
    "3 * last <= 5 * n[x] < 4 * last",
)
@pytest.mark.parametrize(("side", "band"), [(8, (1, 6)), (16, (2, 13)), (21, (3, 17))])
def test_grid_rewards_have_their_modes_in_the_bands(side: int, band: tuple[int, ...]) -> None:
    problem = Grid(side)
    rewards = {x: problem.reward(Cell(x, True)) for x in product(range(side), repeat=2)}
    modes = {x for x, reward in rewards.items() if reward == max(rewards.values())}
    assert modes == {(i, j) for i in band for j in band}
    assert max(rewards.values()) == Fraction(2501, 1000)


@pytest.mark.catches(
    "A coordinate may be increased once more at the side of the grid.",
    "reference/problems/grid.py",
    "if x[i] + 1 < self.side",
    "if x[i] + 1 <= self.side",
)
def test_grid_steps_stay_inside() -> None:
    assert Grid(2).children(Cell((1, 0))) == (Cell((1, 0), stopped=True), Cell((1, 1)))
    assert Grid(2).children(Cell((1, 1))) == (Cell((1, 1), stopped=True),)


def test_the_sparse_grid_has_its_peaks_in_any_dimension() -> None:
    assert set(Grid(16, 2, "sparse").peaks) == {(2, 2), (1, 14), (14, 1), (14, 14)}
    assert Grid.paper("sparse").z() == Fraction("4.252")
    cube = Grid(6, 3, "sparse")
    assert len(set(cube.peaks)) == 8
    assert cube.reward(Cell((1, 1, 1), True)) == Fraction(1, 1000)


FLOWING = {
    "sets-product": Sets.random(6, 3, "product"),
    "sets-sum": Sets.random(6, 3, "sum"),
    "sequences-product": SyntheticSequences.random(3, 3, "append", seed=5, form="product"),
    "sequences-sum": SyntheticSequences.random(3, 3, "append", seed=5, form="sum"),
}


@pytest.mark.parametrize("name", FLOWING)
def test_the_flow_in_closed_form_is_that_of_the_balanced_policy(name: str) -> None:
    problem: Any = FLOWING[name]
    dag = enumerate_dag(problem)
    p_b = BackwardPolicy.uniform(dag, RATIONAL)
    flow = flows(p_b, enumerate_rewards(problem, dag))
    assert [problem.flow(state) for state in dag.labels] == flow


@pytest.mark.parametrize("form", ["product", "sum"])
def test_inclusion_in_sets_is_that_enumerated(form: Any) -> None:
    problem = Sets.random(6, 3, form)
    dag = enumerate_dag(problem)
    law = normalize(enumerate_rewards(problem, dag))
    sets = [dag.labels[x].members for x in dag.terminals]
    for item, probability in enumerate(problem.inclusion_probabilities()):
        assert probability == sum(p for g, p in zip(sets, law, strict=True) if item in g)


def test_elementary_symmetric_polynomials_sum_products_over_subsets() -> None:
    values = fractions(2, 3, "1/2", 7)
    for degree, value in enumerate(elementary_symmetric(values, 4)):
        assert value == sum(math.prod(c) for c in combinations(values, degree))


class Fixed(Random):
    """Draws what it is told, of what it is told first."""

    def __init__(self, *draws: int) -> None:
        super().__init__(0)
        self.draws = list(draws)

    def randrange(self, *_: Any) -> int:
        return self.draws.pop(0)


def test_items_are_drawn_by_integers_without_bias() -> None:
    # Of the four integers below the sum, three stand for the last item, and one leaves the first.
    problem = Sets(fractions(1, 3), 1)
    drawn = [problem._by_item(Fixed(last, 0)) for last in range(4)]
    assert Counter(drawn) == {Items((0,)): 1, Items((1,)): 3}


def test_inclusions_in_the_full_sets_sum_to_their_size() -> None:
    assert sum(Sets.paper(16).inclusion_probabilities()) == 16


def test_a_run_of_one_letter_has_one_edge_for_both_ends() -> None:
    problem = SyntheticSequences.random(4, 2, "prepend-append")
    assert problem.children("") == ("a", "b")
    assert problem.children("aa") == ("aaa", "aab", "baa")
    assert problem.children("ab") == ("aba", "abb", "aab", "bab")
    assert problem.children("abab") == ()
    assert SyntheticSequences.random(4, 2, "append").children("aa") == ("aaa", "aab")


def test_synthetic_weights_are_the_exponentials_of_the_utilities() -> None:
    problem = SyntheticSequences.random(4, 3, seed=1)
    for word in map("".join, product(problem.alphabet, repeat=4)):
        log_reward = sum(
            u * problem.v[problem.alphabet.index(a)] for u, a in zip(problem.u, word, strict=True)
        )
        # Four factors, each rounded to 24 bits.
        assert math.log(problem.reward(word)) == pytest.approx(log_reward, abs=4 * 2.0**-24)


def test_six6_is_the_measured_table() -> None:
    problem = TableSequences.six6()
    dag = enumerate_dag(problem)
    assert (len(dag.labels), len(dag.edges)) == (87_381, 174_728)
    assert dag.trajectory_count == 7_190_236
    rewards = dict(zip(dag.terminals, enumerate_rewards(problem, dag), strict=True))
    assert min(rewards.values()) == Fraction(1, 1000)
    assert max(rewards.values()) == 10
    best = {dag.labels[x] for x, reward in rewards.items() if reward == 10}
    assert best == {"AGGTATCA", "TGATACCT"}
    # Both strands were measured as one.
    strand = str.maketrans("ACGT", "TGCA")
    for sequence in ("ACGTACGT", "AAAAAAAC", "GATTACAG", *best):
        assert problem.reward(sequence) == problem.reward(sequence.translate(strand)[::-1])


def test_tables_in_integers_sum_to_what_fractions_do() -> None:
    for exponent in (1, 2, 3):
        scores = np.random.default_rng(exponent).normal(size=27).astype(np.float32)
        problem = TableSequences("abc", 3, "append", scores, exponent)
        words = map("".join, product("abc", repeat=3))
        assert problem.z() == sum(map(problem.reward, words))


def test_pho4_prefers_low_energies_and_comes_from_the_users_file(tmp_path: Path) -> None:
    energies = np.array([0.5, -0.25, 0.125, 0.0], np.float32)
    path = tmp_path / "table.npz"
    np.savez(path, score=energies, alphabet="AC", length=2)
    problem = TableSequences.pho4(path)
    assert max(["AA", "AC", "CA", "CC"], key=problem.reward) == "AC"
    assert problem.reward("AC") == 10
    assert problem.reward("AA") == Fraction(1, 1000)


def test_a_table_of_eleven_blocks_is_read_and_summed(tmp_path: Path) -> None:
    # As long as that of QM9: scores with a known law take the place of the proxy's.
    scores = np.arange(11**5, dtype=np.float32)
    path = tmp_path / "table.npz"
    np.savez(path, score=scores, alphabet="ABCDEFGHIJK", length=5)
    problem = QM9.make(path, exponent=1)
    assert (problem.build, problem.reward("KKKKK")) == ("prepend-append", 10)
    # The sum of 10 i / (N - 1), and 1/1000 in place of what is below.
    most = 11**5 - 1
    floor = [Fraction(10 * i, most) for i in range(most // 10_000 + 1)]
    assert problem.z() == 5 * 11**5 + sum(Fraction(1, 1000) - r for r in floor)


@pytest.mark.catches(
    "The Hamming distance is not divided by the length.",
    "reference/problems/bits.py",
    "-self.exponent * distance / self.length))",
    "-self.exponent * distance))",
)
def test_bits_measure_the_distance_to_the_nearest_mode() -> None:
    problem = BitSequences(("0000", "1110"), 2)
    strings = ("0000", "0001", "1111", "1100", "0110")
    assert [*map(problem.distance, strings)] == [0, 1, 1, 1, 1]
    assert problem.children("") == ("00", "01", "10", "11")
    assert problem.children("0011") == ()
    assert problem.reward("0001") == Fraction(float(np.float32(math.exp(-3 / 4))))
    both = BitSequences(("0000",), 2, "prepend-append")
    assert both.children("01") == ("0100", "0101", "0110", "0111", "0001", "1001", "1101")


def test_modes_of_sixteen_bits_are_at_most_twenty_five() -> None:
    modes = BitSequences.paper(16).modes
    assert len(modes) == len(set(modes)) <= 25
    assert all(len(mode) == 16 for mode in modes)
    assert BitSequences.paper(16) == BitSequences.paper(16) != BitSequences.paper(16, seed=1)


@pytest.mark.catches(
    "Strings that differ in alike positions are counted once, not as often as there are.",
    "reference/problems/bit_distances.py",
    "[math.comb(size, k) for k in range(size + 1)]",
    "[1 for k in range(size + 1)]",
)
@pytest.mark.parametrize(("length", "count"), [(1, 1), (6, 3), (8, 5), (9, 2)])
def test_strings_of_bits_are_counted_by_their_distance_as_one_by_one(
    length: int, count: int
) -> None:
    rng = Random(length)
    modes = tuple("".join(rng.choices("01", k=length)) for _ in range(count))
    problem = BitSequences(modes, exponent=5)
    strings = [*map("".join, product("01", repeat=length))]
    distances = Counter(map(problem.distance, strings))
    assert bit_distances.distance_counts(modes) == [distances[d] for d in range(length + 1)]
    assert problem.z() == sum(map(problem.reward, strings))


def test_strings_of_the_paper_are_counted_and_more_modes_bring_them_nearer() -> None:
    assert sum(bit_distances.distance_counts(BitSequences.paper(32).modes)) == 2**32
    # Control: the nearest of several modes is not the first of them.
    first, both = (bit_distances.distance_counts(("0000", "1100")[:n]) for n in (1, 2))
    assert first != both


@pytest.mark.parametrize(
    ("limit", "words"),
    [("MOST", "too many kinds to be counted .*: give log Z"), ("LARGEST", "half of the strings")],
)
def test_strings_of_too_many_kinds_are_not_counted(
    limit: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bit_distances, limit, 1_000)
    with pytest.raises(TooLargeError, match=words):
        BitSequences.paper(16).log_z()


@pytest.mark.parametrize(
    ("landscape", "distance"), [("rings", 0.129), ("sharp-rings", 0.663), ("sinusoidal", 0.337)]
)
def test_random_walk_targets_are_as_far_from_uniform_as_published(
    landscape: Any, distance: float
) -> None:
    problem = LazyRandomWalk.paper(landscape)
    target = normalize([problem.reward(state) for state in problem.law().states])
    uniform = [Fraction(1, 1089)] * 1089
    assert float(total_variation(target, uniform)) == pytest.approx(distance, abs=5e-4)


def test_ising_orders_give_a_tree_or_all_orders() -> None:
    assert enumerate_dag(Ising.random(3, "fixed")).trajectory_count == 8
    assert enumerate_dag(Ising.random(3, "any")).trajectory_count == 48


def test_states_print_readably() -> None:
    states = [Items((0, 3)), Spins((-1, 0, 1)), Walker((1, -2), 3), Weights((1, None, -2))]
    texts = [*map(str, [*states, Cell((1, 0), stopped=True)])]
    assert texts == ["{0,3}", "-?+", "1 -2 @3", "+1 ? -2", "1 0 stop"]
