"""Files of counterexamples, read without JAX."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from reference import RATIONAL, ForwardPolicy, History, lift, pointed_dag

FOLDER = Path(__file__).parent / "counterexamples"


def way(label: Any) -> str:
    """The states on the way to a lifted state with its history, or the state itself."""
    is_lifted = type(label) is tuple and len(label) == 2 and type(label[1]) is tuple
    return " ".join(map(str, label[1] or label[:1])) if is_lifted else str(label)


def policy_of(written: Mapping[str, Any]) -> ForwardPolicy[Fraction]:
    """The policy of a file of a counterexample, in rationals."""
    dag = pointed_dag(written["graph"])
    if written["memory"]:
        dag = lift(dag, History()).dag
    values = [Fraction(1)] * len(dag.edges)
    for label, edges in zip(dag.labels, dag.out_edges, strict=True):
        if len(edges) > 1:
            for edge, share in zip(edges, written["p_F"][way(label)], strict=True):
                values[edge] = Fraction(share)
    return ForwardPolicy(dag, RATIONAL, values)
