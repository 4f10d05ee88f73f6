"""Which policies on a lift are Markovian on its base."""

from typing import Any

from reference import (
    BackwardKernel,
    BackwardPolicy,
    ForwardPolicy,
    InputError,
    LiftedDAG,
    path_sums,
)
from reference.fields.field import T


def is_markovian(policy: ForwardPolicy[T], lifted: LiftedDAG[Any]) -> bool:
    """Whether all visited lifts of a base state have the same row."""
    visits = path_sums(policy)
    rows: dict[int, list[T]] = {}
    for node, edges in enumerate(lifted.dag.out_edges):
        if policy.field.positive(visits[node]):
            row = [policy.values[e] for e in edges]
            if rows.setdefault(lifted.projection[node], row) != row:
                return False
    return True


def is_normalised(kernel: BackwardKernel[Any]) -> bool:
    """Whether the rows of a kernel sum to one."""
    try:
        BackwardPolicy(kernel.dag, kernel.field, kernel.values)
    except InputError:
        return False
    return True


def has_memory(lifted: LiftedDAG[Any]) -> bool:
    """Whether some state has two lifts."""
    return len(lifted.dag.labels) > len(lifted.base.labels)


def parent_laws(kernel: BackwardKernel[T], lifted: LiftedDAG[Any]) -> dict[int, list[dict[int, T]]]:
    """For each base state, the law of the *base* parent at each of its lifts."""
    laws: dict[int, list[dict[int, T]]] = {}
    for node, row in enumerate(lifted.dag.in_edges):
        law: dict[int, T] = {}
        for edge in row:
            u = lifted.projection[lifted.dag.edges[edge][0]]
            law[u] = law.get(u, kernel.field.zero) + kernel.values[edge]
        laws.setdefault(lifted.projection[node], []).append(law)
    return laws
