"""The lemmas after def:cldag, and what happens without each of their hypotheses."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from reference.stochastic import StochasticLift
from reference.stochastic_axioms import duality_residuals
from reference.stochastic_kernels import ZERO, power, push, restrict
from reference.stochastic_lemmas import (
    Lemma,
    backward_absorption_at_horizon,
    backward_absorption_lasts,
    compositions_are_nondegenerate,
    forward_absorption_lasts,
    nu_is_forced,
)
from tests.stochastic_lifts import (
    ONE,
    SEEDS,
    backward_enters_a_null_state,
    backward_enters_x,
    chain,
    copying_fork,
    leaves_a_null_initial_state,
    leaves_a_null_terminal,
    longest,
    mass,
    random_lift,
    stuck_backward,
    stuck_forward,
    waiting,
    with_row,
    wrong_nu,
)


def lemmas(lift: StochasticLift) -> list[Lemma]:
    return [
        forward_absorption_lasts(lift),
        *(compositions_are_nondegenerate(lift, n) for n in (1, 2, 3)),
        nu_is_forced(lift),
        backward_absorption_at_horizon(lift),
        backward_absorption_lasts(lift),
    ]


@SEEDS
def test_the_lemmas_apply_and_hold_for_positive_kernels(seed: int) -> None:
    assert all(lemma.applies and lemma.conclusion for lemma in lemmas(random_lift(seed)))


@SEEDS
def test_absorption_holds_step_by_step(seed: int) -> None:
    lift = random_lift(seed)
    n = longest(lift.dag)
    for k in range(n, n + 3):
        forward, backward = power(lift.kappa_f, k), power(lift.kappa_b, k)
        assert all(mass(forward, s, lift.terminal) == 1 for s in lift.states)
        assert all(mass(backward, x, lift.initial) == 1 for x in lift.terminal)
    if n > 1:
        early = power(lift.kappa_b, n - 1)
        assert any(mass(early, x, lift.initial) < 1 for x in lift.terminal)


@SEEDS
def test_the_measure_of_forced_visits_is_the_sum_of_taboo_compositions(seed: int) -> None:
    lift = random_lift(seed, least=0)
    start = restrict(lift.nu, lift.initial)
    total = dict.fromkeys(lift.states - lift.initial, ZERO)
    for k in range(1, longest(lift.dag) + 1):
        for s, p in push(start, power(lift.kappa_f, k, through=lift.inner)).items():
            total[s] += p
    assert total == {s: lift.nu.get(s, ZERO) for s in total}


@SEEDS
@pytest.mark.parametrize("least", [0, 1])
def test_duality_holds_for_trajectories(seed: int, least: int) -> None:
    lift = random_lift(seed, least)
    for n in range(1, longest(lift.dag) + 1):
        residuals = duality_residuals(lift, n)
        assert residuals or least == 0
        assert not any(residuals.values())
        forward = power(lift.kappa_f, n, through=lift.inner)
        backward = power(lift.kappa_b, n, through=lift.inner)
        for s in lift.initial | lift.inner:
            for t in lift.inner | lift.terminal:
                ahead = lift.nu.get(s, ZERO) * forward[s].get(t, ZERO)
                assert ahead == lift.nu.get(t, ZERO) * backward[t].get(s, ZERO)


@SEEDS
def test_control_with_another_nu_duality_and_the_forced_measure_fail(seed: int) -> None:
    lift = random_lift(seed)
    moved = dict(lift.nu)
    x = (lift.dag.terminals[0], 0)
    moved[0, 0], moved[x] = lift.nu[0, 0] + lift.nu[x] / 2, lift.nu[x] / 2
    wrong = replace(lift, nu=moved)
    assert any(duality_residuals(wrong, 1).values())
    assert any(duality_residuals(wrong, longest(lift.dag)).values())
    assert not nu_is_forced(wrong).conclusion


@SEEDS
def test_control_a_chain_that_turns_back_is_not_absorbed(seed: int) -> None:
    lift = random_lift(seed)
    x = (lift.dag.terminals[-1], 0)
    leaving = replace(lift, kappa_f=with_row(lift.kappa_f, x, lift.kappa_b[x]))
    assert not forward_absorption_lasts(leaving).conclusion
    stuck = replace(lift, kappa_b=with_row(lift.kappa_b, x, {x: ONE}))
    assert not backward_absorption_at_horizon(stuck).conclusion
    restless = replace(lift, kappa_b=with_row(lift.kappa_b, (0, 0), {x: ONE}))
    assert not backward_absorption_lasts(restless).conclusion


def test_no_lift_satisfies_the_hypotheses_of_a_lemma_and_not_its_conclusion() -> None:
    seen: dict[tuple[int, bool, bool], int] = {}
    rng = random.Random(0)
    for seed in range(400):
        lift = random_lift(seed, least=0)
        rows = [(name, s) for name in ("kappa_f", "kappa_b") for s in sorted(lift.states)]
        # Rows of nu-null states are the ones that may change without breaking an axiom.
        null = [(name, s) for name, s in rows if s not in lift.charged]
        for name, s in rng.sample(null, min(len(null), 2)) + rng.sample(rows, seed % 2):
            row = {rng.choice(sorted(lift.states)): ONE}
            if name == "kappa_f":
                lift = replace(lift, kappa_f=with_row(lift.kappa_f, s, row))
            else:
                lift = replace(lift, kappa_b=with_row(lift.kappa_b, s, row))
        for i, lemma in enumerate(lemmas(lift)):
            key = (i, lemma.applies, lemma.conclusion)
            seen[key] = seen.get(key, 0) + 1
    for i in range(len(lemmas(chain()))):
        assert (i, True, False) not in seen
        assert seen[i, True, True] >= 15
        assert seen[i, False, False] >= 15


BOTH = [backward_absorption_at_horizon, backward_absorption_lasts]


@pytest.mark.parametrize(
    ("lemma", "wrong", "missing"),
    [
        (forward_absorption_lasts, leaves_a_null_terminal, "absolute_continuity_f"),
        (forward_absorption_lasts, stuck_forward, "forward_absorption"),
        (
            lambda lift: compositions_are_nondegenerate(lift, 1),
            backward_enters_a_null_state,
            "absolute_continuity_b",
        ),
        (lambda lift: compositions_are_nondegenerate(lift, 2), copying_fork, "nondegeneracy"),
        (nu_is_forced, wrong_nu, "duality"),
        (nu_is_forced, waiting, "forward_absorption"),
        (nu_is_forced, backward_enters_x, "backward_absorption"),
        *((lemma, stuck_backward, "duality") for lemma in BOTH),
        *((lemma, waiting, "forward_absorption") for lemma in BOTH),
        *((lemma, backward_enters_x, "backward_absorption") for lemma in BOTH),
        *((lemma, leaves_a_null_initial_state, "absolute_continuity_b") for lemma in BOTH),
    ],
)
def test_control_a_lemma_fails_without_one_of_its_hypotheses(
    lemma: Callable[[StochasticLift], Lemma], wrong: Callable[[], StochasticLift], missing: str
) -> None:
    verdict = lemma(wrong())
    assert [name for name, holds in verdict.hypotheses.items() if not holds] == [missing]
    assert not verdict.conclusion
