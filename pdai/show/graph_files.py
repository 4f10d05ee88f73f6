"""Graphs as files that other programs read: GraphML and DOT, with a probability for each edge."""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

Edges = Mapping[tuple[int, int], float]


def graphml(names: Sequence[str], edges: Edges) -> bytes:
    """A directed graph as GraphML: nodes n0, n1, ... with the attribute `name`."""
    root = Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for name, owner, kind in (("name", "node", "string"), ("probability", "edge", "double")):
        attributes = {"for": owner, "attr.name": name, "attr.type": kind}
        SubElement(root, "key", attributes, id=name)
    graph = SubElement(root, "graph", id="G", edgedefault="directed")
    for i, name in enumerate(names):
        SubElement(SubElement(graph, "node", id=f"n{i}"), "data", key="name").text = name
    for (u, v), probability in edges.items():
        edge = SubElement(graph, "edge", source=f"n{u}", target=f"n{v}")
        SubElement(edge, "data", key="probability").text = repr(float(probability))
    indent(root)
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def dot(names: Sequence[str], edges: Edges) -> bytes:
    """A directed graph in the DOT language; arguments as in `graphml`."""
    lines = [f"  n{i} [label={_quoted(name)}];" for i, name in enumerate(names)]
    lines += [
        f'  n{u} -> n{v} [probability="{float(p)!r}", label="{p:.3f}"];'
        for (u, v), p in edges.items()
    ]
    return "\n".join(["digraph {", *lines, "}", ""]).encode(errors="backslashreplace")


def _quoted(text: str) -> str:
    """A name as a quoted label, in which a backslash is itself."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
