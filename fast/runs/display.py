"""The display of a run while it trains and when it is done; plain lines by default."""

import io
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self, TextIO

from fast.tasks import Task

# A logger: it gets a step, and numbers by name.
Log = Callable[[int, Mapping[str, float]], object]

# Seconds after which `slow` speaks.
LONG = 10.0


class Progress(ABC):
    """Shows step, loss, `log Z` and the last TV of a run, while its body trains."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:  # noqa: B027  # the default does nothing
        pass

    @abstractmethod
    def update(self, step: int, *, loss: float, log_z: float, tv: tuple[int, float] | None) -> None:
        """Reports a step; `tv` is the last distance measured, and the step at which it was.

        Args:
            step: the number of steps done.
            loss: the loss of the last batches, nats squared.
            log_z: the estimate of `log Z`, nats.
            tv: the last distance measured, after the step at which it was; None for none.
        """

    @abstractmethod
    def say(self, message: str) -> None:
        """Shows a line."""


class Lines(Progress):
    """Progress in about twenty lines, however long the run, on stderr or in another file."""

    def __init__(self, title: str, steps: int, file: TextIO | None = None):
        self._file = file or sys.stderr
        self._steps = steps
        self._started = time.monotonic()
        # The step and the seconds of the first report, before which all is compiled.
        self._first: tuple[int, float] | None = None
        self._next_line = 0
        # The next line comes after the first steps, which wait for compilation.
        self.say(f"{title}: {steps:,} steps; compiling ...")

    def update(self, step: int, *, loss: float, log_z: float, tv: tuple[int, float] | None) -> None:
        """Reports a step, if it is time for a line."""
        elapsed = time.monotonic() - self._started
        before, compiled = self._first = self._first or (step, elapsed)
        if step >= self._next_line:
            every = max(1, self._steps // 20)
            self._next_line = step - step % every + every
            text = facts(step, loss=loss, log_z=log_z, tv=tv)
            left = ""
            if before < step < self._steps:
                seconds = (elapsed - compiled) / (step - before) * (self._steps - step)
                left = f", about {seconds:.0f} s left"
            share = f"step {step:,} of {self._steps:,} ({step / self._steps:.0%})"
            self.say(f"{share}  {text}  {elapsed:.0f} s{left}")

    def say(self, message: str) -> None:
        """Prints a line."""
        print(message, file=self._file, flush=True)


class Logged(Progress):
    """Progress that a logger of the user's gets too: `log(step, {name: number})`."""

    def __init__(self, shown: Progress, log: Log):
        self._shown, self._log = shown, log

    def __enter__(self) -> Self:
        self._shown.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._shown.__exit__(*error)

    def update(self, step: int, *, loss: float, log_z: float, tv: tuple[int, float] | None) -> None:
        """Reports a step, and logs it: TV where it was measured."""
        self._shown.update(step, loss=loss, log_z=log_z, tv=tv)
        measured, distance = tv or (-1, 0.0)
        last = {"tv": distance} if measured == step else {}
        self._log(step, {"loss": loss, "log_z": log_z, **last})

    def say(self, message: str) -> None:
        """Shows a line."""
        self._shown.say(message)


def silent(title: str, steps: int) -> Progress:
    """Shows nothing."""
    return Lines(title, steps, io.StringIO())


@contextmanager
def slow(what: str) -> Iterator[None]:
    """Names the work of the body, such as "enumerating grid", on stderr after ten seconds."""

    def say() -> None:
        print(f"{what} ...", file=sys.stderr, flush=True)

    timer = threading.Timer(LONG, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def announce(task: Task) -> None:
    """Prints to stderr the facts of a user's files, and warnings about likely mistakes."""
    lines = [f"{name}: {text}" for name, text in task.facts().items()]
    for line in [*lines, *(f"warning: {remark}" for remark in task.remarks())]:
        print(line, file=sys.stderr, flush=True)


def facts(step: int, *, loss: float, log_z: float, tv: tuple[int, float] | None) -> str:
    """Loss in nats squared, `log Z` in nats and TV, as text.

    Args:
        step: the number of steps done.
        loss: the loss, nats squared.
        log_z: the estimate of `log Z`, nats.
        tv: the last distance measured, after the step at which it was; None for none.
    """
    text = f"loss {loss:.4f}  log Z {log_z:.3f}"
    if tv is not None:
        measured, distance = tv
        text += f"  TV {distance:.4f}" + ("" if measured == step else f" (step {measured:,})")
    return text


class Display(NamedTuple):
    """The way a run is shown, from its title and steps, and drawn into a file at its end."""

    progress: Callable[[str, int], Progress] = Lines
    plot: Callable[[Sequence[Path], Path], None] = lambda folders, output: None


PLAIN = Display()
SILENT = Display(progress=silent)
