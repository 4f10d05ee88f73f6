"""Latent dynamics with a head: together they give the outputs of a policy."""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from fast.dynamics.base import (
    AbstractDynamics,
    Activations,
    DynamicsOptions,
    Features,
    FeaturesAlong,
    Latent,
    ReadOut,
    ReadOutsAlong,
)
from fast.dynamics.perceptron import Perceptron
from fast.environments import AbstractEnvironment

Network = AbstractDynamics[Any]


class WithHead(AbstractDynamics[Latent]):
    """Latent dynamics, and a perceptron on their read-out.

    Attributes:
        dynamics: the dynamics of the latent.
        head: the perceptron.
    """

    needs_head: ClassVar[bool] = False
    dynamics: AbstractDynamics[Latent]
    head: Perceptron
    output: int = eqx.field(static=True)

    def __init__(self, dynamics: AbstractDynamics[Latent], head: Perceptron):
        self.dynamics, self.head = dynamics, head
        self.output = head.biases[-1].shape[-1]

    @property
    def is_markovian(self) -> bool:
        return self.dynamics.is_markovian

    @property
    def has_small_latent(self) -> bool:
        return self.dynamics.has_small_latent

    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        return self.dynamics.initial(batch)

    def advance(self, latent: Latent, observation: Features) -> Latent:
        return self.dynamics.advance(latent, observation)

    def read(self, latent: Latent, observation: Features) -> ReadOut:
        return self.record(latent, observation)[0]

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        return self.recall(observations, ())

    def record(self, latent: Latent, observation: Features) -> tuple[ReadOut, Activations]:
        """The outputs, and the products of the head, after its input if that has a history."""
        read_out = self.dynamics.read(latent, observation)
        outputs, products = self.head.record(read_out)
        return outputs, products if self.is_markovian else (read_out, *products)

    def recall(self, observations: FeaturesAlong, activations: Activations) -> ReadOutsAlong:
        products = activations if self.is_markovian else activations[1:]
        return self.head.recall(self.dynamics.unroll(observations), products)


@dataclass(frozen=True)
class HeadOptions(DynamicsOptions[Network]):
    """A cell with a perceptron on its read-out."""

    def cell(self, environment: AbstractEnvironment[Any], *, key: PRNGKeyArray) -> Network:
        """The latent dynamics without their head."""
        raise NotImplementedError

    def build(
        self, environment: AbstractEnvironment[Any], outputs: int, width: int, *, key: PRNGKeyArray
    ) -> Network:
        """The cell and its head."""
        cell_key, head_key = jax.random.split(key)
        cell = self.cell(environment, key=cell_key)
        sizes = [cell.output, *[width] * self.layers, outputs]
        return WithHead(cell, Perceptron(sizes, key=head_key))
