"""What a picture of a graph or of a policy shows, and where: no drawing library is needed here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from reference.dag import PointedDAG
from reference.errors import TooLargeError, check_choice, check_type
from reference.inspection import Inspection
from reference.lifted import LiftedDAG
from reference.marginals import path_sums
from reference.policies import EdgeWeights, ForwardPolicy
from reference.representations import clipped, number_text

Colouring = Literal["reward", "flow"]
Drawable = Inspection[Any] | PointedDAG[Any] | LiftedDAG[Any] | EdgeWeights[Any]

MAX_DRAWN = 400
# Beyond, names lie on each other.
MAX_NAMED = 60
# Beyond, edges are straight.
MAX_PLACES = 1000

Point = tuple[float, float]


@dataclass(frozen=True)
class Picture:
    """A DAG with what is written and painted on it.

    Attributes:
        title: above the picture.
        dag: the nodes and edges.
        names: what is written at each node; none of a large DAG.
        edge_names: what is written on each edge, or none.
        at_child: whether that is near the child.
        values: a number to paint each node by, None where it is left white; or none.
        legend: what the numbers are.
    """

    title: str
    dag: PointedDAG[Any]
    names: Sequence[str] = ()
    edge_names: Sequence[str] = ()
    at_child: bool = False
    values: Sequence[float | None] = ()
    legend: str = ""


def picture_of(drawable: Drawable, colour: Colouring = "reward") -> Picture:
    """The picture of a problem, a DAG, a lift or a policy.

    Args:
        drawable: a policy's edges carry its probabilities, and its states are painted by the
            probability of a visit if it is a forward policy of numbers; a lifted state that is one
            of several over its base state carries the paths whose latents it merges.
        colour: of a problem, whether terminals are painted by reward, or all states by flow.

    Raises:
        TooLargeError: if there are more than 400 states.
        InputError: if it is none of these.
    """
    check_type("draw", "what is drawn", drawable, (Inspection, PointedDAG, LiftedDAG, EdgeWeights))
    check_choice("draw", "the colour", colour, Colouring)
    dag = drawable if isinstance(drawable, PointedDAG) else drawable.dag
    name = drawable.name if isinstance(drawable, Inspection) else type(drawable).__name__
    if len(dag.labels) > MAX_DRAWN:
        raise TooLargeError(
            f"{name} has {len(dag.labels):,} states, and at most {MAX_DRAWN} are drawn: "
            "draw a smaller instance"
        )
    title = f"{name}: {len(dag.labels)} states, {len(dag.edges)} edges"
    few = len(dag.labels) <= MAX_NAMED
    if not few:
        title += f"\nstates are not named, as there are more than {MAX_NAMED}"
    names = [clipped(label) for label in dag.labels] if few else []
    if isinstance(drawable, Inspection):
        return _of_problem(drawable, title, names, colour)
    if isinstance(drawable, EdgeWeights):
        return _of_policy(drawable, title, names)
    if isinstance(drawable, LiftedDAG):
        return Picture(title, dag, _lifted_names(drawable) if few else ())
    return Picture(title, dag, names)


def layout(dag: PointedDAG[Any]) -> tuple[list[Point], list[list[Point]]]:
    """Where each node is, and the points that each edge passes between its ends.

    Layers by longest path; within one, by the mean height of the parents. An edge over several
    layers has a place of its own in each between, so that it passes no state, unless there are
    more than 1,000 such places.
    """
    # Nodes, then the places of long edges, each with the place before it.
    layer, parents = list(dag.depths), [[dag.edges[e][0] for e in row] for row in dag.in_edges]
    passed: list[list[int]] = [[] for _ in dag.edges]
    if sum(layer[v] - layer[u] - 1 for u, v in dag.edges) <= MAX_PLACES:
        for edge, (u, v) in enumerate(dag.edges):
            for depth in range(layer[u] + 1, layer[v]):
                parents.append([passed[edge][-1] if passed[edge] else u])
                passed[edge].append(len(layer))
                layer.append(depth)
    height = [0.0] * len(layer)
    for depth in range(1, max(layer) + 1):
        places = [v for v in range(len(layer)) if layer[v] == depth]
        wish = {v: sum(height[u] for u in parents[v]) / len(parents[v]) for v in places}
        places.sort(key=lambda v: (wish[v], v))
        for rank, v in enumerate(places):
            height[v] = rank - (len(places) - 1) / 2
    # Names need room to the side. The first child is above.
    points = [(2.0 * depth, -h) for depth, h in zip(layer, height, strict=True)]
    return points[: len(dag.labels)], [[points[v] for v in places] for places in passed]


def _of_problem(
    inspection: Inspection[Any], title: str, names: Sequence[str], colour: Colouring
) -> Picture:
    flow = inspection.flow()
    shown: Iterable[int] = inspection.dag.terminals if colour == "reward" else range(len(flow))
    values: list[float | None] = [None] * len(flow)
    for node in shown:
        values[node] = flow[node]
    legend = "reward R(x)" if colour == "reward" else "flow F(s), uniform backward policy"
    return Picture(title, inspection.dag, names, values=values, legend=legend)


def _of_policy(policy: EdgeWeights[Any], title: str, names: Sequence[str]) -> Picture:
    forward = isinstance(policy, ForwardPolicy)
    numbers = all(isinstance(value, Fraction | float) for value in policy.values)
    return Picture(
        title,
        policy.dag,
        names,
        [number_text(value) for value in policy.values] if names else [],
        # Near the state that chooses, where edges have not yet met others.
        at_child=not forward,
        values=[float(visit) for visit in path_sums(policy)] if forward and numbers else (),
        legend="probability of a visit",
    )


def _lifted_names(lifted: LiftedDAG[Any]) -> list[str]:
    """The base state of each lifted one; below it, where it has several, the paths to this one."""
    above = [0] * len(lifted.base.labels)
    for state in lifted.projection:
        above[state] += 1
    names = []
    for node, state in enumerate(lifted.projection):
        name = clipped(lifted.base.labels[state])
        if above[state] > 1:
            count = lifted.dag.path_counts[node]
            paths = _paths(lifted, node) if count <= 2 else [f"{count:,} paths"]
            name += "\n" + ", ".join(clipped(path) for path in paths)
        names.append(name)
    return names


def _paths(lifted: LiftedDAG[Any], node: int) -> list[str]:
    """The base states along each path to a lifted node."""
    state = str(lifted.base.labels[lifted.projection[node]])
    parents = [lifted.dag.edges[edge][0] for edge in lifted.dag.in_edges[node]]
    return [f"{path}→{state}" for u in parents for path in _paths(lifted, u)] or [state]
