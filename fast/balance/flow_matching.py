"""Flow matching, the one condition that looks at all parents of a state."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fast.balance.loss import PolicyLoss
from fast.balance.losses import PENALTIES, Penalised
from fast.balance.steps import rows_of
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.trajectories import Trajectories


def fm_residuals(
    policy: Policy, environment: AbstractEnvironment, trajectories: Trajectories
) -> Float[Array, "batch time"]:
    """Flow matching: `log sum over parents s of F(s) p_F(s'|s) - log F(s')`, with `F(x) = R(x)`.

    One residual for each state `s' = s_1, ..., s_T` of a trajectory; zero where padded. Flows out
    of a state match by construction, as `p_F` is a law. For Markovian policies only: the parents of
    a lifted state are pairs `(s, W)` of which a trajectory shows one. (Bengio et al., Flow network
    based generative models, 2021.)

    Args:
        policy: a Markovian policy that has flows.
        environment: the state graph as array code.
        trajectories: the batch, padded to the horizon.
    """
    after = rows_of(trajectories).after
    mask = jax.vmap(environment.parent_mask)(after)
    slots = jnp.arange(environment.parents)
    parents = jax.vmap(jax.vmap(environment.backward_step, (None, 0)), (0, None))(after, slots)
    actions = jax.vmap(jax.vmap(environment.redo, (None, 0)), (0, None))(after, slots)
    outputs = policy.network.read((), jax.vmap(jax.vmap(environment.observe))(parents))
    log_p_f = policy.log_p_f(outputs, jax.vmap(jax.vmap(environment.mask))(parents))
    taken = jnp.take_along_axis(log_p_f, actions[..., None], -1)[..., 0]
    inflow = jnp.where(mask, policy.log_flow(outputs) + taken, -jnp.inf)
    own = policy.log_flow(policy.network.read((), jax.vmap(environment.observe)(after)))
    shape = trajectories.active.shape
    is_last = jnp.arange(shape[1]) + 1 == trajectories.active.sum(1, keepdims=True)
    outflow = jnp.where(is_last, trajectories.log_reward[:, None], own.reshape(shape))
    # Padding may have no parents: its sum is replaced before it is subtracted.
    arrived = jnp.where(mask.any(-1, keepdims=True), inflow, 0.0)
    total = jax.nn.logsumexp(arrived, -1).reshape(shape)
    return jnp.where(trajectories.active, total - outflow, 0.0)


@dataclass(frozen=True)
class FlowMatching(Penalised, PolicyLoss):
    """Flow matching, for Markovian dynamics (eq:conditionsa): inflow equals outflow."""

    name: ClassVar[str] = "fm"
    needs_flow: ClassVar[bool] = True
    needs_markovian: ClassVar[bool] = True
    reads_backward: ClassVar[bool] = False
    source: ClassVar[str] = "Bengio et al., Flow network based generative models, 2021"

    def penalties(
        self, policy: Policy, environment: AbstractEnvironment, trajectories: Trajectories
    ) -> Float[Array, "batch time"]:
        """The penalties of `fm_residuals`."""
        residuals = PENALTIES[self.penalty](fm_residuals(policy, environment, trajectories))
        return jnp.where(trajectories.active, residuals, 0.0)
