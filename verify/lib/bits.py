"""Every string of bits that decides a draw."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from reference.rows.exact import Bits

T = TypeVar("T")


def bits_of(string: str) -> Bits:
    """The bits of a string, one at a time; StopIteration after the last."""
    rest = iter(string)
    return lambda _: int(next(rest))


def deciding_strings(draw: Callable[[Bits], T], length: int) -> Iterator[tuple[str, T | None]]:
    """The shortest strings of bits that decide a draw, each with what is drawn.

    A string of the given length that decides none comes with None.
    """
    strings = [""]
    while strings:
        string = strings.pop()
        try:
            yield string, draw(bits_of(string))
        except StopIteration:
            if len(string) == length:
                yield string, None
            else:
                strings += [string + "1", string + "0"]
