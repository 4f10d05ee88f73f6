"""Experiments: trainings in the rows and columns of a table of the paper.

Imports no JAX, so that the command line answers at once.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from fast.dynamics.wrappers import CellOptions
from fast.training.compose import TrainConfig
from pdai.experiments.trainings import Training, config_of

Metric = Literal["fcs", "tv", "separation", "memory", "best", "met", "edges"]
Drawing = Literal["curves", "rows", "laws", "probe", "best", "none"]
Layout = Literal["rows", "models"]
ProbeName = Literal["aliasing", "memory", "best", "met", "projection", "likelihood", "edges"]
Pair: TypeAlias = tuple[str, str]

MARKOVIAN, PRINTED, BEST, RESET = "Markovian", "SRWM", "GRU+", "GRU+ reset"
# The best form of the SRWM.
STRONGEST = "SRWM+"
# Computed bounds on the TV of memoryless policies: the least, that of the largest likelihood, and
# that at the minimum of the loss that is trained.
LEAST, LIKELIEST = "least TV without memory", "maximum likelihood without memory"
LEAST_LOSS = "least loss without memory"
# The columns of the overview: the paper's own comparison, and two others against the same baseline.
PAPERS_PAIR, FORMS = "the paper's pair", (STRONGEST, BEST)
SEEDS = (0, 1, 2, 3, 4)
QUICK_STEPS = 200


class Measure(NamedTuple):
    """A metric: its name in tables and figures, with its unit, and the scale of its values.

    A difference smaller than `negligible` does not count.
    """

    name: str
    higher_is_better: bool = False
    digits: int = 4
    negligible: float = 0.0


MEASURES: dict[Metric, Measure] = {
    # Some models agree to five digits. A TV of 0.001 moves one object in a thousand.
    "fcs": Measure("FCS", negligible=0.001),
    "tv": Measure("TV", negligible=0.001),
    # Policies are measured every 100 steps.
    "separation": Measure("steps until told apart", digits=0, negligible=100.0),
    # TV <= sqrt(KL / 2) (Pinsker): after two histories at most one action of a hundred differs.
    "memory": Measure("KL(s), nats", digits=6, negligible=2e-4),
    # A hundredth of the reward.
    "best": Measure("mean log R of the 20 best", higher_is_better=True, negligible=0.01),
    # One in a thousand of the best.
    "met": Measure("mass of the best 1 % met", higher_is_better=True, negligible=0.001),
    # A marginal is given to two digits.
    "edges": Measure("mean error of edge marginals", negligible=0.001),
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
        config: the training; its seed is replaced. None if it needs a missing file, or is none of
            ours: then stored runs are shown, and none is trained. For a plan, the combined sampler
            is shown.
        paper: the paper's number, if it prints one.
        probe: a further measurement in training.
    """

    row: str
    model: str
    config: Training | None
    paper: Quoted | None = None
    probe: ProbeName | None = None

    @property
    def dynamics(self) -> str | None:
        """The name of the network; None without a training, or with several networks."""
        return self.config.name_of("dynamics") if isinstance(self.config, TrainConfig) else None

    @property
    def kind(self) -> str:
        """The kind of network: matrix-valued memory, attention, another recurrence, or none."""
        options = self.config.dynamics if isinstance(self.config, TrainConfig) else None
        if self.dynamics in ("srwm", "self-referential"):
            return "matrix"
        if self.dynamics == "attention":
            return "attention"
        return "recurrence" if isinstance(options, CellOptions) else "other"


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, or a study of ours.

    Attributes:
        label: the paper's LaTeX label.
        title: the measure and the instance.
        claim: the claim of the paper, in our words; "" of a study.
        metric: the metric of the table; "tv" is exact, sampled or of trajectories, as the table
            says; the last five need a probe.
        cells: the trainings.
        finding: the result and its conditions, written from the stored results.
        setting: the parts of the definition that the paper leaves open.
        draw: the figure: curves over steps; the metric over rows, for distances with the ratio to
            the first of the compared columns; learned laws; the KL of a probe; the best states met,
            or their mass; or none.
        compared: the columns whose paired difference decides, the paper's claim last.
        also: further pairs of columns whose differences are shown.
        seeds: the reported seeds.
        ties: the rows in which the paper itself predicts no difference.
        best_form: whether the compared columns have the SRWM in its best form, not as printed.
        first_seeds: the number of seeds behind the first stored verdicts, if more were added
            afterwards; None if all were there.
        at_once: the rows that had all their seeds at once, where others had not.
        explained: the reason for the difference to the paper, or what is not explained.
        reaches: the largest metric of the better column that bears out the paper's words, such as
            "a nearly perfect fit"; None if the paper only compares.
        claimed_ratio: the ratio of the second column to the first, where the paper states it.
        optimum: the best possible value of each row, if it is not the value of exact sampling.
        bounds: computed intervals by name and row, such as for the least TV of a kind of policy.
        missing: what stands in a cell without runs.
        beside: the beginning of the names of the rows that stand beside one of another experiment,
            by its label and row.
        axis: what the rows are, at the side of a figure.
        layout: whether rows are instances and columns models, or the other way round.
    """

    label: str
    title: str
    claim: str
    metric: Metric
    cells: tuple[Cell, ...]
    finding: str = ""
    setting: str = ""
    draw: Drawing = "curves"
    compared: Pair = (MARKOVIAN, PRINTED)
    also: tuple[Pair, ...] = ((MARKOVIAN, STRONGEST), (MARKOVIAN, BEST), (RESET, BEST))
    seeds: tuple[int, ...] = SEEDS
    ties: tuple[str, ...] = ()
    best_form: bool = False
    first_seeds: int | None = None
    at_once: tuple[str, ...] = ()
    explained: str = ""
    reaches: float | None = None
    claimed_ratio: float | None = None
    optimum: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    missing: str = "not yet trained"
    beside: Mapping[str, str] = field(default_factory=dict)
    axis: str = ""
    layout: Layout = "rows"

    @property
    def slug(self) -> str:
        """The label as the name of a file."""
        return self.label.replace(":", "_")

    @property
    def places(self) -> set[tuple[str, str]]:
        """Row and column of each cell."""
        return {(cell.row, cell.model) for cell in self.cells}

    @property
    def quoted(self) -> dict[tuple[str, str], Quoted]:
        """The paper's numbers, by row and column."""
        return {(cell.row, cell.model): cell.paper for cell in self.cells if cell.paper}

    @property
    def best_name(self) -> str:
        """The name of the best value of a row, in tables and figures."""
        return "best possible" if self.optimum else "exact sampling"

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows, in order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def comparisons(self) -> tuple[Pair, ...]:
        """The pairs of columns whose differences are shown."""
        pairs = (self.compared, *self.also)
        return tuple(dict.fromkeys(p for p in pairs if set(p) <= set(self.models)))

    @property
    def forms(self) -> dict[str, Pair]:
        """The pairs of the overview, by its columns; all have the first of the compared columns."""
        first, second = self.compared
        pairs = {STRONGEST if self.best_form else PAPERS_PAIR: self.compared}
        for name in FORMS:
            if name in self.models and name not in (first, second):
                pairs.setdefault(name, (first, name))
        return pairs

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    def quick(self) -> "Experiment":
        """The first and the last row with 200 steps and one seed, which shows that they run."""
        rows = [cell.row for cell in self.runnable]
        kept = {rows[0], rows[-1]}
        return dataclasses.replace(
            self,
            cells=tuple(
                dataclasses.replace(
                    cell,
                    config=cell.config.changed(
                        steps=min(QUICK_STEPS, config_of(cell.config).optimiser.steps),
                        evaluations=2,
                        law_samples=2**12,
                    ),
                )
                for cell in self.cells
                if cell.config is not None and cell.row in kept
            ),
            seeds=self.seeds[:1],
        )

    @property
    def runnable(self) -> tuple[Cell, ...]:
        """The cells whose files all exist."""
        return tuple(cell for cell in self.cells if cell.config is not None)


def cells(
    row: str,
    config: TrainConfig | None,
    models: Mapping[str, Mapping[str, Any]],
    paper: Sequence[Quoted | None] = (),
    probe: ProbeName | None = None,
) -> tuple[Cell, ...]:
    """One row of a table: a configuration, and the options that each model, a column, changes.

    Args:
        row: the name of the row.
        config: the configuration that they share; None if a file is missing.
        models: the options that each model changes, and its own probe.
        paper: the paper's numbers, for the first columns.
        probe: a further measurement in training.
    """
    quoted = [*paper, *[None] * (len(models) - len(paper))]
    in_row = []
    for (name, options), number in zip(models.items(), quoted, strict=True):
        changed = dict(options)
        own = changed.pop("probe", probe)
        in_row.append(Cell(row, name, config and config.changed(**changed), number, own))
    return tuple(in_row)
