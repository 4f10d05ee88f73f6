"""A lower bound on the TV from a target to all tied policies: branch and bound on the weights.

Divide the weights of the classes that meet in some row by their sum, `t_c`. If each lies between
`l_c` and `h_c`, the flows `f` of a policy on the edges keep linear rules: outflow is inflow at a
state, and for edges e, e' of one state, of classes c and c', `f_e l_c' <= f_e' h_c`; where
all classes of the group meet, `l_c F <= f_e <= h_c F`, F the sum of the row. The least TV of flows
under these rules is at most that of the policies, and a linear programme. Boxes are split where
flows of one class disagree most.

Solvers round. The bound of a box is that of Lagrange: for any multipliers m >= 0 of the rules
`A x <= b` and y of the rules `B x = g`, and variables in [0, 1], it is
`y g - m b + sum_j min(0, (c + A' m - B' y)_j)`, summed in fractions.
"""

import heapq
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from fast.checking.minimise import Vector
from reference.expressivity.aliasing import TiedPolicies

# The ends of boxes are multiples of this, so that floats hold them, and 1 less them, exactly.
GRAIN = 2.0**-40


class Box(NamedTuple):
    """Bounds on the weights, one pair per class, and the solution of their linear programme."""

    low: Vector
    high: Vector
    value: float
    flows: Vector
    multipliers: Vector
    balances: Vector


def least_distance(tied: TiedPolicies, target: Sequence[Fraction], splits: int) -> Fraction:
    """A lower bound on the TV from a law to the terminal laws of all tied policies.

    Args:
        tied: the class of policies, which tells the actions of each state apart.
        target: one probability per terminal.
        splits: the number of boxes that are split; with more the bound rises to the least TV,
            slowly if there are many classes.
    """
    programme = _Programme(tied, target)
    # The box of all weights.
    whole = programme.solved(programme.alone.astype(float), np.ones(tied.count), 0.0)
    boxes = [(whole.value, 0, whole)]
    for split in range(splits):
        _, _, box = heapq.heappop(boxes)
        for half, (low, high) in enumerate(programme.halves(box)):
            child = programme.solved(low, high, box.value)
            heapq.heappush(boxes, (child.value, 2 * split + half + 1, child))
    return max(min(programme.bound(box) for _, _, box in boxes), Fraction(0))


