"""Arrays of double-double numbers: unevaluated sums of two float64, some 106 bits.

With `u = 2^-53`, `|low| <= u |high|` in a normal pair. Sums and products of float64 are split into
a rounded result and its exact error (Dekker, 1971; Knuth's two-sum).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
U = 2.0**-53
# Splits a float64 into two of 26 bits.
SPLITTER = 2.0**27 + 1
# A power of two below this is taken as this.
LEAST_EXPONENT = -1000


class Factors(NamedTuple):
    """Factors of products: a normal pair, with its high part split in two."""

    high: Floats
    low: Floats
    upper: Floats
    lower: Floats

    @classmethod
    def of(cls, high: Floats, low: Floats) -> "Factors":
        """A normal pair, ready to multiply with."""
        scaled = high * SPLITTER
        upper = scaled - (scaled - high)
        return cls(high, low, upper, high - upper)

    def column(self, j: int) -> "Factors":
        """The factors of one column, shape (rows, 1)."""
        return Factors(*(part[:, j : j + 1] for part in self))


class Workspace:
    """Arrays by name that are used again: to ask the system for memory takes longer than a sum."""

    def __init__(self) -> None:
        self._kept: dict[str, npt.NDArray[np.generic]] = {}

    def floats(self, name: str, shape: tuple[int, ...]) -> Floats:
        """An array of unknown content."""
        return self._array(name, shape, np.float64)  # type: ignore[return-value]

    def ints(self, name: str, shape: tuple[int, ...]) -> Ints:
        """An array of unknown content."""
        return self._array(name, shape, np.int64)  # type: ignore[return-value]

    def _array(
        self, name: str, shape: tuple[int, ...], kind: type[np.generic]
    ) -> npt.NDArray[np.generic]:
        size = int(np.prod(shape))
        kept = self._kept.get(name)
        if kept is None or kept.size < size:
            kept = self._kept[name] = np.empty(size, kind)
        return kept[:size].reshape(shape)


def powers(exponents: Ints) -> Floats:
    """`2^exponent`, which must be below 1023; the array itself is used for the result."""
    np.maximum(exponents, LEAST_EXPONENT, out=exponents)
    exponents += 1023
    exponents <<= 52
    return exponents.view(np.float64)


def normalise(high: Floats, low: Floats, work: Workspace) -> None:
    """Makes a pair normal, in place, exactly.

    Args:
        high: the high parts.
        low: the low parts, of that shape.
        work: arrays to compute in.
    """
    total, part = work.floats("t", high.shape), work.floats("e", high.shape)
    np.add(high, low, out=total)
    np.subtract(total, high, out=part)
    low -= part
    np.subtract(total, part, out=part)
    high -= part
    low += high
    high[...] = total


def multiply(
    high: Floats, low: Floats, by: Factors, out: tuple[Floats, Floats], work: Workspace
) -> None:
    """The product of pairs and factors, with an error of `(4 l + 4) u^2` where `|low| <= l u`.

    Args:
        high: the high parts.
        low: the low parts, of that shape.
        by: the factors, which broadcast.
        out: takes the product, whose low part is at most `l + 2` times u.
        work: arrays to compute in.
    """
    product, error = out
    shape = high.shape
    upper, lower = work.floats("upper", shape), work.floats("lower", shape)
    t = work.floats("t", shape)
    np.multiply(high, SPLITTER, out=upper)
    np.subtract(upper, high, out=lower)
    upper -= lower
    np.subtract(high, upper, out=lower)
    np.multiply(low, by.high, out=t)
    np.multiply(high, by.low, out=error)
    t += error
    np.multiply(high, by.high, out=product)
    np.multiply(upper, by.upper, out=error)
    error -= product
    upper *= by.lower
    error += upper
    np.multiply(lower, by.upper, out=upper)
    error += upper
    lower *= by.lower
    error += lower
    error += t


def subtract(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats], out: tuple[Floats, Floats], work: Workspace
) -> None:
    """`a - b`, not normal.

    Args:
        a: pairs.
        b: pairs of that shape, which are destroyed.
        out: takes the difference.
        work: arrays to compute in.
    """
    (high, low), (product, error) = a, b
    difference, rest = out
    part = work.floats("upper", high.shape)
    moved = work.floats("lower", high.shape)
    np.subtract(low, error, out=error)
    np.subtract(high, product, out=part)
    np.subtract(part, high, out=moved)
    product += moved
    np.subtract(part, moved, out=moved)
    np.subtract(high, moved, out=moved)
    moved -= product
    np.add(error, moved, out=rest)
    difference[...] = part


def fold(high: Floats, low: Floats, by: Factors, work: Workspace, *, shares: bool) -> Floats:
    """`sum over T of x(T) prod over v in T of -w_v`, by halving; and the same without one factor.

    Args:
        high: the high parts of x, shape (rows, 2^m), which are destroyed.
        low: the low parts, of that shape.
        by: the factors w, shape (rows, m).
        work: arrays to compute in.
        shares: whether it is summed also, for each v, over the sets with v, without its factor.

    Returns:
        Normal pairs, shape (2, 1 + m, rows), or (2, 1, rows) without shares: the sum, and the
        shares for v = m - 1, m - 2, ...
    """
    rows, size = high.shape
    at = (high.reshape(1, rows, size), low.reshape(1, rows, size))
    for stage, j in enumerate(reversed(range(by.high.shape[1]))):
        count, half = len(at[0]), at[0].shape[2] // 2
        more = count + shares
        side = ("even", "odd")[stage % 2]
        new = (
            work.floats(f"{side} high", (more, rows, half)),
            work.floats(f"{side} low", (more, rows, half)),
        )
        first = at[0][:, :, :half], at[1][:, :, :half]
        last = at[0][:, :, half:], at[1][:, :, half:]
        shape = (count, rows, half)
        product = work.floats("product", shape), work.floats("error", shape)
        multiply(last[0], last[1], by.column(j), product, work)
        subtract(first, product, (new[0][:count], new[1][:count]), work)
        if shares:
            for part, source in zip(new, last, strict=True):
                part[count] = source[0]
        # The first stages have most of the work, and need it least.
        if stage >= 2:
            normalise(new[0], new[1], work)
        at = new
    normalise(at[0], at[1], work)
    return np.stack(at)[..., 0]


def fold_error(stages: int) -> float:
    """A bound on the error of `fold`, relative to the sum of the sizes of its terms.

    A stage on pairs with `|low| <= l u` adds `(6 l + 9) u^2` and leaves `l + 3`; the first three
    have l = 1, 4, 7, the others l = 1.
    """
    return (15 * stages + 60) * U**2 * 1.01
