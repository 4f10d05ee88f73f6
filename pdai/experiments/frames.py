"""The runs of an experiment as a pandas frame: means, paired differences, floors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scipy.special import stdtrit

from pdai.experiments.base import MEASURES, Experiment, Measure
from pdai.experiments.results import Run
from reference.errors import InputError

try:
    import pandas as pd
except ImportError:
    raise InputError(
        "tables of experiments need pandas: install the extra, pip install -e '.[experiments]'"
    ) from None

Pair = tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """The second column minus the first, paired by seed: mean, and interval of 95 %.

    A difference decides if its interval excludes zero, and if it is not negligible.
    """

    mean: float
    low: float
    high: float
    count: int
    negligible: float

    @property
    def decides(self) -> bool:
        """True if one column is better."""
        return abs(self.mean) >= self.negligible and (self.low > 0 or self.high < 0)

    def text(self, digits: int) -> str:
        """The mean and its interval."""
        return f"{self.mean:+.{digits}f} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"


@dataclass(frozen=True)
class Results:
    """An experiment and its runs."""

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
        """One line for each run: its place, and the metric of three samplers.

        `floor` bounds the mean excess of a sampled distance over the true one: it is the distance
        of exact sampling if the law is sampled, else 0.
        """
        metric = self.experiment.metric
        values = ["learned", "uniform", "exact"]
        names = ["row", "model", "seed", "tv_kind", "seconds", "bound"]
        lines = [
            [*(getattr(run, name) for name in names), *(run.value(metric, of) for of in values)]
            for run in self.runs
        ]
        frame = pd.DataFrame(lines, columns=[*names, *values]).rename(columns={"tv_kind": "kind"})
        frame = frame.astype(dict.fromkeys(["bound", *values], float))
        is_sampled = (frame.kind == "sampled") & (metric in ("tv", "fcs"))
        frame["floor"] = frame.exact.where(is_sampled).fillna(0.0)
        return frame

    @property
    def rows(self) -> list[str]:
        """The rows that have runs."""
        return [row for row in self.experiment.rows if row in set(self.frame.row)]

    @property
    def models(self) -> list[str]:
        """The columns that have runs."""
        return [model for model in self.experiment.models if model in set(self.frame.model)]

    def at(self, row: str, model: str | None = None) -> Any:
        """The lines of a row, or of one of its cells."""
        of_row = self.frame[self.frame.row == row]
        return of_row if model is None else of_row[of_row.model == model]

    def runs_at(self, row: str, model: str) -> list[Run]:
        """The runs of a cell."""
        return [run for run in self.runs if (run.row, run.model) == (row, model)]

    def values(self, row: str, model: str) -> Any:
        """The metric of each seed of a cell."""
        return self.at(row, model).learned.dropna().to_numpy()

    def mean(self, row: str, model: str) -> float | None:
        """The mean of a cell over seeds; None without runs."""
        return _mean(self.at(row, model).learned)

    def text(self, row: str, model: str) -> str | None:
        """Mean ± standard deviation (number of seeds); None without runs."""
        values, digits = self.at(row, model).learned.dropna(), self.measure.digits
        if values.empty:
            return None
        spread = f" ± {values.std():.{digits}f}" if len(values) > 1 else ""
        return f"{values.mean():.{digits}f}{spread} ({len(values)})"

    def untrained(self, row: str) -> float | None:
        """The metric of the uniform policy."""
        return _mean(self.at(row).uniform)

    def best(self, row: str) -> float | None:
        """The metric of exact sampling, or the best value that the experiment declares."""
        if row in self.experiment.optimum:
            return self.experiment.optimum[row]
        of_row = self.at(row)
        sampled = of_row[of_row.kind == "sampled"]
        return _mean((of_row if sampled.empty else sampled).exact)

    def floor(self, row: str, model: str) -> float:
        """The mean floor of the samples of a cell; 0 if all its laws are exact."""
        return _mean(self.at(row, model).floor) or 0.0

    def least(self, row: str, pair: Pair) -> float:
        """The value below which two columns count as equal, if one is sampled and one exact.

        It is the value of exact sampling; ratios are formed after raising both values to it.
        """
        floors = [self.floor(row, model) for model in pair]
        return max(floors) if min(floors) == 0 else 0.0

    def difference(self, row: str, pair: Pair) -> Difference | None:
        """The paired difference of two columns; None with fewer than three common seeds.

        The interval is Student's: with as few seeds, quantiles of bootstrap means lie too close
        together (at normal differences they cover 84 % with five, 76 % with three). A sampled
        distance is at least the true one on average, and at most the floor of its samples above
        it. Where one column is sampled and the other exact, the interval is wider by the floor.
        """
        first, second = self.paired(row, pair)
        values = second - first
        if len(values) < 3:
            return None
        mean, count = float(values.mean()), len(values)
        half = float(stdtrit(count - 1, 0.975) * values.std(ddof=1) / count**0.5)
        above, below = (self.floor(row, model) for model in pair)
        low, high = mean - half - max(below - above, 0.0), mean + half + max(above - below, 0.0)
        return Difference(mean, low, high, count, self.measure.negligible)

    def paired(self, row: str, pair: Pair) -> tuple[Any, Any]:
        """The metric of two columns, for the seeds that both have."""
        wide = self.at(row).pivot(index="seed", columns="model", values="learned")
        both = wide.reindex(columns=sorted(set(pair))).dropna()
        return both[pair[0]].to_numpy(), both[pair[1]].to_numpy()

    def metric_name(self, row: str | None = None) -> str:
        """The metric, with the kinds of TV of a row or of all rows."""
        kinds = sorted(set(self.frame.kind if row is None else self.at(row).kind))
        is_tv = self.experiment.metric == "tv" and kinds
        return f"{self.measure.name} ({', '.join(kinds)})" if is_tv else self.measure.name

    def leaders(self, row: str) -> list[str]:
        """The best model of each kind of network, by its mean."""
        kinds: dict[str, list[tuple[float, str]]] = {}
        for cell in self.experiment.cells:
            if cell.row == row and (mean := self.mean(row, cell.model)) is not None:
                kinds.setdefault(cell.kind, []).append((self.sign * mean, cell.model))
        return [min(of_kind)[1] for of_kind in kinds.values()]


def comma_separated(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A CSV table."""
    return str(pd.DataFrame(body, columns=head).to_csv(index=False))


def _mean(values: Any) -> float | None:
    values = values.dropna()
    return None if values.empty else float(values.mean())
