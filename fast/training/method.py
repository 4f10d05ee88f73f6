"""Methods of training: how a run begins, and the gradient of a step."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.environments import AbstractEnvironment
from fast.policies.policy import Sampler
from fast.sampling.actions import Exploration
from fast.sampling.replay import Buffer
from fast.sampling.trajectories import Trajectories
from fast.schedule import Schedule, schedule_for
from fast.training.combined import FrozenSamplers
from fast.training.compose import TrainConfig
from fast.training.options import SamplingOptions
from fast.training.state import TrainState

NO_SAMPLERS = FrozenSamplers()
# The number of all steps: an argument of a program, as another number needs no other program.
Steps = int | Int[Array, ""]


class Gradient(NamedTuple):
    """The loss of a batch and its gradient.

    Attributes:
        loss: its value.
        log_z: an estimate of `log Z`, in nats; 0 where the loss has none.
        by: the gradient with respect to the sampler's parameters.
        starting_log_z: `log Z` at which the gradient was taken, and from which the step starts.
        rows: the numbers of the tables' rows by which `by` is the gradient; None for all of them.
    """

    loss: Float[Array, ""]
    log_z: Float[Array, ""]
    by: Sampler
    starting_log_z: Float[Array, ""]
    rows: Int[Array, " states"] | None = None


def exploration(sampling: SamplingOptions, steps: Steps, step: Int[Array, ""]) -> Exploration:
    """The exploration in one of the steps: the share of random actions falls linearly, to 0.

    Args:
        sampling: the options of sampling.
        steps: the number of all steps.
        step: the number of steps done.
    """
    decay = jnp.clip(1 - step / (sampling.epsilon_until * steps), 0, 1)
    return Exploration(sampling.epsilon and sampling.epsilon * decay, sampling.temperature)


def inverse_temperature(
    sampling: SamplingOptions, steps: Steps, step: Int[Array, ""]
) -> Float[Array, ""] | float:
    """`beta = anneal_from^(1 - step / (anneal steps))`, and 1 from then on or without annealing.

    Args:
        sampling: the options of sampling.
        steps: the number of all steps.
        step: the number of steps done.
    """
    if not sampling.anneal:
        return 1.0
    return sampling.anneal_from ** jnp.clip(1 - step / (sampling.anneal * steps), 0, 1)


def annealed(
    trajectories: Trajectories, sampling: SamplingOptions, steps: Steps, step: Int[Array, ""]
) -> Trajectories:
    """Trajectories with `beta log R` in the place of `log R`, by `inverse_temperature`.

    Args:
        trajectories: the batch.
        sampling: the options of sampling.
        steps: the number of all steps.
        step: the number of steps done.
    """
    if not sampling.anneal:
        return trajectories
    beta = inverse_temperature(sampling, steps, step)
    return trajectories._replace(log_reward=beta * trajectories.log_reward)


class Method(ABC):
    """A method of training, with frozen samplers, each in place of a factor of the reward.

    The schedule, the layout of a batch, is by default that of the configuration. `purposes` are
    uses of random numbers, in the order of their keys. If a method `goes_alone`, a single seed is
    trained without an axis of seeds, whose matrix products need no batching; with one, its sums are
    rounded as among several.
    """

    goes_alone: ClassVar[bool] = True
    purposes: ClassVar[tuple[str, ...]] = ("policy", "samples")

    def __init__(
        self,
        config: TrainConfig,
        frozen: FrozenSamplers = NO_SAMPLERS,
        schedule: Schedule | None = None,
        steps: Steps | None = None,
    ):
        self.config, self.frozen = config, frozen
        self.dynamics, self.loss, self.replay = config.dynamics, config.loss, config.replay
        self.sampling, self.devices = config.sampling, config.run.devices
        own = config.optimiser.steps
        self.schedule = schedule or schedule_for(seeds=config.run.seeds, steps=own)
        self.steps = own if steps is None else steps

    def key(self, seed: Int[Array, ""], purpose: str) -> PRNGKeyArray:
        """The key of a purpose: one of `purposes`."""
        return jax.random.fold_in(jax.random.key(seed), self.purposes.index(purpose))

    @abstractmethod
    def begin(
        self, environment: AbstractEnvironment, seed: Int[Array, ""]
    ) -> tuple[Sampler, Buffer | None]:
        """The first parameters and the first buffer of a seed."""

    @abstractmethod
    def learn(
        self, environment: AbstractEnvironment, state: TrainState, key: PRNGKeyArray
    ) -> tuple[Gradient, Buffer | None]:
        """The gradient of a step, and the buffer after it.

        Args:
            environment: the state graph as array code.
            state: the state before the step.
            key: a random key of JAX.
        """
