"""Training of one network in all contexts of a conditional problem."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.dynamics.in_context import starting_in_context
from fast.environments import AbstractEnvironment
from fast.environments.contexts import Contexts
from fast.policies.policy import Sampler
from fast.sampling.replay import Buffer
from fast.training.build import make_policy
from fast.training.compose import TrainConfig
from fast.training.method import Gradient
from fast.training.networks import Networks
from fast.training.state import TrainState
from reference.errors import InputError


class PerContext(Networks):
    """An ordinary step in each context, with one network: `log Z` and replay are each context's.

    A batch is shared evenly, and the gradient is the mean of those of the contexts. So no law of
    contexts is learned, and every loss means in each context what it means on an ordinary problem.
    (Zhang et al., Robust scheduling with GFlowNets, 2023; Kim et al., Learning to scale logits,
    2024.)
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        # The contexts are side by side in `vmap`, where all branches are taken.
        self.schedule = self.schedule._replace(skips_ended=False)

    def begin(self, environment: Any, seed: Int[Array, ""]) -> tuple[Sampler, Buffer | None]:
        """The initial policy, and for each context the best `log Z` for a uniform policy."""
        made = make_policy(self.config, environment.at(0), key=self.key(seed, "policy"))
        network = starting_in_context(made.network, environment.size)
        policy = eqx.tree_at(lambda tree: tree.network, made, network)
        log_z, buffer = jax.vmap(lambda one: self.begin_beside(policy, one, seed))(
            environment.in_training
        )
        return Sampler(policy, log_z), buffer

    def learn(
        self, environment: Any, state: TrainState, key: PRNGKeyArray
    ) -> tuple[Gradient, Buffer | None]:
        """The mean gradient of the loss over the contexts; `log Z` has its own in each."""
        share = self.config.sampling.batch // environment.trained
        shape = (environment.trained, environment.at(0).horizon + 1, share)
        draws = jax.random.uniform(key, shape)
        keys = jax.random.split(jax.random.fold_in(key, 1), environment.trained)

        def of_context(
            one: AbstractEnvironment[Any],
            log_z: Float[Array, ""],
            buffer: Buffer | None,
            draws: Float[Array, "rows batch"],
            key: PRNGKeyArray,
        ) -> tuple[Gradient, Buffer | None]:
            here = state._replace(sampler=Sampler(state.sampler.policy, log_z), buffer=buffer)
            return self.of_draws(one, here, draws, key=key)

        each, buffer = jax.vmap(of_context)(
            environment.in_training, state.sampler.log_z, state.buffer, draws, keys
        )
        by_policy = jax.tree.map(lambda leaf: leaf.mean(0), each.by.policy)
        by = Sampler(by_policy, each.by.log_z)
        return Gradient(jnp.mean(each.loss), jnp.mean(each.log_z), by, each.starting_log_z), buffer


def check_contexts(config: TrainConfig, contexts: Contexts) -> None:
    """Refuses a configuration that cannot train in so many contexts."""
    least = contexts.trained * max(config.loss.least_batch, 2 if config.replay.capacity else 1)
    if config.sampling.batch < least:
        raise InputError(
            f"batch is {config.sampling.batch} for {contexts.trained} contexts, which share each "
            f"batch: make it at least {least}"
        )
    refused = {
        f"dynamics {config.name_of('dynamics')}": not config.dynamics.is_summable,
        "p_b lifted": config.p_b.reads_latent,
        f"{config.run.devices} devices": config.run.devices > 1,
        "tables by state": config.dynamics.rows_by_state > 0,
        f"{len(config.factors.frozen)} frozen runs": bool(config.factors.frozen),
    }
    for name, is_chosen in refused.items():
        if is_chosen:
            raise InputError(
                f"{name} with {contexts.trained} contexts, which are trained side by side on one "
                "device, by a network without these: leave it out, or train on one --context"
            )
