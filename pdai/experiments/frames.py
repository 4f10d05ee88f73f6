"""The runs of an experiment as a pandas frame, and the numbers of its rows and cells."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pdai.experiments.base import MEASURES, Experiment, Measure
from pdai.experiments.results import Run

_FIELDS = ["run", "config", "row", "model", "seed", "kind"]
_NUMBERS = ["seconds", "bound", "tv", "fcs", "learned", "uniform", "exact"]


@dataclass(frozen=True, eq=False)
class Results:
    """An experiment and its runs. A number is NaN where it is unknown, or where nothing was run."""

    experiment: Experiment
    runs: Sequence[Run]

    @property
    def measure(self) -> Measure:
        """The metric: its name, and the scale of its values."""
        return MEASURES[self.experiment.metric]

    @property
    def sign(self) -> int:
        """1 where lower is better, -1 where higher is."""
        return -1 if self.measure.higher_is_better else 1

    @cached_property
    def frame(self) -> Any:
        """One line for each run: its place, TV and FCS, and the metric of three samplers.

        `floor` bounds the mean excess of a sampled distance over the true one: it is the distance
        of exact sampling if the law is sampled, else 0. `config` is text, to compare trainings.
        """
        metric = self.experiment.metric
        fields = ("row", "model", "seed", "tv_kind", "seconds", "bound")
        lines = [
            [
                run,
                json.dumps(run.config, sort_keys=True),
                *(getattr(run, name) for name in fields),
                *(run.value(name) for name in ("tv", "fcs")),
                *(run.value(metric, of) for of in ("learned", "uniform", "exact")),
            ]
            for run in self.runs
        ]
        frame = pd.DataFrame(lines, columns=[*_FIELDS, *_NUMBERS])
        frame = frame.astype(dict.fromkeys(_NUMBERS, float))
        is_sampled = (frame.kind == "sampled") & (metric in ("tv", "fcs"))
        return frame.assign(floor=frame.exact.where(is_sampled).fillna(0.0))

    @property
    def rows(self) -> list[str]:
        """The rows that have runs."""
        return [row for row in self.experiment.rows if row in set(self.frame.row)]

    @property
    def models(self) -> list[str]:
        """The columns that have runs."""
        return [model for model in self.experiment.models if model in set(self.frame.model)]

    @cached_property
    def _places(self) -> dict[Any, Any]:
        """The lines of each row, and of each of its cells."""
        return dict([*self.frame.groupby("row"), *self.frame.groupby(["row", "model"])])

    def at(self, row: str, model: str | None = None) -> Any:
        """The lines of a row, or of one of its cells."""
        return self._places.get(row if model is None else (row, model), self.frame[:0])

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], Any]:
        """Seed, metric and floor of each run, as the columns of an array for each cell."""
        columns = ["seed", "learned", "floor"]
        return {place: of[columns].to_numpy(float) for place, of in self._places.items()}

    def numbers(self, row: str, model: str) -> Any:
        """Seed, metric and floor of each run of a cell, as the columns of an array."""
        return self._numbers.get((row, model), np.empty((0, 3)))

    def values(self, row: str, model: str) -> Any:
        """The metric of each seed of a cell."""
        return self.at(row, model).learned.dropna()

    def text(self, row: str, model: str) -> str:
        """Mean ± standard deviation (number of seeds); "" without runs."""
        values, digits = self.values(row, model), self.measure.digits
        spread = f" ± {values.std():.{digits}f}" if len(values) > 1 else ""
        return "" if values.empty else f"{values.mean():.{digits}f}{spread} ({len(values)})"

    def untrained(self, row: str) -> float:
        """The metric of the uniform policy."""
        return float(self.at(row).uniform.mean())

    def best(self, row: str) -> float:
        """The metric of exact sampling, or the best value that the experiment declares."""
        of_row = self.at(row)
        sampled = of_row[of_row.kind == "sampled"]
        exact = (of_row if sampled.empty else sampled).exact.mean()
        return self.experiment.optimum.get(row, float(exact))

    def metric_name(self, row: str | None = None) -> str:
        """The metric, with the kinds of TV of a row or of all rows."""
        kinds = sorted(set(self.frame.kind if row is None else self.at(row).kind))
        is_tv = self.experiment.metric == "tv" and kinds
        return f"{self.measure.name} ({', '.join(kinds)})" if is_tv else self.measure.name

    def leaders(self, row: str) -> list[str]:
        """The best model of each kind of network, by its mean."""
        kinds = {cell.model: cell.kind for cell in self.experiment.cells if cell.row == row}
        means = self.sign * self.at(row).groupby("model").learned.mean().reindex([*kinds])
        return list(means.dropna().groupby(kinds, sort=False).idxmin())


def unshared(
    every: Sequence[Results], chosen: Callable[[Any], Any]
) -> Iterator[tuple[Results, str, Any]]:
    """The rows with a training that no earlier row has, each with the chosen lines of its frame."""
    seen: set[str] = set()
    for results in every:
        for row in results.experiment.rows:
            lines = chosen(results.at(row))
            if not seen.issuperset(lines.config):
                yield results, row, lines
            seen.update(lines.config)
