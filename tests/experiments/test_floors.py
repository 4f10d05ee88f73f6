"""Distances of tied policies to a target: bounds from below and above, by hand and by search."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pdai.experiments.forgetting import minors, relaxation
from pdai.experiments.forgetting.nearest import nearest
from reference import RATIONAL, ForwardPolicy, InputError, TooLargeError, marginal, pointed_dag
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.coarse import action, block_of_cell, end_of_string, tied_policies
from reference.metrics import total_variation
from reference.problems import BitSequences, Grid, Sets, enumerate_rewards

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)

# Class 0 leads from o to s and from s to z: the law is (1 - w, w (1 - w), w^2) on x, y, z.
TURN = pointed_dag({"o": ["s", "x"], "s": ["y", "z"], "x": [], "y": [], "z": []})
TURNING = TiedPolicies(TURN, (0, 1, 1, 0))
STRINGS = BitSequences(("0000", "1111", "0011"), exponent=8)


def target_of(problem: Any, tied: TiedPolicies) -> list[Fraction]:
    rewards = enumerate_rewards(problem, tied.dag)
    return [reward / sum(rewards) for reward in rewards]


def law_of(tied: TiedPolicies, seed: int) -> list[Fraction]:
    """The law of some policy of the class."""
    rng = np.random.default_rng(seed)
    weights = [Fraction(int(w)) for w in rng.integers(1, 9, size=tied.count)]
    return list(marginal(tied.policy(weights)))


def by_name(tied: TiedPolicies, law: list[Fraction]) -> dict[str, Fraction]:
    return {tied.dag.labels[x]: p for x, p in zip(tied.dag.terminals, law, strict=True)}


def ending(last: int) -> Any:
    return lambda string: end_of_string(string, last)


def blocks(width: int) -> Any:
    return lambda cell: block_of_cell(cell, width)


def test_actions_are_tied_where_states_look_alike() -> None:
    tied = tied_policies(Grid(4, 2), blocks(2))
    # Four blocks, three actions.
    assert tied.count == 12
    dag = tied.dag
    for e, c in zip(dag.edges, tied.classes, strict=True):
        for f, d in zip(dag.edges, tied.classes, strict=True):
            (s, t), (u, v) = ((dag.labels[x] for x in edge) for edge in (e, f))
            alike = block_of_cell(s, 2) == block_of_cell(u, 2)
            assert (c == d) == (alike and action(t, s) == action(v, u))
    assert tied_policies(Grid(4, 2), blocks(1)).count == len(dag.edges)


def test_what_was_seen_tells_strings_apart_and_cells_in_part() -> None:
    free = len(tied_policies(STRINGS, ending(4)).classes)
    assert tied_policies(STRINGS, ending(1)).count < free
    assert tied_policies(STRINGS, ending(1), memory=True).count == free
    # Control: of the length alone, memory brings nothing.
    lengths = tied_policies(STRINGS, ending(0))
    assert tied_policies(STRINGS, ending(0), memory=True).count == lengths.count == 8
    # From the corner of a block, right and up look alike.
    remembered = tied_policies(Grid(2, 2), blocks(2), memory=True)
    rows = {remembered.dag.labels[u]: remembered.row(u) for u in range(len(remembered.dag.labels))}
    seen = {label.state.coordinates: row for label, row in rows.items() if row}
    assert set(seen[0, 1]) & set(seen[1, 0])
    assert not set(seen[0, 0]) & set(seen[0, 1])


def test_memory_leaves_terminals_and_rewards_as_they_are() -> None:
    problem = Grid(4, 2)
    plain, remembered = (tied_policies(problem, blocks(2), memory=m) for m in (False, True))
    laws = [by_name(tied, target_of(problem, tied)) for tied in (plain, remembered)]
    assert laws[0] == laws[1]


def test_states_without_names_of_actions_and_too_many_are_refused() -> None:
    with pytest.raises(InputError, match="has no name: give states of a grid"):
        tied_policies(Sets.random(4, 2), lambda s: s)
    with pytest.raises(TooLargeError):
        tied_policies(Grid(4, 2), blocks(2), memory=True, max_states=10)


def test_the_distance_of_two_equal_bits_to_independent_ones() -> None:
    problem = BitSequences(("00", "11"), exponent=8)
    tied = tied_policies(problem, ending(0))
    law = {"00": HALF, "11": HALF, "01": Fraction(0), "10": Fraction(0)}
    target = [law[tied.dag.labels[x]] for x in tied.dag.terminals]
    # p(00) = 1/2 with equal bits: TV = 2^(1/2) - 1.
    assert float(nearest(tied, target).distance) == pytest.approx(2**0.5 - 1, abs=1e-5)
    assert minors.least_distance(law, 0, THIRD) == THIRD
    # Control: of both bits nothing is hidden.
    assert minors.least_distance(law, 1) == 0


def test_every_law_of_the_class_is_as_far_as_minors_say() -> None:
    tied = tied_policies(STRINGS, ending(1))
    target = target_of(STRINGS, tied)
    low = minors.least_distance(by_name(tied, target), 1)
    distances = [total_variation(target, law_of(tied, seed)) for seed in range(50)]
    assert min(distances) >= low
    # Control: a policy that sees all letters comes nearer.
    free = tied_policies(STRINGS, ending(4))
    assert nearest(free, target_of(STRINGS, free)).distance < low / 10


def test_a_law_of_the_class_is_found_and_its_distance_is_right() -> None:
    tied = tied_policies(Grid(4, 2), blocks(2))
    closest = nearest(tied, law_of(tied, 1), starts=4)
    assert closest.distance < 1e-3
    exact = ForwardPolicy.from_weights(
        tied.dag, RATIONAL, [closest.weights[c] for c in tied.classes]
    )
    tv = total_variation(law_of(tied, 1), marginal(exact))
    assert tv <= closest.distance <= tv + Fraction(1, 2**40)
    # Control: the target of the grid is not.
    target = target_of(Grid(4, 2), tied)
    assert nearest(tied, target).distance > Fraction(1, 10)
    assert total_variation(target, marginal(exact)) > nearest(tied, target).distance


@pytest.mark.parametrize(
    "target", [[THIRD] * 3, [HALF, Fraction(0), HALF], [Fraction(0), Fraction(1), Fraction(0)]]
)
def test_splitting_boxes_comes_to_the_least_distance(target: list[Fraction]) -> None:
    weights = [Fraction(n, 2_000) for n in range(2_001)]
    least = min(total_variation(target, [1 - w, w * (1 - w), w * w]) for w in weights)
    bounds = [relaxation.least_distance(TURNING, target, splits) for splits in (0, 4, 40)]
    assert bounds == sorted(bounds)
    assert least - Fraction(1, 50) < bounds[-1] <= least
    assert float(nearest(TURNING, target).distance) == pytest.approx(float(least), abs=1e-3)
    # Control: untied, every law is attained.
    free = TiedPolicies(TURN, (0, 1, 2, 3))
    assert relaxation.least_distance(free, target, 4) == 0


def test_the_bound_holds_for_masked_rows_too() -> None:
    tied = tied_policies(Grid(4, 2), blocks(2))
    # At the border an action is left out of the row.
    assert len({len(row) for row in map(tied.row, range(len(tied.dag.labels))) if row}) > 1
    for seed in range(3):
        assert relaxation.least_distance(tied, law_of(tied, seed), 20) <= Fraction(1, 10**9)
    target = target_of(Grid(4, 2), tied)
    low = relaxation.least_distance(tied, target, 60)
    assert Fraction(1, 50) < low <= nearest(tied, target).distance
