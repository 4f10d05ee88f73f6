"""Numbers, states and tables as text, for `repr`, notebooks and pictures."""

import math
from collections.abc import Mapping
from decimal import Context
from fractions import Fraction
from html import escape

from reference.contract.errors import printable


def counted(number: int, name: str) -> str:
    """A number of things in words: "1 state", "2 states"."""
    return f"{number:,} {name}{'s' * (number != 1)}"


def count_text(count: int) -> str:
    """A count, or its power of ten, as Python refuses to write integers of thousands of digits."""
    return f"{count:,}" if count < 10**30 else f"about 10^{math.log10(count):.2f}"


def _nearest_text(value: Fraction | float, digits: int) -> str:
    """A number with so many significant digits; 0 or 1 only if it is that, else `1 - 5e-8`."""
    text = f"{float(value):.{digits}g}"
    if text not in ("0", "1") or not (off := Fraction(value) - int(text)):
        return text
    one = f"1 {'+' if off > 0 else '-'} " if text == "1" else ""
    return f"{one}{Context(prec=digits).divide(abs(off.numerator), off.denominator).normalize():g}"


def small(value: Fraction | float, *, down: bool | None = None, digits: int = 6) -> str:
    """A number in words that are no longer than they need be.

    Args:
        value: the number.
        down: whether to round down, or up; None for to the nearest.
        digits: the number of significant digits.
    """
    if isinstance(value, int) or (isinstance(value, Fraction) and value.denominator == 1):
        return str(value)
    text = f"{float(value):.{digits}g}"
    if down is None or not math.isfinite(value) or value in (0, 1):
        return _nearest_text(value, digits)
    wrong = Fraction(text) > Fraction(value) if down else Fraction(text) < Fraction(value)
    if wrong:
        step = Fraction(10) ** (math.floor(math.log10(abs(float(value)))) + 1 - digits)
        text = f"{float(Fraction(text) + (-step if down else step)):.{digits}g}"
    return text


def at_most(bound: float, digits: int = 2) -> str:
    """An upper bound with so many significant digits."""
    return small(bound, down=False, digits=digits)


def number_text(value: object) -> str:
    """A number in at most about ten characters: a fraction if it is short, else digits."""
    if isinstance(value, Fraction) and abs(value.numerator * value.denominator) < 10**6:
        return str(value)
    return _nearest_text(value, 3) if isinstance(value, Fraction | float) else clipped(value)


def clipped(value: object, length: int = 24) -> str:
    """The `str` of a value, cut to `length` characters."""
    text = printable(str(value))
    return text if len(text) <= length else text[: length - 1] + "…"


def html_page(title: str, *tables: Mapping[str, str]) -> str:
    """A title and tables of two columns, as HTML."""
    # Notebooks align cells to the right, even sentences.
    cells = (
        "".join(
            f'<tr><th style="white-space: nowrap">{escape(a)}</th>'
            f'<td style="text-align: left">{escape(b)}</td></tr>'
            for a, b in rows.items()
        )
        for rows in tables
    )
    return f"<p>{escape(title)}</p>" + "".join(f"<table>{rows}</table>" for rows in cells)
