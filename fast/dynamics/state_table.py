"""A table of outputs by state, beside a head: states that are seen often are remembered."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from fast.dynamics.base import Features


class StateTable(eqx.Module):
    """Outputs of a state: the row of a table at a hash of its features.

    Features are compared as float32, so they must be exact numbers, such as one-hot codes. Two
    states that share a row are told apart by the head alone. Rows start at zero. Of a batch there
    may be its rows alone: `places` then says where one of the table is among them.
    """

    rows: Float[Array, "rows outputs"]
    places: Int[Array, " table"] | None = None

    def __call__(self, observation: Features) -> Float[Array, "*batch outputs"]:
        """The rows of a batch of states."""
        if self.places is None:
            return self.rows[row_of(observation, len(self.rows))]
        return self.rows[self.places[row_of(observation, len(self.places))]]

    def of(self, numbers: Int[Array, " batch"]) -> "StateTable":
        """The rows of these numbers alone; equal numbers share the place of one of them."""
        order = jnp.arange(len(numbers), dtype=jnp.int32)
        places = jnp.zeros(len(self.rows), jnp.int32).at[numbers].set(order)
        return StateTable(self.rows[numbers], places)


def row_of(observation: Features, rows: int) -> Int[Array, "*batch"]:
    """A hash of the features, below `rows`: a multilinear one, mixed as in MurmurHash3."""
    # Adding zero makes -0.0 a 0.0.
    bits = lax.bitcast_convert_type(observation.astype(jnp.float32) + 0.0, jnp.uint32)
    # A short mantissa leaves the low bits zero, which a product does not change.
    bits = bits ^ (bits >> 23) ^ (bits >> 11)
    factors = np.random.default_rng(0).integers(2**32, size=observation.shape[-1], dtype=np.uint32)
    mixed = jnp.sum(bits * (factors | np.uint32(1)), -1, dtype=jnp.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ (mixed >> shift)) * np.uint32(factor)
    return ((mixed ^ (mixed >> 16)) % np.uint32(rows)).astype(jnp.int32)


def is_table(leaf: Any) -> bool:
    """True for a table."""
    return isinstance(leaf, StateTable)


def with_table(table: Any, outputs: Array, observation: Features) -> Array:
    """The outputs of a head, and what the table adds to them, if there is one.

    Args:
        table: a row of numbers for each state; None for none.
        outputs: the outputs of the head.
        observation: the features of the state.
    """
    return outputs if table is None else outputs + table(observation)
