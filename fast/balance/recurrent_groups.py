"""The evaluation of any policy along whole trajectories: in groups for a cache, or in one pass."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from fast.balance.steps import Evaluation, Pullback, Steps, as_steps, cached_terms, evaluate
from fast.dynamics.base import Activations
from fast.policies.policy import Policy
from fast.sampling.trajectories import Trajectories, between, repeat

# Trajectories per group, so that their activations stay in the processor's cache.
GROUP = 32
# Steps in a pass of an accelerator: compiled for an H100, training then takes half a gigabyte, with
# a GRU a whole one.
PASS = 2**19


def recurrent_groups(evaluation: Evaluation) -> tuple[Steps, Pullback]:
    """`evaluate`, and its pullback: group by group where sampling cached the terms."""
    policy, environment, trajectories, _, _ = evaluation
    arrays, activations = evaluation.arrays, evaluation.activations
    if policy.backward.reads_latent:
        activations = ()
    if activations:
        start = policy.network.initial(), environment.observe(environment.initial())
        first = repeat(policy.network.record(*start)[1], len(trajectories.active))
        # Where trajectories end one by one, only read-outs are kept.
        both = zip(first, activations, strict=False)
        activations = tuple(jnp.concatenate([start[None], later]) for start, later in both)
    terms = partial(_terms, evaluation)
    values = cached_terms(evaluation)
    if values is None:
        return _as_a_whole(evaluation, lambda arrays: terms(arrays, trajectories, activations))
    share = math.gcd(len(trajectories.active), GROUP)
    groups = Groups(terms, trajectories, activations, share, evaluation.thins)
    return as_steps(trajectories, values), (
        lambda derivative: groups.pullback(arrays, jnp.moveaxis(derivative, 0, -1))
    )


def in_passes(evaluation: Evaluation) -> tuple[Steps, Pullback]:
    """`evaluate`, and its pullback, in few launches: all steps at once, or as many as fit.

    Nothing that sampling cached is read: to keep it costs a launch at every step.
    """
    trajectories, terms = evaluation.trajectories, partial(_terms, evaluation)
    batch, time = trajectories.active.shape
    if batch * time <= PASS:
        return _as_a_whole(evaluation, lambda arrays: terms(arrays, trajectories, ()))
    share = math.gcd(batch, 1 << max(0, (PASS // time).bit_length() - 1))
    parts = jax.tree.map(lambda leaf: leaf.reshape(-1, share, *leaf.shape[1:]), trajectories)

    def by_parts(arrays: Policy) -> Float[Array, "batch time 3"]:
        # Activations are computed again on the way back, so that those of one part are held.
        each = jax.checkpoint(lambda some: terms(arrays, some, ()))
        together: Array = lax.map(each, parts).reshape(batch, time, 3)
        return together

    return _as_a_whole(evaluation, by_parts)


def _as_a_whole(
    evaluation: Evaluation, terms: Callable[[Policy], Float[Array, "batch time 3"]]
) -> tuple[Steps, Pullback]:
    computed, pull = jax.vjp(terms, evaluation.arrays)
    return as_steps(evaluation.trajectories, jnp.moveaxis(computed, -1, 0)), (
        lambda derivative: pull(jnp.moveaxis(derivative, 0, -1))[0]
    )


def _terms(
    evaluation: Evaluation, arrays: Policy, some: Trajectories, activations: Activations
) -> Float[Array, "rows time 3"]:
    policy, environment = evaluation.with_arrays(arrays), evaluation.environment
    return jnp.stack(evaluate(policy, environment, some, activations)[:3], -1)


class Groups(NamedTuple):
    """A batch whose gradient is summed over groups of trajectories.

    Attributes:
        function: numbers per step, from arrays, trajectories and their cached activations.
        trajectories: the batch.
        activations: the activations that sampling cached.
        share: trajectories per group, which divide the batch.
        thins: whether a group is cut at the quarter of the time by which all of it have ended.
    """

    function: Callable[[Any, Trajectories, Activations], Float[Array, "rows time n"]]
    trajectories: Trajectories
    activations: Activations
    share: int
    thins: bool

    def pullback(self, arrays: Any, derivative: Float[Array, "batch time n"]) -> Any:
        """The derivative with respect to the arrays."""
        batch, time = self.trajectories.actions.shape
        share = self.share
        lengths = self.trajectories.active.sum(1)
        # Sorted by length, the trajectories of a group end at about the same time.
        order = jnp.argsort(lengths) if self.thins else jnp.arange(batch)
        cuts = sorted({-(-time * part // 4) for part in (1, 2, 3, 4)}) if self.thins else [time]

        def pick(leaf: Array, start: Array, axis: int) -> Array:
            if self.thins:
                return jnp.take(leaf, lax.dynamic_slice_in_dim(order, start, share), axis)
            # A slice is faster than `take`.
            return lax.dynamic_slice_in_dim(leaf, start, share, axis)

        def add(total: Any, start: Array) -> tuple[Any, None]:
            some, weights = jax.tree.map(
                lambda leaf: pick(leaf, start, 0), (self.trajectories, derivative)
            )
            cached = tuple(pick(each, start, 1) for each in self.activations)
            cut = jnp.searchsorted(jnp.array(cuts), pick(lengths, start, 0).max())
            branches = [self._gradient_until(cut) for cut in cuts]
            gradient = lax.switch(cut, branches, arrays, some, cached, weights)
            return jax.tree.map(jnp.add, total, gradient), None

        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, arrays), jnp.arange(0, batch, share))
        return total

    def _gradient_until(self, cut: int) -> Callable[[Any, Trajectories, Activations, Array], Any]:
        """The gradient of the numbers before a time, weighted by their derivatives."""

        def weighted(
            arrays: Any, some: Trajectories, activations: Activations, weights: Array
        ) -> Array:
            early = tuple(each[:cut] for each in activations)
            return jnp.sum(weights[:, :cut] * self.function(arrays, between(some, 0, cut), early))

        return jax.grad(weighted)
