"""eq:fcsa: subgraph consistency against total variation on rational laws and batches."""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

from reference import InputError, fcs, normalize, total_variation
from reference.metrics import fcs_under
from verify.lib.scopes import Scope

Law = tuple[Fraction, ...]
PAIRS = list(combinations(range(3), 2))


def law(*hundredths: int) -> Law:
    return tuple(Fraction(h, 100) for h in hundredths)


def laws(states: int, denominator: int) -> Iterator[Law]:
    """Every law with that denominator."""
    for counts in product(range(denominator + 1), repeat=states):
        if sum(counts) == denominator:
            yield tuple(Fraction(n, denominator) for n in counts)


def pairs_of_laws(states: int, denominator: int) -> Iterator[tuple[Law, Law]]:
    """Every two of these laws that both have mass in each of the batches `PAIRS`."""
    for p, q in product(laws(states, denominator), repeat=2):
        if all(mass(p, b) > 0 < mass(q, b) for b in PAIRS):
            yield p, q


def mass(p: Law, batch: tuple[int, ...]) -> Fraction:
    return sum((p[i] for i in batch), Fraction(0))


def check_bound(p: Law, q: Law, batches: dict[tuple[int, ...], Fraction]) -> None:
    factor = sum(r / max(mass(p, b), mass(q, b)) for b, r in batches.items())
    assert fcs_under(p, q, batches) <= total_variation(p, q) * factor


@pytest.mark.catches(
    "FCS compares the laws on a batch without normalising them there.",
    "reference/metrics.py",
    "return _distance(normalize(part_p), normalize(part_q))",
    "return _distance(part_p, part_q)",
)
@pytest.mark.claim("eq:fcsa")
@pytest.mark.control("eq:fcsa")
@pytest.mark.parametrize(
    ("p", "q", "batches", "value", "tv"),
    [
        # Conditioned on {0, 1}: (1/2, 1/2) and (2/3, 1/3).
        (law(40, 40, 20), law(20, 10, 70), [(0, 1)], Fraction(1, 6), Fraction(1, 2)),
        # Equal masses on B, and equal laws off it: the bound TV / p(B) is attained.
        (law(20, 30, 50), law(30, 20, 50), [(0, 1)], Fraction(1, 5), Fraction(1, 10)),
        # Neither is always the larger.
        (law(98, 1, 1), law(98, 2, 0), PAIRS, Fraction(13, 75), Fraction(1, 100)),
        (law(25, 25, 50), law(50, 50, 0), PAIRS, Fraction(4, 9), Fraction(1, 2)),
        # Batches that miss a state do not see it.
        (law(25, 25, 50), law(50, 50, 0), [(0, 1)], Fraction(0), Fraction(1, 2)),
        # Every state is in a batch, but 0 and 2 meet by way of 1 alone, which has no mass.
        (law(50, 0, 50), law(25, 0, 75), [(0, 1), (1, 2)], Fraction(0), Fraction(1, 4)),
    ],
)
def test_laws_by_hand(
    p: Law, q: Law, batches: list[tuple[int, ...]], value: Fraction, tv: Fraction
) -> None:
    assert fcs_under(p, q, dict.fromkeys(batches, Fraction(1, len(batches)))) == value
    assert total_variation(p, q) == tv
    assert batches != PAIRS or fcs(p, q, 2) == value


@pytest.mark.claim("eq:fcsa")
def test_fcs_is_at_most_total_variation_over_the_batch_mass(scope: Scope) -> None:
    for p, q in scope.over(pairs_of_laws(3, 6), "all {} pairs of laws on 3 states in sixths"):
        check_bound(p, q, dict.fromkeys(PAIRS, Fraction(1, 3)))
    rng = random.Random(2)
    for _ in range(200):
        p, q = (normalize([Fraction(rng.randint(1, 20)) for _ in range(4)]) for _ in range(2))
        weights = [rng.randint(1, 5), *(rng.randint(0, 5) for _ in range(5))]
        batches = combinations(range(4), 2)
        check_bound(
            p, q, {b: Fraction(w, sum(weights)) for b, w in zip(batches, weights, strict=True)}
        )
    scope("200 random laws of batches")


@pytest.mark.claim("eq:fcsa")
def test_with_all_states_in_the_batch_it_is_total_variation(scope: Any) -> None:
    for p, q in product(laws(3, 5), repeat=2):
        assert fcs(p, q, 3) == total_variation(p, q)
    scope("441 pairs in fifths with B = X")


@pytest.mark.claim("eq:fcsa")
def test_it_vanishes_iff_the_laws_are_proportional_where_batches_overlap(scope: Scope) -> None:
    # Every two of the states 0, 1, 2 are in a common batch; state 3 is in none.
    r: dict[tuple[int, ...], Fraction] = dict.fromkeys(PAIRS, Fraction(1, 3))
    for p, q in scope.over(pairs_of_laws(4, 5), "all {} pairs on 4 states in fifths"):
        proportional = all(p[i] * q[j] == p[j] * q[i] for i, j in PAIRS)
        assert (fcs_under(p, q, r) == 0) == proportional


@pytest.mark.control("eq:fcsa")
def test_three_states_are_the_fewest_for_either() -> None:
    # On two, batches of two are everything. In batches of one FCS is 0 on any number of states.
    for p, q in product(laws(2, 12), repeat=2):
        assert fcs(p, q, 2) == total_variation(p, q)
    assert fcs(law(10, 90), law(90, 10), 1) == 0
    # With more, FCS may be the smaller as well.
    p, q = law(49, 49, 1, 1), law(1, 1, 49, 49)
    assert fcs(p, q, 2) == Fraction(64, 100) < total_variation(p, q) == Fraction(96, 100)


@pytest.mark.control("eq:fcsa")
def test_restricted_without_normalising_the_two_printed_forms_differ() -> None:
    p, q = law(40, 40, 20), law(20, 10, 70)
    restricted = sum(abs(p[i] - q[i]) for i in (0, 1)) / 2
    assert restricted == Fraction(1, 4) != fcs_under(p, q, {(0, 1): Fraction(1)}) == Fraction(1, 6)


@pytest.mark.control("eq:fcsa")
def test_a_repeated_state_or_a_batch_without_mass_is_outside_the_definition() -> None:
    # The printed sum over i counts a repeated x twice, but p(B) once: 3/2, more than any distance.
    p, q = law(100, 0), law(0, 100)
    assert sum(abs(p[i] - q[i]) for i in (0, 0, 1)) / 2 == Fraction(3, 2)
    with pytest.raises(InputError, match="distinct"):
        fcs_under(p, q, {(0, 0, 1): Fraction(1)})
    with pytest.raises(InputError, match="probability zero"):
        fcs_under(p, q, {(1,): Fraction(1)})
