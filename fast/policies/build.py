"""The policy of a configuration."""

from collections.abc import Callable
from typing import Any, assert_never

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from fast.dynamics import (
    GRU,
    LSTM,
    RNN,
    SRWM,
    AbstractDynamics,
    Linear,
    LinearMarkov,
    Markov,
    Reset,
    Skip,
)
from fast.dynamics.graph_networks import GCNNetwork, TemporalGCNNetwork
from fast.dynamics.networks import AbstractNetwork, Perceptron, ReadOutNetwork
from fast.environments import AbstractEnvironment, GraphEnvironment
from fast.policies.policy import Policy
from fast.training.config import TrainConfig
from reference.errors import InputError


def make_policy(
    config: TrainConfig, environment: AbstractEnvironment[Any], *, key: PRNGKeyArray
) -> Policy:
    """The policy of a configuration, as wide as its parameter budget allows.

    The Markovian head has three hidden layers on the features of the state, the path-dependent
    one a single hidden layer on the read-out `y_t`, as in the paper's appendix, or three with a
    skip connection, unless `hidden_layers` says otherwise; the width of the hidden layers is chosen
    so that the number of parameters comes nearest to the budget. The linear policies of prop:lines
    have no head: beside them a learned backward policy has the budget, and without one there is no
    width, and the budget is ignored.

    Raises:
        InputError: if no width comes within 5 % of the budget.
    """

    def build(width: int) -> Policy:
        return build_policy(config, environment, width, key=key)

    has_no_width = config.dynamics in ("linear", "linear-markov") and config.p_b != "learned"
    return build(1 if has_no_width else _fit_width(config, build))


def build_policy(
    config: TrainConfig, environment: AbstractEnvironment[Any], width: int, *, key: PRNGKeyArray
) -> Policy:
    """The policy of a configuration with hidden layers of a given width."""
    network_key, backward_key = jax.random.split(key)
    features = jax.eval_shape(lambda: environment.observe(environment.initial())).shape[0]
    outputs = environment.actions + config.has_flow
    if config.p_b == "lifted":
        outputs += environment.parents
    backward_head = None
    if config.p_b == "learned":
        sizes = [features, *[width] * config.layers, environment.parents]
        backward_head = Perceptron(sizes, key=backward_key)
    return Policy(
        _network(config, environment, features, width, outputs, key=network_key),
        backward_head,
        environment.actions,
        environment.parents,
        config.p_b,
        config.has_flow,
    )


def _network(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    features: int,
    width: int,
    outputs: int,
    *,
    key: PRNGKeyArray,
) -> AbstractNetwork[Any]:
    dynamics_key, head_key = jax.random.split(key)
    size = config.latent_size
    dynamics: AbstractDynamics[Any]
    match config.dynamics:
        case "gcn":
            return GCNNetwork(_graphs(environment), width, key=key)
        case "temporal-gcn":
            return TemporalGCNNetwork(_graphs(environment), width, key=key)
        case "markov":
            dynamics = Markov(features)
        case "linear":
            return ReadOutNetwork(Linear(features, outputs, key=dynamics_key), None)
        case "linear-markov":
            return ReadOutNetwork(LinearMarkov(features, outputs, key=dynamics_key), None)
        case "rnn":
            dynamics = RNN(features, size, activation=config.activation, key=dynamics_key)
        case "gru":
            dynamics = GRU(features, size, key=dynamics_key)
        case "lstm":
            dynamics = LSTM(features, size, key=dynamics_key)
        case "srwm":
            dynamics = SRWM(
                features,
                size,
                1 if config.reset else environment.horizon,
                heads=config.heads,
                rotation=config.rotation,
                link=config.link,
                write_key=config.write_key,
                erase=config.erase,
                normalize=config.normalize,
                latent_scale=config.latent_scale,
                slow_scale=config.slow_scale,
                key=dynamics_key,
            )
        case _:
            assert_never(config.dynamics)
    if config.skip and config.dynamics != "markov":
        dynamics = Skip(dynamics, features)
    if config.reset:
        dynamics = Reset(dynamics)
    sizes = [dynamics.output, *[width] * config.layers, outputs]
    return ReadOutNetwork(dynamics, Perceptron(sizes, key=head_key))


def _graphs(environment: AbstractEnvironment[Any]) -> GraphEnvironment:
    if not isinstance(environment, GraphEnvironment):
        raise InputError(
            f"a graph network on {type(environment).__name__}, but it reads the graphs of "
            "GraphEnvironment: use --dynamics gru, lstm, rnn, srwm or markov"
        )
    return environment


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
            f"has {found:,}: ask for a number within 5 % of that, or more, or for a smaller "
            "--latent-size"
        )
    return width
