"""Results of experiments: one JSON file each, every seed of every cell in it.

Imports no JAX.
"""

import dataclasses
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from pdai.experiments.base import APART, MEASURES, Experiment, Metric
from pdai.experiments.trainings import Training, defaults, description, of_chosen_parts
from reference.errors import InputError
from reference.files import kind_of, parsed_json, read_file, replace_file

FORMAT = 1
TOP = 20


@dataclass(frozen=True)
class Run:
    """One training of one cell, as stored.

    Attributes:
        row: of the table.
        model: its column.
        seed: of the training.
        config: what was trained, without what depends on the machine.
        parameters: trained numbers.
        seconds: of training, and of compiling it, which a process does for its first seed.
        learned: the figures of `fast.evaluation.Figures`, as plain data.
        uniform: those of the untrained policy that is uniform.
        exact: those of exact sampling, or None.
        tv_kind: what kind of total variation it is.
        log_z: the true `log Z`, or None.
        curve: pairs of step and total variation.
        probes: what the probe found, one record per evaluation.
        law: learned and target probabilities, of problems with at most 64 terminals; else None.
        bound: of a combined sampler, the TV that the residuals of its parts allow (N6); else None.
    """

    row: str
    model: str
    seed: int
    config: dict[str, Any]
    parameters: int
    seconds: float
    learned: dict[str, Any]
    uniform: dict[str, Any]
    exact: dict[str, Any] | None
    tv_kind: str
    log_z: float | None
    curve: list[list[float]]
    probes: list[dict[str, Any]]
    law: list[list[float]] | None
    bound: float | None = None

    def value(self, metric: Metric, of: str = "learned") -> float | None:
        """A figure of the learned, uniform or exact sampler; None where it cannot be had."""
        if metric == "best":
            return self._best(of)
        if metric == "edges":
            found = self.probes[-1].get(of) if self.probes else None
            return None if found is None else float(found)
        if metric == "memory":
            return float(self.probes[-1]["kl"]) if of == "learned" else None
        if metric == "separation":
            return self._separation() if of == "learned" else None
        figures = getattr(self, of)
        value: dict[str, float] | None = None if figures is None else figures[metric]
        return None if value is None else float(value["mean"])

    def distance_after(self, share: float) -> float | None:
        """The TV after a share of the steps, on the training curve, geometric between two points.

        None if the policy had not been measured since training began.
        """
        trained = [(step, tv) for step, tv in self.curve if step > 0]
        if not trained or share * trained[-1][0] < trained[0][0]:
            return None
        steps, values = zip(*trained, strict=True)
        logs = np.log(np.maximum(values, np.finfo(float).tiny))
        return float(np.exp(np.interp(share * steps[-1], steps, logs)))

    def _best(self, of: str) -> float | None:
        """The mean log reward of the 20 best distinct states that a sampler met at any time."""
        if of == "exact":
            return None
        trained = (record for record in self.probes if record["step"] > 0)
        met = {label: value for record in trained for label, value in record[of]}
        return float(statistics.mean(sorted(met.values())[-TOP:]))

    def _separation(self) -> float:
        """The first step looked at where the KL is large; the number of steps if there is none."""
        apart = (record["step"] for record in self.probes if record["kl"] > APART)
        return float(next(apart, self.config["steps"]))


