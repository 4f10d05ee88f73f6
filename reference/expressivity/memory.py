"""KL between action distributions, as measures of memory and of aliased states."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from reference.contract.errors import InputError, shown
from reference.lifted import LiftedDAG
from reference.marginals import path_sums
from reference.metrics import Ordered, kl_divergence
from reference.policies import ForwardPolicy
from reference.solve import markov_projection, visits_of_lift


def memory_kl(lifted: LiftedDAG[Any], forward: ForwardPolicy[Ordered]) -> dict[Hashable, float]:
    """`KL(s)` of fig:setsa, per non-terminal base state: the largest KL between two of its lifts.

    `max over W, W' of KL(p_F(.|s, W) || p_F(.|s, W'))` over the lifts that `p_F` visits, in nats.
    Zero everywhere if and only if `p_F` is Markovian where it goes. The figure averages it over
    states. Raises InputError if the policy does not live on this lift.
    """
    rows = _visited_rows(lifted, forward)
    return {
        state: max(kl_divergence(p, q) for p in laws for q in laws) for state, laws in rows.items()
    }


def aliasing_kl(
    lifted: LiftedDAG[Any],
    forward: ForwardPolicy[Ordered],
    first: Hashable,
    second: Hashable,
    actions: Mapping[tuple[Hashable, Hashable], Hashable],
) -> float:
    """The KL of eq:max_kl, `max over histories of KL(p_F(.|second, W') || p_F(.|first, W))`, nats.

    The two laws are over different children, so they are compared by action: at `p_2` and `p_3` of
    Lines, to stop or to advance by 1 or 2.

    Args:
        lifted: the lift; that of a Markovian policy is by `Forgetful()`.
        forward: `p_F` on the lift.
        first: the one base state.
        second: the other.
        actions: the action of each edge (state, child) out of the two.

    Raises:
        InputError: if the policy does not live on this lift, a state is not visited, an edge has no
            action, or the states do not allow the same actions.
    """
    rows = _visited_rows(lifted, forward)
    laws: dict[Hashable, list[dict[Hashable, Ordered]]] = {}
    for state in (first, second):
        if state not in rows:
            raise InputError(
                f"aliasing_kl: {shown(state)} is not a non-terminal state that p_F visits"
            )
        base = lifted.base
        children = [base.labels[v] for v in base.children[base.index[state]]]
        names: list[Any] = [actions.get((state, child)) for child in children]
        if None in names or len({*names}) < len(names):
            raise InputError(
                f"aliasing_kl: the edges of {shown(state)} to {children} have the actions {names}: "
                "name each, and no two alike"
            )
        laws[state] = [dict(zip(names, row, strict=True)) for row in rows[state]]
    if {*laws[first][0]} != {*laws[second][0]}:
        raise InputError(
            f"aliasing_kl: {shown(first)} allows {[*laws[first][0]]} and {shown(second)} allows "
            f"{[*laws[second][0]]}: compare states with the same actions"
        )
    order = [*laws[first][0]]
    return max(
        kl_divergence([q[a] for a in order], [p[a] for a in order])
        for q in laws[second]
        for p in laws[first]
    )


def price_of_forgetting(lifted: LiftedDAG[Any], forward: ForwardPolicy[Ordered]) -> float:
    """`KL(P || P~)` between the trajectory laws of `p_F` and of its Markov projection, in nats.

    Claim markov-projection. `sum of u(s, W) KL(p_F(.|s, W) || p~(.|s))`: the information about the
    next state that the latent holds beyond the state. Raises InputError for a policy elsewhere.
    """
    projected = markov_projection(lifted, forward)
    visits = path_sums(forward)
    return math.fsum(
        float(visits[node])
        * kl_divergence(
            [forward.values[e] for e in row], [projected.values[lifted.base_edge[e]] for e in row]
        )
        for node, row in enumerate(lifted.dag.out_edges)
        if row and visits[node] > 0
    )


def _visited_rows(
    lifted: LiftedDAG[Any], forward: ForwardPolicy[Ordered]
) -> dict[Hashable, list[Sequence[Ordered]]]:
    """For each base state, the rows of its lifts that the policy visits."""
    visits = visits_of_lift(lifted, forward)
    rows: dict[Hashable, list[Sequence[Ordered]]] = {}
    for node, row in enumerate(lifted.dag.out_edges):
        if row and visits[node] > 0:
            state = lifted.base.labels[lifted.projection[node]]
            rows.setdefault(state, []).append([forward.values[e] for e in row])
    return rows
