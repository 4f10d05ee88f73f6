"""Rewards that are decided early: what the task makes, and what study:credit says of it."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from fast.training.compose import configure
from pdai.experiments import EXPERIMENTS
from pdai.experiments.minors import least_distance
from reference import InputError, enumerate_dag, enumerate_rewards
from reference.problems import SyntheticSequences


def syn(**options: Any) -> Any:
    return configure("syn", letters=4, **options).problem()


def law_of(problem: Any) -> dict[str, Fraction]:
    dag = enumerate_dag(problem)
    rewards = enumerate_rewards(problem, dag)
    return {dag.labels[x]: r / sum(rewards) for x, r in zip(dag.terminals, rewards, strict=True)}


def test_the_reward_is_that_of_the_first_letters_whatever_the_length() -> None:
    short, long = syn(length=2), syn(length=5, decisive=2)
    rewards = {x: long.reward(x) for x in map("".join, product("abcd", repeat=5))}
    assert all(reward == short.reward(x[:2]) for x, reward in rewards.items())
    assert len(set(rewards.values())) > 4
    # Control: by default it depends on all letters.
    assert syn(length=3).reward("aaa") != syn(length=3).reward("aad")


def test_by_default_the_problem_is_what_it_was() -> None:
    made = syn(length=5)
    expected = SyntheticSequences.random(5, 4, "append", 0)
    assert (made.u, made.v) == (expected.u, expected.v)
    same = syn(length=5, decisive=5)
    assert (same.u, same.v) == (expected.u, expected.v)


@pytest.mark.parametrize("decisive", [0, -1, 6])
def test_no_letter_and_more_than_there_are_are_refused(decisive: int) -> None:
    with pytest.raises(
        InputError, match=f"decisive is {decisive}, but must be .*at (least 1|most 5)"
    ):
        configure("syn", length=5, decisive=decisive)


def test_what_is_hidden_can_be_sampled_and_its_flows_cannot_be_balanced() -> None:
    law = law_of(syn(length=3, decisive=2))
    # No minor tells the law from those of policies that see the length and one letter, or none.
    assert least_distance(law, 1) == least_distance(law, 0) == 0
    # Control: the sum of the same terms is no such law.
    assert least_distance(law_of(syn(length=3, decisive=2, form="sum")), 0) > 0
    # After two letters of which the last is seen, the flow depends on the first.
    flows = [sum(p for x, p in law.items() if x.startswith(two)) for two in ("ad", "dd")]
    assert flows[0] != flows[1]
    # Control: with one decisive letter it does not depend on what comes after.
    idle = law_of(syn(length=3, decisive=1))
    assert len({sum(p for x, p in idle.items() if x.startswith(two)) for two in ("ad", "aa")}) == 1


def test_rows_are_the_lengths_seen_and_hidden_with_the_loss_that_has_flows() -> None:
    experiment = EXPERIMENTS["study:credit"]
    assert len(experiment.rows) == 2 * len((3, 5, 7))
    for cell in experiment.cells:
        config: Any = cell.config
        assert f"{config.task.length} letters" in cell.row
        assert config.loss.needs_flow
        assert config.task.decisive == 2
        assert (config.task.last == 1) == cell.row.endswith("last one seen")
