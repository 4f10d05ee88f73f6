"""Tests of samplers for anybody's test suite: `assert_law`."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from pdai.certifying.certify import certify
from pdai.certifying.options import checked_level
from pdai.certifying.sources import fresh_draws
from reference.certificates.listed import law_of
from reference.certificates.statement import Certificate
from reference.errors import InputError, check_integer
from reference.user_code import number_or_infinite

# The first look, in draws; each later one has twice as many.
FIRST = 1_000


def assert_law(
    draw: Callable[[int], Sequence[Hashable]],
    law: str | Path | Mapping[Hashable, Fraction | float | int],
    *,
    support: str | Path | Sequence[Hashable] | None = None,
    within: float = 0.05,
    level: float = 1e-9,
    most: int = 10_000_000,
) -> Certificate:
    """Assert that a sampler has a law, with as many draws as it takes.

    It draws until the certified TV is at most `within`, or the law is refuted. Look k has
    `level / 2^k`, so that over all looks together a right sampler is refused, or a sampler farther
    than `within` accepted, with probability at most `level`. No seed needs to be fixed.

    Args:
        draw: a function; `draw(count)` gives that many fresh, independent draws.
        law: the weight of each value, a file of values and weights, or `uniform`.
        support: the values of the uniform law.
        within: the largest TV that is accepted.
        level: the probability of a wrong answer.
        most: the largest number of draws.

    Returns:
        The certificate of the last look.

    Raises:
        AssertionError: if the law is refuted, with the values that give it away; or if `most`
            draws do not decide, with the bound that they reach.
        InputError: if the law or a number breaks a rule.
    """
    check_integer("assert_law", "most", most, FIRST, most=10**12)
    limit = number_or_infinite(within, "within")
    if not 0 < limit <= 1:
        raise InputError(f"within is {within}, but must be a distance above 0, at most 1")
    part = checked_level(level) / 2
    target = law_of(law, support)
    draws: list[Hashable] = []
    while True:
        size = min(max(FIRST, len(draws)), most - len(draws))
        draws += fresh_draws("assert_law", draw, size)
        made = certify(draws, problem=target, level=part)
        if made.interval.low > 0:
            raise AssertionError(f"the sampler has another law: {made}\n{_text(made)}")
        if made.interval.high <= limit:
            return made
        if len(draws) >= most:
            raise AssertionError(
                f"{len(draws):,} draws do not show that the law is within {limit:g}, but at most "
                f"{made.interval.high:.3g} away, and do not refute it: allow more draws (most), or "
                f"a larger distance (within)"
            )
        part /= 2


def _text(made: Certificate) -> str:
    return "\n".join(f"  {name}: {value}" for name, value in made.report.items())
