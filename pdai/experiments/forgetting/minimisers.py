"""The tied policies that minimise a loss, and proved balls around their logits, loss and TV.

A trajectory tau to x has the target `q(tau) = pi(x) p_B(tau|x)`, `p_B` uniform, and the log ratio
`f = log p_F - log q`. Three losses:

- `likelihood`: `- sum of q log p_F`, the maximum of likelihood;
- `on policy`: `KL(p_F || q) = sum of p_F f`, whose stationary points are those of trajectory
  balance and log variance on policy, for any log Z (claim price-of-balance);
- `uniform`: `Var f` under the uniform policy, which is log variance off policy, halved, and
  trajectory balance at its best log Z (claim cb-tb-loss-identity).

Each is a function `F` of `log p_F` of the trajectories, so that one pass over the tree of their
beginnings gives its gradient, and one over pairs of steps of one trajectory its Hessian: with
`a = dF/dlog p_F`, `b` the second derivatives and `g = grad log p_F`, the sums of `a g`, and of
`b g g' + a grad g`. The same code runs in floats, to search, and in balls, to prove.

The proof is Krawczyk's (Krawczyk, 1969): if for a box X around x and any matrix Y the set
`x - Y F'(x) + (1 - Y F''(X)) (X - x)` lies inside X, then F' has exactly one zero in X, and in that
set. Where `F''(X)` is positive definite, it is the only minimum in X.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fast.checking.minimise import Minimiser, Vector
from pdai.experiments.forgetting.nearest import LARGEST_LOGIT
from reference.expressivity.aliasing import TiedPolicies
from reference.fields.balls import BALL, enclose, precision

# Floats while searching, balls while proving.
Numbers = npt.NDArray[Any]
LossName = Literal["likelihood", "on policy", "uniform"]
LOSSES: tuple[LossName, ...] = ("likelihood", "on policy", "uniform")

NEWTON = 6
SEARCH: Any = {"maxiter": 2_000, "maxfun": 4_000, "maxcor": 30, "ftol": 1e-16, "gtol": 1e-11}
# Newton's steps and proofs work with dense matrices of this size at most.
MAX_DENSE = 1_100
BITS = 128
# The half-width of the box around a minimum in which Krawczyk's set is computed.
HALF_WIDTH = 1e-9


class Enclosure(NamedTuple):
    """A proved interval, with rational ends."""

    lower: Fraction
    upper: Fraction


class Minimum(NamedTuple):
    """A minimum of a loss over a tied class.

    Attributes:
        logits: one per class, in floats.
        loss: its loss, in nats or nats squared.
        distance: the TV between its terminal law and the target.
        proved: whether exactly one minimum lies within 1e-9 of these logits, and `loss` and
            `distance` enclose its own; else they are those of the logits, where a search ended.
    """

    logits: Vector
    loss: Enclosure
    distance: Enclosure
    proved: bool


class _Tree(NamedTuple):
    """The beginnings of trajectories, the empty one first, by length; an entry for each but it.

    Attributes:
        parent: the beginning that is one step shorter.
        entry: the number of the last step among all pairs of a row and a class in it.
        layers: the ranges of beginnings of each length, from 1 on.
        leaves: the whole trajectories.
        terminal: the number of the terminal of each leaf.
        q: the target of each leaf.
        uniform: the probability of each leaf under the uniform policy.
    """

    parent: npt.NDArray[np.int64]
    entry: npt.NDArray[np.int64]
    layers: list[slice]
    leaves: npt.NDArray[np.int64]
    terminal: npt.NDArray[np.int64]
    q: list[Fraction]
    uniform: list[Fraction]


class TiedLoss:
    """A loss over a tied class, as a function of one logit per class.

    The target is a positive law on the terminals, and classes tell the actions of a state apart.
    """

    def __init__(self, tied: TiedPolicies, target: Sequence[Fraction], loss: LossName):
        self.tied, self.target, self.loss = tied, target, loss
        rows = sorted({tied.row(u) for u, out in enumerate(tied.dag.out_edges) if out})
        self._first = np.cumsum([0, *map(len, rows[:-1])])
        self._row = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self._class = np.array([c for row in rows for c in row])
        self._tree = _unrolled(tied, target, rows)
        self._zero = _first_of_group(tied.count, rows)
        self.free = np.flatnonzero(self._zero != np.arange(tied.count))

    def start(self, logits: Vector) -> Vector:
        """Logits of the same policy; that of the first class in each linked group is 0."""
        return logits - logits[self._zero]

    def log_paths(self, logits: Numbers) -> Numbers:
        """`log p_F` of each whole trajectory."""
        return self._log_paths(*self._steps(logits))

    def value(self, logits: Numbers) -> Any:
        """The loss."""
        logs = self.log_paths(logits)
        q, uniform, log_q = self._constants(logs.dtype)
        if self.loss == "likelihood":
            return -(q * logs).sum()
        ratio = logs - log_q
        if self.loss == "on policy":
            return (np.exp(logs) * ratio).sum()
        return (uniform * (ratio - (uniform * ratio).sum()) ** 2).sum()

    def law(self, logits: Numbers) -> Numbers:
        """The terminal law."""
        law = np.zeros(len(self.target), logits.dtype)
        np.add.at(law, self._tree.terminal, np.exp(self.log_paths(logits)))
        return law

    def gradient(self, logits: Numbers) -> Numbers:
        """The gradient, one number per class."""
        log_p, p = self._steps(logits)
        slopes, _ = self._slopes(self._log_paths(log_p, p))
        return self._to_classes(self._by_entry(slopes, p))

    def hessian(self, logits: Numbers) -> Numbers:
        """The matrix of second derivatives, in classes."""
        log_p, p = self._steps(logits)
        slopes, curves = self._slopes(self._log_paths(log_p, p))
        tree, entries = self._tree, len(p)
        below = self._below(curves)
        pairs = np.zeros((entries, entries), p.dtype)
        nodes = np.arange(1, len(tree.parent))
        above = nodes
        while len(nodes):
            np.add.at(pairs, (tree.entry[nodes], tree.entry[above]), below[nodes])
            if above is not nodes:
                np.add.at(pairs, (tree.entry[above], tree.entry[nodes]), below[nodes])
            above = tree.parent[above]
            nodes, above = nodes[above > 0], above[above > 0]
        # From both sides, the gradient of a step: its class less the mean over its row.
        for _ in range(2):
            pairs = (pairs - np.add.reduceat(pairs, self._first, 1)[:, self._row] * p).T
        same = self._row[:, None] == self._row
        steps = self._sums(slopes)
        weight = np.add.reduceat(steps, self._first)[self._row]
        pairs[same] += ((weight * p)[:, None] * p)[same]
        pairs[np.arange(entries), np.arange(entries)] -= weight * p
        if self.loss == "uniform":
            mean = self._by_entry(self._constants(p.dtype)[1], p)
            pairs -= 2 * mean[:, None] * mean
        hessian = np.zeros((self.tied.count, self.tied.count), p.dtype)
        np.add.at(hessian, (self._class[:, None], self._class), pairs)
        return hessian

    def search(self, logits: Vector) -> Vector:
        """The logits of a local minimum near some logits: L-BFGS, then Newton's steps."""
        whole, free = self.start(logits), self.free
        # Rows that are hardly visited have small slopes: logits are measured in proportion.
        scale = np.sqrt(self._to_classes(self._sums(self._floats[0]))[free])

        def graded(logits: Vector) -> tuple[float, Vector]:
            return float(self.value(logits)), self.gradient(logits)

        whole = Minimiser(graded, free, SEARCH, scale, LARGEST_LOGIT).minimum(whole)
        for _ in range(NEWTON if len(free) <= MAX_DENSE else 0):
            curved = self.hessian(whole)[np.ix_(free, free)]
            step = np.linalg.solve(curved, self.gradient(whole)[free])
            if not np.abs(step).max() < 0.5:
                break
            whole[free] -= step
        return whole

    @property
    def is_closed(self) -> bool:
        """True if rows that share a class are equal, so that likelihood has a closed maximum."""
        return bool(np.all(np.bincount(self._class) == 1))

    def averages(self) -> tuple[Fraction, ...]:
        """The weights of maximum likelihood if it `is_closed`: the flow through each class."""
        flows = self._to_classes(self._sums(np.array(self._tree.q, object)))
        return tuple(map(Fraction, flows))

    def _steps(self, logits: Numbers) -> tuple[Numbers, Numbers]:
        """`log p_F` and `p_F` of each entry."""
        chosen = logits[self._class]
        weights = np.exp(chosen)
        total = np.add.reduceat(weights, self._first)[self._row]
        return chosen - np.log(total), weights / total

    def _log_paths(self, log_p: Numbers, p: Numbers) -> Numbers:
        tree = self._tree
        logs = np.zeros(len(tree.parent), p.dtype)
        for layer in tree.layers:
            logs[layer] = logs[tree.parent[layer]] + log_p[tree.entry[layer]]
        return logs[tree.leaves]

    def _slopes(self, logs: Numbers) -> tuple[Numbers, Numbers]:
        """`a` and `b` of each leaf, up to terms whose sums with `g` vanish."""
        q, uniform, log_q = self._constants(logs.dtype)
        if self.loss == "likelihood":
            return -q, 0 * q
        ratio = logs - log_q
        if self.loss == "on policy":
            # The sum of p g is 0, so any constant may go; with the mean taken off, balls are small.
            p = np.exp(logs)
            ratio = ratio - float((p * ratio).sum())
            return p * ratio, p * (ratio + 1)
        return 2 * uniform * (ratio - (uniform * ratio).sum()), 2 * uniform

    def _below(self, of_leaves: Numbers) -> Numbers:
        """The sum over the trajectories that begin with a node."""
        tree = self._tree
        sums = np.zeros(len(tree.parent), of_leaves.dtype)
        sums[tree.leaves] = of_leaves
        for layer in reversed(tree.layers):
            np.add.at(sums, tree.parent[layer], sums[layer])
        return sums

    def _sums(self, of_leaves: Numbers) -> Numbers:
        """The sum over trajectories, for each of their steps, at its entry."""
        sums = np.zeros(len(self._row), of_leaves.dtype)
        np.add.at(sums, self._tree.entry[1:], self._below(of_leaves)[1:])
        return sums

    def _by_entry(self, of_leaves: Numbers, p: Numbers) -> Numbers:
        steps = self._sums(of_leaves)
        means: Numbers = p * np.add.reduceat(steps, self._first)[self._row]
        return steps - means

    def _to_classes(self, of_entries: Numbers) -> Numbers:
        sums = np.zeros(self.tied.count, of_entries.dtype)
        np.add.at(sums, self._class, of_entries)
        return sums

    def _constants(self, dtype: Any) -> tuple[Numbers, Numbers, Numbers]:
        """`q`, the uniform policy and `log q` of each leaf, as floats or as balls."""
        return self._balls if np.dtype(dtype).hasobject else self._floats

    @cached_property
    def _floats(self) -> tuple[Numbers, Numbers, Numbers]:
        q = np.array([float(x) for x in self._tree.q])
        return q, np.array([float(x) for x in self._tree.uniform]), np.log(q)

    @cached_property
    def _balls(self) -> tuple[Numbers, Numbers, Numbers]:
        q = _as_balls(self._tree.q)
        return q, _as_balls(self._tree.uniform), np.log(q)


