"""The evaluation of a path-dependent policy: trajectories in groups, whose activations are few."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from fast.balance.evaluation import Pullback, cached_terms
from fast.balance.steps import Steps, as_steps, evaluate
from fast.dynamics.base import Activations
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.trajectories import Cached, Trajectories, between

# Trajectories per group: few enough that their activations stay in the processor's cache.
GROUP = 32


def recurrent_groups(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    cached: Cached | None = None,
    *,
    skip_ended: bool = True,
) -> tuple[Steps, Pullback]:
    """`evaluate`, and its pullback group by group where sampling knows the terms already."""
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)
    lifted = policy.backward.reads_latent
    activations = () if cached is None or lifted else cached.activations
    terms = partial(_terms, static, environment)
    values = cached_terms(policy, environment, trajectories, cached)
    if values is None:
        found, pull = jax.vjp(lambda arrays: terms(arrays, trajectories, activations), arrays)
        return as_steps(trajectories, found), lambda derivative: pull(derivative)[0]
    thins = skip_ended and not environment.is_graded
    groups = _Groups(static, environment, trajectories, activations, thins)
    return as_steps(trajectories, values), partial(groups.pullback, arrays)


def _terms(
    static: Policy,
    environment: AbstractEnvironment[Any],
    arrays: Policy,
    some: Trajectories,
    activations: Activations,
) -> Float[Array, "3 rows time"]:
    policy: Policy = eqx.combine(arrays, static)
    return jnp.stack(evaluate(policy, environment, some, activations)[:3])


class _Groups(NamedTuple):
    """A batch whose gradient is summed over groups of trajectories.

    Attributes:
        static: the policy without its arrays.
        environment: the state graph.
        trajectories: the batch.
        activations: what sampling cached.
        thins: whether a group is cut at a quarter of the time by which all of it have ended.
    """

    static: Policy
    environment: AbstractEnvironment[Any]
    trajectories: Trajectories
    activations: Activations
    thins: bool

    def pullback(self, arrays: Policy, derivative: Float[Array, "3 batch time"]) -> Policy:
        """The derivative by the policy's arrays."""
        batch, time = self.trajectories.actions.shape
        share = math.gcd(batch, GROUP)
        lengths = self.trajectories.active.sum(1)
        # Sorted by length, the trajectories of a group end at about the same time.
        order = jnp.argsort(lengths) if self.thins else jnp.arange(batch)
        cuts = sorted({-(-time * part // 4) for part in (1, 2, 3, 4)}) if self.thins else [time]

        def add(total: Policy, start: Array) -> tuple[Policy, None]:
            chosen = lax.dynamic_slice_in_dim(order, start, share)
            some = jax.tree.map(lambda leaf: leaf[chosen], self.trajectories)
            cached = tuple(each[:, chosen] for each in self.activations)
            cut = jnp.searchsorted(jnp.array(cuts), lengths[chosen].max())
            gradient = lax.switch(
                cut,
                [self._gradient_until(cut) for cut in cuts],
                arrays,
                some,
                cached,
                derivative[:, chosen],
            )
            return jax.tree.map(jnp.add, total, gradient), None

        total: Policy
        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, arrays), jnp.arange(0, batch, share))
        return total

    def _gradient_until(
        self, cut: int
    ) -> Callable[[Policy, Trajectories, Activations, Array], Policy]:
        """The gradient of the terms before a time, weighted by their derivatives."""

        def weighted(
            arrays: Policy, some: Trajectories, activations: Activations, weights: Array
        ) -> Array:
            early = tuple(each[:cut] for each in activations)
            found = _terms(self.static, self.environment, arrays, between(some, 0, cut), early)
            return jnp.sum(weights[:, :, :cut] * found)

        return jax.grad(weighted)
