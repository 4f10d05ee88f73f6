"""The terminal laws that policies with tied actions attain (prop:temporal_gnns), exactly."""

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from reference.contract.errors import InputError, shown
from reference.dag import PointedDAG, pointed_dag
from reference.expressivity.aliasing import TiedPolicies

# The distribution of the node given the observations: nodes in increasing order.
Belief = tuple[tuple[int, Fraction], ...]

# For each belief and each class chosen at it, the next beliefs with their probabilities.
Moves = dict[Belief, dict[int, list[tuple[Fraction, Belief]]]]


class Interval(NamedTuple):
    """The probabilities strictly between `low` and `high`, or the one number that both are."""

    low: Fraction
    high: Fraction

    def distance(self, probability: Fraction) -> Fraction:
        """The distance of `probability` from the closed interval.

        With two terminals and `pi(x) = probability` it is the infimum of TV over the laws, attained
        unless the interval is open and `probability` is not in it.
        """
        return max(self.low - probability, probability - self.high, Fraction(0))


def tied_by(dag: PointedDAG[Any], keys: Iterable[Hashable]) -> TiedPolicies:
    """The policies in which edges with equal keys are of one class."""
    numbers: dict[Hashable, int] = {}
    return TiedPolicies(dag, tuple(numbers.setdefault(key, len(numbers)) for key in keys))


def attainable(tied: TiedPolicies, terminal: Hashable) -> Interval:
    """The set of all `p_T(terminal)`, exactly, or an error where this rule does not decide it.

    A policy of this family sees of a state only the classes of its actions. So `p_T(terminal)` is
    at most the optimum over policies that remember all classes seen and chosen, which dynamic
    programming over beliefs about the state finds, and at least the pessimum. Both are approached,
    by weights `eps^rank(c)`, if the classes can be ranked so that the first in a row is an optimal
    choice at each belief that optimal choices lead to; otherwise, as when one class should win at
    one belief and lose at another, it is refused. By continuity in the weights the attained values
    then fill the interval. They do not include an end of it unless it is a point: a policy makes
    all choices, so if it were optimal all choices would be, and all policies would have the same
    value.
    """
    target = tied.dag.index[terminal]
    moves = _moves(tied)
    return Interval(-_supremum(tied, moves, target, -1), _supremum(tied, moves, target, 1))


def _moves(tied: TiedPolicies) -> Moves:
    moves: Moves = {}
    stack: list[Belief] = [((0, Fraction(1)),)]
    while stack:
        belief = stack.pop()
        if belief in moves:
            continue
        row = tied.row(belief[0][0])
        moves[belief] = {c: _split(tied, belief, c, row.count(c)) for c in row}
        stack.extend(after for split in moves[belief].values() for _, after in split)
    return moves


def _split(
    tied: TiedPolicies, belief: Belief, chosen: int, among: int
) -> list[tuple[Fraction, Belief]]:
    """The beliefs after an action of class `chosen`, one of `among` alike in the row."""
    seen: dict[Hashable, dict[int, Fraction]] = {}
    for node, mass in belief:
        for edge in tied.dag.out_edges[node]:
            if tied.classes[edge] == chosen:
                child = tied.dag.edges[edge][1]
                # A terminal is recognised on arrival; other states show only their row.
                group = seen.setdefault(tied.row(child) or child, {})
                group[child] = group.get(child, Fraction(0)) + mass / among
    return [
        (total, tuple((v, m / total) for v, m in sorted(group.items())))
        for group in seen.values()
        for total in (sum(group.values(), Fraction(0)),)
    ]


def _supremum(tied: TiedPolicies, moves: Moves, target: int, payoff: int) -> Fraction:
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
            f"TiedPolicies: the range of p_T({shown(tied.dag.labels[target])}) is not determined, "
            "because no ranking of the classes makes optimal choices everywhere, as when one would "
            "have to win at a state and lose at another: compute p_T of single policies"
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
