"""Networks: what maps `(s_t, W_t)` to the numbers of which a policy makes laws and flows."""

import itertools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics import AbstractDynamics

Latent = TypeVar("Latent")

# Matrix products of a network's layers, one array per layer.
Products = tuple[Float[Array, "*batch out"], ...]


class AbstractNetwork(eqx.Module, Generic[Latent]):
    """A function of the lifted state `(s_t, W_t)`, together with the dynamics of `W_t`.

    Every method accepts leading batch axes. `unroll` is `evaluate`, after `initial` and `advance`,
    along a known trajectory; it may be computed in any other way that gives the same numbers.

    The gradient on trajectories just sampled needs what `evaluate` went through. A network may hand
    it out by `record` and take it back by `recall`, which then computes derivatives alone.

    Attributes:
        outputs: how many numbers it gives; the first are the logits of the actions.
    """

    outputs: eqx.AbstractVar[int]

    @property
    @abstractmethod
    def is_markovian(self) -> bool:
        """Whether the outputs are a function of the state alone (the latent is then `()`)."""

    @abstractmethod
    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        """`W_o` at the initial state, for a batch."""

    @abstractmethod
    def advance(self, latent: Latent, observation: Float[Array, "*batch features"]) -> Latent:
        """`W_t` on arrival in `s_t`, `t >= 1`."""

    @abstractmethod
    def evaluate(
        self, latent: Latent, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch outputs"]:
        """The outputs at `(s_t, W_t)`."""

    @abstractmethod
    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time outputs"]:
        """The outputs along `s_0, ..., s_{T-1}`."""

    def record(
        self, latent: Latent, observation: Float[Array, "*batch features"]
    ) -> tuple[Float[Array, "*batch outputs"], Products]:
        """What `evaluate` gives, and what `recall` asks for; by default nothing."""
        return self.evaluate(latent, observation), ()

    def recall(
        self, observations: Float[Array, "*batch time features"], products: Products
    ) -> Float[Array, "*batch time outputs"]:
        """What `unroll` gives, with its derivatives, if `record` gave the products on the way.

        Without products it is `unroll`.
        """
        return self.unroll(observations)


@jax.custom_vjp
def known_product(
    x: Float[Array, "*batch in"],
    weight: Float[Array, "in out"],
    product: Float[Array, "*batch out"],
) -> Float[Array, "*batch out"]:
    """`x @ weight`, which is known to be `product`: only its derivatives are computed."""
    return product


def _known_forth(x: Array, weight: Array, product: Array) -> tuple[Array, tuple[Array, Array]]:
    return product, (x, weight)


def _known_back(kept: tuple[Array, Array], by_product: Array) -> tuple[Array, Array, Array]:
    x, weight = kept
    by_weight = jnp.einsum("...i,...j->ij", x, by_product)
    return by_product @ weight.T, by_weight, jnp.zeros_like(by_product)


known_product.defvjp(_known_forth, _known_back)


class Perceptron(eqx.Module):
    """Linear layers with leaky ReLU (slope 0.01) between them, on the last axis.

    Attributes:
        weights: one matrix per layer, shape (in, out): the other way round, each product of a
            small batch would first rearrange it.
        biases: one vector per layer.
    """

    weights: list[Float[Array, "in out"]]
    biases: list[Float[Array, " out"]]

    def __init__(self, sizes: Sequence[int], *, key: PRNGKeyArray):
        keys = jax.random.split(key, len(sizes) - 1)
        pairs = list(itertools.pairwise(sizes))
        self.weights = [
            jax.random.normal(k, (n, m)) * (2.0 / n) ** 0.5
            for k, (n, m) in zip(keys, pairs, strict=True)
        ]
        # A small last layer makes the untrained policy nearly uniform.
        self.weights[-1] = self.weights[-1] * 0.01
        self.biases = [jnp.zeros(m) for _, m in pairs]

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:
        """The outputs of the last layer."""
        return self.record(x)[0]

    def record(self, x: Float[Array, "*batch in"]) -> tuple[Float[Array, "*batch out"], Products]:
        """The outputs, and the product of every layer."""
        products: list[Array] = []

        def multiply(x: Array, weight: Array) -> Array:
            products.append(x @ weight)
            return products[-1]

        return self._through(x, multiply), tuple(products)

    def recall(
        self, x: Float[Array, "*batch in"], products: Products
    ) -> Float[Array, "*batch out"]:
        """The outputs, if the products are known; without any, they are computed."""
        if not products:
            return self(x)
        each = iter(products)
        return self._through(x, lambda x, weight: known_product(x, weight, next(each)))

    def _through(self, x: Array, multiply: Callable[[Array, Array], Array]) -> Array:
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.leaky_relu(multiply(x, weight) + bias, 0.01)
        return multiply(x, self.weights[-1]) + self.biases[-1]


class AbstractMarkovianNetwork(AbstractNetwork[tuple[()]]):
    """A function of the state alone: only `evaluate` is left to define."""

    @property
    def is_markovian(self) -> bool:
        return True

    def initial(self, batch: tuple[int, ...] = ()) -> tuple[()]:
        return ()

    def advance(self, latent: tuple[()], observation: Float[Array, "*batch features"]) -> tuple[()]:
        return ()

    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time outputs"]:
        return self.evaluate((), observations)


class UniformNetwork(AbstractMarkovianNetwork):
    """All outputs zero: the policy that chooses uniformly among the legal actions."""

    outputs: int = eqx.field(static=True)

    def evaluate(
        self, latent: tuple[()], observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch outputs"]:
        return jnp.zeros((*observation.shape[:-1], self.outputs), observation.dtype)


class ReadOutNetwork(AbstractNetwork[Latent]):
    """Latent dynamics, and a head on what they read out.

    Attributes:
        dynamics: of the latent.
        head: a perceptron, or None if the read-outs are the outputs.
    """

    dynamics: AbstractDynamics[Latent]
    head: Perceptron | None
    outputs: int = eqx.field(static=True)

    def __init__(self, dynamics: AbstractDynamics[Latent], head: Perceptron | None):
        self.dynamics = dynamics
        self.head = head
        self.outputs = dynamics.output if head is None else head.biases[-1].size

    @property
    def is_markovian(self) -> bool:
        return self.dynamics.is_markovian

    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        return self.dynamics.initial(batch)

    def advance(self, latent: Latent, observation: Float[Array, "*batch features"]) -> Latent:
        return self.dynamics.advance(latent, observation)

    def evaluate(
        self, latent: Latent, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch outputs"]:
        return self.record(latent, observation)[0]

    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time outputs"]:
        return self.recall(observations, ())

    def record(
        self, latent: Latent, observation: Float[Array, "*batch features"]
    ) -> tuple[Float[Array, "*batch outputs"], Products]:
        read = self.dynamics.read(latent, observation)
        return (read, ()) if self.head is None else self.head.record(read)

    def recall(
        self, observations: Float[Array, "*batch time features"], products: Products
    ) -> Float[Array, "*batch time outputs"]:
        read = self.dynamics.unroll(observations)
        return read if self.head is None else self.head.recall(read, products)
