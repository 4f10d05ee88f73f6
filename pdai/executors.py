"""Where tasks are done: processes of this machine, or a cluster through dask. Imports no JAX."""

import contextlib
import multiprocessing
import os
import queue
from collections.abc import Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from pathlib import Path
from types import TracebackType
from typing import Any

from fast.runs.interrupts import end_with_parent
from reference.errors import InputError


class LocalProcesses(ThreadPoolExecutor):
    """An executor of processes that do one task at a time: one that dies takes no other along.

    A process starts when a task needs one, does further tasks, and is replaced if it dies.

    Args:
        workers: how many tasks run at a time.
        pinned: whether each process has one processor, where the system allows: for many runs at
            once that is faster than all processors for each in turn.
    """

    def __init__(self, workers: int, *, pinned: bool = False):
        super().__init__(workers)
        self._pinned = pinned
        # The numbers of the processes, and those that are idle.
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._started: dict[int, ProcessPoolExecutor] = {}
        for number in range(workers):
            self._free.put(number)

    def submit(self, task: Any, /, *args: Any, **options: Any) -> Future[Any]:
        """Schedules a task, which has to be importable by name."""
        return super().submit(self._in_a_process, task, *args, **options)

    def _in_a_process(self, task: Any, /, *args: Any, **options: Any) -> Any:
        # There are as many threads as numbers.
        number = self._free.get()
        try:
            if number not in self._started:
                self._started[number] = ProcessPoolExecutor(
                    1,
                    # Not forked: JAX has threads.
                    multiprocessing.get_context("spawn"),
                    _settle,
                    (number if self._pinned else None,),
                )
            return self._started[number].submit(task, *args, **options).result()
        except BrokenExecutor:
            self._started.pop(number).shutdown()
            raise
        finally:
            self._free.put(number)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        # After Ctrl-C nobody waits for the runs: they go on from their checkpoints when resumed.
        stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
        if stopped:
            for process in multiprocessing.active_children():
                process.terminate()
        self.shutdown(wait=True, cancel_futures=stopped)
        for pool in self._started.values():
            pool.shutdown()
        return None


def _settle(number: int | None) -> None:
    """Ends this process with its parent, and gives it one processor if it has a number."""
    end_with_parent()
    if number is not None and hasattr(os, "sched_setaffinity"):
        ours = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {ours[number % len(ours)]})


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
