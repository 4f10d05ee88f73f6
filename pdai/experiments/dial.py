"""The dial of coarse observations: its settings, and the least TV that each leaves possible.

Imports no JAX.
"""

from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fast.training.compose import configure
from fast.training.config import TrainConfig
from reference.errors import InputError
from reference.expressivity.coarse import block_of_cell, end_of_string
from reference.files import parsed_json, read_file

STORED = Path(__file__).parent / "results" / "study_aliasing_floors.json"

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


class Interval(NamedTuple):
    """Where a floor lies: proved from below, and from above by a policy that has that TV."""

    lower: float
    upper: float


class Floors(NamedTuple):
    """The least TV to the target of a setting.

    Attributes:
        markovian: of policies of what is seen of the state.
        with_memory: of policies of all that was seen on the way. From below nothing is proved but
            that TV is not negative.
    """

    markovian: Interval
    with_memory: Interval


def stored(path: Path = STORED) -> dict[str, Floors]:
    """The stored floors by row.

    Raises:
        InputError: if the file is not one that `store` writes.
    """
    try:
        data = parsed_json(read_file(path))
        return {
            row: Floors(*(Interval(*map(float, kind[name])) for name in Floors._fields))
            for row, kind in data.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{str(path)!r} holds no floors ({error}): write it with python -m "
            "pdai.experiments.floors"
        ) from None
