"""`pdai train`."""

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fast.training.compose import TrainConfig, configure
from pdai.arguments import options_class, scan, tasks_union
from pdai.commands import Accepting
from pdai.commands.tables import say, show
from reference.contract.errors import InputError
from reference.contract.text import small

if TYPE_CHECKING:
    from fast.measure.report import Report
    from pdai.goal import Goal

USUAL = "six6"
# The flag for more CPU devices than cores.
COUNT = "xla_force_host_platform_device_count"


@dataclass(frozen=True)
class Where:
    """The device and the processes of a training."""

    device: Literal["any", "cpu", "gpu"] = "any"
    """Where to compute: on a CPU, on a GPU, or on what JAX finds first."""
    coordinator: str = ""
    """For a run over several processes: host and port of the first, such as node1:8476; each has
    the same options except --process, and --devices counts the devices of all."""
    processes: int = 1
    """Number of processes."""
    process: int = 0
    """Number of this process, from 0."""

    def begin(self) -> None:
        """Chooses the device, joins the other processes if there are some, and says where it runs.

        It comes before JAX looks for devices. Raises InputError if there is no such device, or only
        some of the last three are given.
        """
        import jax

        from fast.runs.sizes import device_memory
        from fast.training.processes import join

        if self.device == "cpu":
            jax.config.update("jax_platforms", "cpu")  # type: ignore[no-untyped-call]
        is_set = "JAX_NUM_CPU_DEVICES" in os.environ or COUNT in os.environ.get("XLA_FLAGS", "")
        if not (is_set or self.coordinator):
            # For --devices: without accelerators, each core is one, if JAX has not begun.
            cores = os.cpu_count() or 1
            with suppress(RuntimeError):
                jax.config.update("jax_num_cpu_devices", cores)  # type: ignore[no-untyped-call]
        if self.coordinator:
            join(self.coordinator, self.processes, self.process)
        elif (self.processes, self.process) != (1, 0):
            raise InputError(
                f"process {self.process} of {self.processes} without a coordinator: add "
                "--coordinator HOST:PORT, where process 0 runs"
            )
        if self.device == "gpu":
            try:
                jax.devices("gpu")
            except RuntimeError:
                raise InputError(
                    f"device is gpu, but JAX finds only {jax.default_backend()}: install the extra "
                    "cuda, or use --device cpu"
                ) from None
        here = jax.local_devices()
        several = f" x {len(here)}" if len(here) > 1 else ""
        shared = f", process {self.process} of {self.processes}" if self.processes > 1 else ""
        print(
            f"on {here[0].platform}: {here[0].device_kind}{several}, "
            f"{device_memory() / 2**30:.0f} GiB{shared}",
            file=sys.stderr,
        )


def train_command(arguments: Sequence[str]) -> type[Any]:
    """The command `pdai train`, with the options that its arguments choose."""
    chosen = scan(arguments, USUAL, {})
    default, tasks = tasks_union(chosen.task, options_class(chosen))

    @dataclass(frozen=True)
    class Train(Where, Accepting):
        """Train a sampler on a problem, and report how far it is from the target.

        Options of a problem follow its name. The options depend on the chosen parts.

        Try:
            pdai train lines
            pdai train six6 --dynamics markov --seeds 3
            pdai train six6 --dynamics srwm --help-all
            pdai train six6 --tv 0.05
            pdai train --no-report six6
            pdai train custom --problem my_module:MyProblem
            pdai train --resume runs/six6-gru-0
            pdai train --resume runs/six6-gru-0 --steps 20000
        """

        problem: tasks = default  # type: ignore[valid-type]  # it is made while this runs
        """The problem; `pdai train PROBLEM --help` lists its options."""
        resume: Path | None = None
        """Continue the run in this folder from its last checkpoint, as if it had never stopped."""
        steps: int = 0
        """With --resume of a finished run: train on from its parameters, to this many steps in
        all, in a new folder. After a PROBLEM: the number of its steps."""
        report: bool = True
        """Measure the sampler, while it is trained and at its end, and draw it. Without, nothing is
        listed or measured; --resume does so later."""

        def run(self) -> None:
            """Trains, and prints the final figures to stdout."""
            self.begin()
            config: TrainConfig = self.problem.config()  # type: ignore[attr-defined]
            if self.resume is not None and config != configure(USUAL):
                raise InputError(
                    "--resume continues a run with the options it began with: leave the problem "
                    "and its options out, or train anew without --resume"
                )
            if self.resume is not None and not self.report:
                raise InputError("--resume makes the report of a run: leave --no-report out")
            if self.resume is None and (self.steps or self.accept_changed):
                raise InputError(
                    "--steps and --accept-changed before a problem need --resume RUN: name the "
                    f"problem first, as pdai train {USUAL} --steps 500"
                )
            if self.report or self.process:
                _train(config, self.resume, self.steps, self.accept_changed, self.process)
                return
            from fast.runs.job import train_alone
            from pdai.show.progress import DISPLAY

            named = shlex.quote(str(folder := train_alone(config, DISPLAY)))
            say(f"run folder: {folder}, not measured: `pdai train --resume {named}` does so")

    return Train


def _show(folder: Path, report: "Report") -> None:
    from pdai.show.tables import expectations_table, report_table

    show(report_table(report))
    if (features := expectations_table(report)) is not None:
        show(features)
    say(f"run folder: {folder}\nplot: {folder / 'plot.png'}")


def _show_goal(goal: "Goal") -> None:
    """Prints the final figures, and exits with 1 if the goal was not reached."""
    _show(goal.run.folder, goal.run.report)
    if goal.reached:
        say(goal.why)
    else:
        best = min(record["high"] for record in goal.rounds)
        named = shlex.quote(str(goal.run.folder))
        say(
            f"not reached: {goal.why}; the least certified bound is {small(best, down=False)}. "
            f"`pdai certify {named}` says what is missing, docs/training.md what helps"
        )
    sys.exit(not goal.reached)


def _train(
    config: TrainConfig, folder: Path | None, steps: int, accept_changed: bool, process: int
) -> None:
    """Starts or resumes a training; the first process prints the final figures."""
    from fast.runs.display import announce
    from fast.runs.job import follow, resume, train
    from pdai.goal import go_on, is_goal, train_until
    from pdai.run import Run
    from pdai.show.progress import DISPLAY
    from pdai.solving.hints import exact_beside, show_hint

    if folder is not None and is_goal(folder):
        return _show_goal(go_on(folder, DISPLAY))
    run, more = None, 0
    if folder is not None and (steps or process):
        run = Run(folder, accept_changed=accept_changed)
        more = run.steps_until(steps) if steps else 0
        config = run.further(more) if more else run.config
    if process:
        return follow(config)
    if run is not None:
        if run.config.optimiser.schedule != "constant":
            print(
                f"{more:,} steps more, whose learning rate begins anew at "
                f"{run.config.optimiser.learning_rate:g}: TV may rise first, so few of them are "
                "worse than none",
                file=sys.stderr,
            )
        further = run.train(more, display=DISPLAY)
        return _show(further.folder, further.report)
    if folder is not None:
        return _show(*resume(folder, display=DISPLAY, accept_changed=accept_changed))
    announce(config.task)
    show_hint(exact_beside(config.task, config.factors.parts))
    if config.run.tv:
        return _show_goal(train_until(config, DISPLAY))
    return _show(*train(config, display=DISPLAY))
