"""`pdai sample`, `plot`, `report`, `inspect` and `check`: looking at runs and problems."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from fast.runs.display import slow
from fast.runs.records import LOGS, is_finished, is_solved
from fast.tasks import problem_meant
from pdai.commands import Accepting
from pdai.commands.tables import say, show, show_rows
from reference.contract.errors import InputError, printable
from reference.contract.files import check_output, replace_file
from reference.looking.inspection import inspect_problem
from reference.problems.members import as_problem


@dataclass(frozen=True)
class SampleRun(Accepting):
    """Draw samples from a trained run: one state per line, a tab, and its log reward in nats.

    Characters that cannot be printed, and backslashes, are escaped as in Python. csv, json and
    parquet also have log p_F and log p_B of the trajectory that led to the state.

    Try:
        pdai sample runs/lines-gru-0 --count 100
        pdai sample runs/lines-gru-0 --exact
        pdai sample --certificate lines.json
    """

    run_folder: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="RUN")] = None
    """The folder that `pdai train` printed."""
    count: int = 10
    """Number of samples."""
    seed: int = 0
    """Random seed of the draw; the sampler drawn from is that of the run's first seed."""
    format: Literal["lines", "csv", "json", "parquet"] = "lines"
    """Format of the samples of a run; parquet needs pyarrow."""
    out: Path | None = None
    """Write csv, json or parquet to this file, and not to stdout."""
    exact: bool = False
    """Sample the target itself, by rejection: where everything is enumerated."""
    certificate: Path | None = None
    """Sample the table of this certificate file instead of a run; only states are printed."""

    def run(self) -> None:
        """Samples, and prints them to stdout, or writes a file."""
        self._check()
        if self.certificate is not None:
            self._draw_from_certificate(self.certificate)
        elif self.run_folder is not None and self.exact and not is_solved(self.run_folder):
            self._draw_exactly(self.run_folder)
        elif self.run_folder is not None:
            self._draw(self.run_folder)

    def _check(self) -> None:
        is_table = self.format != "lines"
        if self.count < 1:
            raise InputError(f"count is {self.count}, but must be at least 1")
        if (self.run_folder is None) == (self.certificate is None):
            raise InputError(
                "sample needs a run folder, or --certificate FILE: give one of the two"
            )
        if is_table and (self.exact or self.certificate is not None):
            raise InputError(
                f"--format {self.format} writes draws of a trained run, with log p_F: leave out "
                "--exact and --certificate"
            )
        if self.exact and self.certificate is not None:
            raise InputError("--exact needs a run: leave it out beside --certificate")
        if self.out is not None and not is_table:
            raise InputError("--out needs --format csv, json or parquet: give one of them")
        if self.out is None and self.format == "parquet" and sys.stdout.isatty():
            raise InputError("parquet is no text for a terminal: name a file with --out")

    def _draw(self, folder: Path) -> None:
        from pdai.loading import load
        from pdai.show.sample_tables import sample_table

        if self.out is not None:
            check_output(self.out)
        run = load(folder, accept_changed=self.accept_changed)
        drawn = run.sample(self.count, seed=self.seed)
        drawn = drawn._replace(states=run.task.texts(drawn.states))
        if self.format == "lines":
            _print_states(drawn.states, drawn.log_reward)
            return
        table = sample_table(drawn, self.format)
        if self.out is not None:
            replace_file(self.out, table)
            say(f"samples: {self.out}")
        else:
            sys.stdout.buffer.write(table)
            sys.stdout.buffer.flush()

    def _draw_from_certificate(self, path: Path) -> None:
        from reference.certificates import CertifiedSampler, numpy_bits

        sampler, bits = CertifiedSampler.load(path), numpy_bits(np.random.default_rng(self.seed))
        for _ in range(self.count):
            print(sampler.draw(bits))

    def _draw_exactly(self, folder: Path) -> None:
        from pdai.certifying.target import Target
        from pdai.certifying.trained import RunSource
        from pdai.run import Run

        run = Run(folder, accept_changed=self.accept_changed)
        source = RunSource(run, Target(run.problem, max_states=100_000, seconds=60.0), self.seed)
        kept, rejection = source.target_draws(self.count)
        print(
            f"exact samples of the target: at least {rejection.rate:.4g} of all trajectories are "
            f"kept ({kept.drawn:,} drawn)",
            file=sys.stderr,
        )
        _print_states(run.task.texts(kept.terminals), kept.log_rewards)


def _print_states(states: Iterable[object], log_rewards: Iterable[float]) -> None:
    for state, log_reward in zip(states, log_rewards, strict=True):
        # One line without tabs; different texts stay different.
        text = printable(str(state).replace("\\", r"\\"), besides="")
        print(f"{text}\t{log_reward:.6f}")


