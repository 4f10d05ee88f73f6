"""Policies that cannot tell some actions apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reference.contract.errors import InputError, check_fields
from reference.dag import PointedDAG
from reference.fields.field import RATIONAL
from reference.policies import ForwardPolicy


@dataclass(frozen=True, eq=False)
class TiedPolicies:
    """The policies `p_F(s'|s) = w_c / sum of w over the actions at s`, `c` the class of `(s, s')`.

    The weights `w_c = exp(logit) > 0` are arbitrary, one per class. Actions of one class have the
    same weight wherever they occur: within one state they are equally likely; across states they
    tie the rows of the policy. Classes, one for each edge of a DAG, are numbered from 0.
    """

    dag: PointedDAG[Any]
    classes: tuple[int, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.classes) != len(self.dag.edges):
            raise InputError(
                f"TiedPolicies: {len(self.classes)} classes for a DAG of {len(self.dag.edges)} "
                "edges; give one per edge, in the DAG's numbering"
            )
        if set(self.classes) != set(range(self.count)):
            raise InputError(
                f"TiedPolicies: the classes {sorted(set(self.classes))} must be numbered from 0 "
                "without gaps"
            )

    @property
    def count(self) -> int:
        """The number of classes."""
        return max(self.classes) + 1

    def policy(self, weights: Sequence[Fraction]) -> ForwardPolicy[Fraction]:
        """The policy with weights, one per class; raises InputError unless all are positive."""
        if len(weights) != self.count or not all(w > 0 for w in weights):
            raise InputError(
                f"TiedPolicies: {len(weights)} weights {list(weights)} for {self.count} classes; "
                "give one positive weight per class"
            )
        return ForwardPolicy.from_weights(self.dag, RATIONAL, [weights[c] for c in self.classes])

    def row(self, node: int) -> tuple[int, ...]:
        """The classes of the actions at a node, in increasing order."""
        return tuple(sorted(self.classes[edge] for edge in self.dag.out_edges[node]))

    def separates(self, node: int) -> bool:
        """True if no two actions at a node are of one class."""
        row = self.row(node)
        return len(set(row)) == len(row)
