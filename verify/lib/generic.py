"""The generic instance on a DAG: an identity for it holds for every backward policy and reward."""

from typing import Any, NamedTuple

from reference import BackwardPolicy, PointedDAG, Symbolic
from reference.fields.symbolic import MAX_PARAMETERS
from verify.lib import symbolic_scope


class Generic(NamedTuple):
    """Every backward policy and every reward on a DAG, as parameters of rational functions."""

    field: Symbolic
    backward: BackwardPolicy[Any]
    rewards: tuple[Any, ...]


def generic(dag: PointedDAG[Any], max_parameters: int = MAX_PARAMETERS) -> Generic:
    """All normalised backward policies and all rewards on a DAG at once.

    An identity that holds for this one instance holds for every `p_B` and `R` at which its
    denominators do not vanish.

    Raises:
        TooLargeError: if it has more than `max_parameters` parameters.
    """
    free = symbolic_scope.free_edges(BackwardPolicy, dag)
    names = [*(f"b{edge}" for edge in free), *(f"R{x}" for x in dag.terminals)]
    field = Symbolic(" ".join(names), max_parameters)
    symbols = field.symbols[: len(free)]
    backward = symbolic_scope.generic(BackwardPolicy, dag, field, symbols)
    return Generic(field, backward, field.symbols[len(free) :])
