"""The inner loops of `dag_floats`, compiled by numba, an optional extra.

The same operations in the same order as those in NumPy, so that sums are the same to the bit; the
error of a product is one fused operation in place of Dekker's 16, and is exact both ways.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from reference.posterior.double_double import LEAST_EXPONENT, Floats, Ints

MOST_EXPONENT = 1000
_POWERS = np.ldexp(1.0, np.arange(LEAST_EXPONENT, MOST_EXPONENT + 1))


@intrinsic  # type: ignore[untyped-decorator]
def _fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """`a b + c`, rounded once."""
    form = types.float64(types.float64, types.float64, types.float64)
    return form, lambda context, builder, signature, values: builder.fma(*values)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _sets_above(
    start: int, others: Ints, first: int, weights: Ints, places: Ints, power: Ints
) -> None:
    """The `2^m` places of `U + T`, and the power of two of each product of weights.

    Args:
        start: U, a bit mask.
        others: the m nodes outside of it, rising.
        first: the power for the empty set T.
        weights: the powers of the m weights.
        places: takes the places.
        power: takes the powers.
    """
    places[0], power[0] = start, first
    for j in range(len(others)):
        bit, weight, done = 1 << others[j], weights[j], 1 << j
        for i in range(done):
            places[done + i] = places[i] + bit
            power[done + i] = power[i] + weight


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _halve(high: Floats, low: Floats, by_high: float, by_low: float, is_normal: bool) -> None:
    """A stage of `fold` on one array, in place: the first half becomes `first - by last`.

    Args:
        high: the high parts.
        low: the low parts.
        by_high: the high part of the factor.
        by_low: the low part.
        is_normal: whether the result is made normal.
    """
    half = len(high) // 2
    first, first_low, last, last_low = high[:half], low[:half], high[half:], low[half:]
    for i in range(half):
        product = last[i] * by_high
        error = _fused(last[i], by_high, -product) + (last_low[i] * by_high + last[i] * by_low)
        part = first[i] - product
        moved = part - first[i]
        rest = (first_low[i] - error) + ((first[i] - (part - moved)) - (product + moved))
        if is_normal:
            total = part + rest
            moved = total - part
            rest = (rest - moved) + (part - (total - moved))
            part = total
        first[i], first_low[i] = part, rest


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _normalise(high: Floats, low: Floats) -> None:
    for i in range(len(high)):
        total = high[i] + low[i]
        part = total - high[i]
        low[i] = (low[i] - part) + (high[i] - (total - part))
        high[i] = total


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def folded(
    sets: Ints,
    others: Ints,
    by: tuple[Floats, Floats, Ints],
    base: Ints,
    above: tuple[Floats, Floats, Ints],
    is_empty_term: bool,
    shares: bool,
    out: Floats,
) -> None:
    """`fold` of `H(U + T)` for each of some sets U.

    Args:
        sets: the sets U.
        others: the m nodes outside of each, rising.
        by: high parts, low parts and powers of two of the weights of these nodes.
        base: the power of two by which the terms of each set are divided.
        above: high parts, low parts and powers of two of H.
        is_empty_term: whether the empty set T is a term.
        shares: as for `fold`.
        out: takes normal pairs, shape (2, 1 + m, rows) or (2, 1, rows).
    """
    rows, m = others.shape
    size = 1 << m
    places, power = np.empty(size, np.int64), np.empty(size, np.int64)
    high, low = np.empty(size), np.empty(size)
    for row in range(rows):
        _sets_above(sets[row], others[row], -base[row], by[2][row], places, power)
        for i in range(size):
            place = places[i]
            own = power[i] + above[2][place]
            scale = _POWERS[max(min(own, MOST_EXPONENT), LEAST_EXPONENT) - LEAST_EXPONENT]
            high[i], low[i] = above[0][place] * scale, above[1][place] * scale
        if not is_empty_term:
            high[0] = low[0] = 0.0
        for stage in range(m):
            j = m - 1 - stage
            done = 1 << j
            by_high, by_low, is_normal = by[0][row, j], by[1][row, j], stage >= 2
            _halve(high[: 2 * done], low[: 2 * done], by_high, by_low, is_normal)
            if shares:
                # The share of node k, begun where its half of the terms was left, halves too.
                for k in range(j + 1, m):
                    start, end = 1 << k, (1 << k) + 2 * done
                    _halve(high[start:end], low[start:end], by_high, by_low, is_normal)
                if is_normal:
                    _normalise(high[done : 2 * done], low[done : 2 * done])
        _normalise(high[:1], low[:1])
        out[0, 0, row], out[1, 0, row] = high[0], low[0]
        if shares:
            for j in range(m):
                at = 1 << j
                _normalise(high[at : at + 1], low[at : at + 1])
                out[0, m - j, row], out[1, m - j, row] = high[at], low[at]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _two_sum(total: float, term: float) -> tuple[float, float]:
    """The rounded sum, and its error."""
    rounded = total + term
    part = rounded - total
    return rounded, (term - part) + (total - (rounded - part))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_products(
    sets: Ints,
    others: Ints,
    by: tuple[Floats, Floats, Ints],
    base: Ints,
    powers_above: Ints,
    start: tuple[Floats, Floats],
    sums: Floats,
) -> None:
    """Adds the terms of `A(U + T)` that come from A(U), for each of some sets U.

    Args:
        sets: the sets U.
        others: the m nodes outside of each, rising.
        by: high parts, low parts and powers of two of the negative weights of these nodes.
        base: the power of two by which the terms of each set are divided.
        powers_above: the powers of two of H.
        start: `-A(U)`, high and low parts.
        sums: in three parts, shape (3, 2^n).
    """
    rows, m = others.shape
    size = 1 << m
    places, power = np.empty(size, np.int64), np.empty(size, np.int64)
    high, low = np.empty(size), np.empty(size)
    for row in range(rows):
        _sets_above(sets[row], others[row], -base[row], by[2][row], places, power)
        high[0], low[0] = start[0][row], start[1][row]
        for j in range(m):
            done = 1 << j
            by_high, by_low = by[0][row, j], by[1][row, j]
            old, old_low = high[:done], low[:done]
            new, new_low = high[done : 2 * done], low[done : 2 * done]
            for i in range(done):
                product = old[i] * by_high
                rest = old_low[i] * by_high + old[i] * by_low
                new[i], new_low[i] = product, _fused(old[i], by_high, -product) + rest
        for i in range(1, size):
            place = places[i]
            own = power[i] + powers_above[place]
            scale = _POWERS[max(min(own, MOST_EXPONENT), LEAST_EXPONENT) - LEAST_EXPONENT]
            sums[0, place], error = _two_sum(sums[0, place], high[i] * scale)
            middle, left = _two_sum(sums[1, place], error)
            sums[1, place], more = _two_sum(middle, low[i] * scale)
            sums[2, place] = sums[2, place] + left + more
