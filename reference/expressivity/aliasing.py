"""Policies that cannot tell some actions apart, and the terminal laws that they attain."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from reference.arguments import check_fields
from reference.dag import PointedDAG, pointed_dag
from reference.errors import InputError, TooLargeError, shown
from reference.fields.field import RATIONAL
from reference.policies import ForwardPolicy

# The distribution of the node given the observations: nodes in increasing order.
Belief = tuple[tuple[int, Fraction], ...]

# For each belief and each class chosen at it, the next beliefs with their probabilities.
Moves = dict[Belief, dict[int, list[tuple[Fraction, Belief]]]]


class Interval(NamedTuple):
    """The probabilities strictly between `low` and `high`, or the one number that both are."""

    low: Fraction
    high: Fraction

    @property
    def forced(self) -> bool:
        """True if it is a single number."""
        return self.low == self.high

    def distance(self, probability: Fraction) -> Fraction:
        """The distance of `probability` from the closed interval.

        With two terminals and `pi(x) = probability` this is the infimum of TV over the laws. It is
        attained unless the interval is open and `probability` is not in it.
        """
        return max(self.low - probability, probability - self.high, Fraction(0))


@dataclass(frozen=True, eq=False)
class TiedPolicies:
    """The policies `p_F(s'|s) = w_c / sum of w over the actions at s`, `c` the class of `(s, s')`.

    The weights `w_c = exp(logit) > 0` are arbitrary, one per class. Actions of one class have the
    same weight wherever they occur: those of one state are equally likely, and those of different
    states bind the rows of the policy to each other.

    Attributes:
        dag: the DAG, lifted or not.
        classes: the class of each edge of `dag`, numbered from 0.
    """

    dag: PointedDAG[Any]
    classes: tuple[int, ...]

    def __post_init__(self) -> None:
        check_fields("TiedPolicies", self)
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
        """The policy with these weights, one per class.

        Raises:
            InputError: another number of weights, or one that is not positive: logits are finite.
        """
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

    def attainable(self, terminal: Hashable, max_beliefs: int = 10_000) -> Interval:
        """The set of all `p_T(terminal)`, exactly, or an error where this rule does not decide it.

        A policy of this family sees of a state only the classes of its actions. So `p_T(terminal)`
        is at most the optimum over policies that remember all classes seen and chosen, which
        dynamic programming over beliefs about the state finds, and at least the pessimum. Both are
        approached, by weights `eps^rank(c)`, if the classes can be ranked so that the first in a
        row is an optimal choice at each belief that optimal choices lead to. By continuity in the
        weights the attained values then fill the interval. They do not include an end of it
        unless it is a point: a policy makes all choices, so if it were optimal all choices would
        be, and all policies would have the same value.

        Raises:
            InputError: a state that is not a terminal; or optimal choices that no one ranking
                makes, as when one class should win at one belief and lose at another.
            TooLargeError: more than `max_beliefs` beliefs.
        """
        if terminal not in {self.dag.labels[x] for x in self.dag.terminals}:
            raise InputError(f"the state {shown(terminal)} is not a terminal of the DAG: name one")
        target = self.dag.index[terminal]
        moves = self._moves(max_beliefs)
        return Interval(-self._supremum(moves, target, -1), self._supremum(moves, target, 1))

    def _moves(self, max_beliefs: int) -> Moves:
        moves: Moves = {}
        stack: list[Belief] = [((0, Fraction(1)),)]
        while stack:
            belief = stack.pop()
            if belief in moves:
                continue
            if len(moves) == max_beliefs:
                raise TooLargeError(
                    f"TiedPolicies: more than {max_beliefs:,} beliefs about the state: use a "
                    "smaller instance, or raise `max_beliefs`"
                )
            row = self.row(belief[0][0])
            moves[belief] = {c: self._split(belief, c, row.count(c)) for c in row}
            stack.extend(after for split in moves[belief].values() for _, after in split)
        return moves

    def _split(self, belief: Belief, chosen: int, among: int) -> list[tuple[Fraction, Belief]]:
        """The beliefs after an action of class `chosen`, one of `among` alike in the row."""
        seen: dict[Hashable, dict[int, Fraction]] = {}
        for node, mass in belief:
            for edge in self.dag.out_edges[node]:
                if self.classes[edge] == chosen:
                    child = self.dag.edges[edge][1]
                    # A terminal is recognised on arrival; other states show only their row.
                    group = seen.setdefault(self.row(child) or child, {})
                    group[child] = group.get(child, Fraction(0)) + mass / among
        return [
            (total, tuple((v, m / total) for v, m in sorted(group.items())))
            for group in seen.values()
            for total in (sum(group.values(), Fraction(0)),)
        ]

    def _supremum(self, moves: Moves, target: int, payoff: int) -> Fraction:
        """The supremum of `payoff * p_T(target)`, for a payoff of 1 or -1."""
        order = pointed_dag(
            {
                belief: list(dict.fromkeys(b for split in row.values() for _, b in split))
                for belief, row in moves.items()
            }
        ).labels
        value: dict[Belief, Fraction] = {}
        best: dict[Belief, set[int]] = {}
        for belief in reversed(order):
            worth = {
                c: sum((mass * value[after] for mass, after in split), Fraction(0))
                for c, split in moves[belief].items()
            }
            at_end = Fraction(payoff if belief[0][0] == target else 0)
            value[belief] = max(worth.values(), default=at_end)
            best[belief] = {c for c, v in worth.items() if v == value[belief]}
        reached = {order[0]}
        for belief in order:
            if belief in reached:
                reached |= {after for c in best[belief] for _, after in moves[belief][c]}
        rivals = [(best[b], set(moves[b]) - best[b]) for b in order if b in reached]
        if not _rankable(rivals):
            raise InputError(
                f"TiedPolicies: the range of p_T({shown(self.dag.labels[target])}) is not "
                "determined, because no ranking of the classes makes optimal choices everywhere, "
                "as when one would have to win at a state and lose at another: compute p_T of "
                "single policies"
            )
        return value[order[0]]


def _rankable(rivals: Iterable[tuple[set[int], set[int]]]) -> bool:
    """True if some ranking puts, for each (best, others), one of the best before all others.

    Greedy: a class that is nowhere still among the others can come next, and never does harm.
    """
    left = [(best, others) for best, others in rivals if others]
    while left:
        blocked = set().union(*(others for _, others in left))
        remaining = [(best, others) for best, others in left if best <= blocked]
        if len(remaining) == len(left):
            return False
        left = remaining
    return True
