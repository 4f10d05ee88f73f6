"""The policy of a configuration."""

from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from fast.dynamics.base import DynamicsOptions
from fast.dynamics.head import WithHead
from fast.dynamics.own import OwnDynamics, check_backward, check_network
from fast.dynamics.state_table import StateTable
from fast.environments import AbstractEnvironment, feature_count
from fast.parts import name_of_part
from fast.policies.backward import BackwardOptions, LearnedBackward, OwnBackward
from fast.policies.policy import AnyPolicy, Policy, count_parameters
from fast.training.compose import TrainConfig
from reference.contract.errors import InputError

Built = TypeVar("Built", bound=AnyPolicy)

# Parameters without a budget, or those of hidden layers this wide if that is more: a table has one
# feature per state.
USUAL, LEAST_WIDTH = 40_000, 64
# The search ends here if the network does not grow with its width.
MOST_WIDTH = 2**20


def make_policy(
    config: TrainConfig,
    environment: AbstractEnvironment,
    width: int | None = None,
    *,
    key: PRNGKeyArray,
) -> Policy:
    """The policy of a configuration, with hidden layers as wide as its parameter budget allows.

    The Markovian head has three hidden layers on the features of the state, the path-dependent one
    a single hidden layer on the read-out `y_t`, as in the paper's appendix, or three with a skip
    connection, unless `hidden_layers` says otherwise; the width of the hidden layers is chosen so
    that the number of parameters comes nearest to the budget, unless it is given. A network without
    hidden layers has no width: the budget is then that of a learned backward policy, or is not read
    without one. Raises InputError if no width comes within 5 % of the budget, or the backward
    policy reads a latent that the network does not have.

    Args:
        config: the configuration.
        environment: the state graph as array code.
        width: the width of the hidden layers; None for that of the budget.
        key: a random key of JAX.
    """
    dynamics, p_b, has_flow = config.dynamics, config.p_b, config.loss.needs_flow
    parents, features = environment.parents, feature_count(environment)
    network_key, backward_key = jax.random.split(key)

    def build(width: int) -> Policy:
        backward = p_b.build(features, parents, [width] * dynamics.layers, key=backward_key)
        outputs = environment.actions + backward.outputs + has_flow
        network = dynamics.build(environment, outputs, width, key=network_key)
        if p_b.reads_latent and network.is_markovian:
            # Only an instance of a user's class may show this.
            raise InputError(
                f"p_b {config.name_of('p_b')} with dynamics {config.name_of('dynamics')}: there is "
                "no latent to read; use --p-b learned"
            )
        return Policy(network, backward, environment.actions, has_flow)

    if width is not None:
        return _tabled(build(width), dynamics, parents)
    if isinstance(dynamics, OwnDynamics) or isinstance(p_b, OwnBackward):
        # Built in a separate trace, so that leaked references to its arrays are noticed.
        policy = eqx.filter_eval_shape(lambda: fitted(dynamics, p_b, build))
        seen = jax.eval_shape(environment.observe, environment.initial())
        if isinstance(dynamics, OwnDynamics):
            check_network(config.name_of("dynamics"), policy.network, seen, environment.horizon)
        if isinstance(p_b, OwnBackward):
            check_backward(config.name_of("p_b"), policy.backward, seen, parents)
    return _tabled(fitted(dynamics, p_b, build), dynamics, parents)


def _tabled(policy: Policy, dynamics: DynamicsOptions[Any], parents: int) -> Policy:
    """The policy with tables beside its head and its learned `p_B`, if the dynamics ask for any."""
    rows, absent = dynamics.rows_by_state, {"is_leaf": lambda leaf: leaf is None}
    if rows and isinstance(policy.network, WithHead):
        table = StateTable(jnp.zeros((rows, policy.network.output)))
        policy = eqx.tree_at(lambda p: p.network.table, policy, table, **absent)
    if rows and isinstance(policy.backward, LearnedBackward):
        table = StateTable(jnp.zeros((rows, parents)))
        policy = eqx.tree_at(lambda p: p.backward.table, policy, table, **absent)
    return policy


def fitted(
    dynamics: DynamicsOptions[Any], p_b: BackwardOptions, build: Callable[[int], Built]
) -> Built:
    """The policy whose hidden layers are as wide as the parameter budget of the dynamics allows.

    Raises InputError if no width comes within 5 % of the budget.

    Args:
        dynamics: the dynamics, with the budget.
        p_b: the backward policy.
        build: makes the policy with hidden layers of a width.
    """
    if not (dynamics.has_width or p_b.has_parameters):
        return build(1)

    @cache
    def count(width: int) -> int:
        return count_parameters(eqx.filter_eval_shape(build, width))

    budget = dynamics.parameters or max(USUAL, count(LEAST_WIDTH))
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
        fix = "ask for a number within 5 % of that, or more, or for a smaller --latent-size"
        raise InputError(
            f"parameters is {budget:,}, but the {name_of_part('dynamics', dynamics)} policy "
            f"nearest to it has {nearest:,}: "
            + (fix if two > one else "it ignores its width, so take `width` out of its __init__")
        )
    return build(width)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first width above `low` at which `holds` is true, or MOST_WIDTH, by bisection.

    It is monotone in the width, and false at `low`, unless that is 1; the width `high` is tried
    first.
    """
    while not holds(high) and high < MOST_WIDTH:
        low, high = high, min(2 * high, MOST_WIDTH)
    return bisect_left(range(high), True, low + 1, key=holds)
