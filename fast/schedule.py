"""The layout of a batch's evaluation, which differs between processors and accelerators.

The formulas stand elsewhere: `sample_trajectories` draws from `p_F`, and
`fast.balance.steps.evaluate` defines the terms of balance. A schedule changes their numbers by
rounding alone.
"""

from typing import NamedTuple

import jax


class Schedule(NamedTuple):
    """The layout of a batch.

    Attributes:
        skips_ended: whether work on trajectories that have ended is left out. Inside `vmap` that is
            slower, as all branches are taken there.
        branches: whether numbers on the device decide what runs next: when sampling stops, and how
            many blocks of rows the gradient has. An accelerator would wait for a host to read them.
        steps_at_once: steps of sampling per round of its loop; each round has launches of its own.
    """

    skips_ended: bool
    branches: bool
    steps_at_once: int = 1


# Few products, of rows that stay in the processor's cache.
COMPACT = Schedule(skips_ended=True, branches=True)
# For several seeds, side by side in `vmap`.
SIDE_BY_SIDE = Schedule(skips_ended=False, branches=True)
# Few launches: every row in one pass.
ONE_PASS = Schedule(skips_ended=False, branches=False, steps_at_once=8)


def schedule_for(platform: str | None = None, *, seeds: int = 1) -> Schedule:
    """The schedule of a platform of JAX, by default of the one that this process computes on."""
    if (platform or jax.default_backend()) != "cpu":
        return ONE_PASS
    return COMPACT if seeds == 1 else SIDE_BY_SIDE
