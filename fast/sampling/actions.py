"""Actions, drawn by inverting a distribution function at a uniform number."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int


class Exploration(NamedTuple):
    """Actions from `(1 - epsilon) softmax(log p_F / temperature) + epsilon uniform`."""

    epsilon: float | Float[Array, ""] = 0.0
    temperature: float | Float[Array, ""] = 1.0


ON_POLICY = Exploration()


def draw_action(
    log_p: Float[Array, "batch actions"],
    mask: Bool[Array, "batch actions"],
    draw: Float[Array, " batch"],
    exploration: Exploration,
) -> Int[Array, " batch"]:
    """The action at which the distribution function exceeds the draw; always a legal one.

    Draws are uniform on [0, 1); `log p_F` is in nats.

    Args:
        log_p: `log p_F`, in nats.
        mask: the legal actions.
        draw: uniform on [0, 1).
        exploration: how actions differ from p_F.
    """
    epsilon, temperature = exploration
    if not isinstance(temperature, float) or temperature != 1.0:
        log_p = jax.nn.log_softmax(log_p / temperature)
    p = jnp.exp(log_p)
    if not isinstance(epsilon, float) or epsilon != 0.0:
        p = (1 - epsilon) * p + epsilon * mask / mask.sum(-1, keepdims=True)
    p = jnp.where(mask, p, 0.0)
    # Logits below those of masked actions leave nothing, as when an untrained latent overflows.
    p = jnp.where((p.sum(-1) == 0)[:, None], mask, p)
    # On a CPU a loop over the actions is several times as fast as `cumsum`, elsewhere much slower.
    chosen: Array = lax.platform_dependent(
        p, draw * p.sum(-1), cpu=_invert_by_loop, default=_invert_by_cumsum
    )
    return chosen


def _invert_by_loop(
    p: Float[Array, "batch actions"], level: Float[Array, " batch"]
) -> Int[Array, " batch"]:
    """The last action of positive probability before which the partial sum is at most the level.

    Such an action exists if the level is at least 0, however the sums are rounded. A NaN counts as
    positive and as small, so that a policy that diverged takes legal actions too.
    """

    def move(carry: Any, column: Any) -> tuple[Any, None]:
        before, chosen = carry
        action, p = column
        return (before + p, jnp.where(~(p <= 0) & ~(before > level), action, chosen)), None

    start = (jnp.zeros_like(level), jnp.zeros(level.shape, jnp.int32))
    (_, chosen), _ = lax.scan(move, start, (jnp.arange(p.shape[1], dtype=jnp.int32), p.T))
    return chosen


def _invert_by_cumsum(
    p: Float[Array, "batch actions"], level: Float[Array, " batch"]
) -> Int[Array, " batch"]:
    """The action of `_invert_by_loop`, up to rounding, from all partial sums at once."""
    before = jnp.pad(jnp.cumsum(p, -1)[:, :-1], ((0, 0), (1, 0)))
    fits = ~(p <= 0) & ~(before > level[:, None])
    numbers = jnp.arange(1, p.shape[1] + 1, dtype=jnp.int32)
    return lax.argmax(jnp.where(fits, numbers, 0), 1, jnp.int32)