def minimum(landscape: TiedLoss, starts: Sequence[Vector] = ()) -> Minimum:
    """The minimum of likelihood, or the lowest one that searches end in; with its proof.

    Likelihood has no other minimum (claim price-of-likelihood); another loss may have a lower one
    at which no search ended. The search from zeros is always made.
    """
    with precision(BITS):
        if landscape.loss == "likelihood" and landscape.is_closed:
            weights = np.log(_as_balls(landscape.averages()))
            logits = landscape.start(np.array([float(x) for x in weights]))
            box: Numbers | None = weights
        else:
            zeros = np.zeros(landscape.tied.count)
            ends = [landscape.search(start) for start in (zeros, *starts)]
            logits = min(ends, key=lambda end: float(landscape.value(end)))
            box = proved_box(landscape, logits)
        at = _as_balls(logits.tolist()) if box is None else box
        distance = abs(landscape.law(at) - _as_balls(landscape.target)).sum() / 2
        loss, distance = (Enclosure(*enclose(x)) for x in (landscape.value(at), distance))
    return Minimum(logits, loss, distance, box is not None)


def proved_box(landscape: TiedLoss, logits: Vector) -> Numbers | None:
    """Balls around logits, one per class, in which exactly one minimum lies; None if not proved.

    To be called at a precision beyond that of floats.
    """
    free, centre = landscape.free, _as_balls(logits.tolist())
    if len(free) > MAX_DENSE:
        return None
    curved = landscape.hessian(logits)[np.ix_(free, free)]
    try:
        inverse = np.linalg.inv(curved)
        lower = np.linalg.inv(np.linalg.cholesky(curved))
    except np.linalg.LinAlgError:
        return None
    half = np.array([arb(0, HALF_WIDTH)] * len(free), object)
    box = centre.copy()
    box[free] += half
    second = landscape.hessian(box)[np.ix_(free, free)]
    scaled = _product(_product(lower, second), lower.T)
    # A symmetric matrix whose diagonal dominates is positive definite.
    if not (2 * np.diagonal(scaled) > np.abs(scaled).sum(1)).all():
        return None
    rest = -_product(inverse, second)
    rest[np.arange(len(free)), np.arange(len(free))] += 1
    step = _product(inverse, landscape.gradient(centre)[free][:, None])[:, 0]
    inner = centre[free] - step + rest @ half
    if not all(x.contains_interior(y) for x, y in zip(box[free], inner, strict=True)):
        return None
    box[free] = inner
    return box


