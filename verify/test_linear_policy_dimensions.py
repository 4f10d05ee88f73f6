"""prop:lines, linear-policy-dimensions: ranks of laws against bounds; what memory reaches."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from reference.fields.symbolic import Symbolic
from verify.lib.linear import Dimensions, Family, LinearLines, Parameters, Vector, dot, rank, solve
from verify.lib.scopes import Scope

FAMILIES: tuple[Family, Family] = ("markovian", "path-dependent")


def laws(model: LinearLines, memory: bool) -> list[Vector]:
    """The laws at all small integer parameters with d = 1, exactly; log-odds are in log 2."""
    values = [(Fraction(x),) for x in range(-3, 4)]
    if memory:
        return [model.law(Parameters(*chosen)) for chosen in product(values, repeat=3)]
    return [model.law(Parameters.markovian(a)) for a in values]


@pytest.mark.claim("prop:lines")
@pytest.mark.parametrize("length", range(1, 9))
def test_the_spans_of_laws_have_equal_dimension_for_the_natural_embedding(length: int) -> None:
    for offset, expected in ((0, length), (1, length + 1)):
        # r_0 = 1/2 is forced by psi(p_0) = 0, which is the missing dimension.
        model = LinearLines.natural(length, offset)
        markovian, path = (model.computed_dimensions(f) for f in FAMILIES)
        assert markovian.linear == path.linear == expected
        assert markovian.affine == path.affine == expected - 1


@pytest.mark.claim("prop:lines")
def test_the_ranks_of_laws_are_equal_also_when_computed_over_the_rationals() -> None:
    for length in (1, 2, 3):
        model = LinearLines.natural(length)
        for memory in (False, True):
            assert rank(laws(model, memory)) == length
    assert [law[0] for law in laws(LinearLines.natural(3), memory=True)] == [Fraction(1, 2)] * 343


@pytest.mark.claim("prop:lines")
def test_in_log_odds_the_path_dependent_family_is_larger_from_three_states_on() -> None:
    def spans(model: LinearLines) -> tuple[int, int]:
        markovian, path = (model.computed_dimensions(f).log_odds for f in FAMILIES)
        return markovian, path

    natural = [spans(LinearLines.natural(n)) for n in range(1, 6)]
    assert natural == [(0, 0), (1, 1), (1, 2), (1, 2), (1, 2)]
    constant = [spans(LinearLines.of(*[[1]] * n)) for n in range(1, 4)]
    assert constant == [(1, 1), (1, 2), (1, 2)]
    one_hot = LinearLines.of(*([int(i == j) for j in range(4)] for i in range(4)))
    assert spans(one_hot) == (4, 4)


@pytest.mark.claim("prop:lines")
def test_the_markovian_laws_are_among_the_others_and_three_states_tell_them_apart() -> None:
    model = LinearLines.natural(3)
    zero, one = (Fraction(0),), (Fraction(1),)
    for k in range(-3, 4):
        slope = (Fraction(k),)
        assert model.log_odds(Parameters(slope, zero, one)) == tuple(map(Fraction, (0, k, 2 * k)))
    # c = (0, 1, 3): o = (0, 1, 6) is no multiple of (0, 1, 2).
    assert model.log_odds(Parameters(zero, one, one)) == tuple(map(Fraction, (0, 1, 6)))


@pytest.mark.control("prop:lines")
def test_the_strict_inequality_between_spans_of_laws_fails_from_one_state_on() -> None:
    # Everything there is: at N = 1, (1/2, 1/2); at N = 2, (1/2, (1 - alpha) / 2, alpha / 2).
    for memory in (False, True):
        assert set(laws(LinearLines.natural(1), memory)) == {(Fraction(1, 2),) * 2}
        for first, second, third in laws(LinearLines.natural(2), memory):
            assert first == second + third
    spans = [LinearLines.natural(n).computed_dimensions("path-dependent").linear for n in (1, 2)]
    assert spans == [1, 2]


@pytest.mark.control("prop:lines", "linear-policy-dimensions")
def test_with_equal_entries_of_b_memory_leaves_a_single_law() -> None:
    model = replace(LinearLines.of([1], [2], [3]), delta=Fraction(0))
    markovian, path = (model.computed_dimensions(f) for f in FAMILIES)
    assert (markovian, path) == tuple(model.predicted_dimensions(f) for f in FAMILIES)
    # So that `<=` fails in every reading: "almost surely" cannot be left out.
    assert (markovian, path) == ((4, 3, 1, 1), (1, 0, 0, 0))


def counted(lines: LinearLines) -> tuple[Dimensions, Dimensions]:
    """Without and with memory, computed and as the theorem says."""
    markovian, path = (lines.computed_dimensions(family) for family in FAMILIES)
    assert (markovian, path) == tuple(lines.predicted_dimensions(family) for family in FAMILIES)
    return markovian, path


def all_models(length: int, d: int, entries: Sequence[int]) -> Iterator[LinearLines]:
    for rows in product(product(entries, repeat=d), repeat=length):
        yield LinearLines.of(*rows)


def drawn(length: int, d: int, most: int, rng: Random) -> LinearLines:
    return LinearLines.of(*([rng.randint(-most, most) for _ in range(d)] for _ in range(length)))


@pytest.mark.claim("linear-policy-dimensions")
def test_one_state_by_hand() -> None:
    # psi(p_0) = 0 leaves the law (1/2, 1/2); else the laws fill the segment.
    assert counted(LinearLines.of([0])) == ((1, 0, 0, 0), (1, 0, 0, 0))
    assert counted(LinearLines.of([1])) == ((2, 1, 1, 1), (2, 1, 1, 1))


@pytest.mark.claim("prop:lines", "linear-policy-dimensions")
def test_on_every_small_embedding_the_readings_compare_as_proved(scope: Any) -> None:
    larger = []
    for length, d, entries in (
        (1, 1, (-2, -1, 0, 1, 2)),
        (2, 1, (-2, -1, 0, 1, 2)),
        (3, 1, (-1, 0, 1)),
        (2, 2, (-1, 0, 1)),
        (3, 2, (0, 1)),
    ):
        for lines in all_models(length, d, entries):
            markovian, path = counted(lines)
            assert markovian.linear == path.linear
            larger.append(path.log_odds > markovian.log_odds)
            assert larger[-1] == (path.manifold > markovian.manifold)
    assert {*larger} == {False, True}
    scope(f"{len(larger)} psi with small entries, N <= 3")


@pytest.mark.claim("linear-policy-dimensions")
def test_random_embeddings_have_the_counts_of_the_theorem(scope: Any) -> None:
    rng = Random(0)
    for seed in range(40):
        counted(drawn(rng.randint(1, 8), rng.randint(1, 3), 2, Random(seed)))
    scope("40 random psi with d <= 3, N <= 8")


@pytest.mark.claim("linear-policy-dimensions")
def test_dependent_features_count_once() -> None:
    # Three features of which the third is the sum of the others: as with d = 2, 5 and not 6 or 8.
    rows = [(1, 2), (2, -1), (0, 1), (3, 1), (-1, 2), (1, 1), (2, 3), (-2, 1)]
    markovian, path = counted(LinearLines.of(*((x, y, x + y) for x, y in rows)))
    assert (markovian.manifold, path.manifold, path.log_odds) == (2, 5, 6)


@pytest.mark.claim("linear-policy-dimensions")
@pytest.mark.parametrize(("d", "manifold", "span"), [(1, 2, 2), (2, 5, 6), (3, 8, 12), (4, 11, 20)])
def test_the_path_dependent_laws_form_a_smaller_manifold_than_their_span(
    d: int, manifold: int, span: int
) -> None:
    markovian, path = counted(drawn(span + 2, d, 9, Random(d)))
    assert (markovian.log_odds, markovian.manifold) == (d, d)
    assert (path.log_odds, path.manifold) == (span, manifold)


@pytest.mark.claim("linear-policy-dimensions")
@pytest.mark.parametrize("d", [1, 2, 3])
def test_generic_laws_fill_all_there_is_up_to_three_times_the_features(d: int) -> None:
    # A rank that one embedding attains, almost all do.
    for length in range(1, 3 * d + 1):
        _, path = counted(drawn(length, d, 99, Random(length)))
        assert path.manifold == min(length, 3 * d - 1)
        assert path.log_odds == min(length, d + d * d)


@pytest.mark.claim("linear-policy-dimensions")
def test_affine_embeddings_reach_all_cubics() -> None:
    affine = LinearLines.of(*([1, i] for i in range(8)))
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
        markovian, path = counted(LinearLines.of(*rows))
        assert markovian.linear == path.linear == linear


# What memory reaches of the span.


def span(lines: LinearLines) -> list[Vector]:
    """The rows of [Psi | H]."""
    return [(*x, *h) for x, h in zip(lines.embedding, lines.interactions(), strict=True)]


def excess(lines: LinearLines) -> int:
    """The dimension of C + span H over that of C."""
    return rank(span(lines)) - rank(lines.embedding)


IDENTITY = tuple(map(Fraction, (1, 0, 0, 1)))


def reach(lines: LinearLines, log_odds: Vector, rng: Random) -> Parameters | None:
    """Parameters with these log-odds, of those with a randomly drawn v or w; the rest is linear."""
    d = lines.dimension
    chosen = tuple(Fraction(rng.randint(1, 10**6)) for _ in range(d))
    rows = list(zip(lines.embedding, lines.sums(), strict=True))
    along = [(dot(chosen, x), dot(chosen, c)) for x, c in rows]
    given_v = [(*x, *(v * y for y in c)) for (x, c), (v, _) in zip(rows, along, strict=True)]
    given_w = [(*x, *(w * y for y in x)) for (x, _), (_, w) in zip(rows, along, strict=True)]
    for matrix, v_is_chosen in ((given_v, True), (given_w, False)):
        solution = some_solution(matrix, log_odds)
        if solution is not None:
            a, rest = solution[:d], solution[d:]
            return Parameters(a, chosen, rest) if v_is_chosen else Parameters(a, rest, chosen)
    return None


def some_solution(rows: Sequence[Vector], right: Vector) -> Vector | None:
    """A solution of a linear system, zero outside a basis of its columns."""
    columns = list(zip(*rows, strict=True))
    basis: list[int] = []
    for k in range(len(columns)):
        if rank([columns[j] for j in (*basis, k)]) > len(basis):
            basis.append(k)
    solution = solve([[row[k] for k in basis] for row in rows], right) if basis else ()
    if solution is None or (not basis and any(right)):
        return None
    at = dict(zip(basis, solution, strict=True))
    return tuple(at.get(k, Fraction(0)) for k in range(len(columns)))


def product_of(lines: LinearLines, x: Vector) -> Vector:
    """H vec(X)."""
    return tuple(dot(x, row) for row in lines.interactions())


def in_span(lines: LinearLines, rng: Random) -> Vector:
    """Random log-odds in C + span H."""
    d = lines.dimension
    coefficients = tuple(Fraction(rng.randint(-9, 9)) for _ in range(d + d * d))
    return tuple(dot(coefficients, row) for row in span(lines))


def kernel(lines: LinearLines) -> Vector | None:
    """For d = 2 and excess 3: the Y != 0, unique up to scale, whose H vec(Y) lies in C."""
    rows = span(lines)
    for k in range(2, 6):
        others = [(*row[:k], *row[k + 1 :]) for row in rows]
        if rank(others) == rank(rows):
            solution = some_solution(others, tuple(-row[k] for row in rows))
            assert solution is not None
            return (*solution[2:k], Fraction(1), *solution[k:])
    return None


def witness(y: Vector) -> Vector:
    """A matrix X such that no X + t Y is singular."""
    p, q, r, s = y
    # Y J, with J a rotation: det(Y J + t Y) = (1 + t^2) det Y. For Y of rank one, Y J + J Y.
    turned = (q, -p, s, -r)
    if p * s != q * r:
        return turned
    return tuple(a + b for a, b in zip(turned, (-r, -s, p, q), strict=True))


def never_singular(x: Vector, y: Vector) -> bool:
    """True if det(X + t Y), a quadratic polynomial in t, has no real root."""
    p, q, r, s = x
    e, f, g, h = y
    constant, linear, square = p * s - q * r, p * h + e * s - q * g - f * r, e * h - f * g
    if square:
        return linear**2 < 4 * square * constant
    return not linear and constant != 0


def check_reached(lines: LinearLines, rng: Random) -> None:
    target = in_span(lines, rng)
    parameters = reach(lines, target, rng)
    assert parameters is not None
    assert lines.log_odds(parameters) == target


@pytest.mark.claim("linear-policy-dimensions")
def test_up_to_four_states_or_with_one_feature_all_of_the_span_is_reached(scope: Any) -> None:
    rng = Random(0)
    models = [
        *(lines for n in range(1, 5) for lines in all_models(n, 2, (0, 1))),
        *(lines for n in range(1, 6) for lines in all_models(n, 1, (-1, 0, 1))),
        *(drawn(4, 3, 3, rng) for _ in range(20)),
    ]
    for lines in models:
        check_reached(lines, rng)
    scope(f"{len(models)} psi with N <= 4 or d = 1")


@pytest.mark.claim("linear-policy-dimensions")
def test_two_features_reach_the_span_iff_memory_adds_at_most_two_dimensions(scope: Scope) -> None:
    rng = Random(1)
    drawn_models = [drawn(n, 2, 3, rng) for n in (5, 6, 7) for _ in range(20)]
    missed = 0
    for lines in scope.over((*all_models(5, 2, (0, 1)), *drawn_models)):
        added = excess(lines)
        if added <= 2:
            check_reached(lines, rng)
            continue
        missed += 1
        y = kernel(lines)
        assert (y is None) == (added == 4)
        # The coefficients of H are all X + t Y, or only X = 1: of rank two.
        if y is None:
            target = product_of(lines, IDENTITY)
            assert lines.interaction_coefficients(target) == (IDENTITY[:2], IDENTITY[2:])
        else:
            assert some_solution(lines.embedding, product_of(lines, y)) is not None
            assert never_singular(witness(y), y)
    assert missed > 0
    scope(f"{scope.count} psi with d = 2, N >= 5, of which {missed} do not reach all")


@pytest.mark.control("linear-policy-dimensions", "prop:lines")
def test_five_states_and_two_features_suffice_for_log_odds_that_are_not_reached() -> None:
    lines = LinearLines.of([1, 0], [1, 0], [0, 1], [1, 0], [0, 1])
    # C + span H is everything.
    assert rank(span(lines)) == 5
    a1, a2, v1, v2, w1, w2 = Symbolic("a1 a2 v1 v2 w1 w2").symbols
    o = lines.log_odds(Parameters((a1, a2), (v1, v2), (w1, w2)))
    # If o = (0, 1, 0, 1, 1), the second identity makes v1 = 0 and the first 1 = 0.
    assert o[1] - o[0] == v1 * w1
    assert v1 * (o[4] - o[2]) == v2 * (o[3] - o[1])


@pytest.mark.control("linear-policy-dimensions")
def test_other_coefficients_are_singular_somewhere_along_the_kernel() -> None:
    # X + t: of determinant 1 + t^2 for the witness, and t^2 - 1 for its mirror image.
    rotation, reflection = (tuple(map(Fraction, x)) for x in ((0, -1, 1, 0), (0, 1, 1, 0)))
    assert never_singular(rotation, IDENTITY)
    assert not never_singular(reflection, IDENTITY)
