"""Experiments: begun, resumed where they were stopped, and compared at their end.

plan.json        the requested plan
client-0, ...    ordinary run folders
report.json      the comparison
plot.png         the laws of the combined and of the direct run
"""

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from fast.measure.report import Report
from fast.runs.files import new_folder
from fast.runs.frozen import arithmetic
from fast.runs.job import complete
from fast.runs.records import read_json, write_json
from fast.tasks.custom import CustomTask
from fast.training.compose import TrainConfig
from pdai.distributed.comparison import Comparison, compare
from pdai.distributed.engine import Task, bring_to_end
from pdai.distributed.plan import DIRECT, Plan, plan_from_json
from pdai.show.plotting import plot_or_say
from pdai.show.progress import QUIET
from reference.contract.errors import InputError
from reference.contract.files import kind_of
from reference.problems.factors import check_product


class RunsFailedError(InputError):
    """Some runs could not be brought to their end; the message names each, with its reason."""

    most = 100_000


def begin(plan: Plan, executor: Executor) -> tuple[Path, Comparison]:
    """Makes the folder of an experiment, trains all its runs, and compares them.

    Raises InputError if the folder exists: nothing is overwritten, and RunsFailedError if some runs
    failed; the others are kept.
    """
    # Reading a plan does not check a user's problem, which all runs share.
    next(iter(plan.pieces().values())).restricted()
    if isinstance(plan.config.task, CustomTask):
        check_product(plan.config.problem(), plan.parts, plan.config.run.max_states)
    folder = plan.folder()
    with new_folder(folder, plan.kind) as partial:
        write_json(partial / "plan.json", plan.to_json())
    return folder, _do(plan, executor)


def proceed(folder: Path, executor: Executor) -> tuple[Path, Comparison]:
    """Continues an experiment: finished runs are kept, others resume from their checkpoints.

    Raises InputError if the folder is no experiment, and RunsFailedError if some runs failed.
    """
    plan = plan_from_json(read_json(folder / "plan.json"), folder)
    for name in plan.runs():
        if kind_of(folder / name) not in ("", "a folder"):
            raise InputError(
                f"{str(folder / name)!r} is {kind_of(folder / name)}, but must be a folder: a run "
                "is not trained where a link leads; put back what it was"
            )
    return folder, _do(plan, executor)


def _do(plan: Plan, executor: Executor) -> Comparison:
    folder, again = plan.folder(), f"pdai {plan.kind} --resume {plan.folder()}"

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        reports = run_all(plan.runs(), executor, say)
    except RunsFailedError as error:
        raise RunsFailedError(f"{error}\nContinue the others with: {again}") from None
    except KeyboardInterrupt:
        say(f"stopped; continue with: {again}")
        raise
    say("comparing all runs over every trajectory ...")
    with arithmetic(plan.config.run.precision):
        comparison = compare(plan, reports)
    plot_or_say([folder / plan.combined, folder / DIRECT], folder / "plot.png")
    write_json(folder / "report.json", comparison.to_json())
    return comparison


def run_all(
    runs: Mapping[str, TrainConfig], executor: Executor, say: Callable[[str], None]
) -> dict[str, Report]:
    """Trains runs to their ends, each as soon as its frozen runs are finished.

    Args:
        runs: the configuration of each run.
        executor: where they are trained.
        say: receives lines of progress.

    Raises RunsFailedError, after all others have ended, if a run failed by itself, or was lost with
    its worker too often. Finished and unfinished runs stay in their folders.
    """
    names = {config.folder(): name for name, config in runs.items()}
    tasks = {
        name: Task(
            # Its metrics are in its folder, and need no display.
            partial(complete, display=QUIET),
            config,
            {config.folder(): config.optimiser.steps},
            tuple(names[path] for path in config.factors.frozen if path in names),
        )
        for name, config in runs.items()
    }
    reports: dict[str, Report] = {}
    failed: dict[str, str] = {}
    for name, report, error in bring_to_end(tasks, executor, say):
        if error is None:
            reports[name] = report
            say(f"{name}: finished")
        else:
            reason = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            failed[name] = f"{name} in {str(runs[name].folder())!r}: {reason}{error}"
            say(f"{name}: failed")
    if failed:
        waiting = ", ".join(name for name in runs if name not in reports and name not in failed)
        also = f"; not begun, as they wait for these: {waiting}" if waiting else ""
        head = f"{len(failed)} of {len(runs)} runs failed, the others are kept{also}."
        raise RunsFailedError("\n".join([head, *failed.values()]))
    return reports
