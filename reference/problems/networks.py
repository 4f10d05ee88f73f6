"""Directed acyclic graphs as states: which edges one has, and what lies before a node."""

from collections.abc import Sequence
from typing import NamedTuple


class Network(NamedTuple):
    """A state: a directed acyclic graph, and whether it is finished.

    Attributes:
        parents: the parents of each node, a bit mask.
        stopped: whether the state is terminal.
    """

    parents: tuple[int, ...]
    stopped: bool = False

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The edges `(u, v)`, from u to v."""
        nodes = range(len(self.parents))
        return tuple((u, v) for u in nodes for v in nodes if self.parents[v] >> u & 1)

    def __str__(self) -> str:
        text = " ".join(f"{u}->{v}" for u, v in self.edges) or "no edges"
        return text if self.stopped else f"{text} ..."


def edge_indicators(state: Network) -> dict[str, float]:
    """Which edges a graph has, by name, for `pdai certify --features`: 1 where it has one."""
    nodes = range(len(state.parents))
    return {f"{u} -> {v}": float(state.parents[v] >> u & 1) for u in nodes for v in nodes if u != v}


def ancestors(parents: Sequence[int], node: int) -> int:
    """The nodes from which a path leads to a node, itself included, as a bit mask."""
    found, before = 1 << node, 0
    while found != before:
        before = found
        for v, mask in enumerate(parents):
            if before >> v & 1:
                found |= mask
    return found
