"""The content of a page for one run: its stored results, its sampler and its certificate."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fast.parts import option_names
from fast.tasks import TASKS
from fast.training.options import Factors
from pdai.loading import load
from pdai.run import Run
from pdai.show.stored import Stored
from pdai.solving.solved import Solved
from reference.certificates.statement import Certificate
from reference.contract.errors import InputError
from reference.rows.features import KnowsMeans

Result = TypeVar("Result")


class Entry(Stored):
    """A run on a page: what its folder says, and what its sampler gives.

    With no time to draw for its certificate nothing is computed, and no module imported that the
    folder names. Raises InputError if the run is not finished, or damaged.

    Attributes:
        name: the name of its folder, with a number if two are the same.
        number: the number of the run on the page, from 0.
        options: the options of the configuration, by name, with the facts of a user's data.
        labels: the labels of the terminal states; empty if these are not enumerated.
        run: the run with its sampler; None to show stored results alone.
        certificate: its certificate, or why there is none.
    """

    def __init__(self, run: Run | Solved | Path, name: str, number: int, seconds: float | None):
        super().__init__(run if isinstance(run, Path) else run.folder)
        self.name, self.number, task = name, number, self.task
        left = task.generated if task is not None and task.input_files else ()
        self.options = {name: x for name, x in self.stored_options.items() if name not in left}
        if self.is_solved:
            self.options |= {"dynamics": "none", "loss": "none", "steps": 0}
        self.options |= self.facts
        self.labels = self.plain_labels if task is None else task.texts(self.plain_labels)
        self.run: Run | Solved | None = None
        self.certificate: Certificate | str = ""
        if seconds is not None:
            from pdai.certifying.certify import certify

            sampler = self.run = load(run) if isinstance(run, Path) else run
            problem = or_reason(lambda: sampler.problem)
            features = problem.quantities if isinstance(problem, KnowsMeans) else None
            self.certificate = or_reason(
                lambda: certify(sampler, seconds=seconds, features=features)
            )

    @property
    def problem(self) -> tuple[tuple[str, str], ...]:
        """The identity of the problem: the task, its options, and the factors of its reward."""
        task = TASKS.get(str(self.options.get("task")))
        names = [
            "task",
            *sorted(option_names(task) if task else ()),
            *sorted(option_names(Factors)),
        ]
        values = ((name, self.options.get(name)) for name in names)
        return tuple((name, str(value)) for name, value in values if value is not None)


def or_reason(compute: Callable[[], Result]) -> Result | str:
    """A result, or the reason why it cannot be computed."""
    try:
        return compute()
    except InputError as error:
        return str(error)
