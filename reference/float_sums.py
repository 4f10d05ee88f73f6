"""Path sums and flows over a `LevelDAG` in float64: one sparse product per level.

All terms are non-negative, so nothing cancels, and every result is within `gamma(k)` of the exact
one, relatively, with `k = roundings(graph)` (Higham, 2002, lemma 3.1), unless a number drops below
the smallest normal float, 2.2e-308. A level costs about 50 microseconds and a pass over the nodes
from its first child to its last: on graphs of narrow levels, or of edges that pass over most of the
levels, plain Python (`reference.marginals`) is as fast.
"""

import numpy as np
import numpy.typing as npt
from scipy import sparse

from reference.errors import InputError
from reference.fields.field import gamma
from reference.levels import LevelDAG, Rows

Floats = npt.NDArray[np.float64]


def path_sums(graph: LevelDAG, values: Floats) -> Floats:
    """For each node, the sum over the paths from `s_o` to it of the product of edge values.

    As `reference.marginals.path_sums`. For a forward policy, the probability of visiting the state.

    Args:
        graph: the DAG.
        values: shape `(edges,)`, non-negative numbers by given edge, normalised or not.

    Returns:
        Shape `(nodes,)`, by given node.

    Raises:
        InputError: if the values have the wrong dtype or shape, or one is not a finite number >= 0.
    """
    values = _edge_values(graph, values)
    sums = np.zeros(len(graph.first) - 1)
    sums[0] = 1.0
    for block in graph.blocks:
        parents, children = block.shape
        leaving = (values[block.edges], block.children, block.first)
        by_child = sparse.csc_array(leaving, shape=(children, parents))
        sums[block.window] += np.asarray(by_child @ sums[block.nodes])
    return graph.by_given_node(sums)


def marginal(graph: LevelDAG, p_f: Floats) -> Floats:
    """`p_T(x)` of eq:marginal, one number per `graph.terminals`.

    Raises:
        InputError: if `p_f` is not a forward policy.
    """
    check_policy(graph, p_f, "forward")
    return path_sums(graph, p_f)[graph.terminals]


def flows(graph: LevelDAG, p_b: Floats, rewards: Floats) -> Floats:
    """The state flow `F` (def:flows): `F(x) = R(x)`, `F(s) = sum of p_B(s|s') F(s')`.

    As `reference.solve.flows`.

    Args:
        graph: the DAG.
        p_b: shape `(edges,)`, non-negative numbers by given edge.
        rewards: shape `(terminals,)`, `R(x) >= 0` in the order of `graph.terminals`.

    Returns:
        Shape `(nodes,)`, by given node.

    Raises:
        InputError: if `p_b` or the rewards have the wrong dtype or shape, or one is not a finite
            number >= 0.
    """
    p_b = _edge_values(graph, p_b)
    _check_numbers("rewards", rewards, len(graph.terminals), "terminal")
    given = np.zeros(len(graph.first) - 1)
    given[graph.terminals] = rewards
    flow = given[graph.nodes]
    for block in reversed(graph.blocks):
        leaving = (p_b[block.edges], block.children, block.first)
        by_parent = sparse.csr_array(leaving, shape=block.shape)
        # Nodes with children start from zero, and terminal ones have empty rows.
        flow[block.nodes] += by_parent @ flow[block.window]
    return graph.by_given_node(flow)


def roundings(graph: LevelDAG, rows: Rows = "backward") -> int:
    """How many float64 roundings a path sum can meet: its relative error is at most `gamma(k)`.

    `k = 2 depth + sum over levels of the largest in-degree`: per level one for the product, one
    less than the in-degree for the sum, and two that the edge values may have met before. For
    flows, whose sums run over the children, give `rows="forward"`, which takes the out-degree.
    """
    if rows == "forward":
        degrees = np.diff(graph.first)
    else:
        degrees = np.bincount(graph.children, minlength=len(graph.first) - 1)
    return 2 * graph.depth + int(np.maximum.reduceat(degrees, graph.starts[:-1]).sum())


def check_policy(graph: LevelDAG, values: Floats, rows: Rows) -> None:
    """Checks that the values are a policy: every row sums to one, up to its roundings.

    A row of n values may be off by `gamma(2n + 2)`, as for `reference.ForwardPolicy`.

    Args:
        graph: the DAG.
        values: shape `(edges,)`, by given edge.
        rows: "forward" for `p_F`, over the children of each node, "backward" for `p_B`, over the
            parents.

    Raises:
        InputError: if the values have the wrong dtype or shape, one is not a finite number >= 0, or
            a row does not sum to one.
    """
    values = _edge_values(graph, values)
    count = len(graph.first) - 1
    if rows == "forward":
        sizes = np.diff(graph.first)
        totals = np.ones(count)
        totals[sizes > 0] = np.add.reduceat(values, graph.first[:-1][sizes > 0])
    else:
        sizes = np.bincount(graph.children, minlength=count)
        totals = np.bincount(graph.children, values, minlength=count).astype(np.float64)
        totals[0] = 1.0
    allowed = np.array([gamma(2 * size + 2) for size in range(int(sizes.max()) + 1)])
    wrong = np.abs(totals - 1) > allowed[sizes]
    if wrong.any():
        node = int(np.argmax(wrong))
        raise InputError(
            f"the {rows} row of node {graph.given_node(node)} sums to {totals[node]}, not to 1: "
            "normalise it in float64"
        )


def _edge_values(graph: LevelDAG, values: Floats) -> Floats:
    """The values by the graph's own numbers of edges, checked."""
    _check_numbers("values", values, len(graph.children), "edge")
    return values[graph.edges]


def _check_numbers(name: str, values: Floats, count: int, per: str) -> None:
    if not isinstance(values, np.ndarray) or values.dtype != np.float64:
        found = getattr(values, "dtype", type(values).__name__)
        raise InputError(
            f"the {name} are of type {found}, but must be a float64 array: convert them with "
            "np.asarray(..., dtype=np.float64)"
        )
    if values.shape != (count,):
        raise InputError(
            f"the {name} have shape {values.shape}, but the graph needs ({count},): give one per "
            f"{per}, in the given order"
        )
    # Without a temporary as large as the graph; NaN is the minimum of what contains it.
    if not (values.min() >= 0 and values.max() < np.inf):
        at = int(np.argmin((values >= 0) & (values < np.inf)))
        raise InputError(
            f"the {name} hold {values[at]} at {per} {at}, but must be finite numbers >= 0: correct "
            "the computation"
        )
