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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from pdai.experiments.nearest import check_law
from reference.errors import InputError, check_integer
from reference.expressivity.aliasing import TiedPolicies

Vector = npt.NDArray[np.float64]
# (columns, coefficients) of a rule.
Rule = tuple[list[int], list[float]]

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

    With more splits it rises to the least TV, slowly if there are many classes.

    Args:
        tied: the class, where no two actions of one state have one class.
        target: the law, one number per terminal of its DAG.
        splits: the number of times that a box is split in two.

    Raises:
        InputError: if two actions of a state are of one class, or the target is no law.
    """
    check_integer("least_distance", "splits", splits, 0)
    check_law(tied, target)
    if not all(tied.separates(u) for u in range(len(tied.dag.labels))):
        raise InputError(
            "least_distance: two actions of one state have the same class: give classes that tell "
            "the actions of a state apart"
        )
    programme = _Programme(tied, target)
    whole = programme.solved(*programme.whole(), 0.0)
    boxes = [(whole.value, 0, whole)]
    for split in range(splits):
        _, _, box = heapq.heappop(boxes)
        for half, (low, high) in enumerate(programme.halves(box)):
            child = programme.solved(low, high, box.value)
            heapq.heappush(boxes, (child.value, 2 * split + half + 1, child))
    return max(min(programme.bound(box) for _, _, box in boxes), Fraction(0))


@dataclass
class _Row:
    """The edges of a state, their classes, and whether these are all classes of the group."""

    edges: list[int]
    classes: list[int]
    full: bool


class _Programme:
    """The linear programme of a box: flows on the edges, and the shortfall of each terminal."""

    def __init__(self, tied: TiedPolicies, target: Sequence[Fraction]):
        dag = tied.dag
        self.target, self.count = target, tied.count
        self.edges, self.terminals = len(dag.edges), list(dag.terminals)
        self.groups = _groups(tied)
        self.group_of = {c: group for group in self.groups for c in group}
        self.rows = [
            _Row(
                list(out),
                [tied.classes[e] for e in out],
                len(out) == len(self.group_of[tied.classes[out[0]]]),
            )
            for out in dag.out_edges
            if out
        ]
        inner = [u for u, out in enumerate(dag.out_edges) if out]
        # Outflow minus inflow is 1 at the first state and 0 at the others.
        self.balance: list[Rule] = [
            (
                [*dag.out_edges[u], *dag.in_edges[u]],
                [1.0] * len(dag.out_edges[u]) + [-1.0] * len(dag.in_edges[u]),
            )
            for u in inner
        ]
        # The shortfall of a terminal is at least its target minus its inflow.
        self.lack: list[Rule] = [
            ([*dag.in_edges[x], self.edges + i], [-1.0] * (len(dag.in_edges[x]) + 1))
            for i, x in enumerate(self.terminals)
        ]
        self.size = self.edges + len(self.terminals)
        self.balanced = self._matrix(self.balance)

    def whole(self) -> tuple[Vector, Vector]:
        """The box of all weights."""
        low, high = np.zeros(self.count), np.ones(self.count)
        for group in self.groups:
            if len(group) == 1:
                low[list(group)] = 1
        return low, high

    def ties(self, low: Vector, high: Vector) -> list[Rule]:
        """The rules of a box, each a combination of flows that is not positive."""
        rules: list[Rule] = []
        for row in self.rows:
            for e, c in zip(row.edges, row.classes, strict=True):
                others = [x for x in row.edges if x != e]
                if row.full and high[c] < 1:
                    rules.append(([e, *others], [1 - high[c], *[-high[c]] * len(others)]))
                if row.full and low[c] > 0:
                    rules.append(([e, *others], [low[c] - 1, *[low[c]] * len(others)]))
                if not row.full:
                    rules += [
                        ([e, x], [low[k], -high[c]])
                        for x, k in zip(row.edges, row.classes, strict=True)
                        if x != e and low[k] > 0
                    ]
        return rules

    def solved(self, low: Vector, high: Vector, at_least: float) -> Box:
        """The box, with the least TV of the flows in it and the multipliers that prove it."""
        rules = self._matrix([*self.lack, *self.ties(low, high)])
        limits = np.zeros(rules.shape[0])
        limits[: len(self.terminals)] = [-float(p) for p in self.target]
        start = np.zeros(len(self.balance))
        start[0] = 1
        cost = np.r_[np.zeros(self.edges), np.ones(len(self.terminals))]
        solved: Any = linprog(
            cost, A_ub=rules, b_ub=limits, A_eq=self.balanced, b_eq=start, bounds=(0, 1),
            method="highs",
        )  # fmt: skip
        if solved.status != 0:
            # Multipliers of zero always prove that TV is not negative, whatever the solver returns.
            none = np.zeros(rules.shape[0]), np.zeros(len(self.balance))
            return Box(low, high, at_least, np.zeros(self.edges), *none)
        multipliers = np.maximum(-solved.ineqlin.marginals, 0)
        value = max(float(solved.fun), at_least)
        return Box(low, high, value, solved.x[: self.edges], multipliers, solved.eqlin.marginals)

    def halves(self, box: Box) -> list[tuple[Vector, Vector]]:
        """Two halves of a box, split at the class whose flows disagree most."""
        total, flow = np.zeros(self.count), np.zeros(self.count)
        for row in self.rows:
            flow[row.classes] += box.flows[row.edges]
            total[row.classes] += box.flows[row.edges].sum()
        mean = np.divide(flow, total, out=(box.low + box.high) / 2, where=total > 0)
        apart = np.zeros(self.count)
        for row in self.rows:
            own = box.flows[row.edges]
            apart[row.classes] += np.abs(own - own.sum() * mean[row.classes])
        width = box.high - box.low
        c = int(np.argmax(np.where(width > 0, apart + 1e-9 * width, -1)))
        margin = 0.15 * width[c]
        at = GRAIN * round(
            min(
                max((mean[c] + box.low[c] / 2 + box.high[c] / 2) / 2, box.low[c] + margin),
                box.high[c] - margin,
            )
            / GRAIN
        )
        boxes = []
        for below in (True, False):
            low, high = box.low.copy(), box.high.copy()
            (high if below else low)[c] = at
            self._tighten(low, high, self.group_of[c])
            boxes.append((low, high))
        return boxes

    def _tighten(self, low: Vector, high: Vector, group: tuple[int, ...]) -> None:
        """Narrows the box: weights of a group that cannot sum to 1 are left out."""
        for c in group:
            others = [k for k in group if k != c]
            high[c] = min(high[c], max(1 - low[others].sum(), low[c]))
            low[c] = max(low[c], min(1 - high[others].sum(), high[c]))

    def bound(self, box: Box) -> Fraction:
        """The exact lower bound of a box that its multipliers prove."""
        slopes = [Fraction(0)] * self.edges + [Fraction(1)] * len(self.terminals)
        total = Fraction(float(box.balances[0]))
        for y, (columns, coefficients) in zip(box.balances.tolist(), self.balance, strict=True):
            for j, a in zip(columns, coefficients, strict=True):
                slopes[j] -= Fraction(y) * Fraction(a)
        rules = [*self.lack, *self.ties(box.low, box.high)]
        for m, (columns, coefficients) in zip(box.multipliers.tolist(), rules, strict=True):
            if m:
                for j, a in zip(columns, coefficients, strict=True):
                    slopes[j] += Fraction(m) * Fraction(float(a))
        lacking = map(Fraction, box.multipliers[: len(self.terminals)].tolist())
        total += sum((m * p for m, p in zip(lacking, self.target, strict=True)), Fraction(0))
        return total + sum((s for s in slopes if s < 0), Fraction(0))

    def _matrix(self, rules: list[Rule]) -> Any:
        """Rules as a sparse matrix."""
        rows = [i for i, (columns, _) in enumerate(rules) for _ in columns]
        columns = [j for columns, _ in rules for j in columns]
        values = [float(a) for _, coefficients in rules for a in coefficients]
        return csr_matrix((values, (rows, columns)), shape=(len(rules), self.size))


def _groups(tied: TiedPolicies) -> list[tuple[int, ...]]:
    """The classes that meet in some row, directly or through others."""
    group = {c: {c} for c in range(tied.count)}
    for out in tied.dag.out_edges:
        met = set().union(*(group[tied.classes[e]] for e in out))
        for c in met:
            group[c] = met
    return sorted({tuple(sorted(g)) for g in group.values()})
