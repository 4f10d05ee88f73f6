"""lines_latents: Lines with Gaussian latents, by posteriors and with finitely many latents."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import sympy

from reference import enumerate_dag
from reference.problems import Lines
from verify.lib.stochastic.axioms import axioms, horizon
from verify.lib.stochastic.kernels import Kernel, support
from verify.lib.stochastic.lemmas import backward_absorption_at_horizon, padded_laws
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import ONE, failing, random_lift

LENGTHS = range(1, 7)


def lines(length: int) -> StochasticLift:
    """Lines of that length with two latents and random positive kernels."""
    dag = enumerate_dag(Lines((Fraction(1),) * (length + 1), step=1))
    return random_lift(random.Random(length), dag)


def gaussian(w: sympy.Expr, mean: sympy.Expr, variance: sympy.Expr) -> tuple[Any, Any]:
    """The exponent and the variance of a Gaussian density: all that it consists of."""
    return (w - mean) ** 2 / variance, variance


def are_dual(reverse_mean: Any, reverse_variance: Any) -> bool:
    """True if w ~ N(m, r) and w' ~ N(a w + b, t) have the joint law of the reverse.

    That is w' ~ N(a m + b, a^2 r + t) and w ~ N(reverse_mean, reverse_variance), which are
    functions of `(w', m, r, a, b, t)`.
    """
    m, a, b, w, after = sympy.symbols("m a b w w'", real=True)
    r, t = sympy.symbols("r t", positive=True)
    mean, variance = a * m + b, a**2 * r + t
    parameters = (after, m, r, a, b, t)
    reverse = gaussian(w, reverse_mean(*parameters), reverse_variance(*parameters))
    here, step = gaussian(w, m, r), gaussian(after, a * w + b, t)
    arrived = gaussian(after, mean, variance)
    return bool(
        sympy.cancel(here[0] + step[0] - arrived[0] - reverse[0]) == 0
        and sympy.cancel(here[1] * step[1] - arrived[1] * reverse[1]) == 0
    )


@pytest.mark.claim("lines_latents")
def test_lines_with_latents_is_a_lift_whose_backward_kernel_enters_the_previous_point(
    scope: Any,
) -> None:
    for length in LENGTHS:
        lift = lines(length)
        assert all(axioms(lift))
        assert horizon(lift) == length + 1

        def entered(kernel: Kernel, state: str, w: Any, lift: StochasticLift = lift) -> set[str]:
            return {lift.dag.labels[s] for s, _ in support(kernel[lift.dag.index[state], w])}

        for i, w in product(range(length + 1), lift.latents):
            assert entered(lift.kappa_b, f"q{i}", w) == {f"p{i}"}
            assert entered(lift.kappa_b, f"p{i}", w) == {f"p{max(i - 1, 0)}"}
            following = {f"q{i}", f"p{i + 1}"} if i < length else {f"q{i}"}
            assert entered(lift.kappa_f, f"p{i}", w) == following
    scope(f"Lines, M = 1, N = {LENGTHS[0]}..{LENGTHS[-1]}, 2 latents")


@pytest.mark.claim("lines_latents")
@pytest.mark.control("lines_latents")
def test_one_gaussian_step_is_dual_to_the_gaussian_posterior(scope: Any) -> None:
    def mean(after: Any, m: Any, r: Any, a: Any, b: Any, t: Any) -> Any:
        return m + a * r / (a**2 * r + t) * (after - a * m - b)

    assert are_dual(mean, lambda _after, _m, r, a, _b, t: r * t / (a**2 * r + t))
    scope("all linear Gaussian steps in R")
    # Control: inverting the step is not dual to it.
    assert not are_dual(
        lambda after, _m, _r, a, b, _t: (after - b) / a, lambda _after, _m, _r, a, _b, t: t / a**2
    )


@pytest.mark.control("lines_latents")
def test_the_printed_backward_kernel_is_not_dual_and_never_arrives() -> None:
    for length in LENGTHS:
        lift = lines(length)
        stay = {
            s: {(s[0], w): ONE / 2 for w in lift.latents} if s in lift.inner else row
            for s, row in lift.kappa_b.items()
        }
        printed = replace(lift, kappa_b=stay)
        assert failing(printed) == ["duality"]
        assert not backward_absorption_at_horizon(printed).conclusion


@pytest.mark.control("lines_latents")
def test_the_fixed_length_loss_sees_one_of_the_terminals_of_lines() -> None:
    for length in LENGTHS[:4]:
        lift = lines(length)
        forward, backward = padded_laws(lift, length + 1)
        shared = forward.keys() & backward.keys()
        assert {lift.dag.labels[path[-1][0]] for path in shared} == {f"q{length}"}
