"""The exact linear algebra of linear policies, and what they refuse."""

from fractions import Fraction
from typing import Any

import pytest

from reference import FLOAT64, RATIONAL, InputError
from reference.problems import Lines
from verify.lib.linear import LinearLines, Parameters, law_from_odds, solve
from verify.lib.linear_policy import LinearDynamics, linear_policy


def rows(*entries: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(map(Fraction, row)) for row in entries)


def test_laws_from_odds_sum_to_one() -> None:
    law = law_from_odds([Fraction(2), Fraction(1, 3), Fraction(5)])
    assert sum(law) == 1
    assert law == (Fraction(1, 3), Fraction(1, 2), Fraction(1, 36), Fraction(5, 36))


def test_linear_systems_are_solved_or_have_no_solution() -> None:
    matrix = rows([1, 2], [3, 4], [5, 6])
    assert solve(matrix, [Fraction(5), Fraction(11), Fraction(17)]) == (1, 2)
    assert solve(matrix, [Fraction(5), Fraction(11), Fraction(18)]) is None


def test_only_an_embedding_of_zero_forces_half_of_the_mass() -> None:
    assert LinearLines.natural(16).forced_stop()
    assert not LinearLines.natural(16, offset=1).forced_stop()


def test_coefficients_that_are_not_unique_are_refused() -> None:
    model = LinearLines(rows([1, 1], [4, -4], [-4, -4], [-5, -3], [-3, 1]))
    with pytest.raises(InputError, match="not unique"):
        model.interaction_coefficients([Fraction(o) for o in (0, 32, 32, 58, 14)])


def test_linear_policies_of_wrong_sizes_or_fields_are_refused() -> None:
    one = (Fraction(1),)
    dynamics = LinearDynamics((one,) * 4, Parameters(one, one, one))
    b = (Fraction(1), Fraction(2), Fraction(3))

    def lines(length: int) -> Lines:
        return Lines.laplaces(length, 2)

    with pytest.raises(InputError, match=r"2 entries of b .* give 3"):
        linear_policy(lines(3), dynamics, b[:2], FLOAT64)
    with pytest.raises(InputError, match=r"4 embeddings .* give 6"):
        linear_policy(lines(5), dynamics, b, FLOAT64)
    with pytest.raises(InputError, match=r"exponential .* not a rational"):
        linear_policy(lines(3), dynamics, b, RATIONAL)
    for embedding in ((), ((),), (one, ())):
        with pytest.raises(InputError, match="LinearLines"):
            LinearLines(embedding)  # type: ignore[arg-type]
