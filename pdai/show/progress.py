"""Progress of a run on stderr: a live bar on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from fast.runs.display import Display, Lines, Progress, facts, silent
from reference.contract.errors import printable


class Bar(Progress):
    """One line on a terminal: step, loss, `log Z` and the last TV of a run."""

    def __init__(self, title: str, steps: int, console: Console):
        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.completed:,}/{task.total:,} {task.fields[facts]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._bar.add_task(printable(title), total=steps, facts="compiling ...")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def update(self, step: int, *, loss: float, log_z: float, tv: tuple[int, float] | None) -> None:
        """Shows a step.

        Args:
            step: the step.
            loss: its loss.
            log_z: the learned `log Z`, in nats.
            tv: the step of the last measurement, and its TV.
        """
        text = facts(step, loss=loss, log_z=log_z, tv=tv)
        self._bar.update(self._task, completed=step, facts=text)

    def say(self, message: str) -> None:
        """Prints a line above the bar."""
        self._bar.console.out(printable(message), highlight=False)


def progress(title: str, steps: int) -> Progress:
    """A bar where stderr is a terminal, else plain lines."""
    console = Console(file=sys.stderr)
    return Bar(title, steps, console) if console.is_terminal else Lines(title, steps)


def _plot(folders: Sequence[Path], output: Path) -> None:
    # Imported here, as Matplotlib takes a third of a second.
    from pdai.show.plotting import plot_or_say

    plot_or_say(folders, output)


DISPLAY = Display(progress, _plot)
QUIET = Display(silent, _plot)
# In Python, where `run.plot()` draws.
UNDRAWN = Display(progress)
