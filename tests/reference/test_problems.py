"""The tasks against numbers worked out by hand, published, or computed another way."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from reference import (
    RATIONAL,
    BackwardPolicy,
    InputError,
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
    Preference,
    Sets,
    SyntheticSequences,
    TableSequences,
)
from reference.problems.bit_distances import distance_counts
from reference.problems.ising import Spins
from reference.problems.preference import Weights
from reference.problems.random_walk import Walker
from reference.problems.sets import Items, elementary_symmetric


def fractions(*values: Any) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


@pytest.mark.parametrize("form", ["product", "sum"])
def test_flow_and_inclusion_of_sets_are_those_enumerated(form: Any) -> None:
    problem = Sets.random(6, 3, form)
    dag = enumerate_dag(problem)
    rewards = enumerate_rewards(problem, dag)
    p_b = BackwardPolicy.uniform(dag, RATIONAL)
    assert [problem.flow(state) for state in dag.labels] == flows(p_b, rewards)
    z = sum(rewards)
    sets = [dag.labels[x].members for x in dag.terminals]
    for item, probability in enumerate(problem.inclusion_probabilities()):
        held = sum(r for g, r in zip(sets, rewards, strict=True) if item in g)
        assert probability == held / z


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


def test_the_full_sets_have_as_many_terminals_as_published() -> None:
    for size, count in ((16, 4.885e14), (24, 2.506e17), (32, 1.833e18)):
        problem = Sets.paper(size)
        assert math.comb(len(problem.weights), problem.size) == pytest.approx(count, rel=1e-3)
        assert sum(problem.inclusion_probabilities()) == size


@pytest.mark.parametrize(
    ("landscape", "z"),
    [("standard", "40.256"), ("printed", "144.756"), ("sparse", "4.252")],
)
def test_grids_have_the_partition_function_counted_by_hand(landscape: Any, z: str) -> None:
    assert Grid.paper(landscape).z() == Fraction(z)


def test_the_printed_grid_is_another_target() -> None:
    laws = []
    for landscape in ("standard", "printed"):
        problem = Grid(16, 2, landscape)  # type: ignore[arg-type]
        laws.append(normalize(enumerate_rewards(problem, enumerate_dag(problem))))
    assert float(total_variation(*laws)) == pytest.approx(0.658, abs=5e-4)


def test_the_sparse_grid_has_its_peaks_in_any_dimension() -> None:
    assert set(Grid(16, 2, "sparse").peaks) == {(2, 2), (1, 14), (14, 1), (14, 14)}
    cube = Grid(6, 3, "sparse")
    assert len(set(cube.peaks)) == 8
    assert cube.reward(Cell((1, 1, 1), True)) == Fraction(1, 1000)


def test_synthetic_flow_on_the_tree_is_that_of_the_balanced_policy() -> None:
    for form in ("product", "sum"):
        problem = SyntheticSequences.random(3, 3, "append", seed=5, form=form)  # type: ignore[arg-type]
        dag = enumerate_dag(problem)
        rewards = enumerate_rewards(problem, dag)
        flow = flows(BackwardPolicy.uniform(dag, RATIONAL), rewards)
        assert [problem.flow(prefix) for prefix in dag.labels] == flow


def test_synthetic_weights_are_the_exponentials_of_the_utilities() -> None:
    problem = SyntheticSequences.random(4, 3, seed=1)
    for word in map("".join, product(problem.alphabet, repeat=4)):
        log_reward = sum(
            u * problem.v[problem.alphabet.index(a)] for u, a in zip(problem.u, word, strict=True)
        )
        # Four factors, each rounded to 24 bits.
        assert math.log(problem.reward(word)) == pytest.approx(log_reward, abs=4 * 2.0**-24)


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
    with pytest.raises(InputError, match="cannot be read"):
        TableSequences.pho4(tmp_path / "nothing.npz")


@pytest.mark.catches(
    "The Hamming distance is not divided by the length.",
    "reference/problems/bits.py",
    "-self.exponent * distance / self.length))",
    "-self.exponent * distance))",
)
def test_bits_measure_the_distance_to_the_nearest_mode() -> None:
    problem = BitSequences(("0000", "1110"), 2)
    assert [problem.distance(x) for x in ("0000", "0001", "1111", "1100", "0110")] == [
        0,
        1,
        1,
        1,
        1,
    ]
    assert problem.children("") == ("00", "01", "10", "11")
    assert problem.children("0011") == ()
    assert problem.reward("0001") == Fraction(float(np.float32(math.exp(-3 / 4))))
    both = BitSequences(("0000",), 2, "prepend-append")
    assert both.children("01") == ("0100", "0101", "0110", "0111", "0001", "1001", "1101")


def test_modes_of_sixteen_bits_are_at_most_twenty_five() -> None:
    modes = BitSequences.paper(16).modes
    assert len(modes) == len(set(modes)) <= 25
    assert all(len(mode) == 16 for mode in modes)
    assert BitSequences.paper(16) == BitSequences.paper(16)
    assert BitSequences.paper(16) != BitSequences.paper(16, seed=1)


@pytest.mark.catches(
    "Strings that differ in alike positions are counted once, not as often as there are.",
    "reference/problems/bit_distances.py",
    "[math.comb(size, k) for k in range(size + 1)]",
    "[1 for k in range(size + 1)]",
    only="append",
)
@pytest.mark.parametrize("build", ["append", "prepend-append"])
def test_strings_of_bits_are_counted_by_their_distance_as_one_by_one(build: Any) -> None:
    rng = Random(0)
    for length, count in ((1, 1), (6, 3), (8, 5), (9, 2)):
        modes = tuple("".join(rng.choices("01", k=length)) for _ in range(count))
        problem = BitSequences(modes, build=build, exponent=5)
        distances = Counter(problem.distance("".join(x)) for x in product("01", repeat=length))
        assert distance_counts(modes) == [distances[d] for d in range(length + 1)]
        assert problem.z() == sum(
            (problem.reward("".join(x)) for x in product("01", repeat=length)), Fraction(0)
        )
    assert sum(distance_counts(BitSequences.paper(32).modes)) == 2**32
    # Control: the nearest of several modes is not the first of them.
    assert distance_counts(("0000", "1100")) != distance_counts(("0000",))


def test_strings_of_too_many_kinds_are_not_counted() -> None:
    with pytest.raises(TooLargeError, match="too many to be counted: give log Z"):
        BitSequences.paper(64).log_z()
    rng = Random(0)
    unlike = ["".join(rng.choices("01", k=40)) for _ in range(12)]
    with pytest.raises(TooLargeError, match="too many"):
        distance_counts(unlike)


@pytest.mark.parametrize(
    ("landscape", "distance"), [("rings", 0.129), ("sharp-rings", 0.663), ("sinusoidal", 0.337)]
)
def test_random_walk_targets_are_as_far_from_uniform_as_published(
    landscape: Any, distance: float
) -> None:
    law = LazyRandomWalk.paper(landscape).law()
    problem = LazyRandomWalk.paper(landscape)
    target = normalize([problem.reward(state) for state in law.states])
    uniform = [Fraction(1, 1089)] * 1089
    assert float(total_variation(target, uniform)) == pytest.approx(distance, abs=5e-4)


def test_ising_orders_give_a_tree_or_all_orders() -> None:
    assert enumerate_dag(Ising.random(3, "fixed")).trajectory_count == 8
    assert enumerate_dag(Ising.random(3, "any")).trajectory_count == 48


def test_states_print_readably() -> None:
    states = [Items((0, 3)), Spins((-1, 0, 1)), Walker((1, -2), 3), Weights((1, None, -2))]
    assert [*map(str, states)] == ["{0,3}", "-?+", "1 -2 @3", "+1 ? -2"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sets(fractions(1, 2), 3), "subsets of 3 of 2 items do not exist"),
        (lambda: Sets(fractions(1, 0), 1), "weight of item 1 is .* positive Fraction"),
        (lambda: Sets((1.0,), 1), "weight of item 0 is 1.0"),  # type: ignore[arg-type]
        (lambda: Sets(fractions(1), 0), "size is 0"),
        (lambda: Sets(fractions(1), 1, "mean"), "form is 'mean'"),  # type: ignore[arg-type]
        (lambda: BitSequences(()), "there is no mode"),
        (lambda: BitSequences(("01", "011")), "has 3 bits, but the first has 2"),
        (lambda: BitSequences(("012",)), "zeros and ones"),
        (lambda: BitSequences(("0101",), 3), "words of 3 bits do not make up 4"),
        (lambda: BitSequences.random(12), "made of words of 8 bits"),
        (lambda: BitSequences(("01",), exponent=0), "exponent is 0"),
        (lambda: Preference(()), "no comparison"),
        (lambda: Preference(((1, 0), (1,))), "difference 1 has 1 entries"),
        (lambda: Preference(((2, 0),)), "entry 2"),
        (lambda: Preference(((1, 0),), bound=True), "bound is True"),
        (lambda: Preference(((1, 0),), order="random"), "order is 'random'"),  # type: ignore[arg-type]
        (lambda: LazyRandomWalk(radius=1.5), "radius is 1.5"),  # type: ignore[arg-type]
        (lambda: Ising(fractions(1), ()), "1 fields and 0 directions"),
        (lambda: Ising((1.0,), (1.0,)), r"fields\[0\] is 1.0"),  # type: ignore[arg-type]
        (lambda: Ising(fractions(800), fractions(0)), "log R can reach 800"),
        (lambda: Ising.random(0), "number of spins is 0"),
        (lambda: Ising.random(10_001), "number of spins is 10001"),
        (lambda: Preference([(1,)]), "differences is .* must be a tuple"),  # type: ignore[arg-type]
        (lambda: Preference(([1],)), r"differences\[0\] is .* must be a tuple"),  # type: ignore[arg-type]
        (lambda: Preference(((True,),)), r"differences\[0\]\[0\] is True"),
        (lambda: Preference(((),)), "at least one"),
        (lambda: Preference(((1, 0),), 44), "m d = 88"),
        (lambda: Preference.random(5, 8, 100), "m d = 800"),
        (lambda: Preference.random(5, 10**400, 1), "dimension is an integer of 1329 bits"),
        (lambda: Preference.random(0, 2, 1), "comparisons is 0"),
        (lambda: Preference.random(5, 2, 1, seed=-1), "seed is -1"),
        (lambda: Preference.minimal().sample(-1, 0), "count is -1"),
        (lambda: Preference.minimal().sample(1, None), "seed is None"),  # type: ignore[arg-type]
        (lambda: Preference(((1,),) * 513).log_z(), "513 comparisons"),
        (lambda: Preference.random(5, 12, 4).log_z(), "282,429,536,481 terminal states"),
        (lambda: LazyRandomWalk(2, 3, 2), "3 steps do not reach 4 of the 25 cells.* at least 4"),
        (lambda: LazyRandomWalk(10**400, 3, 10**400), "radius is an integer of 1329"),
        (lambda: LazyRandomWalk(16, 99, 6), "more than 2,000,000 cells"),
        (lambda: LazyRandomWalk(True, 2, 2), "radius is True"),
        (lambda: LazyRandomWalk(1, 0, 2), "steps is 0"),
        (lambda: LazyRandomWalk(1, 8, 8, "sharp-rings"), r"\(1, 1, .* is 0, where"),
        (lambda: LazyRandomWalk.minimal().sample(-1, 0), "count is -1"),
        (lambda: LazyRandomWalk.minimal().sample(1, None), "seed is None"),  # type: ignore[arg-type]
        (lambda: Ising([Fraction(1)], fractions(1)), "fields is .* must be a tuple"),  # type: ignore[arg-type]
        (
            lambda: Ising(fractions(1), (0.5,)),
            r"direction\[0\] is 0.5, a float, but must",
        ),  # type: ignore[arg-type]
        (lambda: Ising(fractions(1), (True,)), r"direction\[0\] is True"),  # type: ignore[arg-type]
        (lambda: Ising((), ()), "at least one spin"),
        (lambda: Ising(fractions(0), fractions(40)), "log R can reach 800"),
        (lambda: Ising(fractions(1), fractions(1), "random"), "order is 'random'"),  # type: ignore[arg-type]
        (lambda: Ising.random(3, seed=-1), "seed is -1"),
        (lambda: Ising.paper(36.0), "number of spins is 36.0"),  # type: ignore[arg-type]
        (lambda: Ising.minimal().sample(-1, 0), "count is -1"),
        (lambda: Ising.minimal().sample(1, None), "seed is None"),  # type: ignore[arg-type]
        (lambda: Grid(16, 2, "flat"), "landscape is 'flat'"),  # type: ignore[arg-type]
        (lambda: Grid(4, 2, "sparse"), "at least 5"),
        (lambda: Grid(16.0), "the side H is 16.0"),  # type: ignore[arg-type]
        (lambda: SyntheticSequences.random(2, 2, form="mean"), "form is 'mean'"),  # type: ignore[arg-type]
        (
            lambda: SyntheticSequences("ab", 2, "append", (1.0, -1.0), (1.0, 0.5), "sum"),
            "every u.* at least 0",
        ),
        (
            lambda: SyntheticSequences("ab", 2, "append", (1.0, 1.0), (0.0, 0.5), "sum"),
            r"some u\(i\) v\(a\) > 0",
        ),
    ],
)
def test_parameters_that_make_no_problem_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_lines_and_strings_grow_step_by_step() -> None:
    for problem in (BitSequences.minimal(), SyntheticSequences.minimal()):
        dag = enumerate_dag(problem)
        for u, v in dag.edges:
            assert len(dag.labels[v]) == len(dag.labels[u]) + 1
        depths = sorted({len(label) for label in dag.labels})
        assert all(b == a + 1 for a, b in pairwise(depths))


def test_a_problem_may_have_exactly_as_many_states_as_allowed() -> None:
    problem = SyntheticSequences.minimal()
    count = len(enumerate_dag(problem).labels)
    assert len(enumerate_dag(problem, max_nodes=count).labels) == count
    with pytest.raises(TooLargeError):
        enumerate_dag(problem, max_nodes=count - 1)
