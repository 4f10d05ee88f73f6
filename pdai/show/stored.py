"""The files of a finished run, read once for its plot or its part of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fast.balance.loss import Loss
from fast.measure.report import Report
from fast.parts import LOSSES
from fast.runs.checkpoints import run_records
from fast.runs.records import is_solved, load_law, read_json, read_report
from fast.tasks import Task
from fast.training.compose import by_name, stored_task
from reference.contract.files import load_arrays

Floats = npt.NDArray[np.float64]


class Stored:
    """The contents of a finished run folder, read without importing any module that it names.

    `learned` is `p_T(x)` of the first seed, and `target` is `pi(x)`. The options are by name.
    Raises InputError if the run is not finished, or damaged.
    """

    def __init__(self, folder: Path):
        self.folder, self.is_solved = folder, is_solved(folder)
        learned, self.target = load_law(folder)
        self.learned: Floats = learned[0]
        self.report = Report.from_json(read_report(folder))
        self.stored_options = by_name(read_json(folder / "config.json"))
        self.meta = read_json(folder / "meta.json")
        self.records = run_records(folder)

    @cached_property
    def task(self) -> Task | None:
        """The task, with the folder's copies of the user's files; None of tasks without files."""
        return stored_task(self.stored_options, self.folder)

    @property
    def has_networks(self) -> bool:
        """True if its states are directed graphs over named variables."""
        return self.task is not None and self.task.has_networks

    @property
    def facts(self) -> dict[str, str]:
        """The facts of the user's data, by name."""
        source = str(self.meta.get("inputs", {}).get("data", ""))
        return {} if self.task is None else self.task.facts(source)

    @property
    def plain_labels(self) -> Sequence[str]:
        """The labels of the terminal states as the problem prints them; empty if not enumerated."""
        try:
            (labels,) = load_arrays(self.folder / "law.npz", "labels")
        except ValueError:
            return ()
        fits = labels.dtype.kind == "U" and labels.shape == self.target.shape
        return [str(label) for label in labels] if fits else ()


def loss_label(runs: Sequence[Mapping[str, Any]]) -> str:
    """The names and units of the losses of runs, for the axis that they share, from their options.

    A loss of one's own has no unit here, as its module is not imported to draw a picture.
    """
    names, units = dict[str, None](), dict[str, None]()
    for options in runs:
        name = str(options.get("loss"))
        kind = LOSSES.get(name, Loss)
        own = {field.name: options[field.name] for field in fields(kind) if field.name in options}
        names[f"{name.rpartition(':')[2]} loss"] = units[kind(**own).unit] = None
    return ", ".join(filter(None, (" or ".join(names), " or ".join(filter(None, units)))))
