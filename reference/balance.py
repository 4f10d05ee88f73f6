"""Balance conditions as residuals, left side minus right side, per trajectory or pair."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from reference.dag import Trajectory
from reference.errors import InputError
from reference.policies import BackwardKernel, ForwardPolicy

T = TypeVar("T", Fraction, float)


def tb_residuals(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: Sequence[T], z: T
) -> Iterator[tuple[Trajectory, T]]:
    """Trajectory balance (eq:tb): `Z p_F(tau) - R(x) p_B(tau|x)` for every complete trajectory.

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`.
        z: the flow of the initial state, `F(s_o*)`.

    Raises:
        InputError: if the two policies live on different DAGs, or the rewards do not fit.
    """
    reward = _rewards_by_node(forward, backward, rewards)
    for tau in forward.dag.trajectories():
        yield tau, z * forward.along(tau) - reward[forward.dag.end(tau)] * backward.along(tau)


def log_tb_residuals(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: Sequence[T], log_z: float
) -> Iterator[tuple[Trajectory, float]]:
    """`delta(tau) = log( Z p_F(tau) / (R(x) p_B(tau|x)) )` in nats, per complete trajectory.

    The quantity whose square the losses average.

    Raises:
        InputError: if a probability or a reward is zero, where the logarithm does not exist.
    """
    reward = _rewards_by_node(forward, backward, rewards)
    for tau in forward.dag.trajectories():
        x = forward.dag.end(tau)
        p_f, p_b = forward.along(tau), backward.along(tau)
        if not (p_f > 0 and p_b > 0 and reward[x] > 0):
            raise InputError(
                f"the trajectory {forward.dag.states(tau)} has p_F = {p_f}, p_B = {p_b} and "
                f"R = {reward[x]}, but the log residual needs all three > 0: use tb_residuals, or "
                "raise the zero to a small positive number"
            )
        # Logarithms of numerator and denominator apart: a Fraction may be beyond float range.
        yield tau, log_z + _log(p_f) - _log(reward[x]) - _log(p_b)


def cb_residuals(
    forward: ForwardPolicy[T],
    backward: BackwardKernel[T],
    rewards: Sequence[T],
    same_length_only: bool = False,
) -> Iterator[tuple[Trajectory, Trajectory, T]]:
    """Contrastive balance (col:cb), for every pair of complete trajectories.

    `p_F(tau) p_B(tau'|x') R(x') - p_F(tau') p_B(tau|x) R(x)`.

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`.
        same_length_only: read the corollary as printed, where both trajectories have the same
            length `T`; the condition is then too weak.

    Raises:
        InputError: if the two policies live on different DAGs, or the rewards do not fit.
    """
    reward = _rewards_by_node(forward, backward, rewards)
    sides = [
        (tau, forward.along(tau), backward.along(tau) * reward[forward.dag.end(tau)])
        for tau in forward.dag.trajectories()
    ]
    for (tau, p, w), (tau2, p2, w2) in combinations(sides, 2):
        if not same_length_only or len(tau) == len(tau2):
            yield tau, tau2, p * w2 - p2 * w


def _rewards_by_node(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: Sequence[T]
) -> dict[int, T]:
    if forward.dag is not backward.dag:
        raise InputError(
            "the forward and the backward policy live on different DAGs: put both on the same one "
            "(a base policy is moved to a lift by `on(lifted)`)"
        )
    terminals = forward.dag.terminals
    if len(rewards) != len(terminals):
        raise InputError(
            f"{len(rewards)} rewards for {len(terminals)} terminal states: give one per terminal, "
            "in the order of dag.terminals"
        )
    return dict(zip(terminals, rewards, strict=True))


def _log(value: Fraction | float) -> float:
    if isinstance(value, Fraction):
        return math.log(value.numerator) - math.log(value.denominator)
    return math.log(value)
