"""The four fields: one algorithm gives rationals, floats, enclosures and identities that agree."""

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from reference import (
    BALL,
    FLOAT64,
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    PointedDAG,
    forward_from_backward,
    gamma,
    marginal,
    pointed_dag,
)
from reference.fields.balls import PrecisionError, enclose, precision
from verify.lib.named_dags import DIAMOND
from verify.lib.small_scope import lifts, pointed_dags
from verify.lib.symbolic_scope import backward_and_rewards

CHAIN = pointed_dag({"o": ["x"], "x": []})


def random_weights(count: int, seed: int) -> list[int]:
    return random.Random(seed).choices(range(1, 10**6), k=count)


def marginals(dag: PointedDAG[Any], field: Any, weights: list[int]) -> tuple[Any, ...]:
    return marginal(ForwardPolicy.from_weights(dag, field, weights))


@pytest.mark.catches(
    "The end points of a ball are both its centre.",
    "reference/fields/balls.py",
    "return _rational(value.lower()), _rational(value.upper())",
    "return _rational(value.mid()), _rational(value.mid())",
)
@pytest.mark.parametrize("bits", [24, 53, 200])
def test_balls_enclose_the_rational_marginals_of_every_lift_up_to_five_states(bits: int) -> None:
    for number, dag in enumerate(pointed_dags(5)):
        for lifted in lifts(dag):
            weights = random_weights(len(lifted.dag.edges), number)
            exact = marginals(lifted.dag, RATIONAL, weights)
            with precision(bits):
                balls = marginals(lifted.dag, BALL, weights)
                for value, ball in zip(exact, balls, strict=True):
                    lower, upper = enclose(ball)
                    assert lower <= value <= upper
                    assert upper - lower <= Fraction(100, 2**bits)


@pytest.mark.catches(
    "The unit roundoff of float64 is taken for the spacing at 1, which is twice as large.",
    "reference/fields/field.py",
    "UNIT_ROUNDOFF = 2.0**-53",
    "UNIT_ROUNDOFF = 2.0**-52",
)
def test_fields_agree_exactly_or_within_their_roundings() -> None:
    third = Fraction(1, 3)
    assert RATIONAL.agree(third * 3, RATIONAL.one, 0)
    assert not RATIONAL.agree(third + Fraction(1, 10**30), third, 1000)
    assert FLOAT64.agree(0.1 + 0.2, 0.3, 2)
    assert not FLOAT64.agree(0.1 + 0.2, 0.3, 0)
    # An absolute tolerance would let any number of this size pass.
    assert gamma(1) == pytest.approx(2.0**-53, rel=1e-9, abs=0)
    assert not FLOAT64.agree(1.0, 1.0 + 2.0**-52, 1)


def test_float64_is_within_its_roundings_of_the_rational_marginals() -> None:
    # At most 4 levels with 4 in-edges each; each weight is normalised with up to 5 roundings.
    bound = Fraction(gamma(2 * 4 + 4 * 4 + 4 * 5))
    for seed, dag in enumerate(pointed_dags(5)):
        weights = random_weights(len(dag.edges), seed)
        exact, floats = (marginals(dag, field, weights) for field in (RATIONAL, FLOAT64))
        for value, rounded in zip(exact, floats, strict=True):
            assert abs(Fraction(rounded) - value) <= bound * value


def test_symbolic_values_agree_with_rational_ones_at_a_point() -> None:
    instance = backward_and_rewards(DIAMOND)
    p_f, _ = forward_from_backward(instance.backward, instance.rewards)
    point = [Fraction(k + 1, 7) for k in range(len(instance.field.symbols))]
    rational = BackwardPolicy(DIAMOND, RATIONAL, [_at(v, point) for v in instance.backward.values])
    expected, _ = forward_from_backward(rational, [_at(r, point) for r in instance.rewards])
    assert instance.field.convert(Fraction(3, 4)) * 4 == instance.field.convert(3)
    assert [_at(v, point) for v in p_f.values] == list(expected.values)


def _at(function: Any, point: list[Fraction]) -> Fraction:
    def value(polynomial: Any) -> Fraction:
        terms = (
            Fraction(int(c)) * math.prod(p**k for p, k in zip(point, powers, strict=True))
            for powers, c in polynomial.terms()
        )
        return sum(terms, Fraction(0))

    return value(function.numer) / value(function.denom)


def test_logarithms_exist_in_the_fields_that_contain_them() -> None:
    assert FLOAT64.log(math.e) == 1.0
    lower, upper = enclose(BALL.log(BALL.convert(2)))
    assert lower < upper
    assert abs(float(lower) - math.log(2)) < 1e-15


def test_an_undecided_sign_names_the_precision_that_decides_it() -> None:
    def difference() -> arb:
        return BALL.convert(Fraction(1, 3)) - BALL.convert(Fraction(1, 3) - Fraction(1, 10**30))

    # The centre is known no better than the radius, so it may take some rounds.
    tried = [53]
    for _ in range(5):
        try:
            with precision(tried[-1]):
                assert BALL.positive(difference())
            break
        except PrecisionError as error:
            words = str(error)
            assert f"{tried[-1]} bits" in words
            tried.append(int(words.split("precision(")[1].split(")")[0]))
    else:
        pytest.fail(f"not decided at {tried} bits")
    assert len(tried) > 1
    assert tried == sorted(set(tried))


def test_a_policy_that_may_be_negative_at_this_precision_is_refused() -> None:
    wide = arb(0, 1)
    with pytest.raises(PrecisionError, match="not decided"):
        ForwardPolicy(DIAMOND, BALL, [wide, 1 - wide, *[BALL.one] * 2, BALL.one / 2, BALL.one / 2])


def test_a_ball_that_is_zero_is_not_negative_and_not_positive() -> None:
    zero = BALL.convert(Fraction(0))
    assert BALL.nonnegative(zero)
    assert not BALL.positive(zero)
