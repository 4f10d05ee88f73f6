"""The units of losses, for the axes of pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from fast.balance.loss import Loss
from fast.parts import LOSSES


def loss_label(runs: Sequence[Mapping[str, Any]]) -> str:
    """The names and units of the losses of runs, for the axis that they share, from their options.

    A loss of one's own has no unit here, as its module is not imported to draw a picture.
    """
    names, units = dict[str, None](), dict[str, None]()
    for options in runs:
        name = str(options.get("loss"))
        kind = LOSSES.get(name, Loss)
        given = {field.name: options[field.name] for field in fields(kind) if field.name in options}
        names[f"{name.rpartition(':')[2]} loss"] = units[kind(**given).unit] = None
    return ", ".join(filter(None, (" or ".join(names), " or ".join(filter(None, units)))))
