"""Tasks against numbers worked out by hand, published, or computed another way."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import chi2

from reference import (
    BALL,
    RATIONAL,
    BackwardPolicy,
    History,
    LiftedDAG,
    TooLargeError,
    enumerate_dag,
    enumerate_rewards,
    flows,
    forward_from_backward,
    lift,
    marginal,
    normalize,
    tb_residuals,
    total_variation,
)
from reference.fields.balls import enclose, precision
from reference.posterior import Network, Selection
from reference.problems import (
    BitSequences,
    Cell,
    Grid,
    Ising,
    LazyRandomWalk,
    Lines,
    Phylogeny,
    Preference,
    Sets,
    SyntheticSequences,
    TableSequences,
    bits,
    closed_form,
    dyadic,
    hard_core,
    phylogeny,
    sets,
)
from reference.problems.closed_form import Enclosure
from reference.problems.graphs import EdgeAddition, Graph, graph
from reference.problems.hard_core import HardCore
from reference.problems.ising import Spins
from reference.problems.phylogeny import Tree, forest_count
from reference.problems.preference import Weights
from reference.problems.random_walk import Walker
from reference.problems.sets import Items, elementary_symmetric
from tests.refusals import refused
from verify.lib.forks import target_weights, with_features
from verify.lib.gnn import added_edge, wl_policies
from verify.lib.presets import MINIMAL, PAPER


@pytest.mark.catches(
    "In the fixed order a parent lacks the first place that is set, not the last.",
    "reference/problems/base.py",
    'return places[-1:] if order == "fixed"',
    'return places[:1] if order == "fixed"',
    only="ising-fixed-order",
)
@pytest.mark.parametrize("name", [name for name in MINIMAL if hasattr(MINIMAL[name](), "parents")])
def test_parents_are_the_states_that_lead_to_a_state(name: str) -> None:
    problem = MINIMAL[name]()
    dag = enumerate_dag(problem)
    for state, edges in zip(dag.labels, dag.in_edges, strict=True):
        leading = Counter(dag.labels[dag.edges[e][0]] for e in edges)
        assert Counter(problem.parents(state)) == leading


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
    assert sum(Sets.paper(16).inclusion_probabilities()) == 16


def test_elementary_symmetric_polynomials_sum_products_over_subsets() -> None:
    values = fractions(2, 3, "1/2", 7)
    for degree, value in enumerate(elementary_symmetric(values, 4)):
        assert value == sum(math.prod(c) for c in combinations(values, degree))


class Fixed:
    """Draws what it is told, of what it is told first."""

    def __init__(self, *draws: int) -> None:
        self.draws = list(draws)

    def randrange(self, _: int) -> int:
        return self.draws.pop(0)

    def integers(self, *_: Any, size: int, **__: Any) -> Any:
        return np.full(size, self.draws.pop(0), np.uint64)


@pytest.mark.catches(
    "a draw whose bits are equal leaves the item out",
    "reference/problems/sets.py",
    "chosen[row, i] = rng.randrange(total[k]) < rest",
    "chosen[row, i] = False",
)
def test_items_are_drawn_by_integers_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    # The last item's 2 / 3 are two of the four words of two bits, and two thirds of a third word.
    monkeypatch.setattr(sets, "BITS", 2)
    drawn = Counter[Items]()
    for word, rest in product(range(4), range(3)):
        for name, fixed in (("seeded_arrays", Fixed(word, 0)), ("seeded", Fixed(rest, 0))):
            monkeypatch.setattr(sets, name, lambda *_, fixed=fixed: fixed)
        drawn.update(Sets(fractions(1, 2), 1)._by_item(1, 0))
    assert drawn == {Items((0,)): 4, Items((1,)): 8}


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
    assert TableSequences.pho4(path, exponent=1).reward("CA") == 5


def test_a_table_of_eleven_blocks_is_read_and_summed(tmp_path: Path) -> None:
    # As long as that of QM9: scores with a known law take the place of the proxy's.
    scores = np.arange(11**5, dtype=np.float32)
    path = tmp_path / "table.npz"
    np.savez(path, score=scores, alphabet="ABCDEFGHIJK", length=5)
    problem = TableSequences.load(path, exponent=1)
    assert (problem.build, problem.reward("KKKKK")) == ("prepend-append", 10)
    # The sum of 10 i / (N - 1), and 1/1000 in place of what is below.
    most = 11**5 - 1
    floor = [Fraction(10 * i, most) for i in range(most // 10_000 + 1)]
    assert problem.z() == 5 * 11**5 + sum(Fraction(1, 1000) - r for r in floor)


@pytest.mark.catches(
    "The Hamming distance is not divided by the length.",
    "reference/problems/bits.py",
    "-self.exponent * d / n)) for",
    "-self.exponent * d)) for",
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
    assert BitSequences.paper(16) == BitSequences.paper(16) != BitSequences.random(16, seed=1)
    assert BitSequences.random(16, exponent=20).exponent == 20


@pytest.mark.catches(
    "Strings that differ in alike positions are counted once, not as often as there are.",
    "reference/problems/bits.py",
    "[math.comb(size, k) for k in range(size + 1)]",
    "[1 for k in range(size + 1)]",
)
@pytest.mark.parametrize(("length", "count"), [(1, 1), (6, 3), (8, 5), (9, 2)])
def test_strings_are_counted_by_their_distance_as_one_by_one(length: int, count: int) -> None:
    rng = Random(length)
    modes = tuple("".join(rng.choices("01", k=length)) for _ in range(count))
    problem = BitSequences(modes, exponent=5)
    strings = [*map("".join, product("01", repeat=length))]
    distances = Counter(map(problem.distance, strings))
    assert bits.distance_counts(modes) == [distances[d] for d in range(length + 1)]
    assert problem.z() == sum(map(problem.reward, strings))


def test_strings_of_the_paper_are_counted_and_more_modes_bring_them_nearer() -> None:
    assert sum(bits.distance_counts(BitSequences.paper(32).modes)) == 2**32
    # Counts beyond 64 bits are exact, or there are none.
    assert bits.distance_counts(("0" * 200,)) == [math.comb(200, k) for k in range(201)]
    halves = ("0" * 120, "1" * 60 + "0" * 60, ("1" * 30 + "0" * 30) * 2)
    refused("are too many, or of", lambda: bits.distance_counts(halves), kind=TooLargeError)
    # Control: the nearest of several modes is not the first of them.
    first, both = (bits.distance_counts(("0000", "1100")[:n]) for n in (1, 2))
    assert first != both


@pytest.mark.parametrize(
    ("limit", "words"),
    [("MOST", "too many kinds, to be counted .*: give log Z"), ("LARGEST", "half of the strings")],
)
def test_strings_of_too_many_kinds_are_not_counted(
    limit: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bits, limit, 1_000)
    refused(words, lambda: BitSequences.paper(16).log_z(), kind=TooLargeError)


@pytest.mark.parametrize(
    ("landscape", "distance"), [("rings", 0.129), ("sharp-rings", 0.663), ("sinusoidal", 0.337)]
)
def test_random_walks_are_as_far_from_uniform_as_published(landscape: Any, distance: float) -> None:
    problem = LazyRandomWalk.paper(landscape)
    target = normalize([problem.reward(state) for state in problem.law().states])
    uniform = [Fraction(1, 1089)] * 1089
    assert float(total_variation(target, uniform)) == pytest.approx(distance, abs=5e-4)


@pytest.mark.catches(
    "The range of weights ends one too early.",
    "reference/problems/preference.py",
    "return range(-self.bound, self.bound + 1)",
    "return range(-self.bound, self.bound)",
)
@pytest.mark.parametrize(
    ("problem", "states", "lifted", "trajectories"),
    [
        (Ising.minimal(), 3**3, 1 + 6 + 6 * 4 + 8, 48),
        (Ising.random(4, "fixed"), 31, 31, 16),
        (replace(Preference.minimal(), order="fixed"), 13, 13, 9),
        (replace(Preference.minimal(), order="any"), 16, 1 + 6 + 9, 18),
        (LazyRandomWalk(2, 5, 2), 90, 1 + 5 + 25 + 121 + 569 + 25, 2_617),
    ],
)
def test_small_graphs_have_so_many_states_histories_and_trajectories(
    problem: Any, states: int, lifted: int, trajectories: int
) -> None:
    dag = enumerate_dag(problem)
    assert len(dag.labels) == states
    assert len(lift(dag, History()).dag.labels) == lifted
    assert dag.trajectory_count == trajectories


def test_states_print_readably() -> None:
    states = [Items((0, 3)), Spins((-1, 0, 1)), Walker((1, -2), 3), Weights((1, None, -2))]
    states += [Cell((1, 0), True), Network((0, 0b101, 0), True), Network((0, 0))]
    texts = [*map(str, [*states, Selection((True, False, True), True)])]
    assert texts[:5] == ["{0,3}", "-?+", "1 -2 @3", "+1 ? -2", "1 0 stop"]
    assert texts[5:] == ["0->1 2->1", "no edges ...", "{0,2}"]


WITH_CLOSED_FORM = sorted(set(MINIMAL) - {"bits", "torus"})
SAMPLES = 20_000


class Instance(NamedTuple):
    """A minimal preset, enumerated and lifted by the full history."""

    problem: Any
    lifted: LiftedDAG[Any]
    rewards: tuple[Fraction, ...]


@cache
def instance(name: str) -> Instance:
    problem = MINIMAL[name]()
    dag = enumerate_dag(problem)
    return Instance(problem, lift(dag, History()), enumerate_rewards(problem, dag))


@pytest.mark.parametrize("name", PAPER)
def test_paper_presets_have_an_initial_state_with_children(name: str) -> None:
    problem = PAPER[name]()
    assert problem.children(problem.initial)


@pytest.mark.parametrize("name", MINIMAL)
def test_minimal_presets_are_small_and_the_optimum_has_the_target_as_its_law(name: str) -> None:
    _, lifted, rewards = instance(name)
    assert len(lifted.dag.labels) <= 3000
    assert all(reward > 0 for reward in rewards)
    texts = {str(lifted.base.labels[x]) for x in lifted.base.terminals}
    assert len(texts) == len(rewards)
    p_b = BackwardPolicy.uniform(lifted.dag, RATIONAL)
    p_f, z = forward_from_backward(p_b, rewards)
    assert z == sum(rewards)
    assert marginal(p_f) == normalize(rewards)
    assert all(residual == 0 for _, residual in tb_residuals(p_f, p_b, rewards, z))


@pytest.mark.catches(
    "The sets with a given item are counted as all sets of the size.",
    "reference/problems/sets.py",
    "return math.comb(len(self.weights) - 1, self.size - 1) * sum(",
    "return math.comb(len(self.weights), self.size) * sum(",
)
@pytest.mark.parametrize("name", WITH_CLOSED_FORM)
def test_the_closed_form_is_the_enumerated_sum(name: str) -> None:
    problem, _, rewards = instance(name)
    total = sum(rewards, Fraction(0))
    log_z = closed_form(problem).log_z()
    assert log_z.contains(math.log(total))
    assert log_z.error < 1e-6
    if hasattr(problem, "z"):
        assert problem.z() == total
    # Control: that of another target is another.
    assert not log_z.contains(math.log(total + min(rewards) / 1000))


@pytest.mark.catches(
    "A draw on the boundary between two states goes to the first of them.",
    "reference/problems/closed_form.py",
    "bisect_right(self._sums, rng.randrange(self._sums[-1]))",
    "bisect_right(self._sums, rng.randrange(self._sums[-1]) - 1)",
    only="graphs",
)
@pytest.mark.parametrize("name", WITH_CLOSED_FORM)
def test_samples_follow_the_target(name: str) -> None:
    problem, lifted, rewards = instance(name)
    base = lifted.base
    target = dict(zip((base.labels[x] for x in base.terminals), normalize(rewards), strict=True))
    counts = Counter(problem.sample(SAMPLES, seed=0))
    assert set(counts) <= set(target)
    assert _p_value(counts, target) > 1e-4
    if len(set(rewards)) > 1:
        # Control: the same samples are not those of the uniform law.
        uniform = dict.fromkeys(target, Fraction(1, len(target)))
        assert _p_value(counts, uniform) < 1e-4
    assert problem.sample(40, seed=1) == problem.sample(40, seed=1) != problem.sample(40, seed=2)
    assert problem.sample(0, seed=1) == []
    refused("count is -1", lambda: problem.sample(-1, seed=0))


@pytest.mark.parametrize("bits", [1, 3])
def test_sets_follow_the_target_where_the_first_bits_do_not_decide(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "BITS", bits)
    test_samples_follow_the_target("sets")


def _p_value(counts: Counter[Any], law: dict[Any, Fraction]) -> float:
    """Pearson's test; states expected less than five times are taken together."""
    rare, statistic, cells = [0, 0.0], 0.0, 0
    for state, probability in law.items():
        expected = SAMPLES * float(probability)
        if expected < 5:
            rare = [rare[0] + counts[state], rare[1] + expected]
        else:
            statistic += (counts[state] - expected) ** 2 / expected
            cells += 1
    if rare[1] >= 1:
        statistic += (rare[0] - rare[1]) ** 2 / rare[1]
        cells += 1
    return float(chi2.sf(statistic, cells - 1))


