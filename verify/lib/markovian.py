"""Which policies on a lift are Markovian on its base."""

from fractions import Fraction
from typing import Any

from reference.contract.errors import InputError
from reference.fields.field import RATIONAL, T
from reference.lifted import LiftedDAG
from reference.marginals import path_sums
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy


def is_markovian(policy: ForwardPolicy[T], lifted: LiftedDAG[Any]) -> bool:
    """True if all visited lifts of a base state have the same row."""
    visits = path_sums(policy)
    rows: dict[int, list[T]] = {}
    for node, edges in enumerate(lifted.dag.out_edges):
        if policy.field.positive(visits[node]):
            row = [policy.values[e] for e in edges]
            if rows.setdefault(lifted.projection[node], row) != row:
                return False
    return True


def is_normalised(kernel: BackwardKernel[Any]) -> bool:
    """True if the rows of a kernel sum to one."""
    try:
        BackwardPolicy(kernel.dag, kernel.field, kernel.values)
    except InputError:
        return False
    return True


def has_memory(lifted: LiftedDAG[Any]) -> bool:
    """True if some state has two lifts."""
    return len(lifted.dag.labels) > len(lifted.base.labels)


def copies(lifted: LiftedDAG[Any], state: Any) -> list[int]:
    """The lifts of a base state."""
    return [node for node, v in enumerate(lifted.projection) if lifted.base.labels[v] == state]


def preferring_one_way_to_each_end(lifted: LiftedDAG[str]) -> BackwardPolicy[Fraction]:
    """On the history lift of the diamond: x comes by way of a, and y of b, three times in four.

    Given x, and given y, the law on histories is that of a base policy, but not of the same.
    """
    values = [Fraction(1)] * len(lifted.dag.edges)
    for edge, (u, v) in enumerate(lifted.dag.edges):
        if v in lifted.dag.terminals:
            by_a = lifted.dag.labels[u][1] == ("a", "c")
            values[edge] = Fraction(3 if by_a == (lifted.dag.labels[v] == "x") else 1, 4)
    return BackwardPolicy(lifted.dag, RATIONAL, values)


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
