"""A trained sampler as a kernel in the shape of blackjax, which leaves the target invariant."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import decode_all
from fast.policies.policy import Policy
from fast.sampling.tail_chain import step_chains
from pdai.run import Run, proposing


class KernelState(NamedTuple):
    """A state of the chain: a terminal state, as the environment's arrays, and its `log R`."""

    position: Any
    logdensity: Float[Array, ""]


class KernelInfo(NamedTuple):
    """A step of the chain: whether its proposal was accepted."""

    is_accepted: Bool[Array, ""]


class Kernel(NamedTuple):
    """The two functions of blackjax's algorithms, and the problem's labels as positions.

    Attributes:
        init: `init(position)` is the first state; `rng_key` is not used.
        step: `step(rng_key, state)` is the next state with its info, for `jit`, `scan` and `vmap`.
        position: the position of a terminal state of the problem.
        labels: the terminal states of a batch of positions.
    """

    init: Callable[..., KernelState]
    step: Callable[[PRNGKeyArray, KernelState], tuple[KernelState, KernelInfo]]
    position: Callable[[Hashable], Any]
    labels: Callable[[Any], list[Any]]


def kernel(run: Run, seed: int | None = None) -> Kernel:
    """The chain of `pdai sample --correct` (claim tail-chain), one step at a time.

    Args:
        run: the run, whose policy proposes.
        seed: the seed of the policy; by default the run's first.

    Raises:
        InputError: if the latent is random, or `p_B` reads it.
    """
    policy = proposing(run.policy(seed), repr(run), "train with another --p-b or --dynamics")
    return kernel_of(policy, run.environment)


def kernel_of(policy: Policy, environment: AbstractEnvironment[Any]) -> Kernel:
    """The chain of a policy whose `p_B` reads no latent."""

    def init(position: Any, rng_key: PRNGKeyArray | None = None) -> KernelState:
        return KernelState(position, environment.log_reward(position))

    def step(rng_key: PRNGKeyArray, state: KernelState) -> tuple[KernelState, KernelInfo]:
        final = jax.tree.map(lambda leaf: leaf[None], state.position)
        after = step_chains(policy, environment, final, rng_key)
        position = jax.tree.map(lambda leaf: leaf[0], after.trajectories.final)
        log_reward = after.trajectories.log_reward[0]
        return KernelState(position, log_reward), KernelInfo(after.accepted[0] == 1)

    def position(label: Hashable) -> Any:
        return jax.tree.map(jnp.asarray, environment.encode(label))

    return Kernel(init, step, position, lambda batch: decode_all(environment, batch))
