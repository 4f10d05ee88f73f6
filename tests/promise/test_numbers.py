"""PROMISE.md, 2: a number is read once, as what it is, and what is no number is refused."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import pdai
from reference.contract.errors import InputError
from tests.promise.worlds import ROUNDING, World, exponentials, worlds

INTEGERS: list[Any] = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32]
INTEGERS += [np.uint64, np.longlong, jnp.int8, jnp.int16, jnp.int32, jnp.uint8, jnp.uint32]
# With the decimal exponents that they hold.
FLOATS: dict[Any, int] = {float: 300, np.float64: 300, np.longdouble: 300, np.float32: 36}
FLOATS |= {np.float16: 3, jnp.float32: 36, jnp.bfloat16: 36, jnp.float16: 3}
NO_NUMBERS: list[Any] = ["3", "0101", "1e5", "1_0", "True", "None", b"3", None, True, 3 + 0j]
NO_NUMBERS += [np.bool_(True), np.str_("3"), np.complex64(3), math.nan, math.inf, -math.inf]
NO_NUMBERS += [np.float32("nan"), jnp.float32("inf"), Decimal("NaN"), Decimal("-Infinity"), [3]]
NO_NUMBERS += [np.array([1, 2]), np.array("3"), np.timedelta64(3, "s")]


@st.composite
def numbers(draw: Any) -> tuple[Any, Fraction]:
    """A positive number of any kind and scale, and what it means."""
    kind = draw(st.sampled_from([int, *INTEGERS, *FLOATS, Fraction, Decimal]))
    if kind in FLOATS:
        exponent = draw(st.integers(-FLOATS[kind], FLOATS[kind] - 1))
        value = kind(draw(st.floats(1, 9)) * 10.0**exponent)
        return value, Fraction(float(value))
    if kind is Decimal:
        value = Decimal(draw(st.integers(1, 999))).scaleb(draw(st.integers(-300, 300)))
    elif kind is Fraction:
        scale = Fraction(10) ** draw(st.integers(-300, 300))
        meant = Fraction(draw(st.integers(1, 99)), draw(st.sampled_from([1, 3, 7]))) * scale
        symbolic = sympy.Rational(meant.numerator, meant.denominator)
        return draw(st.sampled_from([meant, symbolic])), meant
    else:
        most = 10**300 if kind is int else int(jnp.iinfo(kind).max)
        ends = st.integers(most - 9, most)
        value = kind(draw(st.integers(1, 9) | st.integers(1, most) | ends))
        if kind is not int:
            value = draw(st.sampled_from([value, np.asarray(value)]))
        return value, Fraction(int(value))
    return value, Fraction(value)


@pytest.mark.catches(
    "A rational is read as the float that is nearest to it.",
    "reference/contract/user_code.py",
    "return Fraction(int(number.numerator), int(number.denominator))",
    "return Fraction(float(number))",
)
@settings(max_examples=200, deadline=None)
@given(world=worlds, data=st.data())
def test_rewards_of_every_kind_of_number_are_what_they_are(world: World, data: Any) -> None:
    rewards = {x: data.draw(numbers()) for x in world.terminals}
    problem = world.problem({x: value for x, (value, _) in rewards.items()})
    world.weights = {x: meant for x, (_, meant) in rewards.items()}
    assert pdai.inspect(problem).z == world.z
    assert pdai.certify(world.sampler, problem).tv == world.tv()


@settings(max_examples=100, deadline=None)
@given(world=worlds, data=st.data())
def test_log_rewards_from_far_below_to_far_above_are_what_they_are(world: World, data: Any) -> None:
    kinds = [float, np.float32, np.float64, jnp.float32, np.longdouble, Decimal]
    kind = data.draw(st.sampled_from(kinds))
    base = data.draw(st.sampled_from([0, 700, -800, 10_000, -10_000]) | st.floats(-1e4, 1e4))
    logs = {x: kind(base + data.draw(st.floats(-3, 3))) for x in world.terminals}
    meant = [Fraction(v) if kind is Decimal else Fraction(float(v)) for v in logs.values()]
    world.weights = dict(zip(world.terminals, exponentials(meant), strict=True))
    made = pdai.certify(world.sampler, world.problem(logs, "log_reward"))
    assert abs(made.tv - world.tv()) <= ROUNDING


@pytest.mark.catches(
    "A truth value is read as a number.",
    "reference/contract/user_code.py",
    "if isinstance(number, Rational) and not isinstance(number, bool | Float64):",
    "if isinstance(number, Rational) and not isinstance(number, Float64):",
)
@pytest.mark.parametrize("name", ["reward", "log_reward"])
@settings(max_examples=100, deadline=None)
@given(world=worlds, data=st.data())
def test_what_is_no_number_is_refused(name: str, world: World, data: Any) -> None:
    values: dict[Any, Any] = dict(world.weights)
    values[data.draw(st.sampled_from(world.terminals))] = data.draw(st.sampled_from(NO_NUMBERS))
    with pytest.raises(InputError):
        pdai.certify(world.sampler, world.problem(values, name))
