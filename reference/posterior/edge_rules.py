"""Edges that a graph must have, or must not have."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, check_list, shown

# An edge by the names of its ends, or as the text "a -> b".
NamedEdge = str | tuple[str, str]


class EdgeRules(NamedTuple):
    """The required and the forbidden parents of each node, as bit masks."""

    required: tuple[int, ...]
    forbidden: tuple[int, ...]

    @classmethod
    def of(
        cls,
        owner: str,
        names: Sequence[str],
        max_parents: int,
        forbid: Iterable[NamedEdge] = (),
        require: Iterable[NamedEdge] = (),
    ) -> Self:
        """The rules of edges named by their ends, for graphs of at most so many parents of a node.

        Raises InputError if an edge names no two nodes, is required and forbidden, or if the
        required edges close a cycle, or give a node too many parents.
        """
        required = _masks(owner, "a required edge", names, require)
        forbidden = _masks(owner, "a forbidden edge", names, forbid)
        for v, (needed, barred) in enumerate(zip(required, forbidden, strict=True)):
            if both := needed & barred:
                u = both.bit_length() - 1
                raise InputError(
                    f"{owner}: the edge {names[u]!r} -> {names[v]!r} is required and forbidden: "
                    "leave out one of the two"
                )
            if needed.bit_count() > max_parents:
                raise InputError(
                    f"{owner}: {names[v]!r} has {needed.bit_count()} required parents, but at "
                    f"most {max_parents} are allowed: raise the limit, or require fewer"
                )
        if not _is_acyclic(required):
            edges = ", ".join(
                f"{names[u]} -> {names[v]}"
                for v, mask in enumerate(required)
                for u in range(len(names))
                if mask >> u & 1
            )
            raise InputError(
                f"{owner}: the required edges close a cycle ({edges}), but a graph has none: "
                "leave one out"
            )
        return cls(tuple(required), tuple(forbidden))

    def allowed(self) -> npt.NDArray[np.bool_]:
        """True where the parents of a bit mask keep to the rules, shape (n, 2^n)."""
        masks = np.arange(2 ** len(self.required))
        needed, barred = np.array(self.required)[:, None], np.array(self.forbidden)[:, None]
        return np.asarray((masks & needed == needed) & (masks & barred == 0), np.bool_)


def _is_acyclic(parents: Sequence[int]) -> bool:
    left = 2 ** len(parents) - 1
    while left:
        first = [v for v, mask in enumerate(parents) if left >> v & 1 and not mask & left]
        if not first:
            return False
        left &= ~sum(1 << v for v in first)
    return True


def _masks(owner: str, kind: str, names: Sequence[str], edges: Iterable[NamedEdge]) -> list[int]:
    """The starts of edges, as a mask for each end."""
    masks = [0] * len(names)
    for edge in check_list(owner, f"{kind.removeprefix('a ')}s", edges):
        u, v = _ends(owner, kind, names, edge)
        masks[v] |= 1 << u
    return masks


def _ends(owner: str, kind: str, names: Sequence[str], edge: object) -> tuple[int, int]:
    """The numbers of the two ends. A name may hold an arrow itself."""
    pairs: list[tuple[object, object]] = []
    if isinstance(edge, str):
        parts = edge.split("->")
        for i in range(1, len(parts)):
            pairs.append(("->".join(parts[:i]).strip(), "->".join(parts[i:]).strip()))
    elif isinstance(edge, tuple | list) and len(edge) == 2:
        pairs.append((edge[0], edge[1]))
    for start, end in pairs:
        if start in names and end in names and start != end:
            return names.index(str(start)), names.index(str(end))
    raise InputError(
        f"{owner}: {kind} is {shown(edge)}, but must be written 'a -> b' with two of the columns "
        f"{', '.join(names)}"
    )
