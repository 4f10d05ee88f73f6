"""Evaluations on rows, one per step, and the choice of the evaluation that fits a policy.

On a processor, rows of Markovian networks and of heads skip the padding of ended trajectories;
`recurrent_groups`, for all other policies, bounds the memory. All reuse the values that sampling
cached. On an accelerator `in_passes` evaluates every policy.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from fast.balance.recurrent_groups import GROUP, Groups, in_passes, recurrent_groups
from fast.balance.steps import (
    Evaluation,
    Pullback,
    Rows,
    Steps,
    as_steps,
    cached_terms,
    row_terms,
    rows_of,
)
from fast.dynamics.base import AbstractDynamics, Activations
from fast.dynamics.head import WithHead
from fast.policies.policy import Policy
from fast.sampling.trajectories import Trajectories, between

# Rows per block: enough for fast matrix products. Between the two, an eighth of the batch, so that
# most of the padding is skipped, if there is any.
SMALLEST, BLOCK = 64, 512


def evaluate_with_pullback(evaluation: Evaluation) -> tuple[Steps, Pullback]:
    """The terms that `fast.balance.steps.evaluate` defines, and their pullback."""
    policy = evaluation.policy
    if not evaluation.schedule.branches:
        return in_passes(evaluation)
    if policy.is_markovian:
        return markovian_rows(evaluation)
    if isinstance(policy.network, WithHead) and not policy.backward.reads_latent:
        return read_out_rows(evaluation)
    return recurrent_groups(evaluation)


def markovian_rows(evaluation: Evaluation) -> tuple[Steps, Pullback]:
    """`evaluate`, and its pullback, of a Markovian policy.

    The first step has a row for itself, as all trajectories begin in the same state. The others are
    moved to the front without padding and taken block by block, so that the work is proportional to
    the length of the trajectories, not to the horizon.
    """
    return _by_rows(evaluation, evaluation.activations)


def read_out_rows(evaluation: Evaluation) -> tuple[Steps, Pullback]:
    """`evaluate`, and its pullback, of dynamics with a head; not for a lifted `p_B`.

    Given the read-outs `y_t`, the head is a Markovian network: its shared first step is evaluated
    once and padding is skipped. The gradient by the read-outs goes back through the latent,
    trajectory by trajectory.
    """
    network, trajectories = evaluation.policy.network, evaluation.trajectories
    assert isinstance(network, WithHead), network
    arrays, along = _dynamics_of(evaluation.arrays), partial(_read_outs, evaluation)
    if evaluation.activations:
        read, *products = evaluation.activations
    else:
        read, products = jnp.swapaxes(along(arrays, trajectories)[:, 1:], 0, 1), []
    # A small latent needs groups only to leave out trajectories that have ended.
    batch = len(trajectories.active)
    is_whole = network.has_small_latent and not evaluation.thins
    share = batch if is_whole else math.gcd(batch, GROUP)
    groups = Groups(along, trajectories, (), share, evaluation.thins)

    def through_latents(total: Policy, passed: Array) -> Policy:
        # Before the first step the latent is `W_o`, whose derivative the first row has.
        passed = jnp.pad(passed.reshape(read.shape), ((1, 0), (0, 0), (0, 0)))
        by_latent = groups.pullback(arrays, jnp.swapaxes(passed, 0, 1))
        both = jax.tree.map(jnp.add, _dynamics_of(total), by_latent)
        gradient: Policy = eqx.tree_at(_dynamics_of, total, both)
        return gradient

    read_outs = read.reshape(-1, network.dynamics.output)
    return _by_rows(evaluation, tuple(products), read_outs, through_latents)


def _by_rows(
    evaluation: Evaluation,
    activations: Activations,
    read_outs: Float[Array, "rows d"] | None = None,
    add_passed: Callable[[Policy, Any], Policy] = lambda total, passed: total,
) -> tuple[Steps, Pullback]:
    """The evaluation of the first step in one row, and of the later ones block by block.

    `activations` and `read_outs` are those of `LaterRows`; `add_passed` adds what the gradient by
    the read-outs passes on to the gradient of the rows.
    """
    arrays, trajectories = evaluation.arrays, evaluation.trajectories
    first, later = partial(_first_terms, evaluation), LaterRows(evaluation, activations, read_outs)
    values = cached_terms(evaluation)
    if values is None:
        values = later.with_first(first(arrays))

    def pullback(derivative: Float[Array, "3 batch time"]) -> Policy:
        weights = jnp.where(trajectories.active, derivative, 0.0)

        def at_start(arrays: Policy) -> Array:
            return jnp.sum(first(arrays) * weights[..., 0])

        of_later = weights[..., 1:].T.reshape(later.whole, 3)
        total: Policy
        if read_outs is None and later.is_one_block:
            total = jax.grad(
                lambda arrays: at_start(arrays) + later.weighted(of_later, later.start, arrays)
            )(arrays)
            return total
        return add_passed(*later.add_gradient(of_later, jax.grad(at_start)(arrays)))

    return as_steps(trajectories, values), pullback


def _dynamics_of(policy: Any) -> Any:
    return policy.network.dynamics


def _read_outs(
    evaluation: Evaluation, arrays: AbstractDynamics[Any], some: Trajectories, _: Activations = ()
) -> Float[Array, "rows time d"]:
    """`y_0, ..., y_{T-1}`."""
    dynamics: AbstractDynamics[Any] = eqx.combine(arrays, _dynamics_of(evaluation.policy))
    states = jax.tree.map(lambda leaf: leaf[:, :-1], some.states)
    return dynamics.unroll(jax.vmap(jax.vmap(evaluation.environment.observe))(states))


def _first_terms(evaluation: Evaluation, arrays: Policy) -> Float[Array, "3 batch"]:
    """The terms of the first steps: one row is evaluated, whose derivatives are summed first."""
    policy, environment = evaluation.with_arrays(arrays), evaluation.environment
    start = environment.observe(environment.initial())
    outputs = policy.network.read(policy.network.initial(), start)
    outputs = jnp.broadcast_to(outputs, (len(evaluation.trajectories.active), *outputs.shape))
    return row_terms(policy, environment, rows_of(between(evaluation.trajectories, 0, 1)), outputs)


class LaterRows:
    """The steps of a batch after its first, as rows in the order in which they were sampled.

    The activations are those that sampling cached after the first step, time first; a Markovian
    network has no read-outs.

    Attributes:
        rows: the steps, padding included.
        whole: the number of these steps.
        order: the numbers of the rows, those without padding first.
        present: the number of rows without padding.
        size: rows per block.
        start: the number of the first row, which is moved on block by block.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        activations: Activations,
        read_outs: Float[Array, "rows d"] | None,
    ):
        environment, trajectories = evaluation.environment, evaluation.trajectories
        rest = between(trajectories, 1, trajectories.actions.shape[1])
        batch, time = rest.actions.shape
        self.evaluation, self.environment, self.shape = evaluation, environment, (time, batch)
        self.read_outs = read_outs
        self.whole = whole = batch * time
        self.size = min(whole, max(SMALLEST, whole // 8))
        if environment.is_graded or self.size > BLOCK:
            # Equal block sizes, so that the last is barely padded.
            self.size = -(-whole // max(1, -(-whole // BLOCK)))

        def by_time(leaf: Array) -> Array:
            apart = leaf.reshape(batch, time, *leaf.shape[1:])
            return jnp.swapaxes(apart, 0, 1).reshape(leaf.shape)

        self.rows: Rows = jax.tree.map(by_time, rows_of(rest))
        self.activations = tuple(each.reshape(whole, *each.shape[2:]) for each in activations)
        (self.order,) = jnp.nonzero(rest.active.T.reshape(-1), size=whole, fill_value=0)
        self.present = jnp.asarray(whole) if environment.is_graded else rest.active.sum()
        self.start = jnp.zeros((), self.order.dtype)

    @property
    def is_one_block(self) -> bool:
        """True if one block has all rows, none of them padding."""
        return self.environment.is_graded and 0 < self.whole == self.size

    def pick(self, tree: Any, numbers: Int[Array, " block"]) -> Any:
        """The rows of these numbers in the order."""
        if self.environment.is_graded:
            # Without padding the rows are in order.
            cut = partial(lax.dynamic_slice_in_dim, start_index=numbers[0], slice_size=self.size)
            return jax.tree.map(cut, tree)
        return jax.tree.map(lambda leaf: leaf[self.order[numbers]], tree)

    def added(
        self,
        total: Float[Array, "rows d"],
        numbers: Int[Array, " block"],
        x: Float[Array, "block d"],
    ) -> Float[Array, "rows d"]:
        """Adds `x` to the rows of these numbers in the order.

        Args:
            total: the rows to add to.
            numbers: the places of the block in the order.
            x: what is added.
        """
        if not self.environment.is_graded:
            return total.at[self.order[numbers]].add(x)
        sums = lax.dynamic_slice_in_dim(total, numbers[0], self.size) + x
        return lax.dynamic_update_slice_in_dim(total, sums, numbers[0], 0)

    def block_from(self, start: Array) -> Int[Array, " block"]:
        """The numbers of a block; the last block begins earlier, so that it is full."""
        return jnp.minimum(start, self.whole - self.size) + jnp.arange(self.size)

    def terms(
        self,
        arrays: Policy,
        numbers: Int[Array, " block"],
        read_outs: Float[Array, "block d"] | None = None,
    ) -> Float[Array, "3 block"]:
        """The terms of a block, whose read-outs are given unless the network is Markovian.

        Args:
            arrays: the policy's parameters.
            numbers: the places of the block in the order.
            read_outs: the network's read-outs there; None if it is Markovian.
        """
        full = self.evaluation.with_arrays(arrays)
        block, cached = self.pick((self.rows, self.activations), numbers)
        seen = jax.vmap(self.environment.observe)(block.before)
        if read_outs is None:
            return row_terms(full, self.environment, block, full.network.recall(seen, cached))
        assert isinstance(full.network, WithHead), full.network
        return row_terms(full, self.environment, block, full.network.after(read_outs, seen, cached))

    def with_first(self, first: Float[Array, "3 batch"]) -> Float[Array, "3 batch time"]:
        """The terms of all steps, those of the first included; zero where padded."""
        (time, batch), arrays = self.shape, self.evaluation.arrays
        values = jnp.zeros((3, self.whole), first.dtype)

        def forward(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            start, values = carry
            numbers = self.block_from(start)
            block = self.terms(arrays, numbers, self.pick(self.read_outs, numbers))
            return start + self.size, values.at[:, self.order[numbers]].set(block)

        if self.whole:
            _, values = lax.while_loop(
                lambda carry: carry[0] < self.present, forward, (self.start, values)
            )
        later = jnp.swapaxes(values.reshape(3, time, batch), 1, 2)
        return jnp.concatenate([first[..., None], later], -1)

    def weighted(
        self,
        weights: Float[Array, "rows 3"],
        start: Array,
        arrays: Policy,
        read_outs: Float[Array, "block d"] | None = None,
    ) -> Float[Array, ""]:
        """The sum of the terms of a block times their derivatives.

        Args:
            weights: the derivative of the loss by each term.
            start: the place of the block's first row in the order.
            arrays: the policy's parameters.
            read_outs: the network's read-outs there; None if it is Markovian.
        """
        numbers = self.block_from(start)
        due = (start <= numbers) & (numbers < self.present)
        picked = self.pick(weights, numbers).T
        return jnp.sum(self.terms(arrays, numbers, read_outs) * jnp.where(due, picked, 0.0))

    def add_gradient(self, weights: Float[Array, "rows 3"], total: Policy) -> tuple[Policy, Any]:
        """The gradient of all blocks, added to a total, and the gradient by the read-outs."""
        arrays, read_outs = self.evaluation.arrays, self.read_outs

        def backward(carry: tuple[Array, Policy, Any]) -> tuple[Array, Policy, Any]:
            start, total, passed = carry
            numbers = self.block_from(start)
            gradient, by_read_outs = jax.grad(partial(self.weighted, weights, start), (0, 1))(
                arrays, self.pick(read_outs, numbers)
            )
            # Rows outside the block have zero weight, so they may be visited again.
            if read_outs is not None:
                passed = self.added(passed, numbers, by_read_outs)
            return start + self.size, jax.tree.map(jnp.add, total, gradient), passed

        passed = jax.tree.map(jnp.zeros_like, read_outs)
        if self.whole:
            _, total, passed = lax.while_loop(
                lambda carry: carry[0] < self.present, backward, (self.start, total, passed)
            )
        return total, passed
