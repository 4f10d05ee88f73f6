"""The four fields, by one algorithm each, and rewards that are given as logarithms."""

import math
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
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
    enumerate_dag,
    enumerate_rewards,
    forward_from_backward,
    gamma,
    lift,
    marginal,
    normalize,
    pointed_dag,
)
from reference.certificates.listed import ListedLaw
from reference.fields.balls import PrecisionError, enclose, precision
from reference.fields.field import log_float
from reference.looking.inspection import inspect_problem
from reference.metrics import kl_divergence
from reference.problems.base import MAX_LOG_REWARD
from reference.problems.enumeration import exponential
from reference.rows.walks import LogRewards
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


class Posterior:
    """Two ways to x, one to y, one to z; its logarithms are those of a posterior."""

    initial = "o"

    def __init__(self, *logs: Any) -> None:
        self.logs = dict(zip("xyz", logs, strict=True))

    def children(self, state: str) -> tuple[str, ...]:
        return {"o": ("a", "b"), "a": ("x", "y"), "b": ("x", "z")}.get(state, ())

    def log_reward(self, terminal: str) -> float:
        return self.logs[terminal]


def test_a_posterior_of_log_minus_7000_is_sampled_exactly() -> None:
    problem = Posterior(-7000.0, -7000.5, -7003)
    dag = enumerate_dag(problem)
    rewards = enumerate_rewards(problem, dag)
    assert [log_float(r) for r in rewards] == pytest.approx(
        [problem.logs[dag.labels[x]] for x in dag.terminals], abs=1e-11
    )
    p_b = BackwardPolicy.uniform(lift(dag, History()).dag, RATIONAL)
    p_f, _ = forward_from_backward(p_b, rewards)
    assert marginal(p_f) == normalize(rewards)
    assert inspect_problem(problem).entropy < math.log(3)


def test_logarithms_of_long_fractions_have_the_digits_of_a_float() -> None:
    q, near = 10**300, Fraction(1003, 1000)
    assert log_float(Fraction(q + 1, q)) == pytest.approx(1e-300, rel=1e-15)
    assert log_float(Fraction(q + 1, 2 * q)) == pytest.approx(-math.log(2), rel=1e-15)
    assert log_float(Fraction(q**9)) == pytest.approx(2700 * math.log(10), rel=1e-15)
    # Of these laws nothing cancels but `(1 + r) log(1 + r) - r`.
    p, pi = (Fraction(x, q) for x in (near, 1))
    expected = 1e-300 * (1.003 * math.log1p(0.003) - 0.003)
    assert kl_divergence([p, 1 - p], [pi, 1 - pi]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "power", [0, 1, -1, 0.3466, -0.3466, 1e-300, -7000.25, 709.8, -(10**6), 1 / 3]
)
def test_the_exponential_is_within_its_error(power: float) -> None:
    assert within(exponential(Fraction(power)), power)


def test_control_an_exponential_of_a_power_off_in_its_21st_digit_is_seen() -> None:
    assert not within(exponential(Fraction(-(10**6)) * (1 + Fraction(1, 10**21))), -(10**6))


def within(value: Fraction, power: float) -> bool:
    """Proves by enclosures that a number is within 2^-51 of `exp(power)`, or that it is not."""
    with precision(200):
        low, high = enclose(arb(power).exp())
    return max(abs(value / low - 1), abs(value / high - 1)) <= Fraction(1, 2**51)


def test_control_the_largest_logarithm_is_accepted() -> None:
    problem = Posterior(-1.0, -MAX_LOG_REWARD, -1.0)
    assert min(enumerate_rewards(problem, enumerate_dag(problem))) > 0


class Small:
    """The same ways, with rewards."""

    initial, children = Posterior.initial, Posterior.children

    def __init__(self, *rewards: Any) -> None:
        self.reward = dict(zip("xyz", rewards, strict=True)).__getitem__


@pytest.mark.parametrize(
    ("scale", "least"), [(float, -744.0), (Fraction, -744.0), (np.float32, -102.6)]
)
def test_rewards_that_have_lost_digits_are_refused(scale: Any, least: float) -> None:
    logs = [least, least - 0.4, least - 1]
    low = Small(*(scale(math.exp(log)) for log in logs))
    mixed = Small(*(scale(math.exp(log)) for log in (least, least + 36, least)))
    assert sum(enumerate_rewards(mixed, enumerate_dag(mixed))) > 0
    # Where states are not listed, the logarithm has the error of rounding.
    own = map(LogRewards(low), "xyz")
    near = [abs(x.value - log) <= x.error for x, log in zip(own, logs, strict=True)]
    assert all(near) or scale is Fraction
    if scale is Fraction:
        assert len(enumerate_rewards(low, enumerate_dag(low))) == 3
        return
    # The ratio of the numbers that were meant is 1.49.
    assert low.reward("x") / low.reward("y") == 2
    with pytest.raises(InputError, match=r"reward, of 'x', is .* float has lost digits"):
        enumerate_rewards(low, enumerate_dag(low))
    with pytest.raises(InputError, match=r"weight, of 'x', is .* float has lost digits"):
        ListedLaw({x: low.reward(x) for x in "xyz"})


TYPED = """
from fractions import Fraction
from reference import PointedDAG, enumerate_dag, enumerate_rewards

class Mine:
    initial = "o"
    def children(self, state: str) -> tuple[str, ...]:
        return ("x",) if state == "o" else ()
    def NAME(self, terminal: str) -> KIND:
        return KIND(1)

dag: PointedDAG[str] = enumerate_dag(Mine())
rewards: tuple[Fraction, ...] = enumerate_rewards(Mine(), dag)
"""


def test_typed_problems_pass_strict_checks_and_control_strings_do_not(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    rules = [(n, k) for n in ("reward", "log_reward") for k in ("float", "int", "Fraction", "str")]
    for name, kind in rules:
        code = TYPED.replace("NAME", name).replace("KIND", kind)
        (tmp_path / f"{name}_{kind}.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(tmp_path)]
    outcome = subprocess.run(
        command, cwd=Path(__file__).parents[2], check=False, capture_output=True, text=True
    )
    *lines, _ = outcome.stdout.splitlines()
    wrong = {Path(line.split(":")[0]).stem for line in lines if "error" in line}
    assert wrong == {"reward_str", "log_reward_str"}, outcome.stdout
