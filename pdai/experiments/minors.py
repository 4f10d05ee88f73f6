"""A lower bound on the TV from a law of strings to all laws of policies that see k last letters.

Let strings be built by appending, and a policy see their length and last k letters. If two strings
s, s' of one length look alike, so do sy and s'y for every y: their futures have one law. So
`p(sy) p(s'y') = p(sy') p(s'y)`: a 2 x 2 minor of the law vanishes, for each pair s, s' and each
pair y, y'. A target whose minors do not vanish is some distance away.

For a matrix ((a, b), (c, d)) with `D = ad - bc > 0`, let lowering an entry cost v and raising it
w, per unit. Changes that bring `ad <= bc` lower a and d, or raise b and c. The largest bc after a
rise of r in all is convex in r, so the least cost is concave in it, and least at an end:

    min(v D / max(a, d), w r),   r = D / m if m = max(b, c) >= sqrt(ad), else 2 sqrt(ad) - b - c.

As `TV = sum (pi - p)^+ = sum (p - pi)^+`, with `v + w = 1` all changes together cost TV. Minors
share cells: if each minor has a weight, and the weights of the minors at each cell sum to at most
1, then the weighted sum of their costs is at most TV. The best weights solve a linear programme;
its solution is rounded to fractions that keep this rule, so that the bound is exact.
"""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import isqrt
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from reference.errors import InputError, TooLargeError, check_integer

# w in the docstring; among tenths, 2/5 gave the largest bounds on bit sequences.
RAISING = Fraction(2, 5)
MAX_MINORS = 50_000
# Cheaper minors hardly change the bound, and are left out.
NEGLIGIBLE = 1e-8

Minor = tuple[str, str, str, str]


def cost(minor: Sequence[Fraction], raising: Fraction = RAISING) -> Fraction:
    """A lower bound on the cost of making `ad - bc` of ((a, b), (c, d)) zero, as above.

    It equals that cost, except that square roots are rounded down to 2^-40.

    Args:
        minor: a, b, c and d, not negative.
        raising: w, from 0 to 1.
    """
    a, b, c, d = minor
    if a * d < b * c:
        a, b, c, d = b, a, d, c
    gap, product, most = a * d - b * c, a * d, max(b, c)
    if not gap:
        return Fraction(0)
    if most**2 >= product:
        rise = gap / most
    else:
        root = Fraction(isqrt(product.numerator * 4**40 // product.denominator), 2**40)
        rise = max(2 * root - b - c, Fraction(0))
    return min((1 - raising) * gap / max(a, d), raising * rise)


def least_distance(law: dict[str, Fraction], last: int, raising: Fraction = RAISING) -> Fraction:
    """A lower bound on the TV from a law of strings to every law in the module's class.

    Args:
        law: the probability of each string; all have one length.
        last: k, the number of letters that are seen.
        raising: the cost of raising a probability; lowering it costs 1 - raising.

    Raises:
        InputError: if strings have several lengths, or their probabilities do not sum to 1.
        TooLargeError: if there are more than 50,000 minors.
    """
    check_integer("least_distance", "last", last, 0)
    if len(set(map(len, law))) != 1 or sum(law.values()) != 1 or min(law.values()) < 0:
        raise InputError(
            "the law must have strings of one length, with exact probabilities that sum to 1: "
            f"there are {len(law)} strings with the sum {float(sum(law.values()))}"
        )
    costs = {minor: value for minor, value in _minors(law, last, raising).items() if value}
    if not costs:
        return Fraction(0)
    shares = _packed(list(costs), [float(value) for value in costs.values()], list(law))
    used: dict[str, Fraction] = defaultdict(Fraction)
    for minor, share in zip(costs, shares, strict=True):
        for cell in minor:
            used[cell] += share
    total = sum((s * v for s, v in zip(shares, costs.values(), strict=True)), Fraction(0))
    return total / max(Fraction(1), *used.values())


def _minors(law: dict[str, Fraction], last: int, raising: Fraction) -> dict[Minor, Fraction]:
    """The minors that vanish on every law of the class, with the cost of making them vanish."""
    costs: dict[Minor, Fraction] = {}
    length = len(next(iter(law)))
    floats = {string: float(p) for string, p in law.items()}
    for size in range(last + 1, length):
        alike: dict[str, set[str]] = defaultdict(set)
        for string in law:
            alike[string[size - last : size]].add(string[:size])
        endings = sorted({string[size:] for string in law})
        for prefixes in alike.values():
            for s, t in combinations(sorted(prefixes), 2):
                for y, z in combinations(endings, 2):
                    minor = (s + y, s + z, t + y, t + z)
                    a, b, c, d = (floats.get(cell, 0.0) for cell in minor)
                    if abs(a * d - b * c) > NEGLIGIBLE * max(a, b, c, d):
                        cells = [law.get(cell, Fraction(0)) for cell in minor]
                        costs[minor] = cost(cells, raising)
            if len(costs) > MAX_MINORS:
                raise TooLargeError(
                    f"more than {MAX_MINORS:,} minors: use shorter strings, or show more letters"
                )
    return costs


def _packed(minors: list[Minor], values: list[float], strings: list[str]) -> list[Fraction]:
    """Shares of the minors, not negative, whose sums at each string are about at most 1."""
    index = {string: i for i, string in enumerate(strings)}
    cells = [(index[cell], m) for m, minor in enumerate(minors) for cell in minor if cell in index]
    rows, columns = np.array(cells).T
    ones, shape = np.ones(len(rows)), (len(strings), len(minors))
    loads: Any = csr_matrix((ones, (rows, columns)), shape=shape)
    limits = np.ones(len(strings))
    solved: Any = linprog(-np.array(values), A_ub=loads, b_ub=limits, method="highs")
    return [Fraction(max(share, 0.0)).limit_denominator(2**20) for share in solved.x.tolist()]
