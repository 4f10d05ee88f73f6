"""A run's objects, built from its configuration."""

import contextlib
from typing import Any, NamedTuple

import jax

from fast.measure.enumeration import Enumeration, enumerate_environment
from fast.training.config import TrainConfig
from fast.environments import AbstractEnvironment
from fast.runs.frozen import build_environment, load_given
from fast.training.step import NONE_GIVEN, TrainState
from fast.policies.policy import Policy
from fast.training.trainer import Trainer, make_trainer
from reference.errors import InputError
from reference.problems import ClosedForm, closed_form


class Setup(NamedTuple):
    """A run's objects, rebuilt from its configuration.

    Attributes:
        config: what was asked for.
        environment: the problem, with the reward of its whole target, as array code.
        enumeration: the problem, enumerated; None if it is too large.
        closed_form: its exact answer, if it has one and is too large to enumerate.
        trainer: the training method.
        initial: the state of training before the first step.
    """

    config: TrainConfig
    environment: AbstractEnvironment[Any]
    enumeration: Enumeration | None
    closed_form: ClosedForm[Any] | None
    trainer: Trainer
    initial: TrainState

    def policies(self, state: TrainState) -> list[Policy]:
        """The policy of each seed."""
        return [
            jax.tree.map(lambda leaf, i=i: leaf[i], state.sampler.policy)
            for i in range(self.config.seeds)
        ]


def set_up(config: TrainConfig) -> Setup:
    """Enumerates the problem if it is small enough, checks the environment against it, and starts.

    Raises:
        InputError: if a lifted `p_B` is asked for on a problem that is not enumerated, or the
            given runs are not on factors of this one.
    """
    problem = config.restricted()
    environment = build_environment(config, problem)
    enumeration, form = None, None
    if config.states() <= config.max_states:
        enumeration = enumerate_environment(problem, environment, config.max_states)
    elif config.p_b == "lifted":
        raise InputError(
            f"p_b lifted on {config.states():,} states: its mass bends the target, and can be "
            "summed on an enumerated problem only; use --p-b learned, a smaller instance, or raise "
            "--max-states"
        )
    else:
        with contextlib.suppress(InputError):
            form = closed_form(problem)
    given, trained_on = NONE_GIVEN, environment
    if config.given:
        given, rest = load_given(config)
        if rest:
            trained_on = build_environment(config, config.restricted(rest))
    trainer = make_trainer(config, trained_on, given)
    return Setup(config, environment, enumeration, form, trainer, trainer.init())
