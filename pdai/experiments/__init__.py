"""The paper's tables and figures, by their LaTeX labels.

Imports no JAX.
"""

import dataclasses
from pathlib import Path

from pdai.experiments.base import Experiment
from pdai.experiments.definitions import define, labels
from reference.contract.errors import InputError, check_integer, no_such
from reference.problems import TableSequences

# Each seed is trained; a larger number is a mistake, and a list of them would fill memory.
MAX_SEEDS = 10_000

EXPERIMENTS: dict[str, Experiment] = {label: define(label) for label in labels()}


def chosen(label: str, seeds: int | None, pho4: Path | None, *, quick: bool) -> list[Experiment]:
    """The experiments of a label, or of "all", with the requested seeds from their first on.

    Args:
        label: the label, or "all".
        seeds: the number of seeds; by default those of each experiment.
        pho4: the table of PHO4; without it its rows are left out.
        quick: make a short version, as a test.

    Raises:
        InputError: if there is no such label, no seed or too many, or the table of PHO4 cannot be
            read or the label does not use it.
    """
    if label != "all" and label not in EXPERIMENTS:
        raise InputError(no_such("label of an experiment", label, [*EXPERIMENTS, "all"]))
    if seeds is not None:
        check_integer(label, "seeds", seeds, 1, most=MAX_SEEDS)
    if pho4 is not None:
        if label not in ("tab:sequences", "all"):
            raise InputError(
                f"--pho4 {pho4}: {label} has no row of PHO4; leave it out, or make tab:sequences "
                "or all"
            )
        # The table is read again when training starts, which may be hours later.
        TableSequences.pho4(pho4)
    asked = []
    for name in EXPERIMENTS if label == "all" else [label]:
        experiment = EXPERIMENTS[name] if pho4 is None else define(name, pho4)
        if quick:
            experiment = experiment.quick()
        if seeds is not None:
            first = experiment.seeds[0]
            experiment = dataclasses.replace(experiment, seeds=tuple(range(first, first + seeds)))
        asked.append(experiment)
    return asked


__all__ = ["EXPERIMENTS", "Experiment", "chosen"]
