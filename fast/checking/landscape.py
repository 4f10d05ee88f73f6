"""A loss as a function of all policies on a small lift: one vector of logits, flows and log Z."""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.special import softmax

from fast.balance.loss import Loss
from fast.checking.expected_loss import all_batches, expected_loss, learned
from fast.checking.instances import Instance, all_trajectories
from fast.checking.minimise import Minimiser
from fast.checking.tabular_policy import BackwardKind, balanced_sampler
from fast.laws.enumeration import Floats, Ints
from fast.policies.policy import Sampler

# Steps of Newton's method, which doubles the digits at each step.
NEWTON_STEPS = 8

# Compiler options that leave out what makes programs fast: most of the time is the compiler's.
HASTE: dict[str, bool | int | str] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}

# A search ends where no entry of the gradient is larger.
ENDED = 1e-8
SEARCH = {"maxiter": 500, "ftol": 0.0, "gtol": ENDED, "maxcor": 20}

# Eigenvalues up to this, relative to the largest, are directions in which a loss is flat.
FLAT = 1e-9

# A loss below this is zero up to rounding: squares of sums of logarithms. A gradient below this is:
# residuals add up a dozen logarithms of a few nats, and carry 1e-14.
ROUNDED, STATIONARY = 1e-20, 1e-9


class Row(NamedTuple):
    """The places, in the vector of a policy, of the logits of a row of `p_F` or `p_B`.

    The node is lifted, or in the base for a `p_B` that is a table of states; `label` is its state.
    """

    is_forward: bool
    node: int
    label: str
    places: Ints


class Landscape:
    """The expected loss over batches of uniformly drawn trajectories, as a function of a policy.

    Made and used inside `jax.enable_x64`.

    Attributes:
        instance: the lift.
        balanced: the vector of the balanced policy, with its flows and log Z. If the loss is not
            zero there, as it may define flows otherwise, these are the flows of least loss.
        log_z_error: how far its learned log Z lies from the true one, in nats.
        floor: the loss of the balanced policy.
        slope: the largest entry of the gradient at the balanced policy.
        largest: the largest loss of a batch at the balanced policy, without its sign.
        everything: every trajectory.
        batches: the batches over which the loss is a mean, by the numbers of their trajectories.
        rows: the rows with several actions or parents.
    """

    def __init__(self, loss: Loss, instance: Instance, backward: BackwardKind):
        """Compiles the loss and its gradient."""
        self.instance = instance
        self.everything = all_trajectories(instance)
        self.batches = all_batches(len(self.everything.active), max(2, loss.least_batch))
        expected = expected_loss(loss, instance.environment, self.everything, self.batches)
        sampler = balanced_sampler(loss, instance, backward)
        self._rest = eqx.filter(sampler, eqx.is_inexact_array, inverse=True)
        flat, self._unravel = ravel_pytree(learned(sampler))

        def of(vector: jax.Array) -> tuple[jax.Array, jax.Array]:
            return expected(self._combined(vector))

        self._graded = jax.jit(jax.value_and_grad(of, has_aux=True), compiler_options=HASTE)
        self._curved = jax.jit(jax.hessian(lambda vector: of(vector)[0]), compiler_options=HASTE)
        self.rows = tuple(_rows(self.sampler(np.arange(len(flat), dtype=np.float64)), instance))
        self.balanced = self._with_flows(np.asarray(flat))
        error = abs(float(self.sampler(self.balanced).log_z - sampler.log_z))
        self.log_z_error = error * loss.learns_log_z
        self.floor, gradient = self.graded(self.balanced)
        self.slope = float(np.abs(gradient).max())
        self.largest = float(self._graded(self.balanced)[0][1])

    def _combined(self, vector: jax.Array) -> Sampler:
        sampler: Sampler = eqx.combine(self._unravel(vector), self._rest)
        return sampler

    def _with_flows(self, vector: Floats) -> Floats:
        """The policy with the flows and log Z of least loss."""
        in_rows = [place for row in self.rows for place in row.places]
        free = np.setdiff1d(np.arange(len(vector)), in_rows)
        value, gradient = self.graded(vector)
        if value > ROUNDED and np.abs(gradient[free]).max(initial=0.0) > STATIONARY:
            return self.minimum(vector, free)
        return vector

    def sampler(self, vector: Floats) -> Sampler:
        """The sampler with the numbers of a vector."""
        return self._combined(jnp.asarray(vector))

    def graded(self, vector: Floats) -> tuple[float, Floats]:
        """The loss and its gradient."""
        (value, _), gradient = self._graded(vector)
        return float(value), np.asarray(gradient)

    def minimum(self, start: Floats, free: Ints) -> Floats:
        """A local minimum over some entries of the vector, by a quasi-Newton method."""
        return Minimiser(self.graded, free, SEARCH).minimum(start)

    def polished(self, vector: Floats, free: Ints) -> Floats:
        """The nearby minimum to full precision, by Newton's method."""
        best, (value, gradient) = vector, self.graded(vector)
        for _ in range(NEWTON_STEPS if len(free) else 0):
            curvature = np.asarray(self._curved(best))[np.ix_(free, free)]
            if not (np.isfinite(curvature).all() and np.isfinite(gradient).all()):
                break
            following = best.copy()
            following[free] -= np.linalg.pinv(curvature, FLAT, hermitian=True) @ gradient[free]
            lower, gradient = self.graded(following)
            if not lower < value:
                break
            best, value = following, lower
        return best

    def terminal_law(self, vector: Floats) -> Floats:
        """`p_T`, one number per terminal."""
        dag = self.instance.lifted.dag
        reached = np.zeros(len(dag.labels))
        reached[0] = 1
        table = np.asarray(self.sampler(vector).policy.network.table)
        for node, edges in enumerate(dag.out_edges):
            if edges:
                share = softmax(table[node, : len(edges)])
                reached[list(dag.children[node])] += reached[node] * share
        return reached[list(dag.terminals)]

    def rows_in_words(self, vector: Floats) -> str:
        """The rows of a vector as text, by state."""
        shares = (softmax(vector[row.places]) for row in self.rows)
        return ", ".join(
            f"p_{'F' if row.is_forward else 'B'} at {row.label} = "
            f"({', '.join(f'{share:.3g}' for share in each)})"
            for row, each in zip(self.rows, shares, strict=True)
        )

    def distance(self, vector: Floats) -> float:
        """The total variation between the terminal law and `R / Z`."""
        target = np.array([float(share) for share in self.instance.target])
        return float(np.abs(self.terminal_law(vector) - target).sum() / 2)


def _rows(places: Sampler, instance: Instance) -> Iterator[Row]:
    """The rows of `p_B`, then those of `p_F`, from a sampler that holds places, not logits."""
    lifted, policy = instance.lifted, places.policy
    table = np.asarray(policy.network.table).astype(int)
    if policy.backward.reads_latent:
        for node, below in enumerate(lifted.projection):
            parents, label = len(lifted.base.in_edges[below]), instance.names[node]
            if parents > 1:
                yield Row(False, node, label, table[node, policy.actions :][:parents])
    elif not policy.backward.is_uniform:
        logits = np.asarray(policy.backward.table).astype(int)
        for node, edges in enumerate(lifted.base.in_edges):
            if len(edges) > 1:
                yield Row(False, node, str(lifted.base.labels[node]), logits[node, : len(edges)])
    for node, out in enumerate(lifted.dag.out_edges):
        if len(out) > 1:
            yield Row(True, node, instance.names[node], table[node, : len(out)])
