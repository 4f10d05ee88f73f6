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
from math import floor, isqrt
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from fast.checking.minimise import Vector

# w in the docstring; among tenths, 2/5 gave the largest bounds on bit sequences.
RAISING = Fraction(2, 5)
# Cheaper minors hardly change the bound, and are left out.
NEGLIGIBLE = 1e-8

# Costs are rounded down to multiples of 1 over this, since sums of other fractions are long.
GRAIN = 2**60
# Added to divisors that may be 0.
TINY = 1e-300

Minor = tuple[str, str, str, str]


def cost(minor: Sequence[Fraction], raising: Fraction = RAISING) -> Fraction:
    """A lower bound on the cost of making `ad - bc` of ((a, b), (c, d)) zero; w is `raising`.

    It equals that cost, except that square roots are rounded down to 2^-40.
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
        last: the number of letters that are seen, the last ones.
        raising: the cost of raising a probability, in (0, 1); lowering it costs 1 less that.
    """
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
        endings = sorted({string[size:] for string in law})
        for prefixes in _alike(law, size, last):
            for s, t in combinations(prefixes, 2):
                for y, z in combinations(endings, 2):
                    minor = (s + y, s + z, t + y, t + z)
                    a, b, c, d = (floats.get(cell, 0.0) for cell in minor)
                    if abs(a * d - b * c) > NEGLIGIBLE * max(a, b, c, d):
                        cells = [law.get(cell, Fraction(0)) for cell in minor]
                        costs[minor] = cost(cells, raising)
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


def paired_distance(law: dict[str, Fraction], last: int, raising: Fraction = RAISING) -> Fraction:
    """A bound as that of `least_distance`, from minors that share no cells: for many strings.

    Strings are cut after t letters. Beginnings that look alike are paired, and for each pair the
    endings: that where the first is ahead most with that where the second is. So each cell is in
    one minor at most, and the costs add up. The best t counts.

    Args:
        law: as in `least_distance`.
        last: as there.
        raising: as there.
    """
    sums = [Fraction(0)]
    for cut in range(last + 1, len(next(iter(law)))):
        endings = sorted({string[cut:] for string in law})
        bounds = []
        for beginnings in _alike(law, cut, last):
            table = [[law.get(s + y, Fraction(0)) for y in endings] for s in beginnings]
            if len(beginnings) > len(endings):
                # Fewer pairs to choose from, and as many minors.
                table = [list(column) for column in zip(*table, strict=True)]
            for i, j, p, q in _disjoint(np.array(table, float), float(raising)):
                bound = cost([table[i][p], table[i][q], table[j][p], table[j][q]], raising)
                bounds.append(floor(bound * GRAIN))
        sums.append(Fraction(sum(bounds), GRAIN))
    return max(sums)


def _alike(law: dict[str, Fraction], size: int, last: int) -> list[list[str]]:
    """The beginnings of strings with `size` letters, in groups of which the last k are the same."""
    groups: dict[str, set[str]] = defaultdict(set)
    for string in law:
        groups[string[size - last : size]].add(string[:size])
    return [sorted(group) for group in groups.values()]


def _disjoint(table: Vector, raising: float) -> list[tuple[int, int, int, int]]:
    """Minors of a matrix that share no cells and cost much: two rows, and two columns, each."""
    rows, half = len(table), table.shape[1] // 2
    first, second = np.triu_indices(rows, 1)
    # The last columns are those where the first row is largest beside the second.
    order = np.argsort(table[first] / (table[first] + table[second] + TINY), axis=1)
    low, high = order[:, :half], order[:, ::-1][:, :half]
    lines = np.arange(len(first))[:, None]
    a, b = (table[first][lines, columns] for columns in (high, low))
    c, d = (table[second][lines, columns] for columns in (high, low))
    gap, product, most = a * d - b * c, a * d, np.maximum(b, c)
    rise = np.where(most**2 >= product, gap / (most + TINY), 2 * np.sqrt(product) - b - c)
    values = np.minimum((1 - raising) * gap / (np.maximum(a, d) + TINY), raising * rise).sum(1)
    taken: set[int] = set()
    minors = []
    for pair in np.argsort(-values, kind="stable").tolist():
        i, j = int(first[pair]), int(second[pair])
        if not taken & {i, j}:
            taken |= {i, j}
            minors += [(i, j, p, q) for p, q in zip(high[pair].tolist(), low[pair].tolist(),
                                                    strict=True)]  # fmt: skip
    return minors
