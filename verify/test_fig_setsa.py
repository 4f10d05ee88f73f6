"""fig:setsa: optima of kernels and of laws on trajectories, on all small lifts and on Lines."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from reference.expressivity.memory import memory_kl
from reference.fields.field import RATIONAL, T
from reference.lifted import History, LiftedDAG, lift
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.problems import Lines
from reference.problems.enumeration import enumerate_dag
from reference.solve import forward_from_backward, h_transform
from verify.lib.fields import FLINT
from verify.lib.markovian import (
    copies,
    has_memory,
    is_markovian,
    parent_laws,
    preferring_one_way_to_each_end,
)
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Scope, all_small_lifts


def is_law_of_one_base_policy(
    p_b: BackwardKernel[T], lifted: LiftedDAG[Any], support: Iterable[int] | None = None
) -> bool:
    """True if one base policy has the law `P_B(tau|x)` on trajectories, for every x."""
    base, field = lifted.base, p_b.field
    wanted = set(base.terminals if support is None else support)
    law = {
        tau: p_b.along(lifted.above(tau)) for tau in base.trajectories() if base.end(tau) in wanted
    }
    # If there is one, it is this: among trajectories into s, the share of those by way of u.
    through = [field.zero] * len(base.edges)
    for tau, probability in law.items():
        for edge in tau:
            through[edge] = through[edge] + probability
    into = [field.sum(through[e] for e in row) for row in base.in_edges]
    share = [t and t / into[v] for t, (_, v) in zip(through, base.edges, strict=True)]
    return all(
        math.prod((share[e] for e in tau), start=field.one) == probability
        for tau, probability in law.items()
    )


@pytest.mark.claim("markovian-optimum")
def test_the_optimum_is_markovian_iff_the_backward_law_is_that_of_one_base_policy(
    scope: Scope,
) -> None:
    optima = {True: 0, False: 0}
    for draw in scope.over(all_small_lifts(larger=FLINT)):
        lifted = draw.lifted
        for p_b in (
            draw.sparse_backward(lifted.dag),
            h_transform(lifted, draw.backward(lifted.base)),
        ):
            forward, _ = forward_from_backward(p_b, draw.rewards)
            markovian = is_markovian(forward, lifted)
            assert markovian == is_law_of_one_base_policy(p_b, lifted)
            if has_memory(lifted):
                optima[markovian] += 1
    assert all(optima.values())
    scope(
        f"{scope.walked}, two p_B each; with memory, {optima[True]} optima are Markovian and "
        f"{optima[False]} not"
    )


@pytest.mark.claim("markovian-optimum")
def test_terminals_without_reward_have_no_say() -> None:
    lifted = lift(DIAMOND, History())
    p_b = preferring_one_way_to_each_end(lifted)
    assert not is_law_of_one_base_policy(p_b, lifted)
    for x, rewards in zip(DIAMOND.terminals, ((1, 0), (0, 1)), strict=True):
        assert is_law_of_one_base_policy(p_b, lifted, [x])
        forward, _ = forward_from_backward(p_b, tuple(map(Fraction, rewards)))
        assert is_markovian(forward, lifted)


@pytest.mark.claim("fig:setsa")
def test_no_kernel_on_a_lift_with_memory_is_markovian_and_yet_optima_are(scope: Scope) -> None:
    remembering = 0
    for draw in scope.over(all_small_lifts()):
        lifted = draw.lifted
        p_b = h_transform(lifted, draw.backward(lifted.base))
        laws = parent_laws(p_b, lifted).values()
        assert all(law == row[0] for row in laws for law in row) == (not has_memory(lifted))
        forward, _ = forward_from_backward(p_b, draw.rewards)
        assert is_markovian(forward, lifted)
        # What the figure plots vanishes exactly where visited rows agree.
        forward = draw.forward(lifted.dag)
        kl = memory_kl(lifted, forward)
        assert all(value == 0 for value in kl.values()) == is_markovian(forward, lifted)
        remembering += has_memory(lifted)
    scope(f"{scope.walked}: the kernel form fails on all {remembering} with memory")


@pytest.mark.claim("fig:setsa", "markovian-optimum")
def test_by_hand_a_kernel_that_depends_on_memory_with_an_optimum_that_does_not() -> None:
    # p~_B(a|c) = 1/3: p_B at the lifts of c is all of a, or all of b; given x it is (1/3, 2/3).
    lifted = lift(DIAMOND, History())
    p_b = h_transform(lifted, BackwardPolicy.from_weights(DIAMOND, RATIONAL, [1, 1, 1, 2, 1, 1]))
    a, b, c = (DIAMOND.index[s] for s in "abc")
    assert parent_laws(p_b, lifted)[c] == [{a: 1}, {b: 1}]
    (at_x,) = copies(lifted, "x")
    assert [p_b.values[e] for e in lifted.dag.in_edges[at_x]] == [Fraction(1, 3), Fraction(2, 3)]
    forward, _ = forward_from_backward(p_b, (Fraction(1), Fraction(1)))
    rows = [[forward.values[e] for e in lifted.dag.out_edges[v]] for v in copies(lifted, "c")]
    assert rows == [[Fraction(1, 2), Fraction(1, 2)]] * 2
    assert is_law_of_one_base_policy(p_b, lifted)


@pytest.mark.claim("fig:setsa")
def test_on_lines_kl_vanishes_iff_the_law_is_that_of_one_base_policy() -> None:
    base = enumerate_dag(Lines.laplaces(4, 2))
    lifted = lift(base, History())
    rewards = tuple(Fraction(1 + n) for n in range(len(base.terminals)))
    # Uniform over histories is the base policy n(u) / n(s), so it is Markovian as a law.
    uniform = BackwardPolicy.uniform(lifted.dag, RATIONAL)
    skewed = BackwardPolicy.from_weights(lifted.dag, RATIONAL, range(1, len(lifted.dag.edges) + 1))
    for p_b, markovian in (
        (BackwardPolicy.uniform(base, RATIONAL).on(lifted), True),
        (uniform, True),
        (skewed, False),
    ):
        forward, _ = forward_from_backward(p_b, rewards)
        kl = memory_kl(lifted, forward)
        assert is_law_of_one_base_policy(p_b, lifted) == markovian
        assert all(value == 0 for value in kl.values()) == markovian
        # p_0 and p_1 have one history each.
        assert kl["p0"] == kl["p1"] == 0
    counts = base.path_counts
    by_count = BackwardPolicy(
        base, RATIONAL, [Fraction(counts[u], counts[v]) for u, v in base.edges]
    )
    assert h_transform(lifted, by_count).values == uniform.values


@pytest.mark.claim("fig:setsa")
def test_kl_is_the_largest_over_both_orders_of_two_histories() -> None:
    # KL((1/2, 1/2) || (1/4, 3/4)) = log(4/3) / 2 = 0.144; the other way 0.131.
    lifted = lift(DIAMOND, History())
    for copy in copies(lifted, "c"):
        weights = [1] * len(lifted.dag.edges)
        weights[lifted.dag.out_edges[copy][1]] = 3
        forward = ForwardPolicy.from_weights(lifted.dag, RATIONAL, weights)
        assert memory_kl(lifted, forward)["c"] == pytest.approx(math.log(4 / 3) / 2)


@pytest.mark.claim("fig:setsa")
def test_histories_that_are_never_taken_do_not_count() -> None:
    lifted = lift(DIAMOND, History())
    into_b, from_c = lifted.dag.out_edges[0][1], lifted.dag.out_edges[copies(lifted, "c")[1]]
    # After a, both ends alike; after b, which is never entered, always the first.
    zero = (into_b, from_c[1])
    weights = [int(edge not in zero) for edge in range(len(lifted.dag.edges))]
    p_f = ForwardPolicy.from_weights(lifted.dag, RATIONAL, weights)
    assert memory_kl(lifted, p_f)["c"] == 0
