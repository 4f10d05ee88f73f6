"""Whether memory makes up for what a coarse observation hides, and for no more."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple

from fast.training.compose import configure
from fast.training.config import TrainConfig
from pdai.experiments.base import (
    BEST,
    MARKOVIAN,
    PRINTED,
    RESET,
    STRONGEST,
    Cell,
    Experiment,
    cells,
)
from pdai.experiments.models import GRIDS, with_reset
from reference.expressivity.coarse import block_of_cell, end_of_string

# The printed SRWM is left out: it does not solve the first row.
MODELS = {name: form for name, form in with_reset(GRIDS).items() if name != PRINTED}
# Small enough that every law is exact, also of what depends on the path: a grid has 12,869.
_COMMON: dict[str, Any] = {"parameters": 10_000, "steps": 1_000, "evaluations": 1}
GRID = configure("grid", side=8, epsilon=0.05, **_COMMON)
BITS = configure("bits", length=8, exponent=8, epsilon=0.05, **_COMMON)


class Setting(NamedTuple):
    """A setting of the dial.

    Attributes:
        config: what is trained on, with what all models share.
        observe: what is seen of a state, as the reference says it.
        last: of strings, how many letters are seen; None on grids.
    """

    config: TrainConfig
    observe: Callable[[Any], Hashable]
    last: int | None = None


def _grid(width: int) -> Setting:
    return Setting(GRID.changed(coarse=width), partial(block_of_cell, width=width))


def _bits(last: int) -> Setting:
    return Setting(BITS.changed(last=last), partial(end_of_string, last=last), last)


# From all that there is to see to little.
DIAL: dict[str, Setting] = {
    "grid, every cell": _grid(1),
    "grid, blocks of 2": _grid(2),
    "grid, blocks of 4": _grid(4),
    "bits, all 8": _bits(8),
    "bits, last 4": _bits(4),
    "bits, last 2": _bits(2),
}


def _cells() -> tuple[Cell, ...]:
    return tuple(
        cell for row, setting in DIAL.items() for cell in cells(row, setting.config, MODELS)
    )


EXPERIMENT = Experiment(
    label="study:aliasing",
    title="TV where states look alike, with memory and without",
    claim="",
    setting=(
        "The 8 x 8 grid, of whose cells blocks of c x c look alike; and strings of 8 bits, near "
        "five modes, of which the length and the last k bits are seen (c = 8 in the reward's "
        "exponent). Steps, masks and rewards are those of the true state; the first row of each is "
        "the true state. The floors are computed, not trained: the least TV of any Markovian "
        "policy of what is seen lies between two proved bounds, and so does that of any policy of "
        "all that was seen so far. Such a policy does not see its own actions: of the last bit, "
        "memory makes up for everything; in a block, right and up look alike. The prediction: "
        "memory wins by the difference of these floors, and by no more."
    ),
    metric="tv",
    cells=_cells(),
    finding="Not run yet.",
    draw="rows",
    compared=(MARKOVIAN, BEST),
    also=((RESET, BEST), (MARKOVIAN, STRONGEST)),
    seeds=(0, 1, 2),
)
