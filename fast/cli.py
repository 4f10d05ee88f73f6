"""The command `pdai`. Imports JAX only in the commands that compute."""

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from fast import tasks
from fast.stochastic import config as stochastic
from reference.errors import InputError

Problem = (
    Annotated[tasks.Six6Config, tyro.conf.subcommand("six6")]
    | Annotated[tasks.Pho4Config, tyro.conf.subcommand("pho4")]
    | Annotated[tasks.SynConfig, tyro.conf.subcommand("syn")]
    | Annotated[tasks.BitsConfig, tyro.conf.subcommand("bits")]
    | Annotated[tasks.LinesConfig, tyro.conf.subcommand("lines")]
    | Annotated[tasks.GridConfig, tyro.conf.subcommand("grid")]
    | Annotated[tasks.SetsConfig, tyro.conf.subcommand("sets")]
    | Annotated[tasks.PreferenceConfig, tyro.conf.subcommand("preference")]
    | Annotated[tasks.RandomWalkConfig, tyro.conf.subcommand("random-walk")]
    | Annotated[tasks.IsingConfig, tyro.conf.subcommand("ising")]
    | Annotated[tasks.GraphsConfig, tyro.conf.subcommand("graphs")]
    | Annotated[tasks.CustomConfig, tyro.conf.subcommand("custom")]
)


@dataclass(frozen=True)
class Train:
    """Train a sampler on a problem, and report how far it is from the target.

    Options of a problem follow its name: `pdai train six6 --dynamics markov`.
    """

    problem: Problem = tasks.Six6Config()  # noqa: RUF009  (frozen)
    """The problem; `pdai train PROBLEM --help` lists its options."""
    resume: tyro.conf.DisallowNone[Path | None] = None
    """Continue the run in this folder from its last checkpoint, as if it had never stopped."""

    def run(self) -> None:
        """Trains, and prints the final figures to stdout."""
        from fast.job import resume, train
        from fast.tables import report_table

        if self.resume is None:
            folder, report = train(self.problem)
        elif self.problem == tasks.Six6Config():
            folder, report = resume(self.resume)
        else:
            raise InputError(
                "--resume continues a run with the options it began with: leave the problem and "
                "its options away, or train anew without --resume"
            )
        _show(report_table(report))
        print(f"run folder: {folder}\nplot: {folder / 'plot.png'}")


StochasticProblem = (
    Annotated[stochastic.StochasticLines, tyro.conf.subcommand("lines")]
    | Annotated[stochastic.StochasticGrid, tyro.conf.subcommand("grid")]
    | Annotated[stochastic.StochasticRings, tyro.conf.subcommand("rings")]
)


@dataclass(frozen=True)
class Stochastic:
    """Train a sampler whose latent is random: Gaussian steps, by trajectory balance.

    Options of a problem follow its name: `pdai stochastic grid --landscape sparse`.
    """

    problem: StochasticProblem = stochastic.StochasticLines()  # noqa: RUF009  (frozen)
    """The problem; `pdai stochastic PROBLEM --help` lists its options."""
    resume: tyro.conf.DisallowNone[Path | None] = None
    """Continue the run in this folder from its last checkpoint, as if it had never stopped."""

    def run(self) -> None:
        """Trains, and prints the final figures to stdout."""
        from fast.stochastic.job import resume_stochastic, stochastic_table, train_stochastic

        if self.resume is None:
            folder, report = train_stochastic(self.problem)
        elif self.problem == stochastic.StochasticLines():
            folder, report = resume_stochastic(self.resume)
        else:
            raise InputError(
                "--resume continues a run with the options it began with: leave the problem and "
                "its options away, or train anew without --resume"
            )
        _show(stochastic_table(report))
        print(f"run folder: {folder}")


