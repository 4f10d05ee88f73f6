"""The lifted DAG of a small sampler, with its flows, to hover and click."""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

from pdai.show.page.chart import number_text
from pdai.show.page.elements import polyline, short, tag
from pdai.show.page.entries import Lift
from reference.contract.text import clipped
from reference.looking.show import layout
from reference.marginals import path_sums

# Pixels for a unit of height and of width, around all, and for the names of the last layer.
ROW, COLUMN, MARGIN, NAMES = 30, 52, 26, 90
# The width of an edge that carries all flow.
WIDEST = 9
# A longer name is shown when its state is selected.
LONGEST = 14


def lift_picture(lift: Lift, name: str) -> Element:
    """The states as buttons in layers from left to right, edges as wide as their flow."""
    dag = lift.lifted.dag
    visits = [float(visit) for visit in path_sums(lift.policy)]
    nodes, passed = layout(dag)
    high = max(y for _, y in [*nodes, *(p for row in passed for p in row)])
    low = min(y for _, y in [*nodes, *(p for row in passed for p in row)])

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return MARGIN + COLUMN * point[0], MARGIN + ROW * (high - point[1])

    width = place((max(x for x, _ in nodes), 0))[0] + NAMES
    height = place((0, low))[1] + MARGIN
    edges = []
    for edge, (u, v) in enumerate(dag.edges):
        p = float(lift.policy.values[edge])
        route = [place(nodes[u]), *map(place, passed[edge]), place(nodes[v])]
        edges.append(
            polyline(
                route, stroke_width=f"{0.6 + WIDEST * visits[u] * p:.2f}", data_from=u, data_to=v,
                class_="edge",
            )
        )  # fmt: skip
    states = [_node(lift, v, place(nodes[v]), visits) for v in range(len(dag.labels))]
    title = f"The lifted DAG of {name}: {len(dag.labels)} states, {len(dag.edges)} edges"
    about = (
        "States in layers from left to right, terminal states as squares; an edge is as wide as "
        "the probability that a trajectory takes it. Arrow keys go along the heaviest edges, or up "
        "and down within a layer; Enter keeps a state chosen, Escape lets it go."
    )
    picture = tag(
        "svg", tag("title", title), tag("desc", about), tag("g", *edges, class_="edges"), *states,
        viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}", role="group",
        class_="lift", aria_label=f"{title}. {about}",
    )  # fmt: skip
    output = tag("output", "Hover, focus or click a state.", class_="told", aria_live="polite")
    box = tag("div", picture, class_="wide")
    return tag("figure", tag("figcaption", f"{title}. {about}"), box, output, class_="lifted")


def _node(lift: Lift, node: int, at: tuple[float, float], visits: Sequence[float]) -> Element:
    dag, state = lift.lifted.dag, lift.lifted.projection[node]
    terminal = not dag.children[node]
    x, y = at
    shape: dict[str, Any] = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": 8}
    if terminal:
        shape = {"x": f"{x - 7:.1f}", "y": f"{y - 7:.1f}", "width": 14, "height": 14}
    kind = "rect" if terminal else "circle"
    # A background in the colour of the page, so that edges do not show through.
    body = (
        tag(kind, class_="under", **shape),
        tag(kind, fill_opacity=f"{visits[node]:.3f}", **shape),
    )
    name = clipped(lift.texts[state], LONGEST)
    beside = {"x": f"{x + 12:.1f}", "y": f"{y + 4:.1f}"}
    above = {"x": f"{x:.1f}", "y": f"{y - 11:.1f}", "class_": "mid"}
    text = "\n".join(_description(lift, node, visits))
    return tag(
        "g", *body, tag("text", name, aria_hidden="true", **(beside if terminal else above)),
        class_="node", role="button", tabindex=-1 if node else 0, aria_pressed="false",
        aria_label=text.replace("\n", "; "), data_node=node, data_base=state, data_told=text,
        data_x=f"{x:.1f}", data_y=f"{y:.1f}",
    )  # fmt: skip


def _description(lift: Lift, node: int, visits: Sequence[float]) -> list[str]:
    """The description of a lifted state, line by line."""
    lifted, policy = lift.lifted, lift.policy
    state = lifted.projection[node]
    base = lifted.base.labels[state]
    twins = [v for v, other in enumerate(lifted.projection) if other == state]
    lines = [
        f"state {short(lift.texts[state])}",
        f"visited with probability {number_text(visits[node])}",
    ]
    if len(twins) > 1:
        path = _path(lift, node)
        lines.append(
            f"one of {len(twins)} lifted states over it" + (f": reached by {path}" if path else "")
        )
    for edge in lifted.dag.out_edges[node]:
        p = float(policy.values[edge])
        child = lift.texts[lifted.projection[lifted.dag.edges[edge][1]]]
        lines.append(
            f"to {short(child)}: p_F {number_text(p)}, flow {number_text(visits[node] * p)}"
        )
    if base in lift.target:
        learned = sum(visits[v] for v in twins)
        lines.append(f"learned {number_text(learned)}, target {number_text(lift.target[base])}")
    return lines


def _path(lift: Lift, node: int) -> str:
    """The base states on the only path to a lifted state; "" if several paths lead to it."""
    dag, path = lift.lifted.dag, [node]
    while dag.in_edges[path[-1]]:
        if len(dag.in_edges[path[-1]]) > 1:
            return ""
        path.append(dag.edges[dag.in_edges[path[-1]][0]][0])
    return " → ".join(short(lift.texts[lift.lifted.projection[v]]) for v in path[::-1])
