"""The closing argument of the stochastic section, and its fixed-length loss."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from reference.stochastic import StochasticLift
from reference.stochastic_axioms import duality_residuals
from reference.stochastic_kernels import ZERO, LiftedState, Measure, power, push, restrict, scale
from reference.stochastic_lemmas import end_point_residuals, freeze, padded_laws
from tests.stochastic_lifts import (
    HALF,
    ONE,
    SEEDS,
    chain,
    copying_fork,
    fork,
    longest,
    random_lift,
    with_row,
)


def ends(lift: StochasticLift) -> dict[LiftedState, Fraction]:
    """The law of the terminal at which a trajectory arrives: `nu` on `X*`, normalised."""
    arrivals = restrict(lift.nu, lift.terminal)
    return scale(arrivals, 1 / sum(arrivals.values(), ZERO))


def residuals(lift: StochasticLift, target: Measure, n: int) -> list[Fraction]:
    given = end_point_residuals(lift, lift.initial_law, target, n)
    return list(given.values())


@SEEDS
@pytest.mark.parametrize("least", [0, 1])
def test_with_latents_kept_while_waiting_the_end_point_identity_holds(
    seed: int, least: int
) -> None:
    lift = freeze(random_lift(seed, least))
    target = ends(lift)
    for n in range(longest(lift.dag), longest(lift.dag) + 3):
        assert not any(residuals(lift, target, n))
        reached = push(lift.initial_law, power(lift.kappa_f, n))
        assert {x: reached.get(x, ZERO) for x in target} == target


@SEEDS
def test_control_another_target_breaks_the_end_point_identity(seed: int) -> None:
    lift = freeze(random_lift(seed))
    target = ends(lift)
    x, y = sorted(target)[:2]
    target[x], target[y] = target[x] + target[y] / 2, target[y] / 2
    assert any(residuals(lift, target, longest(lift.dag)))
    assert any(residuals(lift, {y: ONE}, longest(lift.dag)))


def test_control_a_latent_that_moves_while_waiting_breaks_the_end_point_identity() -> None:
    lift = copying_fork()
    given = end_point_residuals(lift, lift.initial_law, ends(lift), 2)
    x = lift.dag.index["x"]
    assert given[(0, 1), (x, 0)] == -Fraction(1, 8)
    assert given[(0, 0), (x, 0)] == Fraction(1, 8)
    assert not any(residuals(freeze(lift), ends(lift), 2))


@SEEDS
def test_if_latents_move_the_end_point_identity_holds_just_for_trajectories_of_one_length(
    seed: int,
) -> None:
    lift = random_lift(seed)
    lengths = {len(tau) for tau in lift.dag.trajectories()}
    identity = not any(residuals(lift, ends(lift), longest(lift.dag)))
    assert identity == (len(lengths) == 1)


def test_an_unnormalised_target_needs_backward_absorption_in_the_closing_argument() -> None:
    row = {(0, 0): HALF, (1, 0): HALF}
    leaking = replace(chain(), kappa_b=with_row(chain().kappa_b, (1, 0), row))
    target = {(2, 0): 2 * ONE}
    assert residuals(leaking, target, 2) == [0]
    assert push(leaking.initial_law, power(leaking.kappa_f, 2)) != target


@SEEDS
def test_padded_laws_share_the_trajectories_of_full_length_alone(seed: int) -> None:
    lift = random_lift(seed)
    n = longest(lift.dag)
    forward, backward = padded_laws(lift, n)
    assert sum(forward.values()) == sum(backward.values()) == 1
    unpadded = {path for path in forward if path[-2] not in lift.terminal}
    assert unpadded
    assert forward.keys() & backward.keys() == unpadded
    later = padded_laws(lift, n + 1)
    assert later[0].keys().isdisjoint(later[1])


def test_the_fixed_length_loss_is_infinite_where_a_trajectory_is_short() -> None:
    lift = fork()
    o, u, x, y = ((lift.dag.index[s], 0) for s in "ouxy")
    assert padded_laws(lift, 2) == (
        {(o, x, x): HALF, (o, u, y): HALF},
        {(o, o, x): HALF, (o, u, y): HALF},
    )


@SEEDS
def test_stopped_at_the_terminal_the_two_laws_are_one(seed: int) -> None:
    lift = random_lift(seed)
    total = ZERO
    for n in range(1, longest(lift.dag) + 1):
        for path, residual in duality_residuals(lift, n).items():
            if path[0] in lift.initial and path[-1] in lift.terminal:
                assert residual == 0
                weight = lift.initial_law[path[0]]
                for s, t in pairwise(path):
                    weight *= lift.kappa_f[s][t]
                total += weight
    assert total == 1
