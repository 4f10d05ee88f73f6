"""A run as an object: trained or loaded, then sampled, evaluated, drawn or trained further."""

import sys
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration
from fast.laws.paths import drawn_terminals, log_probabilities
from fast.laws.samples import MAX_SAMPLES
from fast.laws.samples import Law as Law
from fast.laws.samples import Samples as Samples
from fast.measure.report import Report
from fast.policies.policy import Policy
from fast.runs.checkpoints import run_records, save_checkpoint
from fast.runs.display import Display, slow
from fast.runs.files import free_folder
from fast.runs.folder import create_run, load_config, row_of_seed
from fast.runs.frozen import arithmetic, load_trained, tables_digest
from fast.runs.job import removed_on_failure, resume, unfinished
from fast.runs.records import load_law, read_report
from fast.runs.setup import Setup, set_up
from fast.tasks import Task
from fast.training.compose import TrainConfig
from fast.training.options import check_seeds
from fast.training.state import TrainState
from pdai.show.progress import UNDRAWN
from reference.contract.errors import InputError, check_integer, checked, nearest, shown
from reference.contract.files import InFolder, read_file, sha256

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
# What further steps do not change; they are trained in one round, without a goal.
_KEPT = ("task", "dynamics", "p_b", "loss.needs_flow", "run.seeds", "run.precision", "run.tv")

# The figures of a record that have one value per seed.
BY_SEED = ("loss", "log_z", "tv")


