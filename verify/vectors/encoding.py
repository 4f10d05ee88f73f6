"""Graphs, lifts and rational numbers as JSON."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from reference import LiftedDAG, PointedDAG

Json = dict[str, Any]


def numbers(values: Iterable[Fraction]) -> list[str]:
    """Exact rationals as text: "3/7", "2"."""
    return [str(value) for value in values]


def encode_graph(dag: PointedDAG[Any]) -> Json:
    """A pointed DAG: names of states, edges as pairs of state numbers, initial and terminals."""
    return _encode(dag, [_name(label) for label in dag.labels])


def encode_lift(lifted: LiftedDAG[Any]) -> Json:
    """The base of a lift, and what lies below each lifted state and edge."""
    return {
        "base": encode_graph(lifted.base),
        "projection": list(lifted.projection),
        "base_edge": list(lifted.base_edge),
    }


def encode_lifted_graph(lifted: LiftedDAG[Any]) -> Json:
    """The lifted DAG; the copies of a base state "c" are named "c#0", "c#1" and so on."""
    copies = [0] * len(lifted.base.labels)
    names = []
    for node, row in zip(lifted.projection, lifted.dag.children, strict=True):
        name = _name(lifted.base.labels[node])
        names.append(f"{name}#{copies[node]}" if row else name)
        copies[node] += 1
    return _encode(lifted.dag, names)


def _encode(dag: PointedDAG[Any], names: list[str]) -> Json:
    return {
        "states": names,
        "edges": [list(edge) for edge in dag.edges],
        "initial": 0,
        "terminals": list(dag.terminals),
    }


def _name(label: object) -> str:
    return label if isinstance(label, str) else repr(label)
