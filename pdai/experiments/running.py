"""Running an experiment: what is missing is trained, what was cut off goes on."""

import contextlib
import dataclasses
import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from fast.runs.interrupts import end_with_parent
from pdai.experiments.base import Cell, Experiment
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
    """A run to make: a cell of a table, and what is trained for one seed of it."""

    cell: Cell
    seed: int
    training: Training
    folder: Path


class Made(NamedTuple):
    """What there is of an experiment: its runs, and why others could not be brought to an end."""

    runs: list[Run]
    failures: list[str]


def reproduce(experiment: Experiment, out: Path, jobs: int, say: Callable[[str], None]) -> Made:
    """Makes every run of an experiment that its file of results lacks.

    A training that diverges keeps no other from being made.

    Args:
        experiment: what to make.
        out: the folder of results; run folders are in `runs/` below it.
        jobs: how many processes train at once, each on a processor of its own where the system
            allows.
        say: is told of each run that is done.

    Raises:
        InputError: if a process died, or the folder cannot be made.
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
    # Seeds that are not asked for now are kept.
    every = dataclasses.replace(experiment, seeds=tuple({run.seed for run in stored}))
    others = [run for run in wanted(every, stored) if run.seed not in experiment.seeds]
    there = {(run.row, run.model, run.seed) for run in runs}
    missing = [
        Job(cell, seed, cell.config, _folder(out, cell, seed))
        for seed in experiment.seeds
        for cell in experiment.runnable
        if cell.config is not None and (cell.row, cell.model, seed) not in there
    ]
    failures: list[str] = []
    if not missing:
        return Made(runs, failures)
    with _pool(min(jobs, len(missing))) as pool:
        futures = {pool.submit(run_one, job): job for job in missing}
        for future in as_completed(futures):
            cell, seed, training, _ = futures[future]
            name = f"{cell.row}, {cell.model}, seed {seed}"
            try:
                facts = future.result()
            except BrokenProcessPool:
                raise InputError(
                    f"a process that trained {name} died, perhaps as memory ran out: the same "
                    "command goes on where it stopped; use --jobs 1 if it happens again"
                ) from None
            except InputError as error:
                failures.append(f"{name}: {error}")
                say(f"not made: {failures[-1]}")
                continue
            run = Run(cell.row, cell.model, seed, description(training, seed), **facts)
            runs.append(run)
            save(path, experiment, [*runs, *others])
            value = run.value(experiment.metric)
            shown = "" if value is None else f": {experiment.metric} {value:.4f}"
            of = len(experiment.runnable) * len(experiment.seeds)
            say(f"{len(runs)} of {of}: {name}{shown}")
    return Made(runs, failures)


def _folder(out: Path, cell: Cell, seed: int) -> Path:
    """The run folder; cells of two experiments that train the same share it."""
    config = cell.config
    assert config is not None
    facts = json.dumps([description(config, seed), cell.probe], sort_keys=True)
    digest = hashlib.sha256(facts.encode()).hexdigest()[:10]
    return out / "runs" / f"{short_name(config)}-{seed}-{digest}"


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that start afresh, as JAX does not survive a fork."""
    context = multiprocessing.get_context("spawn")
    processors: Any = context.Queue()
    for i in range(workers):
        processors.put(i)
    pool = ProcessPoolExecutor(workers, context, _settle, (processors,))
    try:
        yield pool
    except KeyboardInterrupt:
        # Nobody waits for them: they go on from their checkpoints when the command is given again.
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _settle(processors: Any) -> None:
    """Gives this process one processor: one per run is faster than all for each in turn."""
    end_with_parent()
    if hasattr(os, "sched_setaffinity"):
        ours = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {ours[processors.get() % len(ours)]})


def run_one(job: Job) -> dict[str, Any]:
    """Trains what a job asks for, or goes on with it, and returns what is stored of it.

    Raises:
        InputError: if its folder holds another training.
    """
    # Imported here: the process that only distributes runs needs no JAX.
    from pdai.experiments.facts import facts

    job.folder.parent.mkdir(parents=True, exist_ok=True)
    with (
        appending(job.folder.with_name(job.folder.name + ".log")) as log,
        contextlib.redirect_stderr(log),
    ):
        return facts(placed(job.training, job.seed, job.folder), job.cell.probe)
