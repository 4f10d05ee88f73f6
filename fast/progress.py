"""Progress of a run: a live bar on a terminal, plain lines elsewhere; always on stderr."""

import contextlib
import io
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

# Of a thread: to redirect stderr would silence all threads of the process.
_IS_QUIET: ContextVar[bool] = ContextVar("is_quiet", default=False)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within it, runs of this thread show nothing."""
    token = _IS_QUIET.set(True)
    try:
        yield
    finally:
        _IS_QUIET.reset(token)


class Progress:
    """Shows step, loss, `log Z` and the last TV of a run of `steps` steps."""

    def __init__(self, title: str, steps: int):
        self._file = io.StringIO() if _IS_QUIET.get() else sys.stderr
        self._console = Console(file=self._file)
        self._steps = steps
        self._started = time.monotonic()
        self._next_line = 0
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,}/{task.total:,} {task.fields[facts]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=steps, facts="")
        if not self._console.is_terminal:
            print(f"{title}: {steps:,} steps", file=self._file, flush=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def update(self, step: int, *, loss: float, log_z: float, tv: tuple[int, float] | None) -> None:
        """Reports a step; `tv` is the last distance measured, and the step at which it was."""
        facts = f"loss {loss:.4f}  log Z {log_z:.3f}"
        if tv is not None:
            measured, distance = tv
            facts += f"  TV {distance:.4f}" + ("" if measured == step else f" (step {measured:,})")
        self._bar.update(self._task, completed=step, facts=facts)
        # Without a terminal: about twenty lines, however long the run.
        if not self._console.is_terminal and step >= self._next_line:
            every = max(1, self._steps // 20)
            self._next_line = step - step % every + every
            elapsed = time.monotonic() - self._started
            print(f"step {step:,}  {facts}  {elapsed:.0f} s", file=self._file, flush=True)

    def say(self, message: str) -> None:
        """Prints a line."""
        if self._console.is_terminal:
            self._bar.console.print(message)
        else:
            print(message, file=self._file, flush=True)
