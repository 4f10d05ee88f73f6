"""The runs of a plan, brought to their ends as tasks of the engine."""

from collections.abc import Callable, Mapping, Set
from concurrent.futures import Executor

from fast.measure.report import Report
from fast.runs.job import complete
from fast.training.config import TrainConfig
from pdai.engine import Task, bring_to_end
from pdai.show.progress import QUIET
from reference.errors import InputError


class RunsFailedError(InputError):
    """Some runs could not be brought to their end; the message names each, with its reason."""

    most = 100_000


def run_task(config: TrainConfig) -> Report:
    """Brings a run to its end in a worker; what it would print is in its metrics."""
    return complete(config, display=QUIET)


def run_all(
    runs: Mapping[str, TrainConfig], executor: Executor, say: Callable[[str], None]
) -> dict[str, Report]:
    """Brings runs to their ends, each as soon as those that it is given are finished.

    Args:
        runs: configurations by name; what a run is given may be the folders of others.
        executor: where they run.
        say: is told, in a line, what has happened.

    Raises:
        RunsFailedError: after all others have ended, if a run failed by itself, or was lost with
            its worker too often. Finished and unfinished runs stay in their folders.
    """
    names = {config.folder(): name for name, config in runs.items()}
    tasks = {
        name: Task(
            run_task,
            config,
            {config.folder(): config.optimiser.steps},
            tuple(names[path] for path in config.factors.frozen if path in names),
        )
        for name, config in runs.items()
    }
    reports: dict[str, Report] = {}
    failed: dict[str, Exception] = {}
    for ended in bring_to_end(tasks, executor, say):
        if ended.error is None:
            reports[ended.name] = ended.result
            say(f"{ended.name}: finished")
        else:
            failed[ended.name] = ended.error
            say(f"{ended.name}: failed")
    if failed:
        raise RunsFailedError(_told(runs, failed, runs.keys() - reports.keys() - failed.keys()))
    return reports


def _told(
    runs: Mapping[str, TrainConfig], failed: Mapping[str, Exception], waiting: Set[str]
) -> str:
    reasons = []
    for name, error in failed.items():
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        reasons.append(f"{name} in {str(runs[name].folder())!r}: {reason}")
    names = ", ".join(name for name in runs if name in waiting)
    also = f"; not begun, as they wait for these: {names}" if waiting else ""
    return f"{len(failed)} of {len(runs)} runs failed, the others are kept{also}.\n" + "\n".join(
        reasons
    )