def test_closed_forms_work_at_full_size() -> None:
    for name in ("sets-32", "sequences-32", "six6", "grid-sparse", "random-walk", "ising-64"):
        problem = PAPER[name]()
        assert math.isfinite(problem.log_z().value)
        assert len(problem.sample(10, seed=0)) == 10


def test_the_ends_of_an_enclosure_are_inside() -> None:
    half = Enclosure(1.0, 0.5)
    assert half.contains(Fraction(3, 2))
    assert half.contains(0.5)
    assert not half.contains(Fraction(3, 2) + Fraction(1, 10**30))


# A cycle of five with a chord and a vertex of its own.
GRAPH = HardCore(6, ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3)), Fraction(3, 5))


@pytest.mark.catches(
    "A vertex may be occupied beside an occupied one.",
    "reference/problems/hard_core.py",
    "if not any(occupied >> u & 1 for u in self._neighbours[vertex]):",
    "if True:",
)
@pytest.mark.parametrize(
    "problem",
    [
        *(GRAPH, HardCore.strip(2, 4, 1.5), HardCore.strip(7, 1)),
        HardCore(4, ((0, 2), (2, 3)), Fraction(2, 3), "fixed"),
    ],
)
def test_z_and_occupations_are_those_of_all_independent_sets(problem: HardCore) -> None:
    sets = [
        x
        for x in product((0, 1), repeat=problem.vertices)
        if not any(x[u] and x[v] for u, v in problem.edges)
    ]
    weights = [problem.fugacity ** sum(x) for x in sets]
    assert problem.z() == sum(weights)
    for v, probability in enumerate(problem.occupation_probabilities()):
        held = sum(w for x, w in zip(sets, weights, strict=True) if x[v])
        assert probability == held / sum(weights)
    dag = enumerate_dag(problem)
    assert sorted(dag.labels[x].values for x in dag.terminals) == sets
    # Control: with another fugacity the law is another.
    assert problem.z() != HardCore(problem.vertices, problem.edges, Fraction(7)).z()


