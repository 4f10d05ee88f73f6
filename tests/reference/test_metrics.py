"""Distances between laws, and between the rows of a policy, against numbers worked out by hand."""

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference import (
    FLOAT64,
    RATIONAL,
    Forgetful,
    ForwardPolicy,
    History,
    InputError,
    enumerate_dag,
    kl_divergence,
    lift,
    pointed_dag,
    total_variation,
)
from reference.expressivity.memory import aliasing_kl, memory_kl
from reference.metrics import fcs_estimate, fcs_under, jensen_shannon
from reference.problems import Lines
from verify.lib.named_dags import DIAMOND


def law(*hundredths: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(h, 100) for h in hundredths)


@pytest.mark.catches(
    "The KL of laws that are close is a small difference of large terms.",
    "reference/metrics.py",
    "    if abs(excess) < 1e-3:\n",
    "    if abs(excess) < 0:\n",
)
def test_divergences_of_close_laws_do_not_cancel() -> None:
    for power in (3, 6, 9, 12, 40):
        eps = Fraction(1, 10**power)
        p, q = (Fraction(1, 2) + eps, Fraction(1, 2) - eps), (Fraction(1, 2),) * 2
        # KL = 2 eps^2 + (4/3) eps^4 + ...; by default, approx lets anything below 1e-12 pass.
        expected = float(2 * eps**2 + Fraction(4, 3) * eps**4)
        assert kl_divergence(p, q) == pytest.approx(
            expected, rel=1e-11 if power > 3 else 1e-10, abs=0
        )
        assert jensen_shannon(p, q) == pytest.approx(float(eps**2 / 2), rel=1e-5, abs=0)


@pytest.mark.catches(
    "KL(q || p) is returned for KL(p || q).",
    "reference/metrics.py",
    "terms.append(_divergence(a, b))",
    "terms.append(_divergence(b, a))",
)
def test_divergences_of_far_laws_are_those_of_the_definition() -> None:
    rng = random.Random(0)
    for _ in range(200):
        weights = [[rng.randint(1, 10**6) for _ in range(5)] for _ in range(2)]
        p, q = ([Fraction(w, sum(row)) for w in row] for row in weights)
        direct = sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True))
        assert kl_divergence(p, q) == pytest.approx(direct, rel=1e-9, abs=1e-15)
        floats = [float(a) for a in p], [float(b) for b in q]
        assert kl_divergence(*floats) == pytest.approx(direct, rel=1e-9, abs=1e-14)


@pytest.mark.catches(
    "The Jensen-Shannon divergence is the KL of its first side alone.",
    "reference/metrics.py",
    "return (kl_divergence(p, middle) + kl_divergence(q, middle)) / 2",
    "return kl_divergence(p, middle)",
)
def test_divergences_at_zeros() -> None:
    assert kl_divergence(law(100, 0), law(50, 50)) == pytest.approx(math.log(2))
    assert kl_divergence(law(50, 50), law(100, 0)) == math.inf
    assert jensen_shannon(law(100, 0), law(0, 100)) == pytest.approx(math.log(2))
    # Each side has its own: KL((1, 0) || m) = log(4/3), KL((1/2, 1/2) || m) = log(4/3) / 2.
    for pair in ((law(100, 0), law(50, 50)), (law(50, 50), law(100, 0))):
        expected = (math.log(4 / 3) + math.log(2 / 3) / 2 + math.log(2) / 2) / 2
        assert jensen_shannon(*pair) == pytest.approx(expected)
    assert kl_divergence(law(20, 80), law(20, 80)) == 0 == jensen_shannon(law(1, 99), law(1, 99))
    tiny = Fraction(1, 10**400)
    assert kl_divergence((tiny, 1 - tiny), (Fraction(1, 2),) * 2) == pytest.approx(math.log(2))


@pytest.mark.catches(
    "The standard error divides by n instead of n - 1.",
    "reference/metrics.py",
    "values.std(ddof=1)",
    "values.std(ddof=0)",
)
def test_the_standard_error_of_two_batches_by_hand() -> None:
    # On the batches TV is 0 and 1/2: mean 1/4, variance 1/8 with n - 1, standard error 1/4.
    p, q = np.full(4, 0.25), np.array([0.2, 0.2, 0.0, 0.6])
    found = fcs_estimate(p, q, np.array([[0, 1], [2, 3]]))
    assert found.mean == pytest.approx(0.25)
    assert found.standard_error == pytest.approx(0.25)


