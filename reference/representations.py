"""How graphs and policies show themselves: a line in Python, a table and a picture in notebooks."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from reference.errors import printable

if TYPE_CHECKING:
    from reference.dag import PointedDAG

# The rows of a policy that a table shows.
MAX_ROWS = 20


class Shown:
    """What shows itself by its figures and, if it is small, as a picture.

    A notebook that prefers HTML to SVG would hide the picture, so the HTML holds both.
    """

    def _short(self) -> str:
        """The figures on one line."""
        raise NotImplementedError

    def _tables(self) -> Sequence[Mapping[str, str]]:
        """Tables of two columns."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._short()})"

    def _repr_svg_(self) -> str | None:
        """The picture, or None of what is too large for one (Jupyter's protocol)."""
        from reference.drawing import svg  # matplotlib loads slowly

        return svg(self)

    def _repr_html_(self) -> str:
        """The figures, and the picture if there is one (Jupyter's protocol)."""
        tables = "".join(map(html_table, self._tables()))
        return f"<p>{escape(repr(self))}</p>{tables}{self._repr_svg_() or ''}"


def short(dag: "PointedDAG[Any]") -> str:
    """The size of a DAG on one line."""
    counts = ((dag.labels, "state"), (dag.edges, "edge"), (dag.terminals, "terminal"))
    return ", ".join(f"{len(n):,} {name}{'s' * (len(n) != 1)}" for n, name in counts)


def figures(dag: "PointedDAG[Any]") -> dict[str, str]:
    """Name and value of every figure of a DAG."""
    return {
        "states": f"{len(dag.labels):,}",
        "edges": f"{len(dag.edges):,}",
        "terminals": f"{len(dag.terminals):,}",
        "depth (longest trajectory, in edges)": f"{max(dag.depths):,}",
        "complete trajectories": count_text(dag.trajectory_count),
    }


def count_text(count: int) -> str:
    """A count, or its power of ten: Python refuses to write integers of thousands of digits."""
    return f"{count:,}" if count < 10**30 else f"about 10^{math.log10(count):.2f}"


def number_text(value: object) -> str:
    """A number in at most about ten characters: a fraction if it is short, else digits."""
    if isinstance(value, Fraction):
        return str(value) if len(str(value)) <= 7 else f"{float(value):.3g}"
    return f"{value:.3g}" if isinstance(value, float) else clipped(value)


def clipped(value: object, length: int = 24) -> str:
    """What a value is called, if it is not too long."""
    text = printable(str(value))
    return text if len(text) <= length else text[: length - 1] + "…"


def html_table(rows: Mapping[str, str]) -> str:
    """A table of two columns."""
    # Notebooks set what is in a table to the right, sentences as well.
    cells = (
        f'<tr><th style="white-space: nowrap">{escape(a)}</th>'
        f'<td style="text-align: left">{escape(b)}</td></tr>'
        for a, b in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"