def test_independent_sets_of_square_grids_are_as_many_as_published() -> None:
    # OEIS A006506.
    counts = [2, 7, 63, 1234, 55447, 5598861, 1280128950, 660647962955]
    assert [HardCore.strip(n, n).z() for n in range(1, 9)] == counts


def test_a_long_strip_has_the_z_of_the_transfer_matrix_of_its_rows() -> None:
    rows, columns, fugacity = 40, 5, Fraction(5, 4)
    states = [x for x in range(2**columns) if not x & x >> 1]
    weights = {x: fugacity ** x.bit_count() for x in states}
    total = weights
    for _ in range(rows - 1):
        total = {y: weights[y] * sum(total[x] for x in states if not x & y) for y in states}
    assert HardCore.strip(rows, columns, 1.25).z() == sum(total.values())
    # Its two ends are alike, and so are its sides.
    by_vertex = HardCore.strip(rows, columns, 1.25).occupation_probabilities()
    assert by_vertex == by_vertex[::-1]
    assert by_vertex[0] > by_vertex[1]


def test_a_strip_that_is_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard_core, "MAX_ENTRIES", 100)
    # Numbers of Pell and Lucas.
    assert HardCore.strip(8, 2).z() == 1393
    refused("fewer columns than rows", lambda: HardCore.strip(2, 8).z(), kind=TooLargeError)


