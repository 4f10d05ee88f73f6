"""Balance conditions as residuals, left side minus right side, per edge, trajectory or pair.

Edges are numbers: `dag.states((edge,))` names one by its states, as `dag.states(path)` does a path.
Each raises InputError if the policies live on different DAGs, or flows or rewards do not fit.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from reference.contract.errors import InputError, TooLargeError, check_sequence, checked, shown
from reference.dag import Trajectory
from reference.fields.field import FLOAT64, T, log_float
from reference.policies import BackwardKernel, EdgeWeights, ForwardPolicy

# `R(x)`, one per `dag.terminals` and in their order, or by terminal state; integers are converted.
Rewards: TypeAlias = Sequence[T | int] | Mapping[Any, T | int]


@checked
def fm_residuals(
    forward: ForwardPolicy[T], flow: Sequence[T], rewards: Rewards[T]
) -> Iterator[tuple[int, T]]:
    """Flow matching: inflow minus outflow, per node other than `s_o`.

    `sum over parents u of F(u) p_F(s|u) - F(s)`, where `F(x) = R(x)` at terminals (def:flows).
    (Bengio et al., 2021.)

    Args:
        forward: `p_F` on the DAG, lifted or not; the flow of an edge is `F(u) p_F(s|u)`.
        flow: `F`, one per node; its values at terminals are not read.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
    """
    dag = forward.dag
    state_flow = _state_flow(forward, flow, rewards)
    inflow = [forward.field.zero] * len(dag.labels)
    for (u, v), value in zip(dag.edges, forward.values, strict=True):
        inflow[v] = inflow[v] + state_flow[u] * value
    for node in range(1, len(dag.labels)):
        yield node, inflow[node] - state_flow[node]


@checked
def db_residuals(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], flow: Sequence[T], rewards: Rewards[T]
) -> Iterator[tuple[int, T]]:
    """Detailed balance: `F(s) p_F(s'|s) - F(s') p_B(s|s')`, per edge.

    The case `j = i + 1` of eq:conditionsa (prop:lifted_balance). (Bengio et al., 2023.)

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        flow: `F`, one per node; at terminals `R(x)` is used instead.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
    """
    check_same_dag(forward, backward)
    state_flow = _state_flow(forward, flow, rewards)
    for edge, (u, v) in enumerate(forward.dag.edges):
        yield edge, state_flow[u] * forward.values[edge] - state_flow[v] * backward.values[edge]


@checked
def subtb_residuals(
    forward: ForwardPolicy[T],
    backward: BackwardKernel[T],
    flow: Sequence[T],
    rewards: Rewards[T],
    limit: int = 10_000_000,
) -> Iterator[tuple[Trajectory, T]]:
    """Subtrajectory balance (eq:conditionsa, prop:lifted_balance), for every path with `i < j`.

    `F(s_i) p_F(s_{i+1:j}|s_i) - p_B(s_{i:j-1}|s_j) F(s_j)`. (Madan et al., 2023.)

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        flow: `F`, one per node; at terminals `R(x)` is used instead.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        limit: the largest number of paths to enumerate.

    Raises:
        TooLargeError: if there are more than `limit` paths between any two states.
    """
    check_same_dag(forward, backward)
    dag, one = forward.dag, forward.field.one
    state_flow = _state_flow(forward, flow, rewards)
    paths = [0] * len(dag.labels)
    for u, v in reversed(dag.edges):
        paths[u] += 1 + paths[v]
    if sum(paths) > limit:
        raise TooLargeError(
            f"the DAG has {sum(paths):,} paths between two states, and at most {limit:,} are "
            "enumerated one by one: use detailed balance (db_residuals), which implies the rest, "
            "or raise `limit`"
        )
    for start in range(len(dag.labels)):
        stack: list[tuple[int, Trajectory, T, T]] = [(start, (), one, one)]
        while stack:
            node, path, p_f, p_b = stack.pop()
            if path:
                yield path, state_flow[start] * p_f - p_b * state_flow[node]
            for edge in reversed(dag.out_edges[node]):
                products = p_f * forward.values[edge], p_b * backward.values[edge]
                stack.append((dag.edges[edge][1], (*path, edge), *products))


@checked
def tb_residuals(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: Rewards[T], z: T
) -> Iterator[tuple[Trajectory, T]]:
    """Trajectory balance (col:tb): `Z p_F(tau) - R(x) p_B(tau|x)`, per complete trajectory.

    It is eq:tb; eq:lines is the case of Lines.

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        z: the flow of the initial state, `F(s_o*)`.
    """
    check_same_dag(forward, backward)
    reward = rewards_by_node(forward, rewards)
    (z,) = forward.field.numbers([z], "Z")
    for tau in forward.dag.trajectories():
        yield tau, z * forward.along(tau) - reward[forward.dag.end(tau)] * backward.along(tau)


@checked
def log_tb_residuals(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: Rewards[T], log_z: float
) -> Iterator[tuple[Trajectory, float]]:
    """`delta(tau) = log( Z p_F(tau) / (R(x) p_B(tau|x)) )` in nats, per trajectory.

    The quantity whose square the losses average, for rational and float policies.

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        log_z: `log Z`, nats.

    Raises:
        InputError: if a probability or a reward is zero, where the logarithm does not exist.
    """
    check_same_dag(forward, backward)
    reward = rewards_by_node(forward, rewards)
    (log_z,) = FLOAT64.numbers([log_z], "log Z")
    for tau in forward.dag.trajectories():
        x = forward.dag.end(tau)
        p_f, p_b = forward.along(tau), backward.along(tau)
        positive = forward.field.positive
        if not (positive(p_f) and positive(p_b) and positive(reward[x])):
            raise InputError(
                f"the trajectory {forward.dag.states(tau)} has p_F = {p_f}, p_B = {p_b} and R = "
                f"{reward[x]}, but the log residual needs all three > 0: use tb_residuals, or "
                "raise the zero to a small positive number"
            )
        yield tau, log_z + log_float(p_f) - log_float(reward[x]) - log_float(p_b)


@checked
def cb_residuals(
    forward: ForwardPolicy[T],
    backward: BackwardKernel[T],
    rewards: Rewards[T],
    same_length_only: bool = False,
) -> Iterator[tuple[Trajectory, Trajectory, T]]:
    """Contrastive balance (col:cb), for every pair of complete trajectories.

    `p_F(tau) p_B(tau'|x') R(x') - p_F(tau') p_B(tau|x) R(x)`.

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        same_length_only: read the corollary as printed, where both trajectories have the same
            length `T`; the condition is then too weak.
    """
    check_same_dag(forward, backward)
    reward = rewards_by_node(forward, rewards)
    sides = [
        (tau, forward.along(tau), backward.along(tau) * reward[forward.dag.end(tau)])
        for tau in forward.dag.trajectories()
    ]
    for tau, tau2, residual in crossed(sides):
        if not same_length_only or len(tau) == len(tau2):
            yield tau, tau2, residual


def crossed(sides: Sequence[tuple[Trajectory, T, T]]) -> Iterator[tuple[Trajectory, Trajectory, T]]:
    """`p(tau) w(tau') - p(tau') w(tau)` for each pair of trajectories, given as `(tau, p, w)`."""
    for (tau, p, w), (tau2, p2, w2) in combinations(sides, 2):
        yield tau, tau2, p * w2 - p2 * w


@checked
def rewards_by_node(policy: EdgeWeights[T], rewards: Rewards[T]) -> dict[int, T]:
    """`R(x)` by terminal node; raises InputError if one is missing, or no number of the field."""
    dag = policy.dag
    if isinstance(rewards, Mapping):
        names = [dag.labels[x] for x in dag.terminals]
        if strange := rewards.keys() ^ {*names}:
            raise InputError(
                f"the rewards by name and the terminal states differ in {shown(strange.pop())}: "
                f"give one for each of {shown(names)}"
            )
        rewards = [rewards[name] for name in names]
    rewards = policy.field.numbers(check_sequence("the policy", "rewards", rewards), "reward")
    if len(rewards) != len(dag.terminals):
        raise InputError(
            f"{len(rewards)} rewards for {len(dag.terminals)} terminal states: give one per "
            "terminal, in the order of dag.terminals"
        )
    return dict(zip(dag.terminals, rewards, strict=True))


def positive_factors(
    forward: ForwardPolicy[T],
    backward: BackwardKernel[T],
    reward: dict[int, T],
    edge: int,
    why: str,
) -> list[T]:
    """`p_F` and `p_B` of an edge and, where it leads to a terminal x, `R(x)`.

    Args:
        forward: `p_F`.
        backward: `p_B`, on the same DAG.
        reward: `R(x)` by terminal node.
        edge: the number of the edge.
        why: why their logarithms are needed, for the end of a message.

    Raises:
        InputError: unless all are positive.
    """
    u, v = forward.dag.edges[edge]
    factors = [forward.values[edge], backward.values[edge], *([reward[v]] if v in reward else [])]
    if not all(forward.field.positive(factor) for factor in factors):
        raise InputError(
            f"p_F, p_B and, at terminals, R are {', '.join(map(str, factors))} on the edge "
            f"{shown(forward.dag.labels[u])} -> {shown(forward.dag.labels[v])}, {why}"
        )
    return factors


def _state_flow(policy: ForwardPolicy[T], flow: Sequence[T], rewards: Rewards[T]) -> list[T]:
    """`F` with `F(x) = R(x)` at terminals, as in def:flows."""
    dag = policy.dag
    state_flow = policy.field.numbers(flow, "flow")
    if len(flow) != len(dag.labels):
        raise InputError(
            f"{len(flow)} flows for a DAG of {len(dag.labels)} nodes: give one per node, in the "
            "DAG's numbering"
        )
    for x, reward in rewards_by_node(policy, rewards).items():
        state_flow[x] = reward
    return state_flow


def check_same_dag(*policies: EdgeWeights[Any]) -> None:
    """Checks that policies live on one DAG and have one arithmetic; raises InputError if not."""
    if any(policy.dag is not policies[0].dag for policy in policies):
        raise InputError(
            "the policies live on different DAGs: put all on the same one (a base policy is moved "
            "to a lift by `on(lifted)`)"
        )
    check_same_field(*policies)


def check_same_field(*policies: EdgeWeights[Any]) -> None:
    """Checks that policies have one arithmetic: a fraction times a float is silently a float."""
    names = {policy.field.name for policy in policies}
    if len(names) > 1:
        raise InputError(
            f"the policies compute in different fields, {' and '.join(sorted(names))}: put all in "
            "one, by converting their values"
        )
