"""The terminal distribution of a policy (eq:marginal), by dynamic programming and enumeration."""

from typing import Any

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, checked
from reference.dag import PointedDAG
from reference.fields.field import T
from reference.policies import BackwardKernel, EdgeWeights, ForwardPolicy


@checked
def path_sums(weights: EdgeWeights[T]) -> list[T]:
    """For each node, the sum over the paths from `s_o` to it of the product of edge values.

    One pass over the edges in topological order. For a forward policy this is the probability
    `u(s)` of visiting each state.
    """
    dag, field = weights.dag, weights.field
    sums = [field.zero] * len(dag.labels)
    sums[0] = field.one
    for (u, v), value in zip(dag.edges, weights.values, strict=True):
        sums[v] = sums[v] + sums[u] * value
    return sums


@checked
def marginal(policy: ForwardPolicy[T]) -> tuple[T, ...]:
    """`p_T(x)` of eq:marginal, one number per `dag.terminals`, by dynamic programming."""
    sums = path_sums(policy)
    return tuple(sums[x] for x in policy.dag.terminals)


@checked
def marginal_by_trajectories(policy: ForwardPolicy[T], limit: int = 10_000_000) -> tuple[T, ...]:
    """`p_T(x)` of eq:marginal read literally: a sum over trajectories, at most `limit` of them."""
    dag = policy.dag
    total = dict.fromkeys(dag.terminals, policy.field.zero)
    for trajectory in dag.trajectories(limit):
        x = dag.end(trajectory)
        total[x] = total[x] + policy.along(trajectory)
    return tuple(total.values())


@checked
def mass(kernel: BackwardKernel[T]) -> tuple[T, ...]:
    """`b(x)`, the sum of `p_B(tau|x)` over the trajectories ending in `x`, per terminal.

    A `BackwardPolicy` has mass 1 at every terminal: the backward walk ends in `s_o`.
    """
    sums = path_sums(kernel)
    return tuple(sums[x] for x in kernel.dag.terminals)


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
