"""Probabilities as exact fractions, or as intervals that are rounded outward."""

import math

# A fraction, or the two ends of an interval.
Number = tuple[int, int]


class Exact:
    """Fractions `(p, q)`, not reduced: of denominators 2^k, sums need no more than the largest."""

    zero: Number = (0, 1)
    one: Number = (1, 1)

    def plus(self, x: Number, y: Number) -> Number:
        """`x + y`, over the least common denominator."""
        (p, q), (r, s) = x, y
        if q == s:
            return p + r, q
        common = math.lcm(q, s)
        return p * (common // q) + r * (common // s), common

    def times(self, x: Number, w: int, d: int) -> Number:
        """`x w / d`, for `w >= 0` and `d > 0`."""
        return x[0] * w, x[1] * d

    def gap(self, x: Number, total: int, r: int) -> Number:
        """`|x total - r|`."""
        return abs(x[0] * total - r * x[1]), x[1]

    def bounds(self, x: Number) -> tuple[int, int, int]:
        """`(low, high, d)`: x lies between `low / d` and `high / d`."""
        return x[0], x[0], x[1]


class Rounded:
    """Intervals `(low, high)` of multiples of `1 / scale`; each result encloses the true one."""

    zero: Number = (0, 0)

    def __init__(self, scale: int) -> None:
        self._scale = scale
        self.one: Number = (scale, scale)

    def plus(self, x: Number, y: Number) -> Number:
        """`x + y`."""
        return x[0] + y[0], x[1] + y[1]

    def times(self, x: Number, w: int, d: int) -> Number:
        """`x w / d`, rounded outward."""
        return x[0] * w // d, -(-x[1] * w // d)

    def gap(self, x: Number, total: int, r: int) -> Number:
        """`|x total - r|`."""
        low, high = x[0] * total - r * self._scale, x[1] * total - r * self._scale
        return max(low, -high, 0), max(abs(low), abs(high))

    def bounds(self, x: Number) -> tuple[int, int, int]:
        """`(low, high, d)`: x lies between `low / d` and `high / d`."""
        return x[0], x[1], self._scale
