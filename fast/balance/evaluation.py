"""The terms of a batch, and the way back from their derivatives to those of the policy."""

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fast.balance.steps import Steps, rows_of
from fast.dynamics.head import WithHead
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.trajectories import Cached, Trajectories

# From derivatives by `log p_F`, `log p_B` and `log F` to those by the policy's parameters.
Pullback = Callable[[Float[Array, "3 batch time"]], Policy]


class Evaluation(Protocol):
    """What `fast.balance.steps.evaluate` gives, its specification, and the pullback of its terms.

    The implementations differ in what they spare: `markovian_rows` and `read_out_rows` what ended
    trajectories would cost the network, or its head; `recurrent_groups`, for all others, the
    memory of a whole batch. All spare what sampling has cached.
    """

    def __call__(
        self,
        policy: Policy,
        environment: AbstractEnvironment[Any],
        trajectories: Trajectories,
        cached: Cached | None = None,
        *,
        skip_ended: bool = True,
    ) -> tuple[Steps, Pullback]:
        """Evaluates a policy on a batch.

        Args:
            policy: the policy.
            environment: the state graph.
            trajectories: a batch.
            cached: what sampling found out: spares evaluations, and lets policies that are not
                Markovian go group by group.
            skip_ended: whether groups are cut where their trajectories have ended. Inside `vmap`
                that is slower, as there all branches are taken.
        """


def evaluate_with_pullback(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    cached: Cached | None = None,
    *,
    skip_ended: bool = True,
) -> tuple[Steps, Pullback]:
    """The terms and their pullback, by the evaluation that fits the policy."""
    from fast.balance.markovian_rows import markovian_rows
    from fast.balance.read_out_rows import read_out_rows
    from fast.balance.recurrent_groups import recurrent_groups

    evaluation: Evaluation = recurrent_groups
    if policy.is_markovian:
        evaluation = markovian_rows
    elif isinstance(policy.network, WithHead) and not policy.backward.reads_latent:
        evaluation = read_out_rows
    return evaluation(policy, environment, trajectories, cached, skip_ended=skip_ended)


def cached_terms(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    cached: Cached | None,
) -> Float[Array, "3 batch time"] | None:
    """The terms, if they are known from sampling: with a uniform `p_B` and no flow."""
    if cached is None or not policy.backward.is_uniform or policy.has_flow:
        return None
    log_p_f = cached.log_p_f
    parents = jax.vmap(environment.parent_mask)(rows_of(trajectories).after).sum(-1)
    log_p_b = -jnp.log(jnp.maximum(parents, 1)).astype(log_p_f.dtype).reshape(log_p_f.shape)
    return jnp.stack([log_p_f, log_p_b, jnp.zeros_like(log_p_f)])