def _product(left: Numbers, right: Numbers) -> Numbers:
    """The product of two matrices, of floats or balls, in balls."""
    first, second = (
        arb_mat([[BALL.convert(x) for x in row] for row in matrix.tolist()])
        for matrix in (left, right)
    )
    return np.array((first * second).tolist(), object)


def _as_balls(values: Sequence[Fraction | float]) -> Numbers:
    return np.array([BALL.convert(value) for value in values], object)


def _first_of_group(count: int, rows: Sequence[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """For each class, the first of those that are linked with it by rows."""
    links = np.array([(row[0], c) for row in rows for c in row]).T
    graph = csr_array((np.ones(links.shape[1]), tuple(links)), shape=(count, count))
    _, group = connected_components(graph, directed=False)
    first: npt.NDArray[np.int64] = np.unique(group, return_index=True)[1][group]
    return first


def _unrolled(
    tied: TiedPolicies, target: Sequence[Fraction], rows: Sequence[tuple[int, ...]]
) -> _Tree:
    """The tree of the beginnings of all trajectories."""
    dag = tied.dag
    number = {pair: i for i, pair in enumerate((row, c) for row in rows for c in row)}
    index = {x: i for i, x in enumerate(dag.terminals)}
    at, parent, entry, layers = [0], [0], [-1], []
    back, forward = [Fraction(1)], [Fraction(1)]
    layer = range(1)
    while layer:
        for node in layer:
            out, row = dag.out_edges[at[node]], tied.row(at[node])
            for edge in out:
                child = dag.edges[edge][1]
                at.append(child)
                parent.append(node)
                entry.append(number[row, tied.classes[edge]])
                back.append(back[node] / len(dag.in_edges[child]))
                forward.append(forward[node] / len(out))
        layer = range(layer.stop, len(at))
        layers.append(slice(layer.start, layer.stop))
    leaves = [node for node, state in enumerate(at) if state in index]
    terminal = [index[at[node]] for node in leaves]
    return _Tree(
        np.array(parent), np.array(entry), layers[:-1], np.array(leaves), np.array(terminal),
        [target[x] * back[node] for x, node in zip(terminal, leaves, strict=True)],
        [forward[node] for node in leaves],
    )  # fmt: skip
