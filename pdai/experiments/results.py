"""Results of experiments: one JSON file each, with every seed of every cell. Imports no JAX."""

import dataclasses
import json
import statistics
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pdai.experiments.base import APART, Experiment, Metric
from pdai.experiments.trainings import description
from reference.contract.errors import InputError
from reference.contract.files import kind_of, parsed_json, read_file, replace_file

RESULTS = Path(__file__).parent / "results"
FORMAT = 1
TOP = 20


@dataclass(frozen=True)
class Run:
    """One training of one cell, as stored.

    Attributes:
        row: the row of the table.
        model: the column of the table.
        seed: the seed of the training.
        config: the options of the training, except options that depend on the machine.
        parameters: the number of trained parameters.
        seconds: the time of training, and of compilation in a process's first seed.
        learned: the figures of `fast.measure.report.Figures`, as plain data.
        uniform: the figures of the uniform policy, before training.
        exact: the figures of exact sampling, or None.
        tv_kind: the kind of total variation, such as "float64" or "sampled".
        log_z: the true `log Z`, or None.
        curve: pairs of step and total variation.
        probes: the records of the probe, one for each evaluation.
        law: learned and target probabilities, for problems with at most 64 terminals; else None.
        bound: for a combined sampler, the TV that the residuals of its parts allow (claim
            combined-tv-bound); else None.
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
        """A figure of the learned, uniform or exact sampler; None where it is unknown."""
        if metric == "best":
            return None if of == "exact" else self.best_until(self.probes[-1]["step"], of)
        if metric == "met":
            return statistics.mean(
                float(record[of]) for record in self.probes if record["step"] > 0
            )
        if metric in ("memory", "separation") and of != "learned":
            return None
        if metric == "separation":
            # The number of steps if no policy tells the two apart.
            apart = (record["step"] for record in self.probes if record["kl"] > APART)
            return float(next(apart, self.config["steps"]))
        value: Any
        if metric in ("memory", "edges"):
            last = self.probes[-1] if self.probes else {}
            value = last.get("kl" if metric == "memory" else of)
        else:
            figures = (getattr(self, of) or {}).get(metric)
            value = None if figures is None else figures["mean"]
        return None if value is None else float(value)

    def best_until(self, step: int, of: str = "learned") -> float:
        """The mean log reward of the 20 best distinct states that a sampler met until a step."""
        records = [record for record in self.probes if 0 < record["step"] <= step]
        met = {label: value for record in records for label, value in record[of]}
        return float(statistics.mean(sorted(met.values())[-TOP:]))


def load(path: Path) -> list[Run]:
    """The runs of a file of results; none if it is not there.

    Raises InputError if it is damaged, or of another format.
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
    """Writes results, all or nothing, in the order of the cells and seeds.

    Args:
        path: the file.
        experiment: the experiment.
        runs: its runs.
    """
    order = {(cell.row, cell.model): i for i, cell in enumerate(experiment.cells)}
    runs = sorted(runs, key=lambda run: (order[run.row, run.model], run.seed))
    # Seven digits, the precision of float32.
    rounded = partial(json.loads, parse_float=lambda digits: float(f"{float(digits):.7g}"))
    text = ",\n".join(json.dumps(rounded(json.dumps(dataclasses.asdict(run)))) for run in runs)
    head = f'"format": {FORMAT}, "label": {json.dumps(experiment.label)}'
    replace_file(path, f'{{{head}, "runs": [\n{text}\n]}}\n'.encode())


def stored(experiment: Experiment, folder: Path = RESULTS) -> list[Run]:
    """The stored runs of an experiment that belong to its definition.

    Raises InputError in an installed wheel, which has no results.
    """
    if folder == RESULTS and not (RESULTS / "fig_graphssgb.json").exists():
        raise InputError(
            "the stored results of the experiments are not in the installed package: they are in "
            "pdai/experiments/results of the repository; clone it, and install it from there with "
            "pip install -e ."
        )
    return wanted(experiment, load(folder / f"{experiment.slug}.json"))


def wanted(experiment: Experiment, runs: list[Run]) -> list[Run]:
    """The runs that belong to an experiment as it is defined now."""
    cells = {(cell.row, cell.model): cell for cell in experiment.cells}
    return [
        run
        for run in runs
        if run.seed in experiment.seeds
        and (cell := cells.get((run.row, run.model))) is not None
        and (cell.config is None or run.config == description(cell.config, run.seed))
    ]
