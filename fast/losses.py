"""Losses as functions of the log residuals of trajectories."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def log_ratio(
    log_p_f: Float[Array, " batch"],
    log_p_b: Float[Array, " batch"],
    log_reward: Float[Array, " batch"],
) -> Float[Array, " batch"]:
    """`f(tau) = log( p_F(tau) / (p_B(tau|x) R(x)) )`, in nats.

    The residual of trajectory balance is `delta(tau) = log Z + f(tau)`.
    """
    return log_p_f - log_p_b - log_reward


def tb(f: Float[Array, " batch"], log_z: Float[Array, ""]) -> Float[Array, ""]:
    """The trajectory balance loss, the mean of `(log Z + f(tau))^2`.

    Paper: col:objectives. (Malkin et al., Trajectory balance, 2022.)
    """
    return jnp.mean((log_z + f) ** 2)


def log_variance(f: Float[Array, " batch"]) -> Float[Array, ""]:
    """The contrastive balance loss, `E (f(tau) - f(tau'))^2 = 2 Var f`, without bias.

    Needs no `log Z`; it is twice the trajectory balance loss at the best `log Z = -E f`.
    Paper: col:objectives, "variance loss". (Richter et al., VarGrad, 2020; Zhang et al., Robust
    scheduling with GFlowNets, 2023.)
    """
    return 2 * jnp.var(f, ddof=1)
