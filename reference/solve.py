"""The forward policy that balance forces, from a backward policy or from a trajectory law."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from reference.dag import Trajectory
from reference.errors import InputError
from reference.policies import BackwardPolicy, ForwardPolicy

T = TypeVar("T", Fraction, float)


def flows(backward: BackwardPolicy[T], rewards: Sequence[T]) -> list[T]:
    """The state flow `F` (def:flows) of a backward policy, per node.

    `F(x) = R(x)` and `F(s) = sum over children s' of p_B(s|s') F(s')`; `F(s_o) = Z = sum of R`.
    """
    dag = backward.dag
    flow = [backward.field.zero] * len(dag.labels)
    for x, reward in zip(dag.terminals, rewards, strict=True):
        flow[x] = reward
    for edge in range(len(dag.edges) - 1, -1, -1):
        u, v = dag.edges[edge]
        flow[u] += backward.values[edge] * flow[v]
    return flow


def forward_from_backward(
    backward: BackwardPolicy[T], rewards: Sequence[T]
) -> tuple[ForwardPolicy[T], T]:
    """The `p_F` that a normalised `p_B` and `R` force, and `Z`.

    `p_F(s'|s) = p_B(s|s') F(s') / F(s)`. Where `F(s) = 0` the state is never visited and the row
    is free; it is set uniform.

    Raises:
        InputError: if the rewards do not fit the terminals, or are all zero.
    """
    dag, field = backward.dag, backward.field
    if len(rewards) != len(dag.terminals):
        raise InputError(
            f"{len(rewards)} rewards for {len(dag.terminals)} terminal states: give one per "
            "terminal, in the order of dag.terminals"
        )
    flow = flows(backward, rewards)
    if not flow[0] > 0:
        raise InputError("the rewards sum to zero, so there is no law to sample: make one positive")
    values = [
        backward.values[edge] * flow[v] / flow[u]
        if flow[u] > 0
        else field.one / field.convert(len(dag.children[u]))
        for edge, (u, v) in enumerate(dag.edges)
    ]
    return ForwardPolicy(dag, field, values), flow[0]


def forward_from_law(
    policy_space: ForwardPolicy[T], law: Callable[[Trajectory], T]
) -> ForwardPolicy[T]:
    """The conditional probabilities of a law over complete trajectories.

    `p_F(s'|s)` is the law's mass through the edge over its mass through the state. If the law is
    that of some forward policy, it is this one, on the states that the law visits; where it does
    not go, the row of `policy_space` is kept.

    Args:
        policy_space: any policy on the DAG; its rows fill in where the law has no mass.
        law: the probability of each trajectory.
    """
    dag, field = policy_space.dag, policy_space.field
    through = [field.zero] * len(dag.edges)
    for tau in dag.trajectories():
        weight = law(tau)
        for edge in tau:
            through[edge] += weight
    values = list(policy_space.values)
    for row in dag.out_edges:
        total = field.sum(through[edge] for edge in row)
        if total > 0:
            for edge in row:
                values[edge] = through[edge] / total
    return ForwardPolicy(dag, field, values)
