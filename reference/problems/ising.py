"""The Ising model with couplings of rank one: spins set one by one."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from reference.contract.errors import InputError, check_fields, check_integer
from reference.problems.base import Order, PlaceByPlace, dyadic
from reference.problems.closed_form import Enclosure, check_count, seeded_arrays

if TYPE_CHECKING:
    from flint import arb

# The lattice of `z` in `exp(c^2 / 2) = E exp(c z)`, z standard normal: see `Ising.log_z`.
STEP = Fraction(1, 2)
REACH = 13
LATTICE_ERROR = 2.0**-112

# Error of the log of a reward: 2^-24 from its rounding; the rest covers the float exponent (below
# 700 * 2^-53) and a `math.exp` that errs by up to a thousand units in the last place.
ROUNDING = 2.0**-24 + 2.0**-39


class Spins(NamedTuple):
    """A state: each spin is -1, +1, or 0 where not set."""

    values: tuple[int, ...]

    def __str__(self) -> str:
        return "".join("-?+"[spin + 1] for spin in self.values)


class OneByOne(PlaceByPlace[Spins]):
    """Spins that are set one by one: the state graph, without a reward."""

    @property
    @abstractmethod
    def spins(self) -> int:
        """The number of spins."""

    @property
    def initial(self) -> Spins:
        """No spin set."""
        return Spins((0,) * self.spins)

    def choices(self, values: tuple[int, ...], place: int) -> tuple[int, ...]:
        """Down and up."""
        return (-1, 1)


@dataclass(frozen=True)
class Ising(OneByOne):
    """`log R(x) = h . x + x' J x / 2` over spins `x` in `{-1, +1}^d`, `J = v v' - diag(v v')`.

    The fields `h` and the direction `v` have a rational per spin. Spins are set one by one, in any
    order (the policy chooses position and value) or from first to last (a tree). `exp(log R)` is
    rounded to 24 bits. The paper calls the model ferromagnetic, which it is only if no two entries
    of `v` differ in sign; otherwise it is a Mattis model, where the couplings favour
    `x_i = sign(v_i)`, or its reverse. `|v| = 1` is not required, and holds only up to rounding for
    a `v` that is rounded.
    """

    fields: tuple[Fraction, ...]
    direction: tuple[Fraction, ...]
    order: Order = "any"

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        if len(self.fields) != len(self.direction) or not self.fields:
            raise InputError(
                f"Ising: there are {len(self.fields)} fields and {len(self.direction)} directions: "
                "give one of each per spin, and at least one spin"
            )
        largest = sum(map(abs, self.fields)) + sum(map(abs, self.direction)) ** 2 / 2
        if largest > 700:
            raise InputError(
                f"Ising: log R can reach {float(largest):.6g}, beyond the range of floats: scale "
                "the fields or the direction so that it stays below 700"
            )

    @classmethod
    def random(cls, spins: int = 36, order: Order = "any", seed: int = 0) -> Self:
        """`v` uniform on the unit sphere and `h` standard normal, rounded to 24 bits.

        Args:
            spins: d; the paper has 36 and 64.
            order: set the spins in any order, or one after the other (a tree).
            seed: seed of couplings and fields.
        """
        check_integer("Ising", "the number of spins", spins, 1, most=10_000)
        v, h = seeded_arrays("Ising", seed).normal(size=(2, spins))
        v /= np.linalg.norm(v)
        return cls(tuple(map(dyadic, h.tolist())), tuple(map(dyadic, v.tolist())), order)

    @classmethod
    def minimal(cls) -> Self:
        """Three spins, in any order."""
        return cls.random(3)

    @classmethod
    def paper(cls, spins: int = 36) -> Self:
        """36 or 64 spins."""
        return cls.random(spins)

    @property
    def spins(self) -> int:
        """The number `d` of spins."""
        return len(self.fields)

    def exponent(self, terminal: Spins) -> Fraction:
        """`h . x + ((v . x)^2 - |v|^2) / 2`, exactly: the exponent before rounding."""
        along = sum(
            (v * x for v, x in zip(self.direction, terminal.values, strict=True)), Fraction(0)
        )
        field = sum((h * x for h, x in zip(self.fields, terminal.values, strict=True)), Fraction(0))
        return field + (along**2 - self._square) / 2

    def reward(self, terminal: Spins) -> Fraction:
        """`exp(log R)`, rounded to 24 bits."""
        return dyadic(math.exp(self.exponent(terminal)))

    @property
    def _square(self) -> Fraction:
        return sum((v * v for v in self.direction), Fraction(0))

    def coupling(self, i: int, j: int) -> Fraction:
        """`J_ij = v_i v_j`, and 0 on the diagonal."""
        return self.direction[i] * self.direction[j] if i != j else Fraction(0)

    def log_z(self) -> Enclosure:
        """`log Z`, in nats, with a proved error: a sum over a lattice instead of `2^d` states.

        With `c = v . x`, `R(x) = exp(h . x - |v|^2 / 2) exp(c^2 / 2)`, and `exp(c^2 / 2)` is the
        mean of `exp(c z)` over a standard normal z (Hubbard and Stratonovich). By Poisson's
        summation formula, the sum of `s phi(z) exp(c z)` over the lattice `z = s k` replaces that
        mean with a relative error of at most `2 sum_m exp(-2 (pi m / s)^2) < 1.03e-34` at
        `s = 1/2`, for every `c`. Leaving out `|z| > L` costs at most
        `Q(L - c) + Q(L + c) <= exp(-(L - a)^2 / 2) < 2.1e-37` of it more, where Q is the Gaussian
        tail, `|c| <= a = sum |v_i|` and `L >= a + 13`. The sum over x of the lattice sums factors:
        `Z = exp(-|v|^2 / 2) sum_z s phi(z) prod_i 2 cosh(h_i + z v_i)` up to `2^-112` of it. Here
        it is computed in balls, and the error allows for the rounding of the rewards.
        """
        from reference.fields.balls import BALL, enclose, precision

        with precision(128):
            scale = BALL.convert(STEP) / (2 * BALL.one.pi()).sqrt()
            total = scale * BALL.sum(self._lattice_terms())
            lower, upper = enclose(total.log() - BALL.convert(self._square / 2))
        return Enclosure.between(lower, upper, Fraction(ROUNDING + 2 * LATTICE_ERROR))

    def log_mass_bound(self, state: Spins) -> float:
        """An upper bound of `log sum of R(x)` over the settings of the open spins, in nats.

        With `c = v . x` over the set spins, `h = h . x` likewise and `a = sum of |v_i|` over the
        others, all completions have a `v . x` in `[c - a, c + a]`, on which its square lies below
        the chord: `(v . x)^2 <= 2 c (v . x) - c^2 + a^2`. The sum over the chord factors:
        `h + (c^2 + a^2 - |v|^2) / 2 + sum over i not set of log(2 cosh(h_i + c v_i))`.
        """
        x, rest = state.values, [i for i, spin in enumerate(state.values) if not spin]
        along = float(sum((v * s for v, s in zip(self.direction, x, strict=True)), Fraction(0)))
        field = float(sum((h * s for h, s in zip(self.fields, x, strict=True)), Fraction(0)))
        reach = float(sum((abs(self.direction[i]) for i in rest), Fraction(0)))
        tilts = (abs(float(self.fields[i]) + along * float(self.direction[i])) for i in rest)
        free = sum(tilt + math.log1p(math.exp(-2 * tilt)) for tilt in tilts)
        bound = field + (along**2 + reach**2 - float(self._square)) / 2 + free
        # 2^-30 covers the roundings of numbers up to 700; rewards are rounded as well.
        return bound + 2.0**-30 + ROUNDING

    def sample(self, count: int, seed: int) -> list[Spins]:
        """Independent samples: a point of the lattice of `log_z`, then independent spins given it.

        The lattice approximates every single `R(x)` to `2^-112`, so that this is the law of `R`
        before its rounding to 24 bits, up to the rounding of float64 (a few `2^-53` for every spin
        and point of the lattice); the rounding of rewards moves the law by less than `2^-23` in
        total variation.
        """
        from reference.fields.balls import BALL, precision

        rng = seeded_arrays("sample", seed)
        with precision(128):
            terms = self._lattice_terms()
            total = BALL.sum(terms)
            weights = [float(term / total) for term in terms]
        h, v, z = (
            np.array(list(map(float, data)))
            for data in (self.fields, self.direction, self._lattice())
        )
        points = z[rng.choice(len(z), size=check_count(count), p=weights)]
        up = (1 + np.tanh(h + points[:, None] * v)) / 2
        return [Spins(tuple(row)) for row in np.where(rng.random(up.shape) < up, 1, -1).tolist()]

    def _lattice(self) -> list[Fraction]:
        reach = math.ceil((sum(map(abs, self.direction), Fraction(0)) + REACH) / STEP)
        return [STEP * k for k in range(-reach, reach + 1)]

    def _lattice_terms(self) -> "list[arb]":
        """`exp(-z^2 / 2) prod_i 2 cosh(h_i + z v_i)`, one per point, at the current precision."""
        from reference.fields.balls import BALL

        h, v = (list(map(BALL.convert, data)) for data in (self.fields, self.direction))
        terms = []
        for point in self._lattice():
            z = BALL.convert(point)
            term = (-z * z / 2).exp()
            for field, direction in zip(h, v, strict=True):
                term *= 2 * (field + z * direction).cosh()
            terms.append(term)
        return terms
