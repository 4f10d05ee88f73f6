"""Tasks in any `concurrent.futures.Executor`: local processes, or a cluster through dask.

A task is brought to its end from wherever it stands, so that a worker may die at any time: the task
is started again, and its run goes on from its last checkpoint. Imports no JAX.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fast.runs.records import read_metrics
from reference.errors import InputError

# How often a task is started again after its worker died.
RETRIES = 3

# Seconds between lines on how far the tasks are.
INTERVAL = 20.0


class WorkerLostError(InputError):
    """The worker of a task died too often."""


@dataclass(frozen=True)
class Task:
    """What a worker is to do.

    Attributes:
        work: a function, importable by name; to call it again is to go on where it was stopped.
        argument: what it is called with.
        steps: how many there are in each run folder that it fills.
        after: the tasks whose results it reads.
    """

    work: Callable[[Any], Any]
    argument: Any
    steps: Mapping[Path, int]
    after: tuple[str, ...] = ()

    def done(self) -> int:
        """How many of the steps are done."""
        records = map(read_metrics, self.steps)
        return sum(found[-1]["step"] for found in records if found)


class Ended(NamedTuple):
    """How a task came out: what it returned, or what it raised."""

    name: str
    result: Any = None
    error: Exception | None = None


def bring_to_end(
    tasks: Mapping[str, Task], executor: Executor, say: Callable[[str], None]
) -> Iterator[Ended]:
    """Brings tasks to their ends, each as soon as those that it reads have ended well.

    Args:
        tasks: by name.
        executor: where they are done.
        say: is told, in a line, what has happened meanwhile.

    Yields:
        each task as it ends; one that was never begun, as what it reads failed, not at all.
    """
    waiting, going = dict(tasks), dict[Future[Any], str]()
    lost, succeeded = Counter[str](), set[str]()
    try:
        while True:
            for name in [n for n, task in waiting.items() if succeeded >= set(task.after)]:
                task = waiting.pop(name)
                try:
                    going[executor.submit(task.work, task.argument)] = name
                except BrokenExecutor as error:
                    yield Ended(name, error=_given_up(lost[name], error))
            if not going:
                return
            ended = wait(going, INTERVAL, FIRST_COMPLETED).done
            for future in ended:
                found = _outcome(going.pop(future), future)
                if isinstance(found.error, BrokenExecutor):
                    lost[found.name] += 1
                    if lost[found.name] <= RETRIES:
                        say(f"{found.name}: its worker died; continued from its last checkpoint")
                        waiting[found.name] = tasks[found.name]
                        continue
                    found = Ended(found.name, error=_given_up(lost[found.name], found.error))
                succeeded |= {found.name} if found.error is None else set()
                yield found
            if not ended:
                say(_progress({name: tasks[name] for name in going.values()}))
    finally:
        # After Ctrl-C, or if nobody asks for the rest.
        for future in going:
            future.cancel()


def _progress(tasks: Mapping[str, Task]) -> str:
    """How far those are that have begun to train, and how many have not."""
    done = {name: task.done() for name, task in tasks.items()}
    parts = [
        f"{name} {steps:,}/{sum(tasks[name].steps.values()):,}"
        for name, steps in done.items()
        if steps
    ]
    others = len(done) - len(parts)
    return "  ".join([*parts, *[f"{others} to begin"] * bool(others)])


def _outcome(name: str, future: Future[Any]) -> Ended:
    try:
        return Ended(name, future.result())
    except Exception as error:
        return Ended(name, error=error)


def _given_up(times: int, error: BrokenExecutor) -> WorkerLostError:
    return WorkerLostError(
        f"its worker died {times} times ({type(error).__name__}: {error}), perhaps as memory ran "
        "out: with fewer workers at a time there is more for each"
    )
