"""Experiments: begun, continued where they were stopped, and compared at their end.

plan.json        what was asked for
client-0, ...    ordinary run folders
report.json      the comparison
plot.png         the laws of the combined and of the direct run
"""

import sys
from concurrent.futures import Executor
from pathlib import Path

from fast.runs.files import new_folder
from fast.runs.frozen import arithmetic
from fast.runs.records import read_json, write_json
from pdai.distributed.comparison import Comparison, compare
from pdai.distributed.plan import DIRECT, Plan, plan_from_json
from pdai.distributed.runs import RunsFailedError, run_all
from pdai.show.plotting import plot_or_say
from reference.errors import InputError
from reference.files import kind_of


def begin(plan: Plan, executor: Executor) -> tuple[Path, Comparison]:
    """Makes the folder of an experiment, does all its runs, and compares them.

    Raises:
        InputError: if the folder exists: nothing is overwritten.
        RunsFailedError: if some runs failed; the others are kept.
    """
    # A problem of the user's own is not looked at where its plan is read. All runs have the same.
    next(iter(plan.pieces().values())).restricted()
    folder = plan.folder()
    with new_folder(folder, plan.kind) as partial:
        write_json(partial / "plan.json", plan.to_json())
    return folder, _do(plan, executor)


def proceed(folder: Path, executor: Executor) -> tuple[Path, Comparison]:
    """Continues an experiment: finished runs are kept, others go on from their checkpoints.

    Raises:
        InputError: if the folder is no experiment.
        RunsFailedError: if some runs failed.
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
    folder, runs = plan.folder(), plan.runs()
    again = f"pdai {plan.kind} --resume {folder}"

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        reports = run_all(runs, executor, say)
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
