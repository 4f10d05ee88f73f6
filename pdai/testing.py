"""Tests of samplers for anybody's test suite: `assert_law`."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from pdai.certifying.certify import certify
from pdai.certifying.judging import checked_level
from pdai.certifying.samples import fresh_draws
from reference.certificates.independence import SHARE, DependentError
from reference.certificates.listed import law_of
from reference.certificates.statement import Certificate, Line
from reference.contract.errors import InputError, check_integer
from reference.contract.user_code import number_or_infinite

# The first look, in draws; each later one has twice as many.
FIRST = 1_000


class UndecidedError(AssertionError):
    """Draws, as many as are allowed, that leave it open on which side of the tolerance TV is."""


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

    It draws until TV is certified to be at most `within`, or to be above. Look k has `level / 2^k`,
    its test of independence included, so that over all looks together a sampler within the
    tolerance is refused, or one beyond it accepted, with probability at most `level`. No seed
    needs to be fixed. With `within=0` it is a test of equality, which is refused if TV is above 0,
    and passes if `most` draws do not show it.

    Args:
        draw: a function; `draw(count)` gives that many fresh, independent draws.
        law: the weight of each value, a file of values and weights, or `uniform`.
        support: the values of the uniform law.
        within: the largest TV that is accepted, from 0 to 1.
        level: the probability of a wrong answer.
        most: the largest number of draws.

    Returns:
        The certificate of the last look.

    Raises:
        AssertionError: if TV is above `within`, with the values that give it away; or if the draws
            are not independent, so that there is no verdict.
        UndecidedError: an AssertionError, if `most` draws do not decide.
        InputError: if the law or a number breaks a rule, `draw` raises or gives another number of
            draws, half of them or more are not in the law at all, or they repeat more seldom than
            independent draws do, but for a chance of 1e-9.
    """
    check_integer("assert_law", "most", most, FIRST, most=10**12)
    limit = number_or_infinite(within, "within")
    if not 0 <= limit <= 1:
        raise InputError(f"within is {within}, but must be a distance from 0 to 1")
    # A look tests independence at a share of its level beside its bounds.
    part = checked_level(level) / (2 + 2 * SHARE)
    target = law_of(law, support)
    draws: list[Hashable] = []
    while True:
        draws += fresh_draws("assert_law", draw, min(max(FIRST, len(draws)), most - len(draws)))
        try:
            made = certify(draws, problem=target, level=part)
        except InputError as error:
            # The options that these clauses name are of `certify`.
            kind = AssertionError if isinstance(error, DependentError) else InputError
            raise kind(re.split("; if_independent|; --no-header", str(error))[0]) from None
        if made.interval.low > limit or (made.impossible and not limit):
            lines = [f"  {name}: {value}" for name, value in made.report.items()]
            far = f"by more than {limit:g}: " if limit else ""
            raise AssertionError("\n".join([f"the sampler has another law, {far}{made}", *lines]))
        if made.interval.high <= limit or (not limit and len(draws) >= most):
            return made
        if len(draws) >= most:
            certain = "".join(f"; {line.name}: {line.text()}" for line in made.certain)
            raise UndecidedError(
                f"undecided: TV in {Line('', made.interval, 'bound').text()} after {len(draws):,} "
                f"draws, on both sides of {limit:g}: allow more draws (most), or another distance "
                f"(within){certain}"
            )
        part /= 2