@dataclass(frozen=True)
class AuditRun:
    """Turn a trained run into an exact object: its law, its distance to the target, residuals."""

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """The folder that `pdai train` printed."""
    seed: tyro.conf.DisallowNone[int | None] = None
    """Which of the run's seeds; its first by default."""

    def run(self) -> None:
        """Audits, and prints the certificate to stdout."""
        from fast.audit import audit
        from fast.tables import audit_table

        _show(audit_table(audit(self.run_folder, self.seed)))


@dataclass(frozen=True)
class SampleRun:
    """Draw samples from a trained run: one state per line, with its log reward in nats."""

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """The folder that `pdai train` printed."""
    count: int = 10
    """How many samples."""
    seed: int = 0
    """Random seed."""

    def run(self) -> None:
        """Samples, and prints tab-separated lines to stdout."""
        from fast.job import draw_samples

        for sample in draw_samples(self.run_folder, self.count, self.seed):
            print(f"{sample.state}\t{sample.log_reward:.6f}")


@dataclass(frozen=True)
class PlotRuns:
    """Draw finished runs into one figure: their laws, and their curves together."""

    run_folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """The folders that `pdai train` printed."""
    out: Path = Path("plot.png")
    """Where to write the figure; its ending chooses the format."""

    def run(self) -> None:
        """Draws the figure."""
        from fast.plotting import plot_runs

        if not self.run_folders:
            raise InputError("no run folder given: name at least one, as `pdai plot runs/...`")
        plot_runs(self.run_folders, self.out)
        print(f"plot: {self.out}")


@dataclass(frozen=True)
class Inspect:
    """Enumerate a problem, print what it is and every number that it has, and draw its graph.

    No training and no JAX: `pdai inspect reference.problems:Grid.minimal`.
    """

    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MODULE:NAME")]
    """Where the problem is; a class or function is called without arguments."""
    draw: tyro.conf.DisallowNone[Path | None] = None
    """Write a picture of the state graph here (up to 400 states)."""
    colour: Literal["reward", "flow"] = "reward"
    """What the colours of the picture show."""
    max_nodes: int = 2_000_000
    """Enumerate at most this many states."""

    def run(self) -> None:
        """Inspects, and prints a table to stdout."""
        from rich.table import Table

        from reference.drawing import draw
        from reference.inspection import inspect_problem, load_problem

        inspection = inspect_problem(load_problem(self.problem), self.max_nodes)
        table = Table(title=f"{inspection.name} breaks no rule", show_header=False)
        for name, value in inspection.rows().items():
            table.add_row(name, value)
        _show(table)
        if self.draw is not None:
            draw(inspection, self.draw, self.colour)
            print(f"picture: {self.draw}")


@dataclass(frozen=True)
class Check:
    """Compare an array environment of your own with its problem, state by state and edge by edge.

    `pdai check my_module:MyEnvironment --problem my_module:MyProblem`.
    """

    environment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MODULE:NAME")]
    """Where the environment is: an instance, or a class with `from_problem`."""
    problem: str
    """MODULE:NAME of its problem; a class or function is called without arguments."""

    def run(self) -> None:
        """Checks, and prints a table to stdout."""
        from rich.table import Table

        from fast.checking import check_environment
        from fast.environments import load_environment
        from reference.inspection import load_problem

        problem = load_problem(self.problem)
        report = check_environment(problem, load_environment(self.environment, problem))
        table = Table(title=f"{report.environment} is {report.problem}", show_header=False)
        for name, value in report.rows().items():
            table.add_row(name, value)
        _show(table)


@dataclass(frozen=True)
class Verify:
    """Run the checks of the paper's claims, and print the ledger; exit 1 on any surprise."""

    claim: tyro.conf.DisallowNone[str | None] = None
    """Only the checks of this claim, by its name in the ledger, such as prop:lines or N5."""
    exhaustive: bool = False
    """All lifts up to 6 states (else 5), some with 7, 20,000 random instances: up to an hour."""
    json: bool = False
    """Print the ledger as JSON to stdout, and all else to stderr."""
    write_notes: tyro.conf.DisallowNone[Path | None] = None
    """Write the ledger's table to this file: proofs_notes/README.md in a checkout."""

    def run(self) -> None:
        """Runs the tests of the claims."""
        from fast.claims import check_claims

        sys.exit(
            check_claims(
                self.claim, exhaustive=self.exhaustive, as_json=self.json, notes=self.write_notes
            )
        )


