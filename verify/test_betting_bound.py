"""The capital of bets is fair, and so hardly ever large, computed exactly."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference.certificates.betting import BETS, log_capital

LEVEL = Fraction(1, 5)
STEPS = 30
# A few of the bets, as fractions: exact capital has as many digits as there were steps.
FEW = [Fraction(bet) for bet in BETS[6:31:4].tolist()]

Combine = Callable[[Sequence[Fraction]], Fraction]


def mean_of(capitals: Sequence[Fraction]) -> Fraction:
    return sum(capitals, Fraction(0)) / len(capitals)


def capital(
    ones: int,
    count: int,
    against: Fraction,
    combine: Combine = mean_of,
    bets: Sequence[Fraction] = FEW,
) -> Fraction:
    """The wealth after a number of ones among values that are zero otherwise."""
    return combine([(1 + bet) ** ones / (1 + bet * against) ** count for bet in bets])


def ever(mean: Fraction, against: Fraction, combine: Combine = mean_of) -> tuple[Fraction, Any]:
    """For values 0 and 1: the probability that `1 / LEVEL` is reached, and the mean when stopped.

    One stops when it is reached, or after `STEPS` values.
    """
    alive, crossed, stopped = {0: Fraction(1)}, Fraction(0), Fraction(0)
    for step in range(1, STEPS + 1):
        moved: dict[int, Fraction] = {}
        for ones, p in alive.items():
            for more, chance in ((0, 1 - mean), (1, mean)):
                moved[ones + more] = moved.get(ones + more, Fraction(0)) + p * chance
        alive = {}
        for ones, p in moved.items():
            won = capital(ones, step, against, combine)
            if won * LEVEL >= 1:
                crossed += p
            else:
                alive[ones] = p
            if won * LEVEL >= 1 or step == STEPS:
                stopped += p * won
    return crossed, stopped


@pytest.mark.claim("betting-bound")
def test_the_capital_when_one_stops_has_mean_one_and_is_hardly_ever_large(scope: Any) -> None:
    means = [Fraction(1, 20), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)]
    for mean in means:
        crossed, stopped = ever(mean, mean)
        assert stopped == 1
        assert 0 < crossed <= LEVEL
        less, lost = ever(mean, mean * Fraction(21, 20))
        assert lost < 1
        assert less <= crossed
    scope(f"{len(means)} laws, all {2**STEPS:,} sequences of {STEPS} values")


@pytest.mark.claim("betting-bound")
def test_a_bet_on_values_of_any_size_is_fair(scope: Any) -> None:
    quarter = Fraction(1, 4)
    law = {Fraction(0): 2 * quarter, Fraction(1, 3): quarter, Fraction(50): quarter}
    mean = sum(x * p for x, p in law.items())
    for bet in map(Fraction, BETS.tolist()):
        assert sum(p * (1 + bet * x) / (1 + bet * mean) for x, p in law.items()) == 1
    scope(f"all {len(BETS)} bets on values up to 50")


@pytest.mark.catches(
    "The capital is that of the best bet, chosen after the fact, not the mean over bets.",
    "reference/certificates/betting.py",
    "np.log(np.exp(logs - largest[..., None]).mean(-1))",
    "np.log(np.exp(logs - largest[..., None]).max(-1))",
)
@pytest.mark.catches(
    "A bet is paid for its wins, and its odds against the mean are left out.",
    "reference/certificates/betting.py",
    "logs = gains - np.multiply.outer(np.asarray(count, float), np.log1p(BETS * mean))",
    "logs = gains - 0 * np.multiply.outer(np.asarray(count, float), np.log1p(BETS * mean))",
)
@pytest.mark.claim("betting-bound")
def test_the_capital_as_computed_is_that_of_the_exact_bets() -> None:
    bets = [Fraction(bet) for bet in BETS.tolist()]
    for ones, count, against in ((3, 5, Fraction(1, 4)), (20, 24, Fraction(9, 10)), (0, 9, 1)):
        exact = capital(ones, count, Fraction(against), bets=bets)
        computed = np.exp(log_capital(ones * np.log1p(BETS), count, float(against)))
        assert float(computed) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.control("betting-bound")
@pytest.mark.parametrize(("against", "combine"), [(Fraction(1, 2), max), (Fraction(1, 4), mean_of)])
def test_the_best_bet_in_hindsight_and_one_against_half_the_mean_win(
    against: Fraction, combine: Combine
) -> None:
    crossed, stopped = ever(Fraction(1, 2), against, combine)
    assert stopped > 1
    assert crossed > LEVEL
