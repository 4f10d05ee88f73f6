"""Directed acyclic graphs as states: their edges, and the ancestors of nodes."""

from collections.abc import Sequence
from typing import NamedTuple


class Network(NamedTuple):
    """A state: a directed acyclic graph by the bit masks of parents, terminal if it is stopped."""

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
    """Indicators of the edges of a graph, by name, for `pdai certify --features`."""
    nodes = range(len(state.parents))
    return {f"{u} -> {v}": float(state.parents[v] >> u & 1) for u in nodes for v in nodes if u != v}


def all_ancestors(parents: Sequence[int]) -> list[int]:
    """For each node of an acyclic graph, the mask of the node and its ancestors."""
    masks = [0] * len(parents)

    def visit(v: int) -> int:
        if not masks[v]:
            mask, reached = parents[v], 1 << v
            while mask:
                reached |= visit((mask & -mask).bit_length() - 1)
                mask &= mask - 1
            masks[v] = reached
        return masks[v]

    return [visit(v) for v in range(len(parents))]
