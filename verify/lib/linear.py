"""The exact expressivity of linear policies on Lines, with and without memory (prop:lines).

With `M = 1` the law over `q_0, ..., q_N` is `r_i = (1 - alpha_i) prod_{j<i} alpha_j`, where
`alpha_i` is the probability of going on at `p_i`, of log-odds `o_i = log(alpha_i / (1 - alpha_i))`:

- Markovian: `o_i = k . psi(p_i)`, with `k` the difference of the rows of `W`;
- path-dependent (eq:linear_rec): `o_i = delta (a_i . psi(p_i))`, `a_i = a_0 + (w . c_i) v`,
  `c_i = sum of psi(p_j) over 1 <= j <= i` and `delta = b_1 - b_2`.

Laws are sampled at parameters whose log-odds are integer multiples of log 2, so that odds and laws
are rational, of up to millions of digits; their rank is taken modulo a prime, which can only lower
it. Where it equals the theorem's upper bound, both are proved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from random import Random
from typing import Any, Literal, NamedTuple

from flint import fmpq, fmpq_mat, nmod, nmod_mat

# Powers of two do not repeat modulo this prime before the 10^17th (modulo 2^61 - 1: the 61st).
PRIME = 10**18 + 9

Family = Literal["markovian", "path-dependent"]
Vector = tuple[Fraction, ...]


class Dimensions(NamedTuple):
    """The size of a set of laws on `q_0, ..., q_N`, in the four readings of "dimension".

    They are those of the linear span of the laws, which is the reading of the paper; of their
    affine span, one less; of the linear span of their log-odds; and of the set itself, as a
    manifold.
    """

    linear: int
    affine: int
    log_odds: int
    manifold: int


class Parameters(NamedTuple):
    """The parameters of eq:linear_rec; the Markovian model has `v = w = 0`."""

    a: Vector
    v: Vector
    w: Vector

    @classmethod
    def markovian(cls, a: Sequence[Fraction | int]) -> "Parameters":
        """The parameters without memory."""
        zero = (Fraction(0),) * len(a)
        return cls(tuple(map(Fraction, a)), zero, zero)


@dataclass(frozen=True)
class LinearLines:
    """The two linear policies on Lines with `M = 1` (prop:lines).

    The embedding is `psi(p_0), ..., psi(p_{N-1})`, rational vectors of one length d; at `p_N` there
    is nothing to choose. `delta = b_1 - b_2` is zero with probability zero; the Markovian family
    does not depend on it.
    """

    embedding: tuple[Vector, ...]
    delta: Fraction = Fraction(1)

    @classmethod
    def of(cls, *rows: Sequence[int]) -> "LinearLines":
        """With these vectors of integers."""
        return cls(tuple(tuple(map(Fraction, row)) for row in rows))

    @classmethod
    def natural(cls, length: int, offset: int = 0) -> "LinearLines":
        """The natural embedding `psi(p_i) = i + offset` on Lines of that length `N`."""
        return cls(tuple((Fraction(i + offset),) for i in range(length)))

    @property
    def dimension(self) -> int:
        """D."""
        return len(self.embedding[0])

    def sums(self) -> tuple[Vector, ...]:
        """`c_0, ..., c_{N-1}`: the sums of the embeddings so far, without that of `p_0`."""
        total = [Fraction(0)] * self.dimension
        sums = [tuple(total)]
        for row in self.embedding[1:]:
            total = [t + x for t, x in zip(total, row, strict=True)]
            sums.append(tuple(total))
        return tuple(sums)

    def log_odds(self, parameters: Parameters) -> Vector:
        """`o_0, ..., o_{N-1}` at these parameters."""
        a, v, w = parameters
        return tuple(
            self.delta * (dot(a, psi) + dot(w, c) * dot(v, psi))
            for psi, c in zip(self.embedding, self.sums(), strict=True)
        )

    def law(self, parameters: Parameters) -> Vector:
        """The law at parameters with integer log-odds, which are in units of log 2."""
        return law_from_odds([Fraction(2) ** int(o) for o in self.log_odds(parameters)])

    def interactions(self) -> tuple[Vector, ...]:
        """The products `psi_k(p_i) c_{i,l}`, one row per state: the columns of `H` for every k, l.

        A path-dependent model reaches `Psi a + H vec(v w')` only: the coefficients of `H` form a
        matrix of rank one, so that for `d >= 2` it does not reach the whole span.
        """
        return tuple(
            tuple(x * s for x in psi for s in c)
            for psi, c in zip(self.embedding, self.sums(), strict=True)
        )

    def computed_dimensions(self, family: Family, seed: int = 0) -> Dimensions:
        """The dimensions, as ranks of sampled laws (modulo a prime), log-odds and Jacobians.

        None exceeds the true dimension, and each falls short of it only by bad luck of the draw.
        """
        if family == "markovian" and self.delta != 1:
            # Its W is free, so b plays no part.
            return replace(self, delta=Fraction(1)).computed_dimensions(family, seed)
        rng = Random(seed)
        points = [self._draw(family, rng) for _ in range(2 * len(self.embedding) + 4)]
        two = nmod(2, PRIME)
        laws = [law_from_odds([two ** int(o) for o in self.log_odds(p)]) for p in points]
        differences = [[a - b for a, b in zip(law, laws[0], strict=True)] for law in laws[1:]]
        return Dimensions(
            linear=_rank_modulo(laws),
            affine=_rank_modulo(differences),
            log_odds=rank([self.log_odds(p) for p in points]),
            manifold=max(rank(self._jacobian(family, p)) for p in points),
        )

    def predicted_dimensions(self, family: Family) -> Dimensions:
        """The dimensions, by theorem.

        The linear span is the same for both families: `1 + #{i : psi(p_i) != 0}`, so that the
        strict inequality of prop:lines holds for no embedding. In log-odds it is the rank of `Psi`,
        against that of `[Psi | H]`. As a manifold, it is the rank `r` of `Psi`, against at most
        `3r - 1` (the scale of v and w is redundant) and the rank of `[Psi | H]`; this bound is
        attained if `r <= 2`, and by generic embeddings. If `b_1 = b_2`, memory leaves one law.
        """
        linear = 1 + sum(any(psi) for psi in self.embedding)
        markovian = rank(self.embedding)
        if family == "markovian":
            return Dimensions(linear, linear - 1, markovian, markovian)
        if not self.delta:
            return Dimensions(1, 0, 0, 0)
        columns = zip(self.embedding, self.interactions(), strict=True)
        spanned = rank([(*psi, *products) for psi, products in columns])
        return Dimensions(linear, linear - 1, spanned, min(max(3 * markovian - 1, 0), spanned))

    def interaction_coefficients(self, log_odds: Sequence[Fraction]) -> tuple[Vector, ...] | None:
        """The matrix `X` with `log_odds = Psi a + H vec(X)`, or None if there is none.

        The path-dependent model reaches these log-odds if and only if some solution has rank at
        most one. The solution must be unique, or its rank would not decide.
        """
        d = self.dimension
        matrix = [
            (*psi, *products)
            for psi, products in zip(self.embedding, self.interactions(), strict=True)
        ]
        assert rank(matrix) == d + d * d
        solution = solve(matrix, log_odds)
        if solution is None:
            return None
        return tuple(solution[d + k * d : d + (k + 1) * d] for k in range(d))

    def _draw(self, family: Family, rng: Random) -> Parameters:
        """Random integer parameters, scaled so that the log-odds are integers."""
        # Enough values for distinct samples even with d = 1.
        most = 4 * len(self.embedding) + 4

        def vector(scale: int) -> Vector:
            return tuple(Fraction(rng.randint(-most, most) * scale) for _ in range(self.dimension))

        entries = [x for row in self.embedding for x in row] + [self.delta]
        scale = lcm(*(x.denominator for x in entries))
        a = vector(scale**3)
        if family == "markovian":
            return Parameters.markovian(a)
        return Parameters(a, vector(scale**3), vector(1))

    def _jacobian(self, family: Family, parameters: Parameters) -> list[Vector]:
        """The derivatives of the log-odds by the parameters, one row per state."""
        _, v, w = parameters
        rows = []
        for psi, c in zip(self.embedding, self.sums(), strict=True):
            by_a = [self.delta * x for x in psi]
            by_v = [self.delta * dot(w, c) * x for x in psi]
            by_w = [self.delta * dot(v, psi) * x for x in c]
            rows.append(tuple(by_a if family == "markovian" else [*by_a, *by_v, *by_w]))
        return rows


def law_from_odds(odds: Sequence[Any]) -> tuple[Any, ...]:
    """The law on `q_0, ..., q_N` of the odds `alpha_i / (1 - alpha_i) > 0` of going on."""
    law, reached = [], odds[0] ** 0
    for odd in odds:
        law.append(reached / (1 + odd))
        reached *= odd / (1 + odd)
    return (*law, reached)


def _rank_modulo(rows: Sequence[Sequence[nmod]]) -> int:
    entries = [int(x) for row in rows for x in row]
    return int(nmod_mat(len(rows), len(rows[0]), entries, PRIME).rank())


def rank(rows: Sequence[Sequence[Fraction]]) -> int:
    """The rank of a rational matrix."""
    return int(_matrix(rows).rref()[1])


def solve(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> Vector | None:
    """The solution of a linear system whose columns are independent, or None."""
    augmented = [(*row, value) for row, value in zip(rows, right, strict=True)]
    unknowns = len(rows[0])
    reduced, augmented_rank = _matrix(augmented).rref()
    if augmented_rank > unknowns:
        return None
    entries = reduced.tolist()
    return tuple(
        Fraction(int(entries[i][unknowns].p), int(entries[i][unknowns].q)) for i in range(unknowns)
    )


def _matrix(rows: Sequence[Sequence[Fraction]]) -> fmpq_mat:
    entries = [fmpq(x.numerator, x.denominator) for row in rows for x in row]
    return fmpq_mat(len(rows), len(rows[0]), entries)


def dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    """The inner product."""
    return sum((x * y for x, y in zip(left, right, strict=True)), Fraction(0))
