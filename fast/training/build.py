"""The policy of a configuration."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from fast.dynamics.own import OwnDynamics, check_network
from fast.environments import AbstractEnvironment
from fast.environments.features import feature_count
from fast.policies.policy import AnyPolicy, Policy, count_parameters
from fast.training.compose import TrainConfig
from reference.errors import InputError

Built = TypeVar("Built", bound=AnyPolicy)

# Parameters without a budget, or those of hidden layers this wide if that is more: a table has one
# feature per state.
USUAL, LEAST_WIDTH = 40_000, 64
# The search ends here if the network does not grow with its width.
MOST_WIDTH = 2**20


def make_policy(
    config: TrainConfig, environment: AbstractEnvironment[Any], *, key: PRNGKeyArray
) -> Policy:
    """The policy of a configuration, as wide as its parameter budget allows.

    The Markovian head has three hidden layers on the features of the state, the path-dependent
    one a single hidden layer on the read-out `y_t`, as in the paper's appendix, or three with a
    skip connection, unless `hidden_layers` says otherwise; the width of the hidden layers is chosen
    so that the number of parameters comes nearest to the budget. A network without hidden layers
    has no width: the budget is then that of a learned backward policy, or is not read without one.

    Raises:
        InputError: if no width comes within 5 % of the budget.
    """

    def build(width: int) -> Policy:
        return build_policy(config, environment, width, key=key)

    if isinstance(config.dynamics, OwnDynamics):
        # Built in a separate trace, so that leaked references to its arrays are noticed.
        network = eqx.filter_eval_shape(lambda: fitted(config, build).network)
        seen = jax.eval_shape(environment.observe, environment.initial())
        check_network(config.name_of("dynamics"), network, seen, environment.horizon)
    return fitted(config, build)


def fitted(config: TrainConfig, build: Callable[[int], Built]) -> Built:
    """The policy whose hidden layers are as wide as the parameter budget allows.

    Args:
        config: dynamics, backward policy and budget.
        build: the policy from the width of its hidden layers.

    Raises:
        InputError: if no width comes within 5 % of the budget.
    """
    has_width = config.dynamics.has_width or config.p_b.has_parameters
    return build(_fit_width(config, build) if has_width else 1)


def build_policy(
    config: TrainConfig, environment: AbstractEnvironment[Any], width: int, *, key: PRNGKeyArray
) -> Policy:
    """The policy of a configuration with hidden layers of a given width.

    Raises:
        InputError: if the backward policy reads a latent that the network does not have.
    """
    network_key, backward_key = jax.random.split(key)
    dynamics, p_b, parents = config.dynamics, config.p_b, environment.parents
    has_flow = config.loss.needs_flow
    outputs = environment.actions + p_b.outputs(parents) + has_flow
    hidden = [width] * dynamics.layers
    network = dynamics.build(environment, outputs, width, key=network_key)
    if p_b.reads_latent and network.is_markovian:
        # Only an instance of a user's class may show this.
        raise InputError(
            f"p_b {config.name_of('p_b')} with dynamics {config.name_of('dynamics')}: there is no "
            "latent to read; use --p-b learned"
        )
    return Policy(
        network,
        p_b.build(feature_count(environment), parents, hidden, key=backward_key),
        environment.actions,
        has_flow,
    )


def _fit_width(config: TrainConfig, build: Callable[[int], AnyPolicy]) -> int:
    """The width whose parameter count is nearest to the budget."""
    asked = config.dynamics.parameters

    @cache
    def count(width: int) -> int:
        return count_parameters(eqx.filter_eval_shape(build, width))

    budget = asked or max(USUAL, count(LEAST_WIDTH))
    # Counting is slow. Two layers of one width share width^2 weights, so the count of nearly every
    # network is a quadratic in the width, which bounds the search.
    one, two, three = count(1), count(2), count(3)
    slope, bend = two - one, three - 2 * two + one
    high = _first(lambda w: one + (w - 1) * (2 * slope + (w - 2) * bend) // 2 >= budget, 1, 2)
    low = high - 1
    while low > 1 and count(low) >= budget:
        low, high = low // 2, low
    high = _first(lambda width: count(width) >= budget, low, high)
    low = high - 1
    width = min((low, high), key=lambda w: abs(count(w) - budget))
    nearest = count(width)
    if abs(nearest - budget) > 0.05 * budget:
        raise InputError(
            f"parameters is {budget:,}, but the {config.name_of('dynamics')} policy nearest to it "
            f"has {nearest:,}: ask for a number within 5 % of that, or more, or for a smaller "
            "--latent-size"
        )
    return width


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first width above `low` at which `holds` is true, or MOST_WIDTH, by bisection.

    Args:
        holds: monotone in the width; false at `low`, unless that is 1.
        low: a width.
        high: the first width to try.
    """
    while not holds(high) and high < MOST_WIDTH:
        low, high = high, min(2 * high, MOST_WIDTH)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
