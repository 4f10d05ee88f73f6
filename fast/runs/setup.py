"""A run's objects, built from its configuration."""

import contextlib
from typing import Any, NamedTuple

from fast.checking.environment import check_enumerated, check_trajectories
from fast.dynamics.base import DynamicsOptions
from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, enumerate_environment
from fast.parts import name_of_part
from fast.policies.backward import BackwardOptions
from fast.runs.display import slow
from fast.runs.frozen import trainer_of
from fast.runs.sizes import check_sizes, check_states, least_memory
from fast.tasks import Task
from fast.training.compose import TrainConfig
from fast.training.state import TrainState
from fast.training.trainer import Trainer
from reference.contract.errors import InputError, TooLargeError
from reference.contract.loading import no_collection
from reference.contract.text import count_text
from reference.problems import ClosedForm, closed_form
from reference.problems.base import is_ours
from reference.problems.closed_form import stated_log_z


class Setup(NamedTuple):
    """A run's objects, rebuilt from its configuration.

    The problem and its environment have the reward of the whole target. A problem that is too
    large to enumerate may have a closed form.
    """

    config: TrainConfig
    problem: Any
    environment: AbstractEnvironment
    enumeration: Enumeration | None
    closed_form: ClosedForm[Any] | None
    trainer: Trainer
    initial: TrainState

    @property
    def labels(self) -> list[Any]:
        """The labels of the terminal states; empty if they are not enumerated."""
        dag = self.enumeration.dag if self.enumeration else None
        return [dag.labels[x] for x in dag.terminals] if dag else []

    def policies(self, state: TrainState) -> list[Any]:
        """The policy of each seed: a `Policy`, or one with a random latent."""
        return [state.policy(row) for row in range(self.config.run.seeds)]


@no_collection()
def set_up(
    config: TrainConfig, environment: AbstractEnvironment | None = None, *, measured: bool = True
) -> Setup:
    """Enumerates the problem if it is small enough, checks the environment against it, and starts.

    Raises InputError if a lifted `p_B` is requested on a problem that is not enumerated, or the
    frozen runs are not on factors of this one.

    Args:
        config: the configuration.
        environment: the environment; made by default.
        measured: whether the run is measured; if not, only a problem of the user's own is listed.
    """
    check_states(config.task.states(), config.run.max_states)
    problem = config.restricted()
    if environment is None:
        environment = config.task.make_environment(problem, config.run.max_states)
    sampling, run = config.sampling, config.run
    least = least_memory(
        environment, config.dynamics, run.precision, sampling.batch, config.replay.capacity
    )
    check_sizes(least, run.seeds)
    task, most, enumeration, form = config.task, run.max_states, None, None
    if measured or not is_ours(problem):
        enumeration = _enumerated(task, most, problem, environment)
    if enumeration is None and (measured or task.states() > most):
        _check_unenumerated(config.dynamics, config.p_b, config.task.states())
        with contextlib.suppress(InputError):
            form = closed_form(problem)
        # Before there is a folder; those of this project are right, and may take long.
        if form is not None and not is_ours(problem):
            stated_log_z(form)
    trainer = trainer_of(config, environment)
    with slow("compiling the program that a run begins with"):
        initial = trainer.init()
    return Setup(config, problem, environment, enumeration, form, trainer, initial)


def _enumerated(
    task: Task, most: int, problem: Any, environment: AbstractEnvironment
) -> Enumeration | None:
    """The enumerated problem, checked against its environment; None if it has too many states."""
    # A user's own is checked more closely, as no test of this project has seen it.
    is_own, states, enumeration = bool(getattr(task, "environment", "")), task.states(), None
    if problem is not None and states <= most:
        # An environment of a user's own may be of a problem that is too large to enumerate.
        unknown = contextlib.nullcontext() if states else contextlib.suppress(TooLargeError)
        enumerated = check_enumerated if is_own else enumerate_environment
        # Several hundred thousand states, all of them kept.
        with slow(f"enumerating {task.short_name}"), unknown:
            enumeration = enumerated(problem, environment, most)
    if enumeration is None and is_own:
        check_trajectories(problem, environment)
    return enumeration


def _check_unenumerated(dynamics: DynamicsOptions[Any], p_b: BackwardOptions, states: int) -> None:
    if p_b.reads_latent:
        raise InputError(
            f"p_b lifted on {count_text(states)} states: its mass bends the target, and can be "
            "summed on an enumerated problem only; use --p-b learned, a smaller instance, or raise "
            "--max-states"
        )
    if not dynamics.is_summable:
        name = name_of_part("dynamics", dynamics)
        raise InputError(
            f"dynamics {name} on {count_text(states)} states: its law is measured by "
            "counting where trajectories end, on an enumerated problem; use a smaller instance, or "
            "raise --max-states"
        )
