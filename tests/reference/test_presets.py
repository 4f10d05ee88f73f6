"""Every task on its minimal preset: exact optimum, closed form and samples."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import pytest
from scipy.stats import chi2

from reference import (
    RATIONAL,
    BackwardPolicy,
    History,
    InputError,
    LiftedDAG,
    enumerate_dag,
    enumerate_rewards,
    forward_from_backward,
    lift,
    marginal,
    normalize,
    tb_residuals,
)
from reference.problems import closed_form
from reference.problems.closed_form import Enclosure
from reference.problems.presets import MINIMAL, PAPER

WITH_CLOSED_FORM = sorted(set(MINIMAL) - {"bits", "torus"})
SAMPLES = 20_000


class Instance(NamedTuple):
    """A minimal preset, enumerated and lifted by the full history."""

    problem: Any
    lifted: LiftedDAG[Any]
    rewards: tuple[Fraction, ...]


@cache
def instance(name: str) -> Instance:
    problem = MINIMAL[name]()
    dag = enumerate_dag(problem)
    return Instance(problem, lift(dag, History()), enumerate_rewards(problem, dag))


@pytest.mark.parametrize("name", PAPER)
def test_paper_presets_have_an_initial_state_with_children(name: str) -> None:
    problem = PAPER[name]()
    assert problem.children(problem.initial)


@pytest.mark.parametrize("name", MINIMAL)
def test_minimal_presets_are_small_and_the_optimum_has_the_target_as_its_law(name: str) -> None:
    _, lifted, rewards = instance(name)
    assert len(lifted.dag.labels) <= 3000
    assert all(reward > 0 for reward in rewards)
    texts = {str(lifted.base.labels[x]) for x in lifted.base.terminals}
    assert len(texts) == len(rewards)
    p_b = BackwardPolicy.uniform(lifted.dag, RATIONAL)
    p_f, z = forward_from_backward(p_b, rewards)
    assert z == sum(rewards)
    assert marginal(p_f) == normalize(rewards)
    assert all(residual == 0 for _, residual in tb_residuals(p_f, p_b, rewards, z))


@pytest.mark.catches(
    "The sets with a given item are counted as all sets of the size.",
    "reference/problems/sets.py",
    "return math.comb(len(self.weights) - 1, self.size - 1) * sum(",
    "return math.comb(len(self.weights), self.size) * sum(",
)
@pytest.mark.parametrize("name", WITH_CLOSED_FORM)
def test_the_closed_form_is_the_enumerated_sum(name: str) -> None:
    problem, _, rewards = instance(name)
    total = sum(rewards, Fraction(0))
    log_z = closed_form(problem).log_z()
    assert log_z.contains(math.log(total))
    assert log_z.error < 1e-6
    if hasattr(problem, "z"):
        assert problem.z() == total
    # Control: that of another target is another.
    assert not log_z.contains(math.log(total + min(rewards) / 1000))


@pytest.mark.catches(
    "A draw on the boundary between two states goes to the first of them.",
    "reference/problems/closed_form.py",
    "bisect_right(self._sums, rng.randrange(self._sums[-1]))",
    "bisect_right(self._sums, rng.randrange(self._sums[-1]) - 1)",
    only="graphs",
)
@pytest.mark.parametrize("name", WITH_CLOSED_FORM)
def test_samples_follow_the_target(name: str) -> None:
    problem, lifted, rewards = instance(name)
    base = lifted.base
    target = dict(zip((base.labels[x] for x in base.terminals), normalize(rewards), strict=True))
    counts = Counter(problem.sample(SAMPLES, seed=0))
    assert set(counts) <= set(target)
    assert _p_value(counts, target) > 1e-4
    if len(set(rewards)) > 1:
        # Control: the same samples are not those of the uniform law.
        uniform = dict.fromkeys(target, Fraction(1, len(target)))
        assert _p_value(counts, uniform) < 1e-4
    assert problem.sample(40, seed=1) == problem.sample(40, seed=1) != problem.sample(40, seed=2)
    assert problem.sample(0, seed=1) == []
    with pytest.raises(InputError, match="count is -1"):
        problem.sample(-1, seed=0)


def _p_value(counts: Counter[Any], law: dict[Any, Fraction]) -> float:
    """Pearson's test; states expected less than five times are taken together."""
    rare, statistic, cells = [0, 0.0], 0.0, 0
    for state, probability in law.items():
        expected = SAMPLES * float(probability)
        if expected < 5:
            rare = [rare[0] + counts[state], rare[1] + expected]
        else:
            statistic += (counts[state] - expected) ** 2 / expected
            cells += 1
    if rare[1] >= 1:
        statistic += (rare[0] - rare[1]) ** 2 / rare[1]
        cells += 1
    return float(chi2.sf(statistic, cells - 1))


def test_closed_forms_work_at_full_size() -> None:
    for name in ("sets-32", "sequences-32", "six6", "grid-sparse", "random-walk", "ising-64"):
        problem = PAPER[name]()
        assert math.isfinite(problem.log_z().value)
        assert len(problem.sample(10, seed=0)) == 10


def test_the_ends_of_an_enclosure_are_inside() -> None:
    half = Enclosure(1.0, 0.5)
    assert half.contains(Fraction(3, 2))
    assert half.contains(0.5)
    assert not half.contains(Fraction(3, 2) + Fraction(1, 10**30))