def test_weights_beyond_the_largest_float_are_refused_without_a_warning() -> None:
    wide = np.array([np.longdouble("1e4000"), 1])
    with pytest.raises(InputError, match="not finite"):
        fcs_estimate(wide, np.ones(2), np.array([[0, 1], [1, 0]]))


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ({(2,): Fraction(1)}, "probability zero"),
        ({(0, 0): Fraction(1)}, "distinct"),
        ({(0, 7): Fraction(1)}, "below 3"),
        ({(0, 1): Fraction(1, 2)}, "sums to 1/2"),
        ({}, "is empty"),
        ({(0, 1): Fraction(3, 2), (0, 2): Fraction(-1, 2)}, "is -1/2"),
    ],
)
def test_laws_of_batches_that_are_none_are_refused(batches: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fcs_under(law(50, 50, 0), law(40, 60, 0), batches)


def test_laws_of_ints_or_of_mixed_numbers_are_refused() -> None:
    for p in ((1, 0), (Fraction(1, 2), 0.5), (True, False)):
        with pytest.raises(InputError, match="all Fractions or all floats"):
            total_variation(p, (Fraction(1, 2),) * 2)  # type: ignore[type-var]


def test_states_that_cannot_be_compared_by_action_are_refused() -> None:
    lifted = lift(enumerate_dag(Lines.minimal()), Forgetful())
    uniform = ForwardPolicy.uniform(lifted.dag, RATIONAL)
    actions = {(s, t): t[0] for s in ("p2", "p3", "p5") for t in Lines.minimal().children(s)}
    with pytest.raises(InputError, match="same actions"):
        aliasing_kl(lifted, uniform, "p2", "p5", actions)
    with pytest.raises(InputError, match="has no action"):
        aliasing_kl(lifted, uniform, "p2", "p3", {})
    with pytest.raises(InputError, match="not a non-terminal state"):
        aliasing_kl(lifted, uniform, "p2", "q3", actions)


@pytest.mark.catches(
    "Only the first two histories of a state are compared.",
    "reference/expressivity/memory.py",
    "kl_divergence(p, q) for p in laws for q in laws)",
    "kl_divergence(p, q) for p in laws[:2] for q in laws[:2])",
)
@pytest.mark.parametrize("odd", range(3))
def test_memory_is_compared_over_all_histories_of_a_state(odd: int) -> None:
    children = {"o": [*"abd"], **{state: ["c"] for state in "abd"}, "c": ["x", "y"]}
    lifted = lift(pointed_dag({**children, "x": [], "y": []}), History())
    weights = [1] * len(lifted.dag.edges)
    copies = [v for v, u in enumerate(lifted.projection) if lifted.base.labels[u] == "c"]
    weights[lifted.dag.out_edges[copies[odd]][1]] = 3
    found = memory_kl(lifted, ForwardPolicy.from_weights(lifted.dag, RATIONAL, weights))
    assert found["c"] == pytest.approx(math.log(4 / 3) / 2)


def test_memory_of_a_policy_on_another_lift_is_refused() -> None:
    lifted = lift(DIAMOND, History())
    with pytest.raises(InputError, match="not live on this lift"):
        memory_kl(lifted, ForwardPolicy.uniform(DIAMOND, FLOAT64))


def test_laws_of_batches_in_floats_may_miss_one_by_their_rounding() -> None:
    p, q = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    # Ten times 0.1 is 1 - 1e-16; more than that is a mistake.
    batches = {(i % 3,): 0.1 for i in range(3)} | {(i % 3, (i + 1) % 3): 0.7 / 3 for i in range(3)}
    assert sum(batches.values()) == pytest.approx(1.0, abs=3e-16)
    assert 0 < fcs_under(p, q, batches) < 1
    with pytest.raises(InputError, match="sums to"):
        fcs_under(p, q, {(0,): 0.5, (1, 2): 0.5 + 1e-12})


def test_a_state_that_neither_law_has_adds_nothing() -> None:
    assert kl_divergence([0.0, 1.0], [0.0, 1.0]) == 0
    assert kl_divergence([Fraction(0), Fraction(1)], [Fraction(0), Fraction(1)]) == 0
    # Control: one that the first law has alone.
    assert kl_divergence([0.5, 0.5], [0.0, 1.0]) == math.inf
