"""Running an experiment: missing runs are trained, and interrupted runs are resumed."""

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pdai.distributed.engine import LocalProcesses, Task, bring_to_end
from pdai.distributed.plan import Plan
from pdai.experiments.base import Cell, Experiment
from pdai.experiments.results import Run, load, save, wanted
from pdai.experiments.trainings import Training, config_of, description, own_seed
from reference.contract.errors import InputError
from reference.contract.files import appending


def default_jobs() -> int:
    """One run for each processor that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Made(NamedTuple):
    """The finished runs of an experiment, and the reasons why others failed."""

    runs: list[Run]
    failures: list[str]


def reproduce(experiment: Experiment, out: Path, jobs: int, say: Callable[[str], None]) -> Made:
    """Trains every run of an experiment that its file of results lacks.

    A training that diverges, or whose process dies again and again, does not stop the others. Run
    folders are in `runs/` below `out`; each process has a processor of its own, where the system
    allows.

    Args:
        experiment: the experiment.
        out: the folder of its file of results, which is made.
        jobs: the number of processes.
        say: prints a line of progress.

    Raises:
        InputError: if the folder cannot be made, or its file of results is damaged.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {str(out)!r} cannot be made ({error.strerror}): choose another with --out"
        ) from None
    path = out / f"{experiment.slug}.json"
    stored = load(path)
    # Stored results of other seeds stay in the file.
    seeds = {*experiment.seeds, *(run.seed for run in stored)}
    kept = wanted(dataclasses.replace(experiment, seeds=tuple(seeds)), stored)
    runs = [run for run in kept if run.seed in experiment.seeds]
    tasks = _missing(experiment, runs, out)
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
            runs.append(ended.result)
            kept.append(ended.result)
            save(path, experiment, kept)
            value = ended.result.value(experiment.metric)
            shown = "" if value is None else f": {experiment.metric} {value:.4f}"
            of = len(experiment.runnable) * len(experiment.seeds)
            say(f"{len(runs)} of {of}: {ended.name}{shown}")
    return Made(runs, failures)


def _missing(experiment: Experiment, runs: Sequence[Run], out: Path) -> dict[str, Task]:
    """The tasks of the runs to train, by name, seed by seed."""
    done, tasks = {(run.row, run.model, run.seed) for run in runs}, {}
    for seed in experiment.seeds:
        for cell in experiment.runnable:
            if cell.config is None or (cell.row, cell.model, seed) in done:
                continue
            # Equal trainings in two experiments share their folder.
            facts = json.dumps([description(cell.config, seed), cell.probe], sort_keys=True)
            digest = hashlib.sha256(facts.encode()).hexdigest()[:10]
            training = cell.config
            kind = training.kind if isinstance(training, Plan) else training.name_of("dynamics")
            folder = out / "runs" / f"{config_of(training).task.name}-{kind}-{seed}-{digest}"
            training = training.changed(seed=own_seed(training, seed), out=folder)
            pieces = [*training.pieces().values()] if isinstance(training, Plan) else [training]
            steps = {config.folder(): config.optimiser.steps for config in pieces}
            name = f"{cell.row}, {cell.model}, seed {seed}"
            tasks[name] = Task(run_one, (cell, seed, training, folder), steps)
    return tasks


def run_one(job: tuple[Cell, int, Training, Path]) -> Run:
    """Trains the sampler of a cell for a seed in its folder, or resumes it; returns the results.

    Raises InputError if its folder holds another training.
    """
    # Imported here, as the process that distributes the runs needs no JAX.
    from pdai.experiments.facts import facts

    cell, seed, training, folder = job
    folder.parent.mkdir(parents=True, exist_ok=True)
    with appending(folder.with_name(folder.name + ".log")) as log, contextlib.redirect_stderr(log):
        fields = facts(training, cell.probe)
    return Run(cell.row, cell.model, seed, description(training, seed), **fields)
