"""The units of losses, for the axes of pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from fast.balance.loss import Loss
from fast.balance.options import LOSSES


def units_of(runs: Sequence[Mapping[str, Any]]) -> str:
    """The units of the losses of runs, for the axis that they share, from their options.

    A loss of one's own has none here, as its module is not imported to draw a picture.
    """
    found: dict[str, None] = {}
    for options in runs:
        kind = LOSSES.get(str(options.get("loss")), Loss)
        given = {field.name: options[field.name] for field in fields(kind) if field.name in options}
        found[kind(**given).unit] = None
    return " or ".join(filter(None, found))
