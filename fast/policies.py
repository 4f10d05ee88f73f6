"""Forward policies: latent dynamics, then a perceptron that scores the actions."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fast.config import TrainConfig
from fast.dynamics import SRWM, AbstractDynamics, Markov
from fast.environments import AbstractEnvironment
from reference.errors import InputError

# An additive mask. The paper multiplies by {1, -inf}, which turns a negative logit into +inf.
MASKED = -1e9


class Perceptron(eqx.Module):
    """Linear layers with leaky ReLU (slope 0.01) between them, on the last axis.

    Attributes:
        weights: one matrix per layer, shape (out, in).
        biases: one vector per layer.
    """

    weights: list[Float[Array, "out in"]]
    biases: list[Float[Array, " out"]]

    def __init__(self, sizes: Sequence[int], *, key: PRNGKeyArray):
        keys = jax.random.split(key, len(sizes) - 1)
        pairs = list(itertools.pairwise(sizes))
        self.weights = [
            jax.random.normal(k, (m, n)) * (2.0 / n) ** 0.5
            for k, (n, m) in zip(keys, pairs, strict=True)
        ]
        # A small last layer makes the untrained policy nearly uniform.
        self.weights[-1] = self.weights[-1] * 0.01
        self.biases = [jnp.zeros(m) for _, m in pairs]

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:
        """The outputs of the last layer."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.leaky_relu(x @ weight.T + bias, 0.01)
        return x @ self.weights[-1].T + self.biases[-1]


class Policy(eqx.Module):
    """A forward policy `p_F(. | s_t, W_t)`: dynamics and a head over the environment's actions."""

    dynamics: AbstractDynamics[Any]
    head: Perceptron

    def log_probabilities(
        self,
        latent: Any,
        observation: Float[Array, "*batch features"],
        mask: Bool[Array, "*batch actions"],
    ) -> Float[Array, "*batch actions"]:
        """`log p_F` of every action at one step, in nats; about -1e9 where masked."""
        return _log_softmax(self.head(self.dynamics.read(latent, observation)), mask)

    def unroll(
        self,
        observations: Float[Array, "*batch time features"],
        masks: Bool[Array, "*batch time actions"],
    ) -> Float[Array, "*batch time actions"]:
        """The same along known trajectories, all steps at once."""
        return _log_softmax(self.head(self.dynamics.unroll(observations)), masks)


def _log_softmax(logits: Array, mask: Array) -> Array:
    return jax.nn.log_softmax(jnp.where(mask, logits, MASKED))


def make_policy(
    config: TrainConfig, environment: AbstractEnvironment[Any], *, key: PRNGKeyArray
) -> Policy:
    """The policy of a configuration, as wide as its parameter budget allows.

    The Markovian head has three hidden layers on the features of the state, the path-dependent
    one a single hidden layer on the read-out `y_t`, as in the paper's appendix; the width of the
    hidden layers is chosen so that the number of parameters comes nearest to the budget.

    Raises:
        InputError: if no width comes within 5 % of the budget.
    """
    features = jax.eval_shape(lambda: environment.observe(environment.initial())).shape[0]

    def build(width: int, key: PRNGKeyArray) -> Policy:
        dynamics_key, head_key = jax.random.split(key)
        dynamics: AbstractDynamics[Any]
        if config.dynamics == "markov":
            dynamics, hidden = Markov(features), [width] * 3
        else:
            dynamics, hidden = (
                SRWM(
                    features,
                    config.latent_size,
                    environment.horizon,
                    rotation=config.rotation,
                    link=config.link,
                    write_key=config.write_key,
                    skip=config.skip,
                    key=dynamics_key,
                ),
                [width],
            )
        return Policy(
            dynamics, Perceptron([dynamics.output, *hidden, environment.actions], key=head_key)
        )

    return build(_fit_width(config, lambda width: build(width, key)), key)


def count_parameters(policy: Policy) -> int:
    """The number of trained numbers of a policy."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(policy, eqx.is_array)))


def _fit_width(config: TrainConfig, build: Callable[[int], Policy]) -> int:
    """The width whose parameter count is nearest to `config.parameters`, by bisection."""

    def count(width: int) -> int:
        shapes: Policy = eqx.filter_eval_shape(build, width)
        leaves = jax.tree.leaves(shapes)
        return sum(leaf.size for leaf in leaves if isinstance(leaf, jax.ShapeDtypeStruct))

    low, high = 1, 2
    while count(high) < config.parameters:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < config.parameters else (low, middle)
    width = min((low, high), key=lambda w: abs(count(w) - config.parameters))
    found = count(width)
    if abs(found - config.parameters) > 0.05 * config.parameters:
        raise InputError(
            f"parameters is {config.parameters:,}, but the {config.dynamics} policy nearest to it "
            f"has {found:,}: ask for a number within 5 % of that, or more"
        )
    return width
