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
from fast.dynamics.state_table import StateTable, with_table
from fast.environments import AbstractEnvironment
from reference.contract.errors import require

Network = AbstractDynamics[Any]


class WithHead(AbstractDynamics[Latent]):
    """Latent dynamics, a perceptron on their read-out, and a table by state beside it, if any."""

    needs_head: ClassVar[bool] = False
    dynamics: AbstractDynamics[Latent]
    head: Perceptron
    table: StateTable | None
    output: int = eqx.field(static=True)

    def __init__(self, dynamics: AbstractDynamics[Latent], head: Perceptron):
        self.dynamics, self.head, self.table = dynamics, head, None
        self.output = head.weights[-1].shape[-1]

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

    def after(
        self, read_out: ReadOut, observation: Features, products: Activations = ()
    ) -> ReadOut:
        """The outputs, given the read-out, and the products of the head where they are known.

        Args:
            read_out: the read-out of the latent.
            observation: the features of the state.
            products: products of the head's layers that sampling cached.
        """
        return with_table(self.table, self.head.recall(read_out, products), observation)

    def record(self, latent: Latent, observation: Features) -> tuple[ReadOut, Activations]:
        """The outputs, and the products of the head, after its input if that has a history."""
        read_out = self.dynamics.read(latent, observation)
        outputs, products = self.head.record(read_out)
        outputs = with_table(self.table, outputs, observation)
        return outputs, products if self.is_markovian else (read_out, *products)

    def recall(self, observations: FeaturesAlong, activations: Activations) -> ReadOutsAlong:
        products = activations if self.is_markovian else activations[1:]
        return self.after(self.dynamics.unroll(observations), observations, products)


@dataclass(frozen=True)
class HeadOptions(DynamicsOptions[Network]):
    """A cell with a perceptron on its read-out."""

    table_rows: int = 0
    """Rows of a table of logits by state, added to the head and to a learned backward policy; its
    entries are not counted in the parameters. States that share a row are told apart by the head.
    0 for none."""
    biases: bool = True
    """Biases in the layers of the head; without them its outputs are 0 where its inputs are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "table_rows", 0 <= self.table_rows <= 2**24, "lie from 0 to 2^24")

    @property
    def rows_by_state(self) -> int:
        """Rows of the table of logits by state."""
        return self.table_rows

    def cell(self, environment: AbstractEnvironment, *, key: PRNGKeyArray) -> Network:
        """The latent dynamics without their head."""
        raise NotImplementedError

    def build(
        self, environment: AbstractEnvironment, outputs: int, width: int, *, key: PRNGKeyArray
    ) -> Network:
        """The cell and its head."""
        cell_key, head_key = jax.random.split(key)
        cell = self.cell(environment, key=cell_key)
        sizes = [cell.output, *[width] * self.layers, outputs]
        return WithHead(cell, Perceptron(sizes, biases=self.biases, key=head_key))