class Run(InFolder):
    """A trained sampler in its folder; everything is computed in its own precision.

    Args:
        folder: the run folder.
        accept_changed: whether the user's parts may have changed since it was trained.
    """

    def __init__(self, folder: Path, *, accept_changed: bool = False):
        super().__init__(folder)
        self.accept_changed = accept_changed
        self.config: TrainConfig = load_config(self._absolute, accept_changed=accept_changed)

    def __repr__(self) -> str:
        steps = f"{self.config.optimiser.steps:,} steps"
        return f"Run({str(self.folder)!r}, {self.config.name_of('dynamics')}, {steps})"

    def _repr_html_(self) -> str:
        from pdai.show.tables import html_of, report_table

        return html_of(report_table(self.report))

    @property
    def task(self) -> Task:
        """The problem with its options."""
        return self.config.task

    @cached_property
    def problem(self) -> Any:
        """The problem, with the factors of its reward that the target has."""
        return self.config.restricted()

    @cached_property
    def report(self) -> Report:
        """The final figures, with those of the untrained policy and of exact sampling.

        Raises InputError if the run is not finished.
        """
        return Report.from_json(read_report(self.folder))

    @cached_property
    def _saved(self) -> tuple[AbstractEnvironment, TrainState, str]:
        with self.arithmetic():
            return *load_trained(self.config), self.digest()

    def digest(self) -> str:
        """The checksum of the checkpoint that is in its folder now."""
        return sha256(read_file(self._absolute / "checkpoint.eqx"))

    def check_current(self) -> None:
        """Refuses to go on if its folder no longer has the checkpoint that it draws from."""
        if self._saved[2] != self.digest():
            raise InputError(
                f"{self!r} draws from other parameters than its folder has now: load it again"
            )

    @cached_property
    def setup(self) -> Setup:
        """The objects of the run."""
        with self.arithmetic():
            return set_up(self.config, self._saved[0])

    @property
    def environment(self) -> AbstractEnvironment:
        """The problem as array code."""
        return self._saved[0]

    @property
    def state(self) -> TrainState:
        """The last saved state of the training."""
        return self._saved[1]

    @property
    def enumeration(self) -> Enumeration | None:
        """The problem, enumerated; None if it is too large."""
        return self.setup.enumeration

    @checked
    def policy(self, seed: int | None = None) -> Policy:
        """The trained policy of a seed; by default of the run's first."""
        row = self._row(seed)
        with self.arithmetic():
            policy: Policy = self.state.policy(row)
            return policy

    @checked
    def sample(self, count: int, *, seed: int = 0, of: int | None = None) -> Samples:
        """Sample terminal states, with a note on stderr if the run is not finished.

        Args:
            count: the number of samples.
            seed: the seed of the draw.
            of: the seed of the policy; by default the run's first.

        Raises:
            InputError: if `count` is not positive, `seed` cannot be the seed of a training, or
                the run has no such seed.
        """
        check_integer("sample", "count", count, 1, most=MAX_SAMPLES)
        check_seeds(seed, 1)
        row = self._row(of)
        with self.arithmetic(), slow(f"drawing {count:,} samples"):
            environment, state, _ = self._saved
            if stands := unfinished(state, self.config.optimiser.steps):
                print(f"the run {str(self.folder)!r} is at {stands}", file=sys.stderr)
            return drawn_terminals(state.policy(row), environment, count, seed)

    @checked
    def log_prob(
        self,
        terminals: Sequence[Hashable] | None = None,
        *,
        trajectories: Sequence[Sequence[Hashable]] | None = None,
        of: int | None = None,
    ) -> Floats:
        """`log p_T(x)` of terminal states, or `log p_F(tau)` of complete trajectories, in nats.

        Args:
            terminals: labels of terminal states; for problems that are enumerated.
            trajectories: labels from the initial state to a terminal one, both included.
            of: the seed of the policy; by default the run's first.

        Raises:
            InputError: unless exactly one of the two is given, if a label is not in the problem, or
                if the probability of a terminal state cannot be summed.
        """
        if (terminals is None) == (trajectories is None):
            raise InputError("log_prob needs either terminals or trajectories: give one of them")
        if trajectories is not None:
            if not len(trajectories):
                return np.zeros(0)
            with self.arithmetic():
                return log_probabilities(self.policy(of), self.environment, trajectories).log_p_f
        assert terminals is not None
        law = self.law()
        if self.report.tv_kind != "float64":
            raise InputError(
                f"the law of {str(self.folder)!r} is estimated ({self.report.method}), so the "
                "probability of a terminal state is not known: ask for trajectories"
            )
        place = {label: number for number, label in enumerate(law.labels)}
        for label in terminals:
            if label not in place:
                meant = nearest(label, map(str, law.labels)) if isinstance(label, str) else ""
                raise InputError(
                    f"{label!r} is no terminal state of {self.config.task.short_name}{meant}"
                )
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(law.learned[self._row(of)][[place[label] for label in terminals]])
        return logs

    def law(self) -> Law:
        """The learned law of every seed and the target, by label.

        Raises InputError if the run is not finished, or its terminal states are not enumerated.
        """
        learned, target = load_law(self.folder)
        if self.enumeration is None:
            raise InputError(
                f"the terminal states of {str(self.folder)!r} are not listed (more than "
                "--max-states, or no --problem): use sample, or report"
            )
        return Law(tuple(self.setup.labels), learned, target)

    def metrics(self) -> list[dict[str, Any]]:
        """The records of each step, seed by seed, as `pandas.DataFrame` reads them.

        Keys are `step` and `seed`, and where they were recorded `loss` (nats squared), `log_z`
        (nats), `seconds`, `tv` and `probe`.
        """
        run = self.config.run
        return [
            {"step": record["step"], "seed": run.seed + row}
            | {name: value[row] if name in BY_SEED else value for name, value in record.items()}
            for record in run_records(self.folder)
            for row in range(run.seeds)
        ]

    def plot(self) -> "Figure":
        """The law against the target, and the curves of training, as a Matplotlib figure."""
        from pdai.show.plotting import figure_of

        return figure_of([self.folder])

    def further(self, steps: int, **options: Any) -> TrainConfig:
        """The configuration of further steps: the target is no longer annealed, unless asked."""
        return self.config.changed(**{"anneal": 0.0, "tv": 0.0, **options}, steps=steps)

    @checked
    def train(
        self, steps: int, *, out: str | Path = "", display: Display = UNDRAWN, **options: Any
    ) -> "Run":
        """Train further from these parameters, with a new schedule, in a new folder.

        Args:
            steps: the number of further steps.
            out: the new folder; by default the name of this folder with a number.
            display: the way in which the run is shown.
            options: such as `epsilon=0.0`, that keep network, flow, seeds, precision and problem.
        """
        folder = Path(out) if out else free_folder(self.folder)
        config = self.further(steps, out=folder, **options)
        own = self.further(steps)
        for name in _KEPT:
            was, asked = attrgetter(name)(own), attrgetter(name)(config)
            if was != asked:
                raise InputError(
                    f"{name.rpartition('.')[2]} is {shown(asked)}, but further steps keep "
                    f"{shown(was)}: leave it out, or begin a new run with pdai.train"
                )
        with self.arithmetic():
            setup, state = self.setup, self._saved[1]
            folder = create_run(config, state.policy(0), tables_digest(setup.environment))
        with removed_on_failure(folder):
            with self.arithmetic():
                save_checkpoint(folder, setup.initial._replace(sampler=state.sampler), 0.0)
            resume(folder, display=display)
        return Run(folder)

    def steps_until(self, steps: int) -> int:
        """The number of further steps to a total, for a finished run.

        Raises InputError if it is not finished, or already has that many steps.
        """
        done = self.config.optimiser.steps
        if stands := unfinished(self._saved[1], done):
            raise InputError(
                f"--steps is {steps:,}, but the run {str(self.folder)!r} is at {stands}: finish it "
                "with --resume alone, and give --steps then"
            )
        if steps <= done:
            raise InputError(
                f"--steps is {steps:,}, but must be more than the {done:,} steps that the run "
                f"{str(self.folder)!r} has"
            )
        return steps - done

    def arithmetic(self) -> AbstractContextManager[None]:
        """The arithmetic in which its policy and its set-up are used."""
        return arithmetic(self.config.run.precision)

    def _row(self, seed: int | None) -> int:
        return row_of_seed(self.folder, self.config.run, seed)