ROWS = ("ACGTA-A", "ACGAAGA", "CAGAACA", "CAC?AAA", "GATTAGA")
FIVE = Phylogeny(("a", "b", "c", "d", "e"), ROWS, 0.5)


def costs(tree: Tree, column: str) -> dict[str, int]:
    """The fewest changes below a node for each letter at it, by trying all at each (Sankoff)."""
    if isinstance(tree, int):
        return {a: 0 if column[tree] in (a, *phylogeny.UNKNOWN) else 99 for a in "ACGT"}
    below = [costs(child, column) for child in tree]
    return {a: sum(min(c[b] + (a != b) for b in "ACGT") for c in below) for a in "ACGT"}


@pytest.mark.catches(
    "Letters that two children share are not preferred to those of either.",
    "reference/problems/phylogeny.py",
    "letters.append(a & b or a | b)",
    "letters.append(a | b)",
)
def test_changes_are_the_fewest_over_all_letters_of_ancestors() -> None:
    dag = enumerate_dag(FIVE)
    trees = [dag.labels[x].trees[0] for x in dag.terminals]
    assert len(trees) == 105
    columns = ["".join(column) for column in zip(*ROWS, strict=True)]
    expected = [sum(min(costs(tree, column).values()) for column in columns) for tree in trees]
    assert [*map(FIVE.changes, trees)] == expected
    assert FIVE.change_counts() == Counter(expected)
    assert FIVE.least <= min(expected) < max(expected)
    assert FIVE.z() == sum(FIVE.reward(dag.labels[x]) for x in dag.terminals)


