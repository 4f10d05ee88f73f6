"""Number and size of the features of a state."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fast.environments.base import AbstractEnvironment

SAMPLES = 1024


def feature_count(environment: AbstractEnvironment[Any]) -> int:
    """The number of features of a state."""
    shape = jax.eval_shape(lambda: environment.observe(environment.initial())).shape
    return int(shape[0])


def feature_norm(environment: AbstractEnvironment[Any]) -> Float[Array, ""]:
    """The typical length of the features of a state: `sqrt(E |observe(x)|^2)`, x uniform on X.

    It is `sqrt(k)` where k features are one and the others zero. The mean is over 1,024 terminal
    states, the same each time: trajectories of an untrained policy would not do, as those on a grid
    stop near its corner. It is 1 if the features of all these states are zero.
    """
    keys = jax.random.split(jax.random.key(0), SAMPLES)
    final = jax.vmap(environment.random_terminal)(keys)
    square = jnp.mean(jnp.sum(jax.vmap(environment.observe)(final) ** 2, -1))
    return jnp.sqrt(jnp.where(square > 0, square, 1.0))
