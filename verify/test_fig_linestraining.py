"""fig:linestraining: a bound on the mass at the first stop, over all targets of the form."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from flint import arb

from reference import normalize, total_variation
from reference.fields.balls import enclose
from reference.problems import Lines
from verify.lib.linear import LinearLines, Parameters, law_from_odds

N = 16
HALF = Fraction(1, 2)
MOST = Fraction(18868, 100_000)


@pytest.mark.claim("fig:linestraining")
def test_no_target_of_the_form_has_more_than_a_fifth_of_its_mass_at_q0(scope: Any) -> None:
    # pi(q_0) is a quotient of linear functions of w, so it is largest where one w_j is 1.
    at_start = []
    for k in range(1, N + 1):
        weights = [(-arb(abs(i - k))).exp() for i in range(N + 1)]
        at_start.append(enclose(weights[0] / sum(weights, arb(0))))
    assert all(upper < MOST for _, upper in at_start)
    assert max(lower for lower, _ in at_start) > MOST - Fraction(2, 100_000)
    scope("all centres, in balls")


@pytest.mark.claim("fig:linestraining")
@pytest.mark.parametrize("memory", [False, True])
def test_with_the_natural_embedding_total_variation_is_at_least_0_3113(
    memory: bool, scope: Any
) -> None:
    model, rng = LinearLines.natural(N), Random(0)
    # psi(p_0) = 0: TV >= |pi(q_0) - 1/2| whatever the parameters.
    for seed in range(20):
        pi = normalize(Lines.laplaces(N, 1, seed=seed).rewards)
        assert pi[0] < MOST
        for _ in range(5):
            a, v, w = ((Fraction(rng.randint(-most, most)),) for most in (3, 1, 1))
            p = model.law(Parameters(a, v, w) if memory else Parameters.markovian(a))
            assert p[0] == HALF
            assert total_variation(p, pi) >= HALF - pi[0] > Fraction(3113, 10_000)
    scope(f"100 laws of {'the path-dependent' if memory else 'the Markovian'} policy")


@pytest.mark.claim("fig:linestraining")
def test_the_bound_is_attained_where_only_the_first_stop_is_forced() -> None:
    # psi(p_0) = 0 and psi(p_i) = e_i: the law given that q_0 is not the end is the target's.
    pi = normalize(Lines.laplaces(N, 1, seed=3).rewards)
    left = [sum(pi[i:], Fraction(0)) for i in range(N + 1)]
    p = law_from_odds([Fraction(1), *(left[i + 1] / pi[i] for i in range(1, N))])
    assert p[0] == HALF
    assert total_variation(p, pi) == HALF - pi[0]


@pytest.mark.control("fig:linestraining")
def test_with_another_embedding_of_the_initial_state_its_mass_is_free() -> None:
    # Also if only psi(p_0) is changed, and all others are natural.
    for model in (
        LinearLines.natural(N, offset=1),
        LinearLines(((Fraction(1),), *LinearLines.natural(N).embedding[1:])),
    ):
        starts = [model.law(Parameters.markovian([a]))[0] for a in range(-3, 4)]
        assert starts == [1 / (1 + Fraction(2) ** a) for a in range(-3, 4)]


@pytest.mark.control("fig:linestraining")
def test_a_free_first_stop_allows_an_exact_fit() -> None:
    pi = normalize(Lines.laplaces(N, 1, seed=3).rewards)
    left = [sum(pi[i:], Fraction(0)) for i in range(N + 1)]
    assert law_from_odds([left[i + 1] / pi[i] for i in range(N)]) == pi
