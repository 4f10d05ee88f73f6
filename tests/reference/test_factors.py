"""Problems split into factors: the rewards multiply exactly, and nonsense is refused."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from reference import (
    RATIONAL,
    BackwardPolicy,
    Forgetful,
    ForwardPolicy,
    InputError,
    LiftedSampler,
    check_clients,
    enumerate_dag,
    enumerate_rewards,
    lift,
    product_rewards,
)
from reference.problems import Preference, Sets, SyntheticSequences, restrict, split
from reference.problems.factors import check_product
from tests.refusals import refuses
from verify.lib.named_dags import DIAMOND

ONE = Fraction(1)
WHOLES: dict[str, Callable[[], Any]] = {
    "sets": Sets.minimal,
    "preference, any order": Preference.minimal,
    "preference, fixed order": lambda: Preference.random(7, 3, 1, "fixed"),
    "synthetic": SyntheticSequences.minimal,
}


@pytest.mark.catches(
    "Each part of a split reward also has the first factor of the next.",
    "reference/problems/factors.py",
    "(part + 1) * count // parts)",
    "(part + 1) * count // parts + 1)",
    only="2-sets",
)
@pytest.mark.parametrize("name", WHOLES)
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_rewards_of_the_parts_multiply_to_the_whole_exactly(name: str, parts: int) -> None:
    whole = WHOLES[name]()
    dag = enumerate_dag(whole)
    factors = []
    for part in split(whole, parts):
        own = enumerate_dag(part)
        assert (own.labels, own.edges) == (dag.labels, dag.edges)
        factors.append(enumerate_rewards(part, own))
    rewards = enumerate_rewards(whole, dag)
    assert product_rewards(RATIONAL, factors) == rewards
    # Some of the parts are the product of each.
    kept = (parts - 1, 0)[:parts]
    some = enumerate_rewards(restrict(whole, parts, kept), dag)
    assert some == product_rewards(RATIONAL, [factors[part] for part in kept])
    # Control: without the last part the product is another.
    assert parts == 1 or product_rewards(RATIONAL, factors[:-1]) != rewards


def test_a_product_may_be_zero_at_a_terminal() -> None:
    zero, one = Fraction(0), Fraction(1)
    assert product_rewards(RATIONAL, [(zero, one), (one, one)]) == (zero, one)


def test_parts_are_consecutive_and_nearly_equal() -> None:
    data = Preference.random(11, 3, 1)
    chunks = [part.differences for part in split(data, 4)]
    assert sum(chunks, ()) == data.differences
    assert {len(chunk) for chunk in chunks} == {2, 3}


@pytest.mark.catches(
    "Clients are checked for zeros of p_F instead of p_B.",
    "reference/combination.py",
    "if not field.positive(client.along(tau)[1]):",
    "if not field.positive(client.along(tau)[0]):",
)
def test_a_client_may_avoid_a_trajectory_forwards_but_not_backwards() -> None:
    lifted = lift(DIAMOND, Forgetful())
    forward = ForwardPolicy.uniform(lifted.dag, RATIONAL)
    backward = BackwardPolicy.uniform(lifted.dag, RATIONAL)
    through = DIAMOND.edges.index((DIAMOND.index["a"], DIAMOND.index["c"]))
    without = [int(edge != through) for edge in range(len(DIAMOND.edges))]
    blind = BackwardPolicy.from_weights(lifted.dag, RATIONAL, without)
    with pytest.raises(InputError, match=r"client number 1 has p_B\(tau\|x\) = 0 on .*'a', 'c'"):
        check_clients(
            [LiftedSampler(lifted, forward, backward), LiftedSampler(lifted, forward, blind)]
        )
    zero = [0, *[1] * (len(DIAMOND.edges) - 1)]
    avoiding = ForwardPolicy.from_weights(lifted.dag, RATIONAL, zero)
    check_clients([LiftedSampler(lifted, avoiding, backward)])


class Coins:
    """Flips of coins with known odds; each flip is a factor.

    Attributes:
        odds: of heads, for each coin.
        prior: a factor of the whole for each head; a mistake, as every part has it too.
    """

    initial = ""

    def __init__(self, odds: tuple[int, ...] = (2, 3), prior: int | Fraction = 1):
        self.odds, self.prior = odds, prior

    def children(self, state: str) -> tuple[str, ...]:
        return () if len(state) == len(self.odds) else (state + "h", state + "t")

    def reward(self, terminal: str) -> Fraction:
        pairs = zip(terminal, self.odds, strict=True)
        return math.prod((Fraction(o * self.prior) for side, o in pairs if side == "h"), start=ONE)

    @property
    def factor_count(self) -> int:
        return len(self.odds)

    def with_factors(self, kept: list[int]) -> "Coins":
        odds = tuple(o if i in kept else 1 for i, o in enumerate(self.odds))
        return type(self)(odds, self.prior)


class Rounded(Coins):
    """Floats, and a constant in every part."""

    def reward(self, terminal: str) -> Any:
        return 0.1 * float(super().reward(terminal)) ** 0.3


def test_a_problem_of_ones_own_splits() -> None:
    first, second = split(Coins(), 2)
    assert (first.reward("hh"), second.reward("hh"), Coins().reward("hh")) == (2, 3, 6)


test_parts_that_multiply_to_another_reward_are_refused = refuses(
    check_product,
    (Coins(prior=2), 2, 100, "Coins in 2 parts.* by 0 at 'tt', and by 1.38629 at 'hh', but"),
    (Coins(prior=Fraction(1001, 1000)), 2, 100, "by 0 at 'tt', and by 0.001999 at 'hh', but"),
    # Too many states to list.
    (Coins((2,) * 12, prior=2), 2, 100, "Coins in 2 parts: .* such as a prior, into one part"),
)


@pytest.mark.parametrize("problem", [Coins((2, 3, 5)), Rounded((2, 3, 5)), Rounded((2,) * 12)])
def test_control_a_product_up_to_a_constant_is_accepted(problem: Coins) -> None:
    check_product(problem, 3, 100)
