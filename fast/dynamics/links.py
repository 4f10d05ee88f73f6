"""The link functions zeta of fast weights, which bound keys and queries."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Link = Literal["elu", "softmax", "identity"]
# Maps onto the simplex, which bound the written vectors.
SimplexLink = Literal["elu", "softmax"]


def linked(x: Float[Array, "*batch d"], link: Link) -> Float[Array, "*batch d"]:
    """`zeta(x)`, on the last axis.

    "elu" is `(ELU(x) + 1) / sum(ELU(x) + 1)` (eq:sigmasa), "softmax" the example given with
    eq:ASRWM, "identity" the paper's ablation.
    """
    if link == "identity":
        return x
    if link == "softmax":
        return jax.nn.softmax(x)
    # ELU(x) + 1; taken literally, it cancels for negative x, in the end to 0/0.
    positive = jnp.where(x >= 0, x + 1, jnp.exp(jnp.minimum(x, 0)))
    return positive / positive.sum(-1, keepdims=True)
