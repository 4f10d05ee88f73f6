"""The perceptron of heads, which can cache its activations for the gradient."""

import itertools
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Activations


@jax.custom_vjp
def known_product(
    x: Float[Array, "*batch in"],
    weight: Float[Array, "in out"],
    product: Float[Array, "*batch out"],
) -> Float[Array, "*batch out"]:
    """`x @ weight`, which is known to be `product`: only its derivatives are computed.

    Args:
        x: the inputs.
        weight: the weights.
        product: their product.
    """
    return product


def _known_back(kept: tuple[Array, Array], by_product: Array) -> tuple[Array, Array, Array]:
    x, weight = kept
    by_weight = jnp.einsum("...i,...j->ij", x, by_product)
    return by_product @ weight.T, by_weight, jnp.zeros_like(by_product)


known_product.defvjp(lambda x, weight, product: (product, (x, weight)), _known_back)


class Perceptron(eqx.Module):
    """Linear layers with leaky ReLU (slope 0.01) between them, on the last axis.

    Attributes:
        weights: one matrix per layer, shape (in, out): the other way round, each product of a
            small batch would first rearrange it.
        biases: one vector per layer, or none at all.
    """

    weights: list[Float[Array, "in out"]]
    biases: list[Float[Array, " out"]]

    def __init__(self, sizes: Sequence[int], *, biases: bool = True, key: PRNGKeyArray):
        pairs = list(itertools.pairwise(sizes))
        self.weights = [
            jax.random.normal(k, (n, m)) * (2.0 / n) ** 0.5
            for k, (n, m) in zip(jax.random.split(key, len(sizes) - 1), pairs, strict=True)
        ]
        # A small last layer makes the untrained policy nearly uniform.
        self.weights[-1] = self.weights[-1] * 0.01
        self.biases = [jnp.zeros(m) for _, m in pairs] if biases else []

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:
        """The outputs of the last layer."""
        return self.record(x)[0]

    def record(
        self, x: Float[Array, "*batch in"]
    ) -> tuple[Float[Array, "*batch out"], Activations]:
        """The outputs, and the product of every layer."""
        activations: list[Array] = []

        def multiply(x: Array, weight: Array) -> Array:
            activations.append(x @ weight)
            return activations[-1]

        return self._through(x, multiply), tuple(activations)

    def recall(
        self, x: Float[Array, "*batch in"], activations: Activations
    ) -> Float[Array, "*batch out"]:
        """The outputs, if the activations are known; without any, they are computed."""
        if not activations:
            return self(x)
        remaining = iter(activations)
        return self._through(x, lambda x, weight: known_product(x, weight, next(remaining)))

    def _through(self, x: Array, multiply: Callable[[Array, Array], Array]) -> Array:
        biases = self.biases or [jnp.zeros(())] * len(self.weights)
        for weight, bias in zip(self.weights[:-1], biases[:-1], strict=True):
            x = jax.nn.leaky_relu(multiply(x, weight) + bias, 0.01)
        return multiply(x, self.weights[-1]) + biases[-1]
