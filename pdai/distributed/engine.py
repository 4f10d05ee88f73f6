"""Runs as tasks of any `concurrent.futures.Executor`: local processes, or a cluster through dask.

A task brings one run to its end from wherever it stands, so that a worker may die at any time: the
task is started again, and goes on from the run's last checkpoint.
"""

import contextlib
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from pathlib import Path
from types import TracebackType
from typing import Any

from fast.measure.report import Report
from fast.runs.interrupts import end_with_parent
from fast.runs.job import complete
from fast.runs.records import read_metrics
from fast.training.config import TrainConfig
from pdai.progress import QUIET
from reference.errors import InputError

# How often a run is started again after its worker died.
RETRIES = 3

# Seconds between lines on how far the runs are.
INTERVAL = 20.0


class RunsFailedError(InputError):
    """Some runs could not be brought to their end; the message names each, with its reason."""

    most = 100_000


class LocalProcesses(ThreadPoolExecutor):
    """An executor that starts a new process for each task: one that dies takes no other along.

    Args:
        workers: how many tasks run at a time.
    """

    def __init__(self, workers: int):
        super().__init__(workers)

    def submit(self, task: Any, /, *args: Any, **options: Any) -> Future[Any]:
        """Schedules a task, which has to be importable by name."""
        return super().submit(_in_a_process, task, *args, **options)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        # After Ctrl-C nobody waits for the runs: they go on from their checkpoints when resumed.
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            for process in multiprocessing.active_children():
                process.terminate()
        return super().__exit__(kind, error, trace)


def _in_a_process(task: Any, /, *args: Any, **options: Any) -> Any:
    # Not forked: JAX has threads.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, initializer=end_with_parent) as alone:
        return alone.submit(task, *args, **options).result()


@contextlib.contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The workers of a dask cluster as an executor.

    Run folders must be on a file system that all workers and this process share. A worker should
    have one thread, as a run uses all cores that it is allowed to.

    Args:
        address: of the scheduler, such as tcp://host:8786, or the path of its scheduler file.

    Raises:
        InputError: if dask.distributed is not installed, or the scheduler does not answer.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "--scheduler needs dask.distributed: install the extra, pip install -e '.[dask]'"
        ) from None
    kind = "scheduler_file" if address.endswith(".json") else "address"
    if kind == "scheduler_file" and not Path(address).is_file():
        raise InputError(
            f"there is no scheduler file {address!r}: start `dask scheduler --scheduler-file "
            f"{address}`, and wait until it has written the file"
        )
    try:
        client = Client(**{kind: address}, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"the dask scheduler at {address!r} does not answer ({error}): start one with `dask "
            "scheduler`, and give its address"
        ) from None
    with client:
        # Not pure: a task that is submitted again is done again.
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]


def run_task(config: TrainConfig) -> Report:
    """Brings a run to its end in a worker; what it would print is in its metrics."""
    return complete(config, display=QUIET)


def run_all(
    runs: Mapping[str, TrainConfig], executor: Executor, say: Callable[[str], None]
) -> dict[str, Report]:
    """Brings runs to their ends, each as soon as those that it is given are finished.

    Args:
        runs: configurations by name; what a run is given may be the folders of others.
        executor: where they run.
        say: is told, in a line, what has happened.

    Raises:
        RunsFailedError: after all others have ended, if a run failed by itself, or was lost with
            its worker too often. Finished and unfinished runs stay in their folders.
    """
    reports: dict[str, Report] = {}
    failed: dict[str, Exception] = {}
    waiting, going, lost = dict(runs), dict[Future[Report], str](), Counter[str]()

    def start(name: str) -> None:
        try:
            going[executor.submit(run_task, runs[name])] = name
        except BrokenExecutor as error:
            failed[name] = error

    def is_ready(config: TrainConfig) -> bool:
        return all(
            reports.keys() >= {n for n, run in runs.items() if run.folder() == path}
            for path in config.factors.frozen
        )

    try:
        while True:
            for name in [name for name, config in waiting.items() if is_ready(config)]:
                del waiting[name]
                start(name)
            if not going:
                break
            ended = wait(going, INTERVAL, FIRST_COMPLETED).done
            for future in ended:
                name = going.pop(future)
                try:
                    reports[name] = future.result()
                    say(f"{name}: finished")
                except BrokenExecutor as error:
                    lost[name] += 1
                    if lost[name] > RETRIES:
                        failed[name] = error
                    else:
                        say(f"{name}: its worker died; continued from its last checkpoint")
                        start(name)
                except Exception as error:
                    failed[name] = error
                    say(f"{name}: failed")
            if not ended:
                say("  ".join(f"{name} {_done(runs[name])}" for name in going.values()))
    except KeyboardInterrupt:
        for future in going:
            future.cancel()
        raise
    if failed:
        raise RunsFailedError(_told(runs, failed, waiting, lost))
    return reports


def _done(config: TrainConfig) -> str:
    records = read_metrics(config.folder())
    step = records[-1]["step"] if records else 0
    return f"{step:,}/{config.optimiser.steps:,}"


def _told(
    runs: Mapping[str, TrainConfig],
    failed: Mapping[str, Exception],
    waiting: Mapping[str, TrainConfig],
    lost: Mapping[str, int],
) -> str:
    reasons = []
    for name, error in failed.items():
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        if isinstance(error, BrokenExecutor):
            reason = f"its worker died {lost[name]} times ({reason})"
        reasons.append(f"{name} in {str(runs[name].folder())!r}: {reason}")
    also = f"; not begun, as they wait for these: {', '.join(waiting)}" if waiting else ""
    return f"{len(failed)} of {len(runs)} runs failed, the others are kept{also}.\n" + "\n".join(
        reasons
    )
