"""The generic instance on a DAG: an identity for it holds for every backward policy and reward."""

from collections.abc import Hashable
from typing import Any, NamedTuple

from reference import BackwardPolicy, PointedDAG, Symbolic
from reference.fields.symbolic import MAX_PARAMETERS


class Generic(NamedTuple):
    """The generic instance on a DAG: every backward policy and every reward, as parameters.

    Attributes:
        field: rational functions of the parameters.
        backward: `p_B` with a parameter for each parent but the last, which gets the rest.
        rewards: a parameter for each terminal.
    """

    field: Symbolic
    backward: BackwardPolicy[Any]
    rewards: tuple[Any, ...]


def generic(dag: PointedDAG[Hashable], max_parameters: int = MAX_PARAMETERS) -> Generic:
    """All normalised backward policies and all rewards on a DAG at once.

    An identity that holds for this one instance holds for every `p_B` and `R` at which its
    denominators do not vanish.

    Raises:
        TooLargeError: if it has more than `max_parameters` parameters.
    """
    free = [edge for row in dag.in_edges for edge in row[:-1]]
    names = [*(f"b{edge}" for edge in free), *(f"R{x}" for x in dag.terminals)]
    field = Symbolic(" ".join(names), max_parameters)
    parameter = dict(zip(free, field.symbols, strict=False))
    values = [field.zero] * len(dag.edges)
    for row in dag.in_edges:
        for edge in row[:-1]:
            values[edge] = parameter[edge]
        if row:
            values[row[-1]] = field.one - field.sum(parameter[edge] for edge in row[:-1])
    return Generic(field, BackwardPolicy(dag, field, values), field.symbols[len(free) :])
