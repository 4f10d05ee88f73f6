"""Running an experiment: missing runs are trained, and interrupted runs are resumed."""

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pdai.distributed.engine import LocalProcesses, Task, bring_to_end
from pdai.distributed.plan import Plan
from pdai.experiments.base import Cell, Experiment
from pdai.experiments.chains import Chain
from pdai.experiments.results import Run, load, save, wanted
from pdai.experiments.trainings import Training, description, placed, short_name
from reference.errors import InputError
from reference.files import appending


def default_jobs() -> int:
    """One run for each processor that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Job(NamedTuple):
    """A run to make: a cell of a table, and its training for one seed."""

    cell: Cell
    seed: int
    training: Training
    folder: Path

    @property
    def name(self) -> str:
        """The name of the job in messages."""
        return f"{self.cell.row}, {self.cell.model}, seed {self.seed}"

    @property
    def steps(self) -> dict[Path, int]:
        """The number of gradient steps in each of its run folders."""
        training = placed(self.training, self.seed, self.folder)
        if isinstance(training, Chain):
            return {}
        pieces = training.pieces().values() if isinstance(training, Plan) else [training]
        return {config.folder(): config.optimiser.steps for config in pieces}

    def run(self, facts: dict[str, Any]) -> Run:
        """The run with the facts that `run_one` returned."""
        stored = description(self.training, self.seed)
        return Run(self.cell.row, self.cell.model, self.seed, stored, **facts)


class Made(NamedTuple):
    """The finished runs of an experiment, and the reasons why others failed."""

    runs: list[Run]
    failures: list[str]


def reproduce(experiment: Experiment, out: Path, jobs: int, say: Callable[[str], None]) -> Made:
    """Trains every run of an experiment that its file of results lacks.

    A training that diverges, or whose process dies again and again, does not stop the others.

    Args:
        experiment: the experiment.
        out: the folder of results; run folders are in `runs/` below it.
        jobs: the number of processes that train at once, each on a processor of its own where the
            system allows.
        say: receives a line for each finished run, and lines of progress.

    Raises:
        InputError: if the folder cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {str(out)!r} cannot be made ({error.strerror}): choose another with --out"
        ) from None
    path = out / f"{experiment.slug}.json"
    stored = load(path)
    runs = wanted(experiment, stored)
    # Stored results of other seeds stay in the file.
    every = dataclasses.replace(experiment, seeds=tuple({run.seed for run in stored}))
    others = [run for run in wanted(every, stored) if run.seed not in experiment.seeds]
    missing = {job.name: job for job in _missing(experiment, runs, out)}
    tasks = {name: Task(run_one, job, job.steps) for name, job in missing.items()}
    failures: list[str] = []
    if not tasks:
        return Made(runs, failures)
    with LocalProcesses(min(jobs, len(tasks)), pinned=True) as workers:
        for ended in bring_to_end(tasks, workers, say):
            if ended.error is not None:
                if not isinstance(ended.error, InputError):
                    raise ended.error
                failures.append(f"{ended.name}: {ended.error}")
                say(f"not made: {failures[-1]}")
                continue
            run = missing[ended.name].run(ended.result)
            runs.append(run)
            save(path, experiment, [*runs, *others])
            value = run.value(experiment.metric)
            shown = "" if value is None else f": {experiment.metric} {value:.4f}"
            of = len(experiment.runnable) * len(experiment.seeds)
            say(f"{len(runs)} of {of}: {ended.name}{shown}")
    return Made(runs, failures)


def _missing(experiment: Experiment, runs: Sequence[Run], out: Path) -> Iterator[Job]:
    """The runs to train, seed by seed."""
    done = {(run.row, run.model, run.seed) for run in runs}
    for seed in experiment.seeds:
        for cell in experiment.runnable:
            if cell.config is not None and (cell.row, cell.model, seed) not in done:
                yield Job(cell, seed, cell.config, _folder(out, cell, seed))


def _folder(out: Path, cell: Cell, seed: int) -> Path:
    """The run folder; equal trainings in two experiments share it."""
    config = cell.config
    assert config is not None
    facts = json.dumps([description(config, seed), cell.probe], sort_keys=True)
    digest = hashlib.sha256(facts.encode()).hexdigest()[:10]
    return out / "runs" / f"{short_name(config)}-{seed}-{digest}"


def run_one(job: Job) -> dict[str, Any]:
    """Trains the sampler of a job, or resumes it; returns the results to store.

    Raises:
        InputError: if its folder holds another training.
    """
    # Imported here, as the process that distributes the runs needs no JAX.
    from pdai.experiments.facts import facts

    job.folder.parent.mkdir(parents=True, exist_ok=True)
    with (
        appending(job.folder.with_name(job.folder.name + ".log")) as log,
        contextlib.redirect_stderr(log),
    ):
        return facts(placed(job.training, job.seed, job.folder), job.cell.probe)
