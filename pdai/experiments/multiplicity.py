"""Corrections of many comparisons for their number."""

from collections.abc import Callable, Iterable, Sequence

from pdai.experiments.verdicts import Comparison, Standing

LEVEL = 0.05

# A function from p-values to p-values that are corrected for their number, in the same order.
Correction = Callable[[Sequence[float]], list[float]]


def by_holm(chances: Sequence[float]) -> list[float]:
    """The p-values of Holm (1979), which bound the chance of any false difference.

    The i-th smallest of n is multiplied by n + 1 - i, and none is below a smaller one's.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected, least = [0.0] * len(chances), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(chances) - place) * chances[i]))
        corrected[i] = least
    return corrected


def by_hochberg(chances: Sequence[float]) -> list[float]:
    """The p-values of Benjamini and Hochberg (1995), which bound the expected share of false ones.

    The i-th smallest of n is multiplied by n / i, and none is above a larger one's.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected, most = [0.0] * len(chances), 1.0
    for place, i in reversed([*enumerate(order, 1)]):
        most = min(most, len(chances) / place * chances[i])
        corrected[i] = most
    return corrected


def kept(
    families: Iterable[Sequence[Comparison]], correction: Correction, level: float = LEVEL
) -> list[Comparison]:
    """The comparisons of all families that are decided, and are so after a correction.

    The correction is for all comparisons that have enough seeds, in all families together.
    """
    rows = [(row, row.chance) for family in families for row in family]
    tested = [(row, chance) for row, chance in rows if chance is not None]
    corrected = correction([chance for _, chance in tested])
    return [
        row
        for (row, _), chance in zip(tested, corrected, strict=True)
        if chance <= level and row.standing in (Standing.BETTER, Standing.WORSE)
    ]
