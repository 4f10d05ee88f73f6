"""tab:sets, sequences, lazy-random-walk: the state graphs of the experiments.

Sets: the text has K in {16, 32}, the table 16 and 24; the sizes in the text are those of the text.
Sequences: the state graph is a tree, on which every lift is trivial. Lazy random walk: the printed
moves e_i and 0 reach no negative coordinate. Proof: proofs_notes/tab_sets.md,
proofs_notes/sequences.md, proofs_notes/lazy-random-walk.md.
"""

from collections.abc import Callable
from itertools import product
from math import comb
from typing import Any

import pytest

from reference import History, PointedDAG, enumerate_dag, lift
from reference.problems import BitSequences, LazyRandomWalk, Lines, Sets
from reference.problems.sequences import Sequences

Position = tuple[int, ...]


# --- tab:sets


@pytest.mark.claim("tab:sets")
def test_the_sizes_of_the_text_are_those_of_its_sets() -> None:
    sizes = {k: comb(64, k) for k in (16, 32)}
    assert sizes == {16: 488526937079580, 32: 1832624140942590534}
    assert [len(str(size)) - 1 for size in sizes.values()] == [14, 18]


@pytest.mark.claim("tab:sets")
def test_every_set_of_the_size_is_terminal(scope: Any) -> None:
    for items in range(1, 7):
        for size in range(1, items + 1):
            dag = enumerate_dag(Sets.random(items, size))
            assert len(dag.terminals) == comb(items, size)
            assert len(dag.labels) == sum(comb(items, k) for k in range(size + 1))
    scope("21 tasks with up to 6 items, and binomials for 64")


@pytest.mark.control("tab:sets")
def test_the_size_of_the_table_is_neither() -> None:
    assert comb(64, 24) == 250649105469666120
    assert len(str(comb(64, 24))) - 1 == 17


# --- sequences


def lifted_states(dag: PointedDAG[Any]) -> int:
    return len(lift(dag, History()).dag.labels)


@pytest.mark.claim("sequences")
def test_appended_sequences_form_a_tree_on_which_the_whole_history_adds_nothing(scope: Any) -> None:
    # With the whole history for a latent; every other latent is a function of it.
    tasks: list[Any] = [
        Sequences("ACGT"[:n], length, "append") for n in (1, 2, 3, 4) for length in range(1, 5)
    ]
    tasks += [BitSequences(("010011",), word) for word in (1, 2, 3)]
    for task in tasks:
        dag = enumerate_dag(task)
        assert {len(parents) for parents in dag.in_edges[1:]} == {1}
        assert lifted_states(dag) == len(dag.labels)
    scope(f"{len(tasks)} tasks: up to 4 letters and length 4, 6 bits in words")


@pytest.mark.control("sequences")
@pytest.mark.parametrize(
    ("make", "states", "lifted"),
    [
        (lambda: Sequences("ab", 3), 15, 17),
        (lambda: Sets.random(5, 3), 26, 36),
        (lambda: Lines.minimal(), None, None),
    ],
)
def test_graphs_with_several_ways_to_a_state_have_lifts_that_add(
    make: Callable[[], Any], states: int | None, lifted: int | None
) -> None:
    dag = enumerate_dag(make())
    assert lifted_states(dag) > len(dag.labels)
    if states is not None:
        assert (len(dag.labels), lifted_states(dag)) == (states, lifted)


# --- lazy-random-walk


def reached(moves: list[Position], radius: int, steps: int, dimension: int) -> set[Position]:
    """The positions after exactly that many moves inside the box."""
    places = {(0,) * dimension}
    for _ in range(steps):
        sums = {tuple(map(sum, zip(x, v, strict=True))) for x in places for v in moves}
        places = {x for x in sums if max(map(abs, x)) <= radius}
    return places


def units(dimension: int, *signs: int) -> list[Position]:
    return [
        tuple(sign * (i == j) for j in range(dimension)) for i in range(dimension) for sign in signs
    ]


def box(radius: int, dimension: int) -> set[Position]:
    return set(product(range(-radius, radius + 1), repeat=dimension))


WALKS = [(m, d, t) for d in (1, 2, 3) for m in (1, 2) for t in range(1, m * d + 3)]


@pytest.mark.claim("lazy-random-walk")
def test_with_steps_both_ways_a_cell_is_reached_iff_the_steps_suffice(scope: Any) -> None:
    for m, d, t in WALKS:
        near = {x for x in box(m, d) if sum(map(abs, x)) <= t}
        assert reached([(0,) * d, *units(d, 1, -1)], m, t, d) == near
        assert (near == box(m, d)) == (t >= m * d)
    scope(f"{len(WALKS)} walks, M = 1, 2, d = 1 to 3")


@pytest.mark.claim("lazy-random-walk")
def test_the_reference_walk_has_these_terminals() -> None:
    dag = enumerate_dag(LazyRandomWalk(2, 5, 2))
    assert {dag.labels[x].position for x in dag.terminals} == box(2, 2)


@pytest.mark.control("lazy-random-walk")
def test_the_printed_moves_reach_nine_of_twenty_five_cells() -> None:
    assert reached([(0, 0), (1, 0), (0, 1)], 2, 5, 2) == set(product(range(3), repeat=2))
    for m, d, t in WALKS:
        upward = reached([(0,) * d, *units(d, 1)], m, t, d)
        assert all(min(x) >= 0 for x in upward)
        if t >= m * d:
            assert (len(upward), len(box(m, d))) == ((m + 1) ** d, (2 * m + 1) ** d)


@pytest.mark.control("lazy-random-walk")
def test_without_the_lazy_move_only_one_parity_is_reached() -> None:
    odd = reached(units(2, 1, -1), 2, 5, 2)
    assert odd == {x for x in box(2, 2) if sum(x) % 2}
    assert len(odd) == 12


@pytest.mark.control("lazy-random-walk")
def test_the_printed_power_of_the_box_is_not_the_dimension() -> None:
    assert 33**2 == 1089
    assert 33**15 > 10**22
