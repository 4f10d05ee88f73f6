"""Questions to a run: one table for its folder and for the modules that it is made of."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pdai
from fast.runs.job import resume
from fast.runs.records import SEAL
from pdai.run import Run
from pdai.show.plotting import plot_runs
from pdai.show.progress import QUIET
from tests.command_lines import parameters


def unfinished(run: Path) -> Path:
    (run / SEAL).unlink(missing_ok=True)
    return run


def resumed(run: Path) -> Any:
    """The parameters and the law at the end, of a run that was cut off before it was sealed."""
    with contextlib.suppress(OSError):
        unfinished(run)
    resume(run, display=QUIET)
    return parameters(run), pdai.load(run).law().learned.tolist()


def drawn(run: pdai.Run) -> Any:
    lines = [line for axis in run.plot().axes for line in axis.get_lines()]
    return [np.asarray(line.get_xydata()).tolist() for line in lines]


# What a run answers that was loaded before, as data that can be compared.
LOADED: dict[str, Callable[[pdai.Run], Any]] = {
    "law": lambda run: [part.tolist() for part in run.law()[1:]],
    "report": lambda run: run.report.learned,
    "log_prob": lambda run: run.log_prob(run.law().labels[:2]).tolist(),
    "metrics": lambda run: run.metrics(),
    "drawn": drawn,
}


def loaded_and(ask: Callable[[pdai.Run], Any]) -> Callable[[Path], Any]:
    return lambda run: ask(pdai.load(run))


# What the folder of a run is asked.
LOOKS: dict[str, Callable[[Path], Any]] = {
    "certify": lambda run: pdai.certify(run).tv,
    "sample": lambda run: [list(part) for part in Run(run).sample(20)],
    "plot": lambda run: plot_runs([run], run.parent / "drawn.png"),
    "page": lambda run: pdai.report(run, run.parent / "page.html", seconds=None).name,
    **{name: loaded_and(ask) for name, ask in LOADED.items()},
}
ANSWERS = {**LOOKS, "resume": resumed}
