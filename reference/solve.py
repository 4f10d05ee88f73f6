"""Policies determined by balance: from backward policies, kernels, distributions; projections."""

from collections.abc import Callable, Sequence
from typing import Any

from reference.balance import Rewards, rewards_by_node
from reference.contract.errors import InputError, checked, plain, shown
from reference.contract.user_code import called
from reference.dag import PointedDAG, Trajectory
from reference.fields.field import Field, T
from reference.lifted import LiftedDAG
from reference.marginals import path_sums
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy


@checked
def flows(backward: BackwardKernel[T], rewards: Rewards[T]) -> list[T]:
    """The state flow `F` (def:flows) of a backward policy, per node.

    `F(x) = R(x)` and `F(s) = sum over children s' of p_B(s|s') F(s')`; `F(s_o) = Z = sum of R`. For
    a kernel, `F(s)` sums `R(x) B` over the paths from `s` to every `x`, and `F(s_o)` is the sum of
    `R(x) b(x)`. Raises InputError if rewards do not fit the terminals, or are not >= 0.
    """
    dag, field = backward.dag, backward.field
    flow = [field.zero] * len(dag.labels)
    for x, reward in rewards_by_node(backward, rewards).items():
        if not field.nonnegative(reward):
            raise InputError(
                f"the reward of {shown(dag.labels[x])} is {reward}, but must be a number >= 0: "
                "shift or exponentiate it"
            )
        flow[x] = reward
    for edge in range(len(dag.edges) - 1, -1, -1):
        u, v = dag.edges[edge]
        flow[u] = flow[u] + backward.values[edge] * flow[v]
    return flow


@checked
def forward_from_backward(
    backward: BackwardKernel[T], rewards: Rewards[T]
) -> tuple[ForwardPolicy[T], T]:
    """The `p_F` that `p_B` and `R` force by trajectory balance (col:tb), and `Z`.

    `p_F(s'|s) = p_B(s|s') F(s') / F(s)`. For a normalised policy its terminal distribution is
    `R / Z`; for a kernel, such as an unlifted policy evaluated on a lift, its trajectory
    distribution is `R(x) B(tau) / Z` (the reading in which prop:markovian holds). Where `F(s) = 0`
    the state is never visited and the row is free; it is set uniform. Raises InputError if the
    rewards do not fit the terminals, or are all zero.
    """
    flow = flows(backward, rewards)
    dag, field = backward.dag, backward.field
    if not field.positive(flow[0]):
        raise InputError("the rewards sum to zero, so there is no law to sample: make one positive")
    through = [backward.values[edge] * flow[v] for edge, (_, v) in enumerate(dag.edges)]
    return _normalized(dag, field, through), flow[0]


@checked
def forward_from_law(
    elsewhere: ForwardPolicy[T], law: Callable[[Trajectory], T]
) -> ForwardPolicy[T]:
    """The conditional probabilities of a distribution over complete trajectories.

    `p_F(s'|s)` is the mass through the edge over the mass through the state. The distribution of a
    forward policy gives back that policy on the states it visits; rows of other states are those of
    `elsewhere`.

    Args:
        elsewhere: any policy on the DAG; its rows are used where there is no mass.
        law: the probability of each trajectory.
    """
    dag, field = elsewhere.dag, elsewhere.field
    through = [field.zero] * len(dag.edges)
    for tau in dag.trajectories():
        weight = called("forward_from_law", "law", law, tau)
        (weight,) = field.numbers([weight], "the probability of a trajectory")
        if not field.nonnegative(weight):
            raise InputError(
                f"the law gives the trajectory {tau} the probability {plain(weight)}, but must "
                "give a number >= 0"
            )
        for edge in tau:
            through[edge] = through[edge] + weight
    return _normalized(dag, field, through, elsewhere.values)


@checked
def markov_projection(lifted: LiftedDAG[Any], forward: ForwardPolicy[T]) -> ForwardPolicy[T]:
    """The Markovian policy on the base DAG with the same edge flows, hence the same marginals.

    `p~(s'|s) = sum_W u(s, W) p_F(s'|s, W) / sum_W u(s, W)`, with `u` the probability of visiting a
    lifted state. Path dependence therefore adds nothing to the terminal distributions that
    unrestricted policies can reach (claim markov-projection). States that are never visited get a
    uniform row. Raises InputError if `forward` is not a policy on this lift.
    """
    base, field = lifted.base, forward.field
    visits = visits_of_lift(lifted, forward)
    through = [field.zero] * len(base.edges)
    for edge, (node, _) in enumerate(lifted.dag.edges):
        below = lifted.base_edge[edge]
        through[below] = through[below] + visits[node] * forward.values[edge]
    return _normalized(base, field, through)


def visits_of_lift(lifted: LiftedDAG[Any], forward: ForwardPolicy[T]) -> list[T]:
    """The probability of visiting each lifted state; raises InputError if it is another lift's."""
    if forward.dag is not lifted.dag:
        raise InputError("the policy does not live on this lift: build it on `lifted.dag`")
    return path_sums(forward)


@checked
def h_transform(lifted: LiftedDAG[Any], backward: BackwardPolicy[T]) -> BackwardPolicy[T]:
    """The normalised lifted backward policy with the trajectory distribution of an unlifted one.

    It is the h-transform of Doob (claim h-transform).

    `p_B*((u, V)|(s, W)) = p~_B(u|s) h(u, V) / h(s, W)`, where `h(s, W)` is the probability under
    `p~_B` that the history of `s` leads to the latent `W`. Rows with `h(s, W) = 0` are never used
    and set uniform. Raises InputError if `backward` is not a policy on the base of this lift.
    """
    if backward.dag is not lifted.base:
        raise InputError("the backward policy does not live on the base of this lift")
    field, dag = backward.field, lifted.dag
    kernel = backward.on(lifted)
    h = path_sums(kernel)
    values = [
        kernel.values[edge] * h[u] / h[v]
        if field.positive(h[v])
        else field.one / field.convert(len(dag.in_edges[v]))
        for edge, (u, v) in enumerate(dag.edges)
    ]
    return BackwardPolicy(dag, field, values)


def _normalized(
    dag: PointedDAG[Any], field: Field[T], through: Sequence[T], instead: Sequence[T] | None = None
) -> ForwardPolicy[T]:
    """Each edge's share of its row's sum; rows of sum zero are those of `instead`, or uniform."""
    values = list(through)
    for row in dag.out_edges:
        total = field.sum(through[edge] for edge in row)
        some = field.positive(total) if row else False
        for edge in row:
            if some:
                values[edge] = through[edge] / total
            elif instead is not None:
                values[edge] = instead[edge]
            else:
                values[edge] = field.one / field.convert(len(row))
    return ForwardPolicy(dag, field, values)
