"""The terminal law of a policy (eq:marginal, lifted eq:marginallifted), by sums and by listing."""

from reference.contract.errors import checked
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
