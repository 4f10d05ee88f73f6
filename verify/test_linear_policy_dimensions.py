"""Ranks of sampled laws, as lower bounds, against the theorem's upper bounds."""

from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from reference.fields.symbolic import Symbolic
from verify.lib.linear import Dimensions, Family, LinearLines, Parameters

FAMILIES: tuple[Family, Family] = ("markovian", "path-dependent")


def model(*rows: Any) -> LinearLines:
    return LinearLines(tuple(tuple(map(Fraction, row)) for row in rows))


def counted(lines: LinearLines) -> tuple[Dimensions, Dimensions]:
    """Without and with memory, computed and as the theorem says."""
    markovian, path = (lines.computed_dimensions(family) for family in FAMILIES)
    assert (markovian, path) == tuple(lines.predicted_dimensions(family) for family in FAMILIES)
    return markovian, path


def drawn(length: int, d: int, most: int, seed: int) -> LinearLines:
    rng = Random(seed)
    return model(*([rng.randint(-most, most) for _ in range(d)] for _ in range(length)))


@pytest.mark.claim("linear-policy-dimensions")
def test_one_state_by_hand() -> None:
    # psi(p_0) = 0 leaves the law (1/2, 1/2); else the laws fill the segment.
    assert counted(model([0])) == ((1, 0, 0, 0), (1, 0, 0, 0))
    assert counted(model([1])) == ((2, 1, 1, 1), (2, 1, 1, 1))


@pytest.mark.claim("prop:lines")
@pytest.mark.claim("linear-policy-dimensions")
def test_on_every_small_embedding_the_readings_compare_as_proved(scope: Any) -> None:
    larger = []
    for length, d, entries in (
        (1, 1, (-2, -1, 0, 1, 2)),
        (2, 1, (-2, -1, 0, 1, 2)),
        (3, 1, (-1, 0, 1)),
        (2, 2, (-1, 0, 1)),
        (3, 2, (0, 1)),
    ):
        for rows in product(product(entries, repeat=d), repeat=length):
            markovian, path = counted(model(*rows))
            assert markovian.linear == path.linear
            larger.append(path.log_odds > markovian.log_odds)
            assert larger[-1] == (path.manifold > markovian.manifold)
    assert {*larger} == {False, True}
    scope(f"{len(larger)} psi with small entries, N <= 3")


@pytest.mark.claim("linear-policy-dimensions")
def test_random_embeddings_have_the_counts_of_the_theorem(scope: Any) -> None:
    rng = Random(0)
    for seed in range(40):
        counted(drawn(rng.randint(1, 8), rng.randint(1, 3), 2, seed))
    scope("40 random psi with d <= 3, N <= 8")


@pytest.mark.claim("linear-policy-dimensions")
def test_dependent_features_count_once() -> None:
    # Three features of which the third is the sum of the others: as with d = 2, 5 and not 6 or 8.
    rows = [(1, 2), (2, -1), (0, 1), (3, 1), (-1, 2), (1, 1), (2, 3), (-2, 1)]
    markovian, path = counted(model(*((x, y, x + y) for x, y in rows)))
    assert (markovian.manifold, path.manifold, path.log_odds) == (2, 5, 6)


@pytest.mark.claim("linear-policy-dimensions")
@pytest.mark.parametrize(("d", "manifold", "span"), [(1, 2, 2), (2, 5, 6), (3, 8, 12), (4, 11, 20)])
def test_the_path_dependent_laws_form_a_smaller_manifold_than_their_span(
    d: int, manifold: int, span: int
) -> None:
    markovian, path = counted(drawn(span + 2, d, 9, seed=d))
    assert (markovian.log_odds, markovian.manifold) == (d, d)
    assert (path.log_odds, path.manifold) == (span, manifold)


@pytest.mark.claim("linear-policy-dimensions")
@pytest.mark.parametrize("d", [1, 2, 3])
def test_generic_laws_fill_all_there_is_up_to_three_times_the_features(d: int) -> None:
    # A rank that one embedding attains, almost all do.
    for length in range(1, 3 * d + 1):
        _, path = counted(drawn(length, d, 99, seed=length))
        assert path.manifold == min(length, 3 * d - 1)
        assert path.log_odds == min(length, d + d * d)


@pytest.mark.claim("linear-policy-dimensions")
def test_affine_embeddings_reach_all_cubics() -> None:
    affine = model(*([1, i] for i in range(8)))
    markovian, path = counted(affine)
    assert (markovian.manifold, path.manifold, path.log_odds) == (2, 4, 4)
    field = Symbolic("k0 k1 k2 k3")
    k0, k1, k2, k3 = field.symbols
    parameters = Parameters((k0, k1), (field.zero, field.one), (k2 - k3, 2 * k3))
    cubic = tuple(k0 + k1 * i + k2 * i**2 + k3 * i**3 for i in range(8))
    assert affine.log_odds(parameters) == cubic


@pytest.mark.control("linear-policy-dimensions")
def test_zeros_of_the_embedding_lower_both_spans() -> None:
    for rows, linear in (([1], [2], [3], [1]), 5), (([0], [2], [0], [1]), 3):
        markovian, path = counted(model(*rows))
        assert markovian.linear == path.linear == linear
