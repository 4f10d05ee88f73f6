"""Recurrent networks (subsec:latent): a latent of vectors, fed by one product with the features."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import (
    AbstractDynamics,
    Features,
    FeaturesAlong,
    Latent,
    ReadOut,
    ReadOutsAlong,
)
from reference.contract.errors import InputError

# The weighted features of a state, for all gates.
Projected = Float[Array, "*batch rows"]
Vector = Float[Array, "*batch d"]


class AbstractRecurrence(AbstractDynamics[Latent]):
    """`W_t` is a function of `W_{t-1}` and of a linear map of `s_t`, and `y_t` a part of `W_t`.

    The embedding `psi` of the state is linear and is absorbed in that map. `s_o` itself is not fed
    in: its latent is `W_o`, which is learned. Along a known trajectory the map is one product for
    all steps, before the scan, which takes several `steps_at_once` where one is cheap.
    """

    has_small_latent = True
    steps_at_once: ClassVar[int] = 1

    @abstractmethod
    def project(self, observation: Features) -> Projected:
        """The part of the update that depends on the state alone."""

    @abstractmethod
    def update(self, latent: Latent, projected: Projected) -> Latent:
        """`W_t` from `W_{t-1}` and the projected state."""

    @abstractmethod
    def visible(self, latent: Latent) -> ReadOut:
        """`y_t`."""

    def advance(self, latent: Latent, observation: Features) -> Latent:
        return self.update(latent, self.project(observation))

    def read(self, latent: Latent, observation: Features) -> ReadOut:
        return self.visible(latent)

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        def one_step(latent: Latent, projected: Array) -> tuple[Latent, Array]:
            latent = self.update(latent, projected)
            return latent, self.visible(latent)

        start = self.initial(observations.shape[:-2])
        projected = jnp.moveaxis(self.project(observations[..., 1:, :]), -2, 0)
        later: Array = lax.scan(one_step, start, projected, unroll=self.steps_at_once)[1]
        return jnp.moveaxis(jnp.concatenate([self.visible(start)[None], later]), 0, -2)


class VectorRecurrence(AbstractRecurrence[Vector]):
    """A recurrence whose latent is one vector, which is read out as it is; `W_o` is `start`."""

    start: eqx.AbstractVar[Float[Array, " d"]]

    def initial(self, batch: tuple[int, ...] = ()) -> Vector:
        return jnp.broadcast_to(self.start, (*batch, self.output))

    def visible(self, latent: Vector) -> Vector:
        return latent


def input_weights(
    gates: int, size: int, features: int, *, key: PRNGKeyArray
) -> Float[Array, "rows features"]:
    """Weights from the features to each gate, uniform (Glorot and Bengio, 2010).

    Args:
        gates: the number of gates.
        size: the size of the latent.
        features: the number of features of a state.
        key: a random key of JAX.
    """
    glorot = jax.nn.initializers.glorot_uniform(in_axis=-1, out_axis=-2, batch_axis=0)
    return glorot(key, (gates, size, features)).reshape(gates * size, features)


def recurrent_weights(gates: int, size: int, *, key: PRNGKeyArray) -> Float[Array, "rows size"]:
    """Weights from the latent to each gate, orthogonal (Saxe et al., 2014).

    Args:
        gates: the number of gates.
        size: the size of the latent.
        key: a random key of JAX.
    """
    return jax.random.orthogonal(key, size, (gates,)).reshape(gates * size, size)


def check_size(name: str, size: int) -> None:
    """Refuses an empty latent."""
    if size < 1:
        raise InputError(f"{name} has size {size}, but its latent needs an entry at least")
