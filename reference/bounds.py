"""Bounds on the distance between sampler and target from balance residuals.

`delta(tau) = log(Z p_F(tau) / (R(x) p_B(tau|x)))` are the log residuals of trajectory balance, and
`mu(tau) = R(x) p_B(tau|x) / sum of R` is the target distribution of trajectories. `p_B` must have
mass 1 at every terminal (`reference.marginals.mass`). All floats returned are upper bounds: they
are rounded up.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.balance import Rewards, check_same_dag, positive_factors, rewards_by_node
from reference.contract.errors import InputError, checked, plain, shown
from reference.dag import PointedDAG
from reference.fields.field import FLOAT64, T, gamma, log_float
from reference.policies import BackwardKernel, ForwardPolicy


class Spread(NamedTuple):
    """The least and the largest log residual, in nats, each rounded outwards."""

    least: float
    largest: float

    @property
    def oscillation(self) -> float:
        """The difference of the two, which does not depend on `Z`; rounded up."""
        return math.nextafter(self.largest - self.least, math.inf)


@checked
def longest_path(dag: PointedDAG[Any], values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """For each node, the largest sum of `values` (one per edge) over the paths from `s_o` to it.

    With `log p_F - log p_B` as values this bounds the trajectory-balance residual over all
    trajectories without enumerating them.
    """
    best = np.full(len(dag.labels), -np.inf)
    best[0] = 0.0
    try:
        with np.errstate(over="ignore"):
            edge_values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"longest_path: the values are no numbers ({error})") from None
    if edge_values.shape != (len(dag.edges),) or np.isnan(edge_values).any():
        raise InputError(
            f"longest_path: the values have shape {edge_values.shape}, or a NaN, but must be one "
            f"number for each of the {len(dag.edges)} edges"
        )
    for (u, v), value in zip(dag.edges, edge_values.tolist(), strict=True):
        best[v] = max(best[v], best[u] + value)
    return best


@checked
def residual_spread(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: Rewards[T], log_z: float = 0.0
) -> Spread:
    """The range of the log residuals over all trajectories, without enumerating them.

    By a longest and a shortest path, with `log p_F - log p_B` on edges and `-log R` at terminals.

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        log_z: `log Z`, nats.

    Raises:
        InputError: if the policies live on different DAGs, the rewards do not fit, or one of the
            numbers is zero, where there is no logarithm.
    """
    check_same_dag(forward, backward)
    dag = forward.dag
    reward = rewards_by_node(forward, rewards)
    (log_z,) = FLOAT64.numbers([log_z], "log Z")
    steps, sizes = np.empty(len(dag.edges)), np.empty(len(dag.edges))
    why = "but log residuals need all positive: raise the zero to a small number"
    for edge in range(len(dag.edges)):
        p_f, *others = map(log_float, positive_factors(forward, backward, reward, edge, why))
        steps[edge], sizes[edge] = p_f - sum(others), abs(p_f) + sum(map(abs, others))
    terminals = list(dag.terminals)
    largest = float(longest_path(dag, steps)[terminals].max()) + log_z
    least = -float(longest_path(dag, -steps)[terminals].max()) + log_z
    # Each edge: three logarithms of at most eight roundings, and two sums; then one per step.
    scale = float(longest_path(dag, sizes)[terminals].max()) + abs(log_z)
    error = gamma(12 + max(dag.depths)) * scale
    return Spread(least - error, largest + error)


@checked
def tv_bound(oscillation: float) -> float:
    """`TV(p_T, R/Z) <= TV(p_F, mu) <= tanh(Delta / 4)`, `Delta` the residuals' oscillation.

    Claim residual-tv-bound. Sharp: equality for a residual of two values, of which the upper has
    mass `1 / (1 + sqrt(rho))`, `rho = exp(Delta)`. If all residuals are within `eps` of zero,
    `Delta <= 2 eps`.
    """
    return min(_up(math.tanh(_nonnegative(oscillation) / 4)), 1.0)


@checked
def tv_within(tv: Fraction, rho: Fraction) -> bool:
    """The bound for a rational `rho = exp(Delta)`: `((1 + TV) / (1 - TV))^2 <= rho`.

    Claim residual-tv-bound.
    """
    return (1 + tv) ** 2 <= rho * (1 - tv) ** 2


@checked
def combined_tv_bound(oscillations: Sequence[float]) -> float:
    """`TV <= tanh(sum of Delta / 4)`: residuals of clients, or of steps of a stream, add.

    Claim combined-tv-bound. The oscillations are those of every client (or earlier step) and of the
    combiner.
    """
    return tv_bound(_up(math.fsum(map(_nonnegative, oscillations))))


@checked
def kl_bound(oscillation: float) -> float:
    """`KL(p_F || mu) <= Delta^2 / 8`, in nats, by Hoeffding's lemma (claim residual-tv-bound)."""
    return _up(_nonnegative(oscillation) ** 2 / 8)


