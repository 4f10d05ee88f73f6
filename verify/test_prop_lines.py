"""prop:lines: ranks of the laws of both families, in floats and over the rationals."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from verify.lib.linear import Family, LinearLines, Parameters, Vector, rank

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