def load(path: Path) -> list[Run]:
    """The runs of a file of results; none if it is not there.

    Raises:
        InputError: if it is damaged, or of another format.
    """
    if not kind_of(path):
        return []
    content = read_file(path)
    try:
        data = parsed_json(content)
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, not {FORMAT}")
        return [Run(**run) for run in data["runs"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the results {str(path)!r} cannot be read ({error}): move the file away, and "
            "reproduce again"
        ) from None


def save(path: Path, experiment: Experiment, runs: list[Run]) -> None:
    """Writes results, all or nothing, in the order of the cells and seeds."""
    order = {(cell.row, cell.model): i for i, cell in enumerate(experiment.cells)}
    runs = sorted(runs, key=lambda run: (order[run.row, run.model], run.seed))
    text = ",\n".join(json.dumps(rounded(dataclasses.asdict(run))) for run in runs)
    head = f'"format": {FORMAT}, "label": {json.dumps(experiment.label)}'
    replace_file(path, f'{{{head}, "runs": [\n{text}\n]}}\n'.encode())


def rounded(value: Any) -> Any:
    """Plain data with seven digits, which float32 has."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def wanted(experiment: Experiment, runs: list[Run]) -> list[Run]:
    """The stored runs that belong to an experiment as it is defined now."""
    cells = {(cell.row, cell.model): cell for cell in experiment.cells}
    return [
        run
        for run in runs
        if run.seed in experiment.seeds
        and (cell := cells.get((run.row, run.model))) is not None
        and (cell.config is None or _is_stored(run.config, cell.config, run.seed))
    ]


def _is_stored(stored: dict[str, Any], training: Training, seed: int) -> bool:
    """Whether a run is of a training; an option that is newer must have its default."""
    expected, usual = of_chosen_parts(description(training, seed)), defaults(training)
    known = of_chosen_parts(stored)
    old = {name: value for name, value in expected.items() if name in known}
    new = {name: value for name, value in expected.items() if name not in known}
    return old == known and all(name in usual and usual[name] == new[name] for name in new)


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation over seeds."""

    mean: float
    spread: float
    count: int

    def text(self, digits: int) -> str:
        """Mean ± standard deviation (number of seeds)."""
        if self.count == 1:
            return f"{self.mean:.{digits}f} (1)"
        return f"{self.mean:.{digits}f} ± {self.spread:.{digits}f} ({self.count})"


def summary(runs: list[Run], metric: Metric, of: str = "learned") -> Summary | None:
    """A metric over runs; None if there is none."""
    values = [value for run in runs if (value := run.value(metric, of)) is not None]
    if not values:
        return None
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return Summary(statistics.mean(values), spread, len(values))


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
        """Whether one column is better."""
        return abs(self.mean) >= self.negligible and (self.low > 0 or self.high < 0)

    def text(self, digits: int) -> str:
        """The mean and its interval."""
        return f"{self.mean:+.{digits}f} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"


def difference(first: list[Run], second: list[Run], metric: Metric) -> Difference | None:
    """The paired difference of two columns; None with fewer than three common seeds.

    The interval is Student's: of so few seeds, quantiles of bootstrap means lie too close together
    (at normal differences they cover 84 % with five, 76 % with three). A sampled distance is at
    least the true one on average, and at most the floor of its samples above it. Where one column
    is sampled and the other exact, the interval is wider by the floor.
    """
    a = {run.seed: run.value(metric) for run in first}
    b = {run.seed: run.value(metric) for run in second}
    values = np.array(
        [
            y - x
            for seed in sorted(a.keys() & b.keys())
            if (x := a[seed]) is not None and (y := b[seed]) is not None
        ]
    )
    if len(values) < 3:
        return None
    mean, count = float(values.mean()), len(values)
    half = float(stdtrit(count - 1, 0.975) * values.std(ddof=1) / count**0.5)
    below, above = sampling_floor(second, metric), sampling_floor(first, metric)
    low, high = mean - half - max(below - above, 0.0), mean + half + max(above - below, 0.0)
    return Difference(mean, low, high, count, MEASURES[metric].negligible)


def sampling_floor(runs: list[Run], metric: Metric) -> float:
    """How far above the true distances the mean of sampled ones can be; 0 if all are exact."""
    if metric not in ("tv", "fcs") or not runs:
        return 0.0
    floors = [run.value(metric, "exact") if run.tv_kind == "sampled" else 0.0 for run in runs]
    return statistics.mean(floor or 0.0 for floor in floors)


def comparable(first: list[Run], second: list[Run], metric: Metric) -> float:
    """The value below which two columns are not told apart, where one is sampled and one exact.

    That is what exact sampling has: ratios are of values that are raised to it.
    """
    floors = sampling_floor(first, metric), sampling_floor(second, metric)
    return max(floors) if min(floors) == 0 else 0.0
