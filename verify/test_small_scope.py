"""The generators produce what they say, counted in ways that do not use them.

Those of Hypothesis reach the shapes that matter, and shrink to a path.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import Phase, find, settings

from reference.contract.errors import InputError
from reference.dag import PointedDAG, pointed_dag
from reference.fields.field import RATIONAL
from reference.lifted import Forgetful, History, LiftedDAG, Table, lift
from reference.marginals import marginal
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.solve import forward_from_backward
from verify.lib import scopes, strategies
from verify.lib.fields import FLINT
from verify.lib.named_dags import DIAMOND
from verify.lib.small_scope import (
    isomorphism_classes,
    lifts,
    pointed_dags,
    pointed_dags_up_to,
    set_partitions,
)


@pytest.mark.parametrize(
    # Labelled digraphs with one source without cycles: OEIS A003025. Classes: OEIS A350415.
    ("nodes", "natural", "labelled", "classes", "lifted"),
    [(2, 1, 2, 1, 1), (3, 3, 15, 3, 3), (4, 21, 316, 16, 20), (5, 315, 16_885, 164, 548)],
)
def test_dags_their_classes_and_their_lifts_are_as_many_as_independent_counts_found(
    nodes: int, natural: int, labelled: int, classes: int, lifted: int
) -> None:
    assert len(list(pointed_dags(nodes))) == natural
    shapes = isomorphism_classes(nodes)
    assert len(shapes) == classes
    assert sum(labellings for _, labellings in shapes) == labelled
    assert sum(len(list(lifts(dag))) for dag, _ in shapes) == lifted


@pytest.mark.parametrize(("size", "bell"), [(0, 1), (1, 1), (2, 2), (3, 5), (4, 15), (5, 52)])
def test_set_partitions_are_counted_by_bell_numbers(size: int, bell: int) -> None:
    partitions = [
        tuple(sorted(tuple(sorted(block)) for block in blocks))
        for blocks in set_partitions(range(size))
    ]
    assert len(partitions) == len(set(partitions)) == bell


@pytest.mark.catches(
    "All rewards of the small lifts are 1, and laws that ignore them pass for balanced.",
    "verify/lib/scopes.py",
    "rewards = tuple(field.convert(rng.randint(1, 9))",
    "rewards = tuple(field.convert(1)",
)
def test_rewards_of_small_lifts_are_all_digits_but_zero() -> None:
    drawn = Counter(reward for draw in scopes.all_small_lifts() for reward in draw.rewards)
    assert drawn.keys() == set(range(1, 10))
    # Five standard deviations of a count.
    mean = drawn.total() / 9
    assert all(abs(count - mean) < 5 * mean**0.5 for count in drawn.values())


def test_sampled_dags_with_seven_states_have_two_lifts_each() -> None:
    labelled = prod(2**j - 1 for j in range(1, scopes.SEVEN_STATES))
    assert labelled == 615_195
    assert 2 * len(range(0, labelled, scopes.ONE_IN)) == scopes.SEVEN_STATE_LIFTS


def test_one_in_so_many_lifts_are_every_so_manyth() -> None:
    for dag in pointed_dags(4):
        all_of_them = [lifted.dag.edges for lifted in lifts(dag)]
        assert [lifted.dag.edges for lifted in lifts(dag, 3)] == all_of_them[::3]


def test_the_rationals_of_flint_give_the_laws_of_those_of_python() -> None:
    for dag in (lifted.dag for base in pointed_dags(4) for lifted in lifts(base)):
        weights = list(range(1, 1 + len(dag.edges)))
        laws = [
            marginal(ForwardPolicy.from_weights(dag, field, weights)) for field in (RATIONAL, FLINT)
        ]
        assert [str(p) for p in laws[0]] == [str(p) for p in laws[1]]
        p_b = BackwardPolicy.from_weights(dag, FLINT, weights)
        rewards = tuple(map(FLINT.convert, range(len(dag.terminals), 0, -1)))
        p_f, z = forward_from_backward(p_b, rewards)
        assert [z * p for p in marginal(p_f)] == list(rewards)
    assert FLINT.convert(0.75) == FLINT.convert(Fraction(3, 4))
    for function in (FLINT.log, FLINT.exp):
        with pytest.raises(InputError, match="of 2 is not a rational number"):
            function(FLINT.convert(2))


def test_generated_dags_pass_the_validation_they_bypass() -> None:
    for dag in pointed_dags_up_to(5):
        checked = pointed_dag({u: dag.children[u] for u in dag.labels}, initial=0)
        assert set(checked.labels) == set(dag.labels)


def merging(lifted: LiftedDAG[int]) -> frozenset[frozenset[tuple[int, ...]]]:
    """Which histories share a lifted state: the lift, without the names of its latents."""
    histories: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list, {0: [(0,)]})
    for u, v in lifted.dag.edges:
        histories[v] += [(*history, lifted.projection[v]) for history in histories[u]]
    return frozenset(map(frozenset, histories.values()))


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_the_lifts_are_exactly_those_of_all_maps_phi_on_three_latents(nodes: int) -> None:
    # With up to four nodes no state that is lifted has more than two histories.
    for dag in pointed_dags(nodes):
        inner = [v for v in range(1, nodes) if dag.children[v]]
        arguments = list(product(inner, range(3)))
        reached = {
            merging(lift(dag, Table(dict(zip(arguments, values, strict=True)), 0)))
            for values in product(range(3), repeat=len(arguments))
        }
        listed = [merging(lifted) for lifted in lifts(dag)]
        assert len(listed) == len(set(listed))
        assert reached == set(listed)


def parts(lifted: LiftedDAG[Any]) -> tuple[Any, ...]:
    return lifted.dag.labels, lifted.dag.children, lifted.projection, lifted.base_edge


def relifted(lifted: LiftedDAG[Any]) -> LiftedDAG[Any]:
    """The lift of the same base by the table of what arrives where."""
    labels, children = lifted.dag.labels, lifted.dag.children
    transitions = {
        (labels[v][0], labels[u][1]): labels[v][1]
        for u, row in enumerate(children)
        for v in row
        if children[v]
    }
    return lift(lifted.base, Table(transitions, initial=(0, 0)))


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_every_listed_lift_is_another_and_that_of_a_table(nodes: int) -> None:
    for dag in pointed_dags(nodes):
        listed = list(lifts(dag))
        assert all(parts(relifted(lifted)) == parts(lifted) for lifted in listed)
        assert len({parts(lifted) for lifted in listed}) == len(listed)
        # The first forgets and the last remembers everything.
        assert listed[0].dag.children == lift(dag, Forgetful()).dag.children == dag.children
        assert listed[-1].dag.children == lift(dag, History()).dag.children


def test_control_a_lift_with_two_arrivals_swapped_is_not_that_of_its_table() -> None:
    *_, tree = lifts(DIAMOND)
    moved = [tuple(row) for row in tree.dag.children]
    moved[1], moved[2] = moved[2], moved[1]
    broken = LiftedDAG(
        tree.base, PointedDAG(tree.dag.labels, tuple(moved)), tree.projection, tree.base_edge
    )
    assert parts(relifted(broken)) != parts(broken)


def test_a_lift_that_merges_some_histories_but_not_all_is_drawn() -> None:
    def merges(lifted: LiftedDAG[int]) -> bool:
        remembers = len(lifted.projection) > len(lifted.base.labels)
        inner = [v for v, row in enumerate(lifted.dag.children) if row]
        return remembers and any(len(lifted.dag.in_edges[v]) > 1 for v in inner)

    assert find(strategies.lifted_dags(), merges, settings=settings(phases=[Phase.generate]))


def test_drawn_dags_shrink_to_the_shortest_path() -> None:
    dags = strategies.pointed_dags(5)
    assert find(dags, lambda _: True).edges == ((0, 1),)
    assert find(dags, lambda dag: len(dag.labels) >= 4).edges == ((0, 1), (1, 2), (2, 3))