@dataclass(frozen=True)
class Vectors:
    """Write test vectors: exact cases as JSON, for other libraries to test themselves with.

    A README in the folder explains the format, and `check.py` there recomputes part of it.
    """

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """A new or empty folder, or one of older vectors, which are replaced."""

    def run(self) -> None:
        """Writes the folder; the generator is loaded by name: `fast` does not import `verify`."""
        vectors = importlib.import_module("verify.vectors")
        manifest = vectors.write_vectors(self.folder)
        size = sum(file["bytes"] for file in manifest["files"])
        print(f"vectors: {self.folder} ({manifest['cases']} cases, {size / 1e6:.1f} MB)")


@dataclass(frozen=True)
class Reproduce:
    """Make a table or figure of the paper again: train what is missing, resume what was cut off.

    `pdai reproduce tab:sequences --quick` shows in minutes that it runs; without --quick it takes
    minutes to hours. What is already made is kept, and the same command goes on after Ctrl-C.
    """

    label: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LABEL")]
    """LaTeX label of the table or figure, or `all`."""
    quick: bool = False
    """200 steps and two seeds: that it runs, not what comes out."""
    seeds: tyro.conf.DisallowNone[int | None] = None
    """How many seeds; five by default."""
    jobs: tyro.conf.DisallowNone[int | None] = None
    """How many runs at once; by default one for each processor. One GPU does one at a time."""
    out: Path = Path("reproduced")
    """Where results, tables, figures and run folders go."""
    pho4: tyro.conf.DisallowNone[Path | None] = None
    """The table of PHO4, which is not shipped; without it its rows are left out."""

    def run(self) -> None:
        """Reproduces, and prints the tables to stdout."""
        from fast.experiments import chosen
        from fast.experiments.report import write
        from fast.experiments.running import default_jobs, reproduce

        out = self.out / "quick" if self.quick else self.out
        jobs = default_jobs() if self.jobs is None else self.jobs
        if jobs < 1:
            raise InputError(f"jobs is {jobs}, but must be at least 1")
        for experiment in chosen(self.label, self.seeds, self.pho4, quick=self.quick):
            print(f"{experiment.label}: {experiment.title}", file=sys.stderr)
            runs = reproduce(experiment, out, jobs, lambda text: print(text, file=sys.stderr))
            print(write(experiment, runs, out), end="\n\n", flush=True)
        print(f"results, tables and figures: {out}")


Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Stochastic, tyro.conf.subcommand("stochastic")]
    | Annotated[AuditRun, tyro.conf.subcommand("audit")]
    | Annotated[SampleRun, tyro.conf.subcommand("sample")]
    | Annotated[PlotRuns, tyro.conf.subcommand("plot")]
    | Annotated[Inspect, tyro.conf.subcommand("inspect")]
    | Annotated[Check, tyro.conf.subcommand("check")]
    | Annotated[Verify, tyro.conf.subcommand("verify")]
    | Annotated[Vectors, tyro.conf.subcommand("vectors")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parses the command line and runs the command; bad input exits with 2, in one message."""
    # Read when JAX is imported; what is set by the user stands.
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pdai"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    # Small programs as well: a run has a hundred of them, which together take seconds.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    try:
        command: Command = tyro.cli(
            Command,
            args=arguments,
            prog="pdai",
            description="Path-dependent discrete samplers: train them, and know how right they are",
            config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
        )
        command.run()
    except InputError as error:
        print(f"pdai: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _show(table: object) -> None:
    from rich.console import Console

    # Not a terminal: wide enough that no cell is cut.
    console = Console()
    Console(width=None if console.is_terminal else 120).print(table)
