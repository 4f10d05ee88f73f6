"""The four fields: one algorithm gives rationals, floats, enclosures and identities that agree."""

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from reference import (
    BALL,
    FLOAT64,
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    History,
    InputError,
    PointedDAG,
    Symbolic,
    TooLargeError,
    forward_from_backward,
    gamma,
    lift,
    marginal,
    path_sums,
    pointed_dag,
)
from reference.fields.balls import PrecisionError, enclose, precision
from verify.lib.generic import generic
from verify.lib.named_dags import DIAMOND
from verify.lib.small_scope import lifts, pointed_dags

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


def test_control_a_wrong_value_lies_outside_the_enclosure() -> None:
    exact = marginals(DIAMOND, RATIONAL, [1, 2, 3, 4, 5, 6])
    lower, upper = enclose(marginals(DIAMOND, BALL, [1, 2, 3, 4, 5, 6])[0])
    assert lower <= exact[0] <= upper
    assert not lower <= exact[0] + Fraction(1, 10**12) <= upper


def test_float64_is_within_its_roundings_of_the_rational_marginals() -> None:
    for number, dag in enumerate(pointed_dags(5)):
        weights = random_weights(len(dag.edges), number)
        # At most 4 levels with 4 in-edges each; each weight is normalised with up to 5 roundings.
        bound = gamma(2 * 4 + 4 * 4 + 4 * 5)
        for value, number_ in zip(
            marginals(dag, RATIONAL, weights), marginals(dag, FLOAT64, weights), strict=True
        ):
            assert abs(Fraction(number_) - value) <= Fraction(bound) * value


def test_the_generic_policy_proves_the_target_for_all_policies_and_rewards() -> None:
    for nodes in (2, 3, 4):
        for dag in pointed_dags(nodes):
            for lifted in lifts(dag):
                instance = generic(lifted.dag)
                p_f, z = forward_from_backward(instance.backward, instance.rewards)
                total = instance.field.sum(instance.rewards)
                assert z == total
                assert marginal(p_f) == tuple(r / total for r in instance.rewards)


def test_control_an_unnormalised_kernel_does_not_give_the_generic_target() -> None:
    lifted = lift(DIAMOND, History())
    base = generic(DIAMOND)
    p_f, _ = forward_from_backward(base.backward.on(lifted), base.rewards)
    total = base.field.sum(base.rewards)
    # Terminals are right, because the kernel's mass is 1 at each; a dropped edge is not.
    assert marginal(p_f) == tuple(r / total for r in base.rewards)
    field = base.field
    one_edge_doubled = [v * 2 if e == 4 else v for e, v in enumerate(base.backward.values)]
    kernel = type(base.backward.on(lifted))(DIAMOND, field, one_edge_doubled)
    p_f, _ = forward_from_backward(kernel, base.rewards)
    assert marginal(p_f)[0] != base.rewards[0] / total


def test_symbolic_values_agree_with_rational_ones_at_a_point() -> None:
    instance = generic(DIAMOND)
    p_f, _ = forward_from_backward(instance.backward, instance.rewards)
    point = [Fraction(k + 1, 7) for k in range(len(instance.field.symbols))]
    rational = BackwardPolicy(DIAMOND, RATIONAL, [_at(v, point) for v in instance.backward.values])
    expected, _ = forward_from_backward(rational, [_at(r, point) for r in instance.rewards])
    assert [_at(v, point) for v in p_f.values] == list(expected.values)


def _at(function: Any, point: list[Fraction]) -> Fraction:
    def value(polynomial: Any) -> Fraction:
        return sum(
            (
                Fraction(int(c)) * math.prod(p**k for p, k in zip(point, powers, strict=True))
                for powers, c in polynomial.terms()
            ),
            Fraction(0),
        )

    return value(function.numer) / value(function.denom)


def test_logarithms_exist_in_the_fields_that_contain_them() -> None:
    assert FLOAT64.log(math.e) == 1.0
    lower, upper = enclose(BALL.log(BALL.convert(2)))
    assert lower < upper
    assert abs(float(lower) - math.log(2)) < 1e-15
    for field, value in ((RATIONAL, Fraction(2)), (Symbolic("p"), Fraction(2))):
        with pytest.raises(InputError, match=r"logarithm .* not a rational"):
            field.log(value)  # type: ignore[arg-type]
    for field_, zero in ((FLOAT64, 0.0), (BALL, arb(0))):
        with pytest.raises(InputError, match="does not exist"):
            field_.log(zero)  # type: ignore[arg-type]