@checked
def one_sided_tv_bound(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: Rewards[T], z: T
) -> T:
    """`TV <= max(E_mu[(1 - e^delta)_+], E_{p_F}[(1 - e^-delta)_+])` for any `Z > 0`, exactly.

    Claim one-sided-tv-bound. Trajectories are enumerated, in the field of the policies, which must
    be ordered.

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        z: any positive number for `Z`.

    Raises:
        InputError: if `z` is not positive, the policies live on different DAGs, or the rewards do
            not fit.
        TooLargeError: if there are too many trajectories.
    """
    check_same_dag(forward, backward)
    field, dag = forward.field, forward.dag
    reward = rewards_by_node(forward, rewards)
    (z,) = field.numbers([z], "Z")
    if not field.positive(z):
        raise InputError(f"one_sided_tv_bound: Z is {plain(z)}, but must be positive")
    total = field.sum(reward.values())
    below, above = field.zero, field.zero
    for tau in dag.trajectories():
        p, mu = forward.along(tau), reward[dag.end(tau)] * backward.along(tau) / total
        short, long = mu - z / total * p, p - total / z * mu
        below = below + (short if field.positive(short) else field.zero)
        above = above + (long if field.positive(long) else field.zero)
    return below if field.positive(below - above) else above


@checked
def tv_bound_from_loss(cb_loss: float, coverage: float) -> float:
    """`TV <= sqrt(L_CB / (2 c)) / 2` if `p_E >= c (p_F + mu) / 2` on every trajectory.

    Claim loss-tv-bound. On policy (`p_E = p_F`) there is no such `c`, and no bound: the loss can
    vanish while the distance does not. Raises InputError if the loss is negative or the coverage is
    not in (0, 1]; more than 1 is not possible, because both sides sum to 1 and c.
    """
    if not 0 < coverage <= 1:
        raise InputError(f"the coverage c is {coverage}, but must lie in (0, 1]")
    return min(_up(math.sqrt(_nonnegative(cb_loss) / (2 * coverage)) / 2), 1.0)


@checked
def roundings(dag: PointedDAG[Any]) -> int:
    """The number of float64 roundings in a path sum: a marginal is exact within `gamma` of it.

    The number is twice the depth, for products and first terms, plus the largest number of in-edges
    at each depth. All terms are non-negative, so nothing cancels. The rounding of the policy is not
    included.
    """
    depth = dag.depths
    widest = [0] * (max(depth) + 1)
    for level, row in zip(depth, dag.in_edges, strict=True):
        widest[level] = max(widest[level], len(row))
    return 2 * max(depth) + sum(widest)


def _nonnegative(value: float) -> float:
    if not value >= 0:
        raise InputError(f"the bound needs a number >= 0, but was given {shown(value)}")
    return value


def _up(value: float) -> float:
    """A bound above the exact value: `math` errs by at most two units in the last place."""
    return value * (1 + 2.0**-50)