class _Programme:
    """The linear programme of a box: flows on the edges, and the shortfall of each terminal."""

    def __init__(self, tied: TiedPolicies, target: Sequence[Fraction]):
        dag = tied.dag
        nodes, edges, terminals = len(dag.labels), len(dag.edges), len(dag.terminals)
        self.target, self.count, self.classes = target, tied.count, np.array(tied.classes)
        # One row for each node, with the edges out of it and into it.
        out, into = (
            csr_array((np.ones(edges), (ends, np.arange(edges))), shape=(nodes, edges))
            for ends in np.array(dag.edges).T
        )
        inner = [u for u, row in enumerate(dag.out_edges) if row]
        # Outflow minus inflow is 1 at the first state and 0 at the others.
        self.balance = hstack([(out - into)[inner], csr_array((len(inner), terminals))], "csr")
        # The shortfall of a terminal is at least its target minus its inflow.
        self.lack = hstack([-into[list(dag.terminals)], -eye_array(terminals)], "csr")
        # 1 for two edges out of one node, and 1 for an edge and its class.
        self.siblings = (out.T @ out).tocsr()
        member = csr_array((np.ones(edges), (self.classes, np.arange(edges))))
        # A group has the classes that meet in some row, directly or through others.
        self.group = connected_components(member @ self.siblings @ member.T)[1]
        sizes = np.bincount(self.group)[self.group]
        self.alone = sizes == 1
        self.full = self.siblings.sum(1) == sizes[self.classes]

    def rules(self, low: Vector, high: Vector) -> Any:
        """The rules of a box as rows of a matrix: shortfalls, then flows that are not positive."""
        least, most = low[self.classes], high[self.classes]
        edges, one = len(least), eye_array(len(least), format="csr")
        above = (one - diags_array(most) @ self.siblings)[self.full & (most < 1)]
        below = (diags_array(least) @ self.siblings - one)[self.full & (least > 0)]
        first, second = self.siblings.nonzero()
        kept = ~self.full[first] & (first != second) & (least[second] > 0)
        first, second = first[kept], second[kept]
        number = np.arange(len(first))
        pairs = csr_array(
            (np.r_[least[second], -most[first]], (np.r_[number, number], np.r_[first, second])),
            shape=(len(first), edges),
        )
        ties = vstack([above, below, pairs], "csr")
        nothing = csr_array((ties.shape[0], len(self.target)))
        return vstack([self.lack, hstack([ties, nothing])], "csr")

    def solved(self, low: Vector, high: Vector, at_least: float) -> Box:
        """The box, with the least TV of the flows in it and the multipliers that prove it."""
        rules, edges = self.rules(low, high), len(self.classes)
        limits = np.zeros(rules.shape[0])
        limits[: len(self.target)] = [-float(p) for p in self.target]
        start = np.zeros(self.balance.shape[0])
        start[0] = 1
        solved: Any = linprog(
            np.arange(self.balance.shape[1]) >= edges, A_ub=rules, b_ub=limits,
            A_eq=self.balance, b_eq=start, bounds=(0, 1), method="highs",
        )  # fmt: skip
        if solved.status != 0:
            # Multipliers of zero always prove that TV is not negative, whatever the solver returns.
            return Box(low, high, at_least, np.zeros(edges), 0 * limits, 0 * start)
        multipliers = np.maximum(-solved.ineqlin.marginals, 0)
        value = max(float(solved.fun), at_least)
        return Box(low, high, value, solved.x[:edges], multipliers, solved.eqlin.marginals)

    def halves(self, box: Box) -> list[tuple[Vector, Vector]]:
        """Two halves of a box, split at the class whose flows disagree most."""
        of_row = self.siblings @ box.flows
        flow, total = (np.bincount(self.classes, x, self.count) for x in (box.flows, of_row))
        mean = np.divide(flow, total, out=(box.low + box.high) / 2, where=total > 0)
        differences = np.abs(box.flows - of_row * mean[self.classes])
        apart, width = np.bincount(self.classes, differences, self.count), box.high - box.low
        c = int(np.argmax(np.where(width > 0, apart + 1e-9 * width, -1)))
        margin = 0.15 * width[c]
        middle = (mean[c] + box.low[c] / 2 + box.high[c] / 2) / 2
        at = GRAIN * round(np.clip(middle, box.low[c] + margin, box.high[c] - margin) / GRAIN)
        group, boxes = np.flatnonzero(self.group == self.group[c]), []
        for below in (True, False):
            low, high = box.low.copy(), box.high.copy()
            (high if below else low)[c] = at
            # Weights of the group that cannot sum to 1 are left out.
            for one in group:
                others = group[group != one]
                high[one] = min(high[one], max(1 - low[others].sum(), low[one]))
                low[one] = max(low[one], min(1 - high[others].sum(), high[one]))
            boxes.append((low, high))
        return boxes

    def bound(self, box: Box) -> Fraction:
        """The exact lower bound of a box that its multipliers prove."""
        edges, terminals = len(self.classes), len(self.target)
        slopes = [Fraction(0)] * edges + [Fraction(1)] * terminals
        rules = self.rules(box.low, box.high)
        for matrix, multipliers in ((self.balance, -box.balances), (rules, box.multipliers)):
            entries = matrix.tocoo()
            numbers = (multipliers[entries.row], entries.col, entries.data)
            for m, j, a in zip(*(number.tolist() for number in numbers), strict=True):
                slopes[j] += Fraction(m) * Fraction(a)
        lacking = map(Fraction, box.multipliers[:terminals].tolist())
        total = sum((m * p for m, p in zip(lacking, self.target, strict=True)), Fraction(0))
        below = sum((s for s in slopes if s < 0), Fraction(0))
        return total + Fraction(float(box.balances[0])) + below
