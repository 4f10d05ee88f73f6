"""The lifted DAG of a small sampler, with its flows, to hover and click."""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from fast.laws.exact_policy import exact_policy
from pdai.run import Run
from pdai.show.page.chart import embedded
from pdai.show.page.elements import number_text, short, tag
from pdai.solving.solved import Solved
from reference.contract.errors import TooLargeError
from reference.contract.text import clipped
from reference.lifted import LiftedDAG
from reference.looking.show import Picture, layout, render
from reference.marginals import path_sums
from reference.metrics import normalize
from reference.policies import ForwardPolicy

# The largest number of lifted states in a picture.
MAX_DRAWN = 150
# The width of an edge that carries all flow, in points; a longer name is shown when its state is
# selected.
WIDEST, LONGEST = 9, 14


class Lift(NamedTuple):
    """The lifted DAG of a sampler, its exact policy, `pi(x)`, and the texts of its base states."""

    lifted: LiftedDAG[Any]
    policy: ForwardPolicy[Fraction]
    target: dict[Hashable, float]
    texts: Sequence[str]


def lift_of(run: Run | Solved) -> Lift:
    """The lift of a run; that of a solved run is its graph, as its sampler sees the state.

    Raises TooLargeError if its states are too many, or are not enumerated.
    """
    if isinstance(run, Solved):
        if len(run.flows.graph.counts) > MAX_DRAWN:
            raise TooLargeError(f"it has more than {MAX_DRAWN} states")
        law, exact = run.law(), run.exact
        target = dict(zip(law.labels, law.target.tolist(), strict=True))
        return Lift(exact.lifted, exact.forward, target, run.task.texts(run.dag.labels))
    policy, enumeration = run.policy(), run.enumeration
    if not policy.is_summable or enumeration is None:
        raise TooLargeError("the states of this sampler are not enumerated, so none are drawn")
    with run.arithmetic():
        lifted, forward = exact_policy(policy, enumeration, MAX_DRAWN)
    states = (enumeration.dag.labels[x] for x in enumeration.dag.terminals)
    target = dict(zip(states, map(float, normalize(enumeration.rewards)), strict=True))
    return Lift(lifted, forward, target, run.task.texts(lifted.base.labels))


def lift_picture(lift: Lift, name: str) -> Element:
    """The states as buttons in layers from left to right, edges as wide as their flow."""
    dag = lift.lifted.dag
    visits = [float(visit) for visit in path_sums(lift.policy)]
    flows = [visits[u] * float(lift.policy.values[e]) for e, (u, _) in enumerate(dag.edges)]
    names = [clipped(lift.texts[state], LONGEST) for state in lift.lifted.projection]
    figure = render(Picture("", dag, names, widths=[0.6 + WIDEST * flow for flow in flows]))
    places, _ = layout(dag)

    def button(node: int) -> dict[str, Any]:
        text = "\n".join(_description(lift, node, visits))
        return {
            "class_": "node", "role": "button", "tabindex": -1 if node else 0,
            "aria_pressed": "false", "aria_label": text.replace("\n", "; "), "data_node": node,
            "data_base": lift.lifted.projection[node], "data_told": text,
            "data_x": places[node][0], "data_y": -places[node][1],
            "fill_opacity": f"{visits[node]:.3f}",
        }  # fmt: skip

    marks: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
        f"edge-{edge}": ({}, [{"class_": "edge", "data_from": u, "data_to": v}])
        for edge, (u, v) in enumerate(dag.edges)
    }
    marks["terminals"] = {}, list(map(button, dag.terminals))
    marks["inner"] = {}, [button(v) for v, row in enumerate(dag.children) if row]
    title = f"The lifted DAG of {name}: {len(dag.labels)} states, {len(dag.edges)} edges"
    about = (
        "States in layers from left to right, terminal states as squares; an edge is as wide as "
        "the probability that a trajectory takes it. Arrow keys go along the heaviest edges, or up "
        "and down within a layer; Enter keeps a state chosen, Escape lets it go."
    )
    picture = embedded(
        figure, marks, class_="lift", role="group", aria_label=f"{title}. {about}",
        width=f"{96 * figure.get_figwidth():.0f}",
    )  # fmt: skip
    # Behind each state stands a copy in the colour of the page, so that no edge shows through.
    for group in picture.iter("g"):
        for place, child in reversed(list(enumerate(group))):
            if child.get("class") == "node":
                under = {name: child.get(name) for name in ("d", "transform")}
                group.insert(place, tag("path", class_="under", **under))
    output = tag("output", "Hover, focus or click a state.", class_="told", aria_live="polite")
    box = tag("div", picture, class_="wide")
    return tag("figure", tag("figcaption", f"{title}. {about}"), box, output, class_="lifted")


def _description(lift: Lift, node: int, visits: Sequence[float]) -> list[str]:
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
