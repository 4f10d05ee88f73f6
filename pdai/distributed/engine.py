"""Tasks in any `concurrent.futures.Executor`: processes of this machine, or a cluster through dask.

A task can be resumed from any state, so that a worker may die at any time: the task
is started again, and its run resumes from its last checkpoint. Imports no JAX.
"""

import contextlib
import multiprocessing
import os
import queue
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fast.runs.interrupts import end_with_parent
from fast.runs.records import read_metrics
from reference.contract.errors import InputError

# The number of times that a task is started again after its worker died.
RETRIES = 3
# Seconds between lines of progress.
INTERVAL = 20.0


@dataclass(frozen=True)
class Task:
    """The work of one worker.

    Attributes:
        work: a function, importable by name; a second call resumes where the first was stopped.
        argument: its argument.
        steps: the number of steps in each run folder that it fills.
        after: the tasks whose results it reads.
    """

    work: Callable[[Any], Any]
    argument: Any
    steps: Mapping[Path, int]
    after: tuple[str, ...] = ()


class Ended(NamedTuple):
    """The result of a task, or the error that it raised."""

    name: str
    result: Any = None
    error: Exception | None = None


def bring_to_end(
    tasks: Mapping[str, Task], executor: Executor, say: Callable[[str], None]
) -> Iterator[Ended]:
    """Runs tasks to their ends, each as soon as the tasks that it reads have succeeded.

    Each is yielded as it ends, except those that never began because one that they read failed.

    Args:
        tasks: the tasks by name.
        executor: where they run.
        say: receives lines of progress.
    """
    waiting, running = dict(tasks), dict[Future[Any], str]()
    lost, succeeded, said = Counter[str](), set[str](), ""
    try:
        while True:
            for name in [n for n, task in waiting.items() if succeeded >= set(task.after)]:
                task, future = waiting.pop(name), Future[Any]()
                try:
                    future = executor.submit(task.work, task.argument)
                except BrokenExecutor as error:
                    future.set_exception(error)
                running[future] = name
            if not running:
                return
            done = wait(running, INTERVAL, FIRST_COMPLETED).done
            for future in done:
                name = running.pop(future)
                try:
                    ended = Ended(name, future.result())
                    succeeded.add(name)
                except BrokenExecutor as error:
                    lost[name] += 1
                    if lost[name] <= RETRIES:
                        say(f"{name}: its worker died; continued from its last checkpoint")
                        waiting[name] = tasks[name]
                        continue
                    reason = (
                        f"its worker died {lost[name]} times ({type(error).__name__}: {error}), "
                        "perhaps as memory ran out: with fewer workers at a time there is more for "
                        "each"
                    )
                    ended = Ended(name, error=InputError(reason))
                except Exception as error:
                    ended = Ended(name, error=error)
                yield ended
            line = _progress({name: tasks[name] for name in running.values()})
            if not done and line != said:
                say(said := line)
    finally:
        # After Ctrl-C, or if the caller reads no further tasks.
        for future in running:
            future.cancel()


def _progress(tasks: Mapping[str, Task]) -> str:
    """Progress in words: the steps of tasks that have begun to train, and how many wait."""
    begun = []
    for name, task in tasks.items():
        if steps := sum(of_run[-1]["step"] for of_run in map(read_metrics, task.steps) if of_run):
            begun.append(f"{name} {steps:,}/{sum(task.steps.values()):,}")
    others = len(tasks) - len(begun)
    return "  ".join([*begun, *[f"{others} to begin"] * bool(others)])


class LocalProcesses(ThreadPoolExecutor):
    """An executor of processes with one task at a time: if one dies, the others live on.

    A process starts when a task needs one, is used again, and is replaced if it dies. With `pinned`
    each has one processor, where the system allows: for many runs at once that is faster than all
    processors for each in turn.
    """

    def __init__(self, workers: int, *, pinned: bool = False):
        super().__init__(workers)
        self._places = [number if pinned else None for number in range(workers)]
        self._pools = [*map(_one_process, self._places)]
        # The numbers of idle processes, one per thread.
        self._idle: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(workers):
            self._idle.put(number)

    def submit(self, task: Any, /, *args: Any, **options: Any) -> Future[Any]:
        """Schedules a task, which has to be importable by name."""
        return super().submit(self._in_a_process, task, *args, **options)

    def _in_a_process(self, task: Any, /, *args: Any, **options: Any) -> Any:
        number = self._idle.get()
        try:
            return self._pools[number].submit(task, *args, **options).result()
        except BrokenExecutor:
            self._pools[number].shutdown()
            self._pools[number] = _one_process(self._places[number])
            raise
        finally:
            self._idle.put(number)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        # After Ctrl-C the runs stop at once: they resume from their checkpoints.
        stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
        if stopped:
            for process in multiprocessing.active_children():
                process.terminate()
        self.shutdown(wait=True, cancel_futures=stopped)
        for pool in self._pools:
            pool.shutdown()


def _one_process(number: int | None) -> ProcessPoolExecutor:
    """A process that starts with its first task; spawned, not forked, as JAX has threads."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _settle, (number,))


def _settle(number: int | None) -> None:
    """Ends this process with its parent, and gives it one processor if it has a number."""
    end_with_parent()
    if number is not None and hasattr(os, "sched_setaffinity"):
        ours = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {ours[number % len(ours)]})


@contextlib.contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The workers of a dask cluster, by the address or the file of its scheduler, as an executor.

    Run folders must be on a file system that all workers and this process share. A worker should
    have one thread, as a run uses all cores that it is allowed to. Raises InputError if
    dask.distributed is not installed, or the scheduler does not answer.
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
        # `pure=False`: a task that is submitted again runs again.
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]
