"""Counts of bit strings by their distance to the nearest of some modes."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference.errors import TooLargeError

# Largest number of sums of distances, a few seconds.
MOST = 4 * 10**9
# Largest number of entries in one table of distances.
LARGEST = 10**7

Rows = npt.NDArray[np.int64]


def distance_counts(modes: Sequence[str]) -> list[int]:
    """The number of strings at distance 0, 1, ..., n from the nearest mode, of n zeros and ones.

    Positions at which the modes agree or differ alike are exchangeable: consider a class of m such
    positions. `C(m, k)` strings differ from the first mode at k of them; each mode is then at
    distance k if it agrees with the first mode there, else m - k. The classes are divided into two
    halves, and all pairs of their distances to all modes are added. Raises TooLargeError if there
    are too many, as for modes without common words.
    """
    columns = [tuple(mode[i] != modes[0][i] for mode in modes) for i in range(len(modes[0]))]
    sizes = sorted(Counter(columns).items(), key=lambda item: -item[1])
    halves = [_distances(sizes[start::2], len(modes)) for start in (0, 1)]
    pairs = math.prod(len(times) for _, times in halves) * len(modes)
    if pairs > MOST:
        raise TooLargeError(
            f"the strings of {len(columns)} bits fall into too many kinds to be counted by their "
            f"distance from {len(modes)} modes ({pairs:,} sums, at most {MOST:,}): give log Z"
        )
    (first, first_times), (second, second_times) = halves
    counts = [0] * (len(columns) + 1)
    # A distance fits into 16 bits, and a count of strings of half the length into a float64.
    narrow = np.ascontiguousarray(second.T.astype(np.int16))
    for row, times in zip(first.astype(np.int16), first_times, strict=True):
        nearest = (narrow + row[:, None]).min(0)
        at_distance = np.bincount(nearest, weights=second_times.astype(float))
        for distance in np.flatnonzero(at_distance).tolist():
            counts[distance] += int(times) * int(at_distance[distance])
    return counts


def _distances(classes: Sequence[tuple[tuple[bool, ...], int]], modes: int) -> tuple[Rows, Rows]:
    """The distances to all modes on some classes of positions, each with its number of strings."""
    rows, times = np.zeros((1, modes), np.int64), np.ones(1, np.int64)
    for column, size in classes:
        if len(rows) * (size + 1) * modes > LARGEST:
            raise TooLargeError(
                f"half of the strings have more than {len(rows):,} kinds of distances from {modes} "
                "modes, too many to be counted: give log Z"
            )
        differing = np.arange(size + 1)[:, None]
        more = np.where(np.array(column), size - differing, differing)
        rows = (rows[:, None] + more).reshape(-1, modes)
        times = np.outer(times, [math.comb(size, k) for k in range(size + 1)]).reshape(-1)
        rows, inverse = np.unique(rows, axis=0, return_inverse=True)
        merged = np.zeros(len(rows), np.int64)
        np.add.at(merged, inverse.reshape(-1), times)
        times = merged
    return rows, times
