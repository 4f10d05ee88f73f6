"""What a network gives along trajectories in each of the ways there are, as NumPy arrays."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.dynamics.base import AbstractDynamics
from fast.sampling.trajectories import Trajectories
from reference.errors import InputError


class Along(NamedTuple):
    """What a network gives along observations, in one precision; shape (2, batch, time, output).

    Attributes:
        unrolled: by `unroll`.
        stepwise: by `read`, after `initial` and `advance`.
        recalled: by `recall` of what `record` gave at each step.
    """

    unrolled: Any
    stepwise: Any
    recalled: Any


def cast(network: AbstractDynamics[Any], dtype: Any) -> AbstractDynamics[Any]:
    """The network with its parameters in another precision."""
    return jax.tree.map(  # type: ignore[no-any-return]
        lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, network
    )


@eqx.filter_jit
def _all_ways(network: AbstractDynamics[Any], observations: Any) -> Along:
    """What it gives along trajectories in each of the ways, step by step in a Python loop."""
    latent = network.initial(observations.shape[:-2])
    steps, records = [], []
    for time in range(observations.shape[-2]):
        if time:
            latent = network.advance(latent, observations[..., time, :])
        steps.append(network.read(latent, observations[..., time, :]))
        records.append(network.record(latent, observations[..., time, :])[1])
    # Time first, as sampling stacks them.
    cached = jax.tree.map(lambda *leaves: jnp.stack(leaves), *records)
    flat = observations.reshape(-1, *observations.shape[-2:])
    rows = tuple(leaf.reshape(leaf.shape[0], len(flat), *leaf.shape[3:]) for leaf in cached)
    if network.is_markovian:
        # Rows, each a state by itself: trajectories have no axis of time there.
        lined = tuple(jnp.swapaxes(leaf, 0, 1).reshape(-1, *leaf.shape[2:]) for leaf in rows)
        recalled = network.recall(flat.reshape(-1, flat.shape[-1]), lined)
    else:
        by_batch = tuple(jnp.swapaxes(leaf, 0, 1) for leaf in rows)
        recalled = network.recall(flat, by_batch)
    return Along(network.unroll(observations), jnp.stack(steps, -2), recalled)


def along(name: str, network: AbstractDynamics[Any], observations: Any) -> Along:
    """The same as NumPy arrays of one shape.

    Raises:
        InputError: if a result is not finite, or `recall` gives another number of them.
    """
    shape = (*observations.shape[:-1], network.output)
    unrolled, stepwise, recalled = map(np.asarray, _all_ways(network, observations))
    for method, value in (("unroll", unrolled), ("read", stepwise)):
        if not np.isfinite(value).all():
            raise InputError(
                f"{name}: {method}() gives numbers that are not finite in {value.dtype}: "
                "normalise the latent, or start from smaller parameters"
            )
    if recalled.size != unrolled.size:
        raise InputError(
            f"{name}: recall() gives {recalled.size} numbers, and unroll() {unrolled.size}: let it "
            "give what unroll() gives"
        )
    return Along(unrolled, stepwise, recalled.reshape(shape))


def has_memory(seen: Any, unrolled: Any, drawn: Trajectories, tolerance: float) -> bool | None:
    """Whether states that look the same give different outputs, on trajectories under way.

    None if no state was reached in two ways, so that there is nothing to tell.
    """
    active = np.asarray(drawn.active)
    features = seen.reshape(*active.shape[:1], -1, seen.shape[-1])[:, : active.shape[1]]
    outputs = unrolled.reshape(*active.shape[:1], -1, unrolled.shape[-1])[:, : active.shape[1]]
    first: dict[bytes, tuple[bytes, Any]] = {}
    answer = None
    for batch, time in np.argwhere(active).tolist():
        history = features[batch, : time + 1].tobytes()
        output = outputs[batch, time]
        other, its = first.setdefault(features[batch, time].tobytes(), (history, output))
        if np.abs(its - output).max() > tolerance * np.abs(unrolled).max():
            return True
        answer = answer if other == history else False
    return answer
