"""What an experiment is: trainings, laid out as the rows and columns of a table of the paper.

Imports no JAX, so that the command line answers at once.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from fast.training.config import TrainConfig
from pdai.distributed.plan import Plan
from pdai.experiments.trainings import Training, shortened
from reference.errors import InputError

Metric = Literal["fcs", "tv", "separation", "memory", "best"]
Drawing = Literal["curves", "rows", "lines", "log lines", "laws", "probe", "none"]
ProbeName = Literal["aliasing", "memory", "best", "projection"]

MARKOVIAN, PRINTED, BEST, RESET = "Markovian", "SRWM", "GRU+", "GRU+ reset"
SEEDS = (0, 1, 2, 3, 4)
QUICK_STEPS = 200


class Measure(NamedTuple):
    """How a metric is called, and read.

    Attributes:
        name: in tables and figures.
        higher_is_better: whether more of it is better.
        digits: after the point.
        negligible: smaller differences are none.
    """

    name: str
    higher_is_better: bool = False
    digits: int = 4
    negligible: float = 0.0


MEASURES: dict[Metric, Measure] = {
    # Some models agree to five digits.
    "fcs": Measure("FCS", negligible=0.001),
    "tv": Measure("TV", negligible=0.001),
    "separation": Measure("steps until told apart", digits=0),
    "memory": Measure("KL(s), nats", digits=6),
    "best": Measure("mean log R of the 20 best", higher_is_better=True),
}
# Half of the KL between the action laws at p_3 and p_2 of the optimal policy on sparse Lines.
APART = 0.447


class Quoted(NamedTuple):
    """A number that the paper prints: mean and spread."""

    mean: float
    spread: float


@dataclass(frozen=True)
class Cell:
    """A training, repeated over seeds: one row and one column.

    Attributes:
        row: the instance, as the paper's table names it.
        model: the column.
        config: what is trained; its seed is replaced. None if a file that is not there is needed:
            then what is stored is shown, and nothing is made. A plan's combined sampler is shown.
        paper: the paper's number, if it prints one.
        probe: what else is measured while training.
    """

    row: str
    model: str
    config: Training | None
    paper: Quoted | None = None
    probe: ProbeName | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, and what it takes to make it again.

    Attributes:
        label: the paper's LaTeX label.
        title: what is measured on what.
        claim: what the paper says of it, in our words.
        metric: what the table shows; "tv" is exact, sampled or of trajectories, as the table says;
            the last three are what a probe finds.
        cells: the trainings.
        finding: what came out, and under which conditions; written from the results.
        setting: what of the definition is ours, as the paper leaves it open.
        draw: the figure: curves over steps, the metric over rows (as points on a log scale, or as
            lines where rows are numbers), learned laws, what the probe found, or none.
        compared: the columns whose paired difference decides, the paper's claim last.
        also: further pairs whose differences are shown, where both are columns.
        expects: what the paper claims of the second column: that it is better, or no different.
        seeds: those reported.
    """

    label: str
    title: str
    claim: str
    metric: Metric
    cells: tuple[Cell, ...]
    finding: str
    setting: str = ""
    draw: Drawing = "curves"
    compared: tuple[str, str] = (MARKOVIAN, PRINTED)
    also: tuple[tuple[str, str], ...] = ((MARKOVIAN, BEST), (RESET, BEST))
    expects: Literal["better", "equal"] = "better"
    seeds: tuple[int, ...] = SEEDS

    def __post_init__(self) -> None:
        places = [(cell.row, cell.model) for cell in self.cells]
        if len(set(places)) < len(places):
            raise InputError(f"{self.label} has two cells at one row and column")

    @property
    def slug(self) -> str:
        """The label as the name of a file."""
        return self.label.replace(":", "_")

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows, in order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def comparisons(self) -> tuple[tuple[str, str], ...]:
        """The pairs of columns whose differences are shown."""
        pairs = (self.compared, *self.also)
        return tuple(dict.fromkeys(p for p in pairs if set(p) <= set(self.models)))

    @property
    def is_combined(self) -> bool:
        """Whether some samplers are combined of others."""
        return any(isinstance(cell.config, Plan) for cell in self.cells)

    @property
    def models(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    def quick(self) -> "Experiment":
        """The first and the last row, 200 steps, one seed: that it runs, not what comes out."""
        rows = [cell.row for cell in self.runnable]
        shorter = [
            dataclasses.replace(cell, config=shortened(cell.config, QUICK_STEPS))
            for cell in self.runnable
            if cell.config is not None and cell.row in (rows[0], rows[-1])
        ]
        return dataclasses.replace(self, cells=tuple(shorter), seeds=self.seeds[:1])

    @property
    def runnable(self) -> tuple[Cell, ...]:
        """The cells that need no file that is not there."""
        return tuple(cell for cell in self.cells if cell.config is not None)


def cells(
    row: str,
    config: TrainConfig,
    models: Mapping[str, Mapping[str, Any]],
    paper: Sequence[Quoted | None] = (),
    probe: ProbeName | None = None,
) -> tuple[Cell, ...]:
    """One row of a table: a configuration, and what each model changes of it.

    Args:
        row: its name.
        config: the instance, with what all models share.
        models: the options of each column.
        paper: the paper's numbers, of the first columns.
        probe: what else is measured.
    """
    quoted = [*paper, *[None] * (len(models) - len(paper))]
    return tuple(
        Cell(row, name, config.changed(**options), number, probe)
        for (name, options), number in zip(models.items(), quoted, strict=True)
    )