@pytest.mark.parametrize("taxa", range(2, 7))
def test_forests_and_trees_are_as_many_as_known(taxa: int) -> None:
    dag = enumerate_dag(Phylogeny.random(taxa))
    trees = {2: 1, 3: 3, 4: 15, 5: 105, 6: 945}
    assert len(dag.terminals) == trees[taxa]
    assert len(dag.labels) == forest_count(taxa)


def test_eight_taxa_have_135135_trees_and_the_root_does_not_matter() -> None:
    problem = Phylogeny.random(8, 7, seed=1)
    counts = problem.change_counts()
    assert sum(counts.values()) == 135_135
    # Each of the 10,395 unrooted trees is rooted at any of its 13 edges.
    assert all(count % 13 == 0 for count in counts.values())
    assert forest_count(8) == 353_522
    # Control: of the trees of seven, counted alike, not all classes are multiples of 13.
    seven = Phylogeny.random(7, 7, seed=1).change_counts()
    assert sum(seven.values()) == 10_395
    assert any(count % 13 for count in seven.values())


def test_an_alignment_is_read_from_a_file_and_refused_with_its_fault(tmp_path: Path) -> None:
    path = tmp_path / "five.fasta"
    path.write_text(
        "".join(f">{n}\n{r[:3]}\n{r[3:]}\n" for n, r in zip("abcde", ROWS, strict=True))
    )
    assert Phylogeny.aligned(path, cost=0.5) == FIVE
    refused("leave taxa, sites and the seed", lambda: Phylogeny.aligned(path, taxa=5))
    for text, words in (
        ("a\nAC", "is no FASTA file"),
        (">a\nAC\n>b\nA", "equally long"),
        (">a", "FASTA"),
    ):
        path.write_text(text)
        refused(words, Phylogeny.from_fasta, path)


def test_too_many_subtrees_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phylogeny, "MAX_JOINS", 100)
    refused("use at most 8", lambda: Phylogeny.random(6).z(), kind=TooLargeError)
    assert sum(Phylogeny.random(4).change_counts().values()) == 15


LANDSCAPES = ["rings", "sharp-rings", "sinusoidal"]


