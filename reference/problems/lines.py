"""Lines (fig:lines): walk along `p_0, ..., p_N` in steps of at most M, and stop at `q_i`."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

import numpy as np

from reference.contract.errors import InputError, check_integer, check_list, check_sequence
from reference.problems.base import dyadic
from reference.problems.closed_form import FiniteLaw, Listed, seeded_arrays
from reference.problems.enumeration import positive_reward

PEAKS = (2, 20)


@dataclass(frozen=True)
class Lines(Listed[str]):
    """The Lines environment of length `N` and longest step `M` with rewards `R(q_0), ..., R(q_N)`.

    States are the strings "p0" ... "pN" and, terminal, "q0" ... "qN". With `M = 1` the state graph
    is a tree, and every lift of it is trivial.
    """

    rewards: tuple[Fraction, ...]
    step: int = 2

    def __post_init__(self) -> None:
        check_sequence("Lines", "rewards", self.rewards)
        if len(self.rewards) < 2:
            raise InputError(f"Lines has length N = {self.length}, but N must be at least 1")
        check_integer("Lines", "the step M", self.step, 1)
        for i, value in enumerate(self.rewards):
            positive_reward(value, f"q{i}")

    @property
    def length(self) -> int:
        """`N`."""
        return len(self.rewards) - 1

    @classmethod
    def laplaces(cls, length: int = 16, step: int = 1, seed: int = 0) -> Self:
        """The mixture of four Laplaces (eq:laplaces), `R(q_i) = sum_j w_j exp(-|i - k_j|)`.

        Here `k_j` is uniform on 1..N and `w` uniform on the simplex. Rewards are rounded to 24
        bits, so that they are exact rationals and exact float32 numbers at once.

        Args:
            length: N.
            step: M.
            seed: seed of the mixture.
        """
        check_integer("Lines", "the length N", length, 1)
        rng = seeded_arrays("Lines.laplaces", seed)
        centres = rng.integers(1, length, size=4, endpoint=True).tolist()
        parts = list(zip(rng.dirichlet(np.ones(4)).tolist(), centres, strict=True))
        sums = (math.fsum(w * math.exp(-abs(i - k)) for w, k in parts) for i in range(length + 1))
        return cls(tuple(map(dyadic, sums)), step)

    @classmethod
    def minimal(cls) -> Self:
        """`N = 5`, `M = 2`, a Laplace mixture."""
        return cls.laplaces(5, 2)

    @classmethod
    def paper(cls) -> Self:
        """`N = 16`, `M = 1`, a Laplace mixture; the other target is `sparse()`."""
        return cls.laplaces(16, 1)

    @classmethod
    def sparse(cls, length: int = 25, step: int = 2, peaks: tuple[int, ...] = PEAKS) -> Self:
        """The sparse target (fig:linesmodels): 1 at the peaks `q_i`, and 1/1000 elsewhere.

        Args:
            length: N.
            step: M.
            peaks: the numbers i of the peaks.
        """
        check_integer("Lines", "the length N", length, 1)
        for peak in check_list("Lines.sparse", "peaks", peaks):
            check_integer("Lines.sparse", "a peak", peak, 0, most=length)
        return cls(
            tuple(Fraction(1) if i in peaks else Fraction(1, 1000) for i in range(length + 1)), step
        )

    @classmethod
    def with_target(
        cls,
        length: int = 16,
        step: int = 2,
        target: Literal["laplaces", "sparse"] = "laplaces",
        target_seed: int = 0,
        peaks: tuple[int, ...] = PEAKS,
    ) -> Self:
        """Lines with either target.

        Args:
            length: N.
            step: M; with M = 1 the state graph is a tree, and lifting adds nothing.
            target: a random mixture of four Laplaces, or 1 at the peaks and 1/1000 elsewhere.
            target_seed: seed of the mixture; read by that target alone.
            peaks: where the sparse target has reward 1; read by that target alone.

        Raises:
            InputError: if an option of the other target is set.
        """
        values = {"laplaces": ("peaks", peaks, PEAKS), "sparse": ("target_seed", target_seed, 0)}
        name, value, usual = values[target]
        if value != usual:
            raise InputError(
                f"{name} is {value!r} with target {target}, which does not read it: use the other "
                f"target, or leave {name} at {usual!r}"
            )
        if target == "laplaces":
            return cls.laplaces(length, step, target_seed)
        return cls.sparse(length, step, peaks)

    @property
    def initial(self) -> str:
        """`p_0`."""
        return "p0"

    def children(self, state: str) -> tuple[str, ...]:
        """The children of `p_i`: `q_i`, by a stop, and `p_{i+1}, ..., p_{i+M}`, up to `p_N`."""
        if state[0] == "q":
            return ()
        i = int(state[1:])
        return (f"q{i}", *(f"p{j}" for j in range(i + 1, min(i + self.step, self.length) + 1)))

    def parents(self, state: str) -> tuple[str, ...]:
        """The parent `p_i` of `q_i`, and those of `p_i`, `p_{i-1}, ..., p_{i-M}`, down to `p_0`."""
        i = int(state[1:])
        before = [i] if state[0] == "q" else range(i - 1, max(i - self.step, 0) - 1, -1)
        return tuple(f"p{j}" for j in before)

    def reward(self, terminal: str) -> Fraction:
        """`R(q_i)`."""
        return self.rewards[int(terminal[1:])]

    def law(self) -> FiniteLaw[str]:
        """The target."""
        return FiniteLaw.of({f"q{i}": Fraction(r) for i, r in enumerate(self.rewards)})