@dataclass(frozen=True)
class PlotRuns:
    """Draw finished runs into one figure: their laws, and their curves together.

    Try:
        pdai plot runs/lines-gru-0 runs/lines-markov-0 --out lines.pdf
    """

    run_folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """The folders that `pdai train` printed."""
    out: Path = Path("plot.png")
    """Where to write the figure; its ending chooses the format."""

    def run(self) -> None:
        """Draws the figure."""
        from pdai.show.plotting import plot_runs
        from reference.looking.show import check_picture

        if not self.run_folders:
            raise InputError("no run folder given: name at least one, as `pdai plot runs/...`")
        check_picture(self.out)
        plot_runs(self.run_folders, self.out)
        say(f"plot: {self.out}")


@dataclass(frozen=True)
class Inspect:
    """Enumerate a problem, print its properties and figures, and draw its graph.

    No training and no JAX.

    Try:
        pdai inspect lines --draw lines.png
        pdai inspect my_module:MyProblem --draw mine.svg --colour flow
    """

    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MODULE:NAME")]
    """The problem, whose class or function is called without arguments; the name of a task, such as
    lines; or a run folder."""
    draw: Path | None = None
    """Write a picture of the state graph, or beyond 60 states of their numbers by depth."""
    colour: Literal["reward", "flow"] = "reward"
    """Quantity that the colours of the picture show."""
    max_nodes: int = 2_000_000
    """Enumerate at most this many states."""

    def run(self) -> None:
        """Inspects, and prints a table to stdout."""
        from pdai.loading import load

        if self.draw is not None:
            # Imported here, as pictures need matplotlib, and counts do not.
            from reference.looking.show import check_picture, draw

            check_picture(self.draw)
        is_run = Path(self.problem).is_dir()
        problem = as_problem(load(self.problem).problem if is_run else problem_meant(self.problem))
        with slow(f"enumerating {self.problem}"):
            inspection = inspect_problem(problem, self.max_nodes)
        show_rows(f"{inspection.name} breaks no rule", inspection.rows(), inspection.hint)
        if self.draw is not None:
            draw(inspection, self.draw, self.colour)
            say(f"picture: {self.draw}")


@dataclass(frozen=True)
class Check:
    """Check a loss, a network or an environment of your own, exactly.

    A loss: does it learn the right law? A network: does it keep the rules of dynamics? An
    environment: is it its problem, state by state and edge by edge?

    Try:
        pdai check my_module:MyLoss
        pdai check my_module:MyCell
        pdai check my_module:MyEnvironment --problem my_module:MyProblem
    """

    part: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MODULE:NAME")]
    """Where it is: an object, or a class."""
    problem: str | None = None
    """MODULE:NAME of the problem of an environment, or of one to make a network on."""
    precision: Literal["float32", "float64"] | None = None
    """Arithmetic of an environment, which decides how far log R may be off; float32 unless
    chosen."""
    seconds: float | None = None
    """Seconds after which the search of a loss begins no further graph; by default it tries all."""
    thorough: bool = False
    """Try a loss on ten graphs, not on six, and its gradient on all."""

    def run(self) -> None:
        """Checks, and prints a table to stdout.

        Exits with 1 for a loss that is wrong, or was not tried on all graphs.
        """
        from rich.text import Text

        from pdai.checks import check

        with slow(f"checking {self.part}"):
            limit = {} if self.seconds is None else {"seconds": self.seconds}
            most = {"thorough": True} if self.thorough else {}
            report = check(self.part, self.problem, self.precision, **limit, **most)
        passes = getattr(report, "learns_the_target", True)
        left_out: int = getattr(report, "left_out", 0)
        show(Text(report.verdict, style="bold" if passes else "bold red"))
        show_rows("", report.rows())
        if left_out or not passes:
            sys.exit(1)


@dataclass(frozen=True)
class ReportRuns(Accepting):
    """Write finished runs into one HTML page: to read, hover and click, without network.

    Runs on one problem are side by side in the same charts, others never share an axis.

    Try:
        pdai report runs/*
        pdai report runs/lines-gru-0 --out lines.html
    """

    run_folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """The folders of runs, or of experiments for all their runs; of several, the finished ones."""
    out: Path = Path("report.html")
    """Where to write the page."""
    seconds: float = 10.0
    """Draw for at most this long for the certificate of each run, where it is not exact."""
    stored_only: bool = False
    """Show only what the folders hold, without certificate, samples or states; no module that a
    run names is imported."""

    def run(self) -> None:
        """Writes the page."""
        from pdai.loading import load
        from pdai.show.page.page import report

        folders = list[Path]()
        for folder in self.run_folders:
            is_experiment = any((folder / log).is_file() for log in LOGS)
            inner = sorted(folder.glob("*/config.json")) if is_experiment else []
            folders += [x.parent for x in inner] or [folder]
        left = [x for x in folders if (x / "config.json").is_file() and not is_finished(x)]
        runs: list[Any] = [x for x in folders if x not in left] or folders
        for folder in left if runs is not folders else ():
            print(f"left out, as it is not finished: {folder}", file=sys.stderr)
        if self.accept_changed and not self.stored_only:
            runs = [load(folder, accept_changed=True) for folder in runs]
        seconds = None if self.stored_only else self.seconds
        say(f"report: {report(runs, self.out, seconds=seconds)}")