@pytest.mark.catches(
    "A step adds +e_i only, as printed, so that no negative coordinate is reached.",
    "reference/problems/random_walk.py",
    "product(range(self.dimension), (1, -1))",
    "product(range(self.dimension), (1,))",
)
def test_a_step_stays_or_moves_along_an_axis_inside_the_box() -> None:
    walk = LazyRandomWalk(2, 5, 2)
    moves = [child.position for child in walk.children(walk.initial)]
    assert moves == [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
    corner = walk.children(Walker((2, -2), 4))
    assert corner == tuple(Walker(x, 5) for x in ((2, -2), (1, -2), (2, -1)))
    assert walk.children(corner[0]) == ()


def trajectory_counts(walk: LazyRandomWalk) -> Counter[Walker]:
    """The number of trajectories that end in each terminal, by convolution over the steps."""
    counts = Counter({walk.initial: 1})
    for _ in range(walk.steps):
        following: Counter[Walker] = Counter()
        for state, count in counts.items():
            for child in walk.children(state):
                following[child] += count
        counts = following
    return counts


@pytest.mark.parametrize("dimension", [1, 2])
def test_trajectories_are_counted_as_enumeration_counts_them(dimension: int) -> None:
    walk = LazyRandomWalk(2, 5, dimension)
    dag = enumerate_dag(walk)
    assert trajectory_counts(walk) == Counter(dag.labels[dag.end(t)] for t in dag.trajectories())


def test_trajectories_away_from_the_walls_are_counted_by_trinomial_coefficients() -> None:
    # With M = T no wall is in the way of any walk: the coefficients of (1 + x + 1/x)^T.
    counts = trajectory_counts(LazyRandomWalk(6, 6, 1))
    coefficients = np.ones(1, dtype=np.int64)
    for _ in range(6):
        coefficients = np.convolve(coefficients, [1, 1, 1])
    assert [counts[Walker((x,), 6)] for x in range(-6, 7)] == coefficients.tolist()


@pytest.mark.parametrize("landscape", LANDSCAPES)
def test_the_paper_walk_is_the_one_described(landscape: Any) -> None:
    walk = LazyRandomWalk.paper(landscape)
    assert (walk.radius, walk.dimension, walk.steps, len(walk.rewards)) == (16, 2, 32, 1089)
    assert in_float32(walk.rewards)
    counts = trajectory_counts(walk)
    assert len(counts) == 1089
    # A corner takes all 32 steps, 16 of them along the first axis.
    assert counts[Walker((16, -16), 32)] == math.comb(32, 16)


def test_sharp_rings_by_hand() -> None:
    sharp = LazyRandomWalk.paper("sharp-rings")
    # |(8, -6)| / 16 = 5/8; a Gaussian of standard deviation 1/20 has a factor of 200.
    value = 0.6 * math.exp(-((0.425 / 0.05) ** 2) / 2) + 0.4 * math.exp(-(3.5**2) / 2)
    assert float(sharp.reward(Walker((8, -6), 32))) == pytest.approx(value, rel=2.0**-23)
    assert min(sharp.rewards) == sharp.reward(Walker((16, 16), 32)) < Fraction(1, 10**33)


@pytest.mark.catches(
    "A cell's reward is looked up as if a side of the box had 2M cells instead of 2M + 1.",
    "reference/problems/random_walk.py",
    "row = row * (2 * self.radius + 1) + x + self.radius",
    "row = row * (2 * self.radius) + x + self.radius",
)
def test_rewards_are_listed_in_the_order_of_the_cells() -> None:
    # All coordinates differ in their effect, so that a transposed table is seen.
    walk = LazyRandomWalk(3, 9, 3, "sinusoidal")
    for row, cell in enumerate(product(range(-3, 4), repeat=3)):
        assert walk.reward(Walker(cell, 9)) == walk.rewards[row]
        assert float(walk.rewards[row]) == pytest.approx(1 + math.cos(cell[2]), rel=2.0**-23)


def test_the_sinusoidal_reward_keeps_its_digits_near_its_zeros() -> None:
    # 355/113 is close to pi, so that cos(355) is close to -1.
    walk = LazyRandomWalk(355, 355, 1, "sinusoidal")
    with precision(128):
        lower, upper = enclose(1 + BALL.convert(355).cos())
    assert upper - lower < lower / 2**60
    assert abs(walk.reward(Walker((355,), 355)) - lower) < lower / 2**23
    # Control: the sum as printed loses half of the digits of a float.
    assert abs(Fraction(1 + math.cos(355)) - lower) > lower / 2**26


PRESETS: dict[str, tuple[Callable[[], EdgeAddition], int, int]] = {
    # preset, |S|, histories
    "matching": (EdgeAddition.matching, 5, 2),
    "paths": (EdgeAddition.paths, 5, 1),
    "marked": (EdgeAddition.marked, 4, 2),
    "mirrored": (EdgeAddition.mirrored, 4, 2),
    "paper": (EdgeAddition.paper, 5, 2),
    "minimal": (EdgeAddition.minimal, 5, 2),
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_forks_with_the_stated_states_and_rewards(name: str) -> None:
    preset, inner, histories = PRESETS[name]
    problem = preset()
    dag = enumerate_dag(problem)
    assert dag.labels[0] == problem.initial
    assert {dag.labels[x] for x in dag.terminals} == set(problem.terminals)
    assert (len(dag.labels) - len(dag.terminals), len(dag.terminals)) == (inner, 2)
    assert dag.trajectory_count == 2 * histories
    p = dag.index[problem.inner[-1]]
    assert [dag.labels[v] for v in dag.children[p]] == list(problem.terminals)
    assert enumerate_rewards(problem, dag) == (Fraction(7, 10), Fraction(3, 10))


@pytest.mark.catches(
    "The shares of the chords between the cycles and of the others are exchanged.",
    "reference/problems/graphs.py",
    "pairs = (((0, 1), t), ((2, 3), t), ((0, 2), 1 - t)",
    "pairs = (((0, 1), t), ((2, 3), 1 - t), ((0, 2), t)",
)
@pytest.mark.parametrize("grown", [False, True])
def test_two_cycles_tie_all_chords_though_half_of_them_join_the_cycles(grown: bool) -> None:
    problem = EdgeAddition.instance("cycles", 0.25, 6, grown)
    dag, p = enumerate_dag(problem), problem.inner[-1]
    assert dag.trajectory_count == 16
    assert len(problem.initial.edges) == (0 if grown else 8)
    # No chord is an edge, and rewards say which of them join the cycles.
    assert len({edge for x in problem.terminals for edge in x.edges}) == 12 + 16
    joined = {x for x in problem.terminals if len({node < 6 for node in added_edge(p, x)}) == 2}
    assert sum(map(problem.reward, joined)) == Fraction(1, 4)
    assert {problem.reward(x) for x in joined} == {Fraction(1, 32)}
    # Refinement of any depth ties them, and with path features it does not.
    target = [problem.reward(dag.labels[x]) for x in dag.terminals]
    for policies, off in ((wl_policies(problem), Fraction(1, 4)), (with_features(problem), 0)):
        law = marginal(policies.policy(target_weights(policies, problem)))
        assert total_variation(law, target) == off


def test_every_step_adds_one_edge_and_every_such_step_is_there() -> None:
    problem = EdgeAddition.matching()
    dag = enumerate_dag(problem)
    steps = {
        (u, v)
        for u in dag.labels
        for v in dag.labels
        if set(u.edges) < set(v.edges) and len(v.edges) == len(u.edges) + 1
    }
    assert {(dag.labels[u], dag.labels[v]) for u, v in dag.edges} == steps
    for u, v in steps:
        assert graph([*u.edges, added_edge(u, v)]) == v


@pytest.mark.catches(
    "The ends of an edge keep their order, so that one graph has two names.",
    "reference/problems/graphs.py",
    "(min(pair), max(pair)) for pair in pairs",
    "pair for pair in pairs",
)
def test_graphs_are_equal_whatever_the_order_of_their_edges_and_print_them() -> None:
    assert graph([(3, 2), (0, 1)]) == graph([(1, 0), (2, 3)]) == Graph(((0, 1), (2, 3)))
    assert str(graph([(3, 2), (0, 1)])) == "0-1 2-3"
    assert str(graph([])) == "no edges"


def test_the_partition_function_is_the_enumerated_one() -> None:
    problem = replace(EdgeAddition.paper(), rewards=(Fraction(2, 3), Fraction(5, 7)))
    rewards = enumerate_rewards(problem, enumerate_dag(problem))
    assert problem.z() == sum(rewards) == Fraction(29, 21)
    assert problem.log_z().contains(0.322773392263051)
    assert not problem.log_z().contains(0.32277)