def test_an_undecided_sign_names_the_precision_that_decides_it() -> None:
    def difference() -> arb:
        return BALL.convert(Fraction(1, 3)) - BALL.convert(Fraction(1, 3) - Fraction(1, 10**30))

    with precision(53):
        with pytest.raises(PrecisionError, match=r"53 bits") as caught:
            BALL.positive(difference())
        bits = int(str(caught.value).split("precision(")[1].split(")")[0])
    assert bits > 53
    for _ in range(4):  # the centre is known no better than the radius, so it may take some rounds
        try:
            with precision(bits):
                assert BALL.positive(difference())
            break
        except PrecisionError as error:
            bits = int(str(error).split("precision(")[1].split(")")[0])
    else:
        pytest.fail(f"not decided at {bits} bits")


def test_a_policy_that_may_be_negative_at_this_precision_is_refused() -> None:
    wide = arb(0, 1)
    with pytest.raises(PrecisionError, match="not decided"):
        ForwardPolicy(DIAMOND, BALL, [wide, 1 - wide, *[BALL.one] * 2, BALL.one / 2, BALL.one / 2])
    with pytest.raises(InputError, match="must be a number >= 0"):
        ForwardPolicy(DIAMOND, BALL, [arb("nan")] * 6)


def test_balls_refuse_rows_that_cannot_sum_to_one() -> None:
    half = BALL.one / 2
    with pytest.raises(InputError, match="not to 1"):
        ForwardPolicy(DIAMOND, BALL, [half, half, half, BALL.one, half, half])


def test_symbolic_refuses_what_is_too_large_or_foreign() -> None:
    with pytest.raises(TooLargeError, match="25 parameters"):
        Symbolic(" ".join(f"p{k}" for k in range(25)))
    with pytest.raises(TooLargeError, match="at most 2"):
        generic(DIAMOND, max_parameters=2)
    with pytest.raises(InputError, match="distinct names"):
        Symbolic("p p")
    with pytest.raises(InputError, match="another symbolic field"):
        Symbolic("p").convert(Symbolic("q").symbols[0])
    with pytest.raises(InputError, match="finite float"):
        Symbolic("p").convert(math.nan)


def test_numbers_that_no_field_holds_are_refused() -> None:
    for field in (RATIONAL, FLOAT64, BALL):
        with pytest.raises(InputError):
            field.convert("half")  # type: ignore[arg-type]
    for value in (math.nan, math.inf):
        with pytest.raises(InputError, match="finite"):
            RATIONAL.convert(value)
    with pytest.raises(InputError, match=r"magnitude below"):
        FLOAT64.convert(10**400)
    with pytest.raises(InputError, match="at least 2"):
        precision(0)


def test_visits_of_the_diamond_agree_in_all_fields() -> None:
    weights = [1, 2, 1, 1, 3, 1]
    exact = path_sums(ForwardPolicy.from_weights(DIAMOND, RATIONAL, weights))
    assert exact == [1, Fraction(1, 3), Fraction(2, 3), 1, Fraction(3, 4), Fraction(1, 4)]
    field = Symbolic("p")
    symbolic = path_sums(ForwardPolicy.from_weights(DIAMOND, field, weights))
    assert symbolic == [field.convert(value) for value in exact]


def test_numbers_of_another_kind_than_the_field_are_refused() -> None:
    # An int among fractions divides into a float, silently.
    for field, value in ((RATIONAL, 1), (RATIONAL, 1.0), (FLOAT64, np.float32(1)), (BALL, 1.0)):
        with pytest.raises(InputError, match=r"edge number 0 .* does not compute with"):
            ForwardPolicy(CHAIN, field, [value])  # type: ignore[type-var]
    assert ForwardPolicy(CHAIN, FLOAT64, np.ones(1)).values[0] == 1  # float64 is a float
    p_b = BackwardPolicy.uniform(CHAIN, FLOAT64)
    with pytest.raises(InputError, match=r"reward number 0 .* a float32"):
        forward_from_backward(p_b, np.ones(1, np.float32))  # type: ignore[arg-type]


def test_a_ball_that_is_zero_is_not_negative_and_not_positive() -> None:
    zero = BALL.convert(Fraction(0))
    assert BALL.nonnegative(zero)
    assert not BALL.positive(zero)
