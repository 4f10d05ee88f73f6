"""Rigorous enclosures: real numbers as balls, so that a policy with exp or ELU can be certified.

Every result encloses the exact one, whatever the rounding. Precision is python-flint's, 53 bits
unless it is set: `with precision(128): ...`.

>>> from reference import BALL, ForwardPolicy, marginal, pointed_dag
>>> from reference.fields.balls import enclose, precision
>>> dag = pointed_dag({"o": ["x", "y"], "x": [], "y": []})
>>> with precision(128):
...     weights = [BALL.convert(1).exp(), BALL.convert(0).exp()]
...     lower, upper = enclose(marginal(ForwardPolicy.from_weights(dag, BALL, weights))[0])
>>> float(lower), 0 < upper - lower < 2.0**-120
(0.7310585786300049, True)
"""

from contextlib import AbstractContextManager
from fractions import Fraction
from math import ceil, inf, log2

from flint import arb, ctx, fmpq

from reference.contract.errors import InputError, plain, shown
from reference.fields.field import Field


class PrecisionError(InputError):
    """A comparison that balls of this precision do not decide; the message says which might."""


def precision(bits: int) -> AbstractContextManager[object]:
    """Computes with mantissas of that many bits, at least 2, inside a `with` statement."""
    if not isinstance(bits, int) or bits < 2:
        raise InputError(
            f"the precision is {shown(bits)} bits, but must be an integer of at least 2"
        )
    context: AbstractContextManager[object] = ctx.workprec(bits)
    return context


def enclose(value: arb) -> tuple[Fraction, Fraction]:
    """The end points of a ball, as exact rationals; raises PrecisionError if it is infinite."""
    if not value.is_finite():
        raise _undecided("the value", value)
    return _rational(value.lower()), _rational(value.upper())


class _Ball(Field[arb]):
    name = "ball"
    exact = False

    def convert(self, value: int | Fraction | float) -> arb:
        if isinstance(value, Fraction):
            return arb(fmpq(value.numerator, value.denominator))
        if isinstance(value, arb | int | float):
            return arb(value)
        raise InputError(f"{shown(value)} is not a real number: give an int, a Fraction or a float")

    def contains(self, value: object) -> bool:
        return isinstance(value, arb)

    def positive(self, value: arb) -> bool:
        if value > 0:
            return True
        if value <= 0:
            return False
        raise _undecided("whether a number is positive", value)

    def nonnegative(self, value: arb) -> bool:
        if value >= 0:
            return True
        if value < 0 or value.is_nan():
            return False
        raise _undecided("whether a number is at least zero", value)

    def agree(self, left: arb, right: arb, roundings: int) -> bool:
        """True if the balls overlap: enclosures cannot decide equality further."""
        return left.overlaps(right)

    def log(self, value: arb) -> arb:
        self.check_log(value)
        return value.log()

    def exp(self, value: arb) -> arb:
        return value.exp()


BALL: Field[arb] = _Ball()


def _undecided(what: str, value: arb) -> PrecisionError:
    # The radius shrinks by a factor two per bit; it must fall below half the centre's modulus.
    centre, radius = abs(float(value.mid())), float(value.rad())
    missing = log2(radius / centre) if 0 < centre < inf and 0 < radius < inf else ctx.prec
    bits = int(ctx.prec + max(ceil(missing), 0) + 8)
    return PrecisionError(
        f"{what} is not decided at {ctx.prec} bits: the ball is {plain(value)}; recompute it "
        f"inside `with precision({bits})`, which suffices if the number is not much closer to "
        "zero than the ball's centre"
    )


def _rational(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
