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
# For several seeds, side by side in `vmap`, and for one in a short run: it has half the code.
SIDE_BY_SIDE = Schedule(skips_ended=False, branches=True)
# Few launches: every row in one pass.
ONE_PASS = Schedule(skips_ended=False, branches=False, steps_at_once=8)
# A shorter run is over before the compact layout has saved what it takes to compile: on the grid
# 1.6 s more, at 0.5 ms a step; with a GRU 5.5 s, at 1.4 ms.
LONG_RUN = 3_000


def schedule_for(platform: str | None = None, *, seeds: int = 1, steps: int = LONG_RUN) -> Schedule:
    """The schedule of a training.

    Args:
        platform: of JAX; None for the one that this process computes on.
        seeds: the number of seeds that are trained side by side.
        steps: all steps of the run, which a resumed run has from its configuration.
    """
    if (platform or jax.default_backend()) != "cpu":
        return ONE_PASS
    return COMPACT if seeds == 1 and steps >= LONG_RUN else SIDE_BY_SIDE
