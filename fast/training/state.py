"""What training holds between two steps, and what it holds fixed."""

from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Int

from fast.balance.steps import Steps, evaluate
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy, Sampler
from fast.sampling.replay import Buffer
from fast.sampling.trajectories import Trajectories


class FrozenSamplers(eqx.Module):
    """Trained samplers that stand for factors of the reward, and are not changed.

    Attributes:
        policies: theirs; outside of `vmap` with a leading axis, one entry per seed.
        environments: the state graph with the features that each sampler sees.
        rewarded: whether the reward of other factors enters beside them (a step of a stream), or
            none is evaluated (an aggregate).
    """

    policies: tuple[Policy, ...] = ()
    environments: tuple[AbstractEnvironment[Any], ...] = ()
    rewarded: bool = eqx.field(static=True, default=True)

    def evaluate(self, trajectories: Trajectories) -> list[Steps]:
        """The terms of each along base trajectories, replayed through its own latent."""
        pairs = zip(self.policies, self.environments, strict=True)
        return [evaluate(policy, environment, trajectories) for policy, environment in pairs]


NO_SAMPLERS = FrozenSamplers()


class TrainState(NamedTuple):
    """What the next step needs; every leaf has a leading axis, one entry per seed.

    Attributes:
        sampler: what is learned.
        optimizer: the state of the optimiser.
        buffer: terminal states for replay, or None.
        step: how many steps were done.
    """

    sampler: Sampler
    optimizer: Any
    buffer: Buffer | None
    step: Int[Array, " seeds"]
