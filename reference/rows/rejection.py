"""Exact samples of a target, from a sampler whose largest weight is certified.

A trajectory is kept with probability `w(tau) / M`, where `w = R p_B / (Z p_F) <= M` everywhere.
Kept trajectories have distribution `mu`, and their ends `R / Z`, however wrong the sampler is. The
share that is kept is `1 / M`.
"""

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from reference.bounds import residual_spread
from reference.contract.errors import InputError
from reference.fields.field import log_float
from reference.policies import BackwardKernel, ForwardPolicy
from reference.rows.walks import Sampler

# Trajectories per block, and at most per sample.
BLOCK, PATIENCE = 4_096, 1_000_000


class Rejection(NamedTuple):
    """At least `log(R p_B / p_F)` of all trajectories, nats; and the share `1 / M` kept or less."""

    log_most: float
    rate: float


def rejection(
    forward: ForwardPolicy[Fraction],
    backward: BackwardKernel[Fraction],
    rewards: Sequence[Fraction],
) -> Rejection:
    """The largest weight of an enumerated sampler with exact rows, by a longest path.

    Args:
        forward: the rows.
        backward: of mass one, on the same graph.
        rewards: `R(x)` of each terminal.

    Raises:
        InputError: if `p_F` has a zero, so that part of the target cannot be reached.
    """
    log_most = -residual_spread(forward, backward, rewards).least
    log_z = log_float(sum(rewards, start=Fraction(0)))
    rate = math.exp(min(0.0, log_z - log_most)) * (1 - 2.0**-40)
    return Rejection(log_most, rate)


class Kept(NamedTuple):
    """Exact samples, their `log R(x)` in nats, and the number of trajectories that were drawn."""

    terminals: list[Hashable]
    log_rewards: list[float]
    drawn: int


def exact_samples(sampler: Sampler, log_most: float, count: int, seed: int) -> Kept:
    """Independent samples of the target; exact but for the float64 rounding of a weight.

    Args:
        sampler: draws trajectories.
        log_most: the bound in its `Rejection`, in nats.
        count: the number of samples.
        seed: of the decisions.

    Raises:
        InputError: if a weight is larger than certified, or a million draws per sample are too few.
    """
    # Decisions must not depend on the draws, whose generator may have the same seed.
    rng = np.random.default_rng([seed, 1])
    kept = Kept([], [], 0)
    while len(kept.terminals) < count:
        walks = sampler.draw(BLOCK, labels=True)
        # A weight that is NaN fails this too.
        if not (walks.log_weight - walks.error <= log_most).all():
            raise InputError(
                f"a trajectory has the log weight {walks.log_weight.max():.9g}, and at most "
                f"{log_most:.9g} was certified: the sampler is not the one that was certified"
            )
        with np.errstate(divide="ignore"):
            decided = np.log(rng.random(len(walks.log_p_f))) < walks.log_weight - log_most
        for at in np.flatnonzero(decided).tolist():
            kept.terminals.append(walks.terminals[at])
            kept.log_rewards.append(float(walks.log_reward[at]))
        kept = kept._replace(drawn=kept.drawn + len(walks.log_p_f))
        if kept.drawn > PATIENCE * (len(kept.terminals) + 1):
            raise InputError(
                f"{len(kept.terminals)} of {kept.drawn:,} trajectories were kept: the sampler is "
                "too far from its target for rejection; train it longer"
            )
    return Kept(kept.terminals[:count], kept.log_rewards[:count], kept.drawn)
