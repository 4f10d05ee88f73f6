"""The Ising model with couplings of rank one: spins set one by one."""

import math
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from reference.errors import InputError, check_list
from reference.problems.base import dyadic
from reference.problems.closed_form import Enclosure, check_count

Order = Literal["any", "fixed"]

# The trapezoid rule with this step is exact for a Gaussian up to 2 sum_k exp(-2 pi^2 k^2 / step^2),
# below 1e-33, whatever its mean (Poisson's summation formula).
STEP = 0.5
# How far the rule reaches beyond the largest possible mean, in standard deviations.
REACH = 45


class Spins(NamedTuple):
    """A state: each spin is -1, +1, or 0 where not set."""

    values: tuple[int, ...]

    def __str__(self) -> str:
        return "".join("-?+"[spin + 1] for spin in self.values)


@dataclass(frozen=True)
class Ising:
    """`log R(x) = h . x + x' J x / 2` over spins `x` in `{-1, +1}^d`, `J = v v' - diag(v v')`.

    Spins are set one by one, in any order (the policy chooses position and value) or from first to
    last (a tree). `exp(log R)` is rounded to 24 bits. The paper calls the model ferromagnetic,
    which it is only if no two entries of `v` differ in sign; otherwise it is a Mattis model.

    Attributes:
        fields: `h`, one rational per spin.
        direction: `v`, one rational per spin.
        order: the order in which spins are set.
    """

    fields: tuple[Fraction, ...]
    direction: tuple[Fraction, ...]
    order: Order = "any"

    def __post_init__(self) -> None:
        if self.order not in ("any", "fixed"):
            raise InputError(f"Ising: the order is {self.order!r}, but must be 'any' or 'fixed'")
        for name in ("fields", "direction"):
            for i, value in enumerate(check_list("Ising", name, getattr(self, name))):
                if not isinstance(value, Fraction):
                    raise InputError(
                        f"Ising: {name}[{i}] is {value!r}, but must be a Fraction: use "
                        "`dyadic(value)` for a float"
                    )
        if len(self.fields) != len(self.direction) or not self.fields:
            raise InputError(
                f"Ising: {len(self.fields)} fields and {len(self.direction)} directions are given: "
                "give one of each per spin, and at least one spin"
            )
        largest = sum(map(abs, self.fields)) + sum(map(abs, self.direction)) ** 2 / 2
        if largest > 700:
            raise InputError(
                f"Ising: log R can reach {float(largest):.6g}, beyond the range of floats: scale "
                "the fields or the direction so that it stays below 700"
            )

    @classmethod
    def random(cls, spins: int, order: Order = "any", seed: int = 0) -> Self:
        """`v` uniform on the unit sphere and `h` standard normal, rounded to 24 bits."""
        if not isinstance(spins, int) or isinstance(spins, bool) or spins < 1:
            raise InputError(f"Ising has {spins!r} spins, but must have an integer of at least 1")
        rng = np.random.default_rng(seed)
        v, h = rng.normal(size=(2, spins))
        v /= np.linalg.norm(v)
        return cls(tuple(map(dyadic, h.tolist())), tuple(map(dyadic, v.tolist())), order)

    @classmethod
    def minimal(cls) -> Self:
        """Three spins, in any order."""
        return cls.random(3)

    @classmethod
    def paper(cls, spins: int = 36, order: Order = "any", seed: int = 0) -> Self:
        """36 or 64 spins."""
        return cls.random(spins, order, seed)

    @property
    def initial(self) -> Spins:
        """No spin set."""
        return Spins((0,) * len(self.fields))

    def children(self, state: Spins) -> tuple[Spins, ...]:
        """Set a spin: the first open one, or any."""
        x = state.values
        places = [i for i, spin in enumerate(x) if not spin]
        if self.order == "fixed":
            places = places[:1]
        return tuple(Spins((*x[:i], spin, *x[i + 1 :])) for i in places for spin in (-1, 1))

    def log_reward(self, terminal: Spins) -> Fraction:
        """`h . x + ((v . x)^2 - |v|^2) / 2`, exactly: the exponent before rounding."""
        along = sum(
            (v * x for v, x in zip(self.direction, terminal.values, strict=True)), Fraction(0)
        )
        field = sum((h * x for h, x in zip(self.fields, terminal.values, strict=True)), Fraction(0))
        return field + (along**2 - self._square) / 2

    def reward(self, terminal: Spins) -> Fraction:
        """`exp(log R)`, rounded to 24 bits."""
        return dyadic(math.exp(self.log_reward(terminal)))

    @property
    def _square(self) -> Fraction:
        return sum((v * v for v in self.direction), Fraction(0))

    def log_z(self) -> Enclosure:
        """`log Z` by a one-dimensional sum, in nats, with a proved error.

        `exp((v . x)^2 / 2)` is the mean of `exp(z v . x)` over a standard normal z, so that
        `Z = exp(-|v|^2 / 2) E_z prod_i 2 cosh(h_i + z v_i)`. The trapezoid rule for that mean has a
        relative error below 1e-33 for every x, hence for `Z`; the sum is enclosed in balls, its
        tail is bounded, and the rounding of rewards to 24 bits is added.
        """
        from reference.balls import BALL, enclose, precision

        with precision(128):
            h, v = (
                [BALL.convert(value) for value in data] for data in (self.fields, self.direction)
            )
            step, reach = BALL.convert(STEP), len(self._grid()) // 2
            total = BALL.zero
            for k in range(-reach, reach + 1):
                z = step * k
                term = (-z * z / 2).exp()
                for field, direction in zip(h, v, strict=True):
                    term = term * 2 * (field + z * direction).cosh()
                total = total + term
            scale = step / (2 * BALL.one.pi()).sqrt() * (-BALL.convert(self._square) / 2).exp()
            # Beyond the grid, cosh(t) <= exp(|t|): a Gaussian tail, at least REACH - 1 deviations
            # from the largest mean a, below exp(-(REACH - 1)^2 / 2) of a sum that is at most this.
            means = sum(map(abs, self.direction), Fraction(0))
            above = sum(map(abs, self.fields), Fraction(0)) + means**2 / 2
            tail = (BALL.convert(above - Fraction((REACH - 1) ** 2, 2))).exp() * 2 ** (len(h) + 1)
            lower, upper = enclose((total * scale).log())
            relative = float(enclose(tail / (total * scale))[1]) + 1e-33
        value = float((lower + upper) / 2)
        # Rounding: 24 bits, then the float exponent (below 700) and exp itself.
        rounding = 2.0**-24 + 710 * 2.0**-53
        spread = float(upper - lower) + abs(value) * 2.0**-52
        return Enclosure(value, 1.01 * (rounding + relative) + spread)

    def sample(self, count: int, seed: int) -> list[Spins]:
        """Independent samples: a point of the trapezoid rule, then independent spins given it.

        The law is that of `R` before its rounding to 24 bits, up to float64 rounding: the rule has
        a relative error below 1e-33 for every `x`.
        """
        rng = Random(seed)
        h, v = (np.array([float(a) for a in data]) for data in (self.fields, self.direction))
        z = self._grid()
        angles = h + z[:, None] * v
        # log 2 cosh(t) = |t| + log(1 + exp(-2 |t|)), without overflow.
        log_weights = np.sum(np.logaddexp(angles, -angles), axis=1) - z**2 / 2
        sums = np.cumsum(np.exp(log_weights - log_weights.max()))
        up = 1 / (1 + np.exp(-2 * angles))
        samples = []
        for _ in range(check_count(count)):
            k = min(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")), len(z) - 1)
            samples.append(Spins(tuple(1 if rng.random() < p else -1 for p in up[k].tolist())))
        return samples

    def _grid(self) -> npt.NDArray[np.float64]:
        reach = math.ceil((float(sum(map(abs, self.direction))) + REACH) / STEP)
        return STEP * np.arange(-reach, reach + 1, dtype=np.float64)
