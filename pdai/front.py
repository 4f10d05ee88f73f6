"""`pdai.train`, `load`, `inspect` and `draw`."""

from pathlib import Path
from typing import Any

from fast.runs.display import Display, Log, Logged, announce
from fast.runs.files import free_folder
from fast.runs.job import train as train_run
from fast.runs.job import train_alone
from fast.tasks import problem_meant, task_meant
from fast.training.compose import TrainConfig, configure
from pdai.programs import kept_programs
from pdai.run import Run
from pdai.show.progress import QUIET, UNDRAWN
from pdai.solving.hints import exact_beside, show_hint
from reference.contract.errors import checked
from reference.contract.loading import name_of
from reference.dag import PointedDAG
from reference.looking.inspection import Inspection, inspect_problem
from reference.problems.members import as_problem


@checked
def train(
    problem: Any = None,
    *,
    environment: Any = None,
    report: bool = True,
    display: Display = UNDRAWN,
    log: Log | None = None,
    **options: Any,
) -> Run:
    """Train a sampler, in a new run folder; `run.plot()` draws it.

    Args:
        problem: the name of a task, such as "six6"; a task; a configuration; or a problem of your
            own, an object or class with `initial`, `children` and `reward` or `log_reward`.
        environment: an environment of your own, or a class with `from_problem`.
        report: measure it, during the training and at its end. Without, as in a search, nothing is
            listed or measured; `pdai train --resume` of its folder does so later.
        display: the way in which the run is shown.
        log: a logger, `log(step, {name: number})`, called after every 100 steps with the loss (nats
            squared), log Z (nats), and TV where it was measured.
        options: the options of `pdai train`, by name, such as `dynamics="gru"`, `loss=MyLoss()`,
            `steps=500`; where the command line takes `module:Name`, an object.

    Raises:
        InputError: if an option belongs to no chosen part, or breaks a rule, or training diverges.
    """
    is_quiet = display is QUIET
    if log is not None:
        progress, logger = display.progress, log
        display = display._replace(progress=lambda *run: Logged(progress(*run), logger))
    if environment is not None:
        options["environment"] = name_of(environment)
    if isinstance(problem, TrainConfig):
        config = problem.changed(**options) if options else problem
    else:
        kind, own = task_meant(problem)
        config = configure(kind, **{**own, **options})
    if config.run.out is None:
        config = config.changed(out=free_folder(config.folder()))
    if not is_quiet:
        announce(config.task)
        show_hint(exact_beside(config.task, config.factors.parts))
    with kept_programs(quiet=is_quiet):
        if not report:
            return Run(train_alone(config, display))
        if config.run.tv:
            # Imported here, as a training without a goal needs no certificate.
            from pdai.goal import train_until

            return train_until(config, display).run
        folder, _ = train_run(config, display=display)
        return Run(folder)


def inspect(problem: Any) -> Inspection[Any]:
    """A problem in numbers: its graph, its lift by the full history, its target.

    Args:
        problem: a problem, a class of one, `module:Name`, or the name of a task.
    """
    return inspect_problem(as_problem(problem_meant(problem)))


@checked
def draw(what: Any, output: str | Path, **options: Any) -> Path:
    """Draw a problem, a pointed DAG, a lift or a policy into a file; its ending gives the format.

    Args:
        what: a problem, `module:Name`, a `PointedDAG`, a `LiftedDAG` or a policy.
        output: the file.
        options: the options of `reference.looking.show.draw`.
    """
    # Imported here, as a training needs no Matplotlib, which takes a third of a second.
    from reference.looking.show import draw as draw_picture

    is_problem = hasattr(what, "children") and not isinstance(what, PointedDAG)
    drawn = inspect(what) if is_problem or isinstance(what, str) else what
    draw_picture(drawn, Path(output), **options)
    return Path(output)
