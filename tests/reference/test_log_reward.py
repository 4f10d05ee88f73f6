"""Rewards given as logarithms, and what a type checker accepts as a problem."""

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

from reference import (
    RATIONAL,
    BackwardPolicy,
    History,
    InputError,
    enumerate_dag,
    enumerate_rewards,
    forward_from_backward,
    lift,
    marginal,
    normalize,
)
from reference.balance import log_float
from reference.certificates.listed import ListedLaw
from reference.certificates.walks import LogRewards
from reference.fields.balls import enclose, precision
from reference.inspection import inspect_problem
from reference.problems.base import MAX_LOG_REWARD, exponential


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


@pytest.mark.parametrize(
    "power", [0, 1, -1, 0.3466, -0.3466, 1e-300, -7000.25, 709.8, -(10**6), 1 / 3]
)
def test_the_exponential_is_within_its_error(power: float) -> None:
    assert within(exponential(Fraction(power)), power)


def test_control_an_exponential_of_a_power_off_in_its_21st_digit_is_seen() -> None:
    assert not within(exponential(Fraction(-(10**6)) * (1 + Fraction(1, 10**21))), -(10**6))


def within(value: Fraction, power: float) -> bool:
    """Whether a number is within 2^-51 of `exp(power)`, proved by enclosures."""
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


def test_a_typed_problem_passes_strict_checks_and_control_one_of_strings_does_not(
    tmp_path: Path,
) -> None:
    pytest.importorskip("mypy")
    rules = [(n, k) for n in ("reward", "log_reward") for k in ("float", "int", "Fraction", "str")]
    for name, kind in rules:
        code = TYPED.replace("NAME", name).replace("KIND", kind)
        (tmp_path / f"{name}_{kind}.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(tmp_path)]
    outcome = subprocess.run(
        command, cwd=Path(__file__).parents[2], check=False, capture_output=True, text=True
    )
    wrong = {
        Path(line.split(":")[0]).stem for line in outcome.stdout.splitlines() if "error" in line
    }
    assert wrong - {outcome.stdout.splitlines()[-1]} == {"reward_str", "log_reward_str"}, (
        outcome.stdout
    )
