"""Tasks whose objects are strings.

Imports no JAX, so that the command line answers at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from fast.tasks.options import require
from fast.tasks.task import BuiltIn
from reference.problems import (
    BitSequences,
    Build,
    RewardForm,
    SyntheticSequences,
    TableSequences,
)


def words(letters: int, length: int) -> int:
    """The number of strings of at most `length` letters."""
    return sum(letters**n for n in range(length + 1))


@dataclass(frozen=True)
class StringTask(BuiltIn):
    """A task whose objects are strings."""

    last: int | None = None
    """k: networks see the length of a string and its last k letters alone; by default all."""

    def check(self) -> None:
        """Refuses to show fewer than no letters."""
        self.check_last()
        super().check()

    def check_last(self) -> None:
        """Refuses a negative number of letters.

        Raises:
            InputError: if it is one.
        """
        require(self, "last", self.last is None or self.last >= 0, "be at least 0")

    def seen(self) -> dict[str, Any]:
        """How many letters are seen."""
        return {"last": self.last}


@dataclass(frozen=True)
class Six6Task(StringTask):
    """DNA 8-mers that bind the transcription factor SIX6 (65,536 measured sequences)."""

    name: ClassVar[str] = "six6"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "loss": "log_variance",
            "steps": 20_000,
            "learning_rate": 3e-3,
            "skip": True,
            "epsilon": 0.0,
        }
    )

    build: Build = "prepend-append"
    """Where letters are added; with append the state graph is a tree, and lifting adds nothing."""
    exponent: int = 3
    """The reward is max(10 y^exponent, 1/1000), y the score scaled to [0, 1]."""

    def make_problem(self) -> TableSequences:
        """The SIX6 table as a problem."""
        return TableSequences.six6(self.build, self.exponent)

    def states(self) -> int:
        """Strings over A, C, G, T."""
        return words(4, 8)


@dataclass(frozen=True)
class Pho4Task(StringTask):
    """DNA 10-mers that bind PHO4; the table of free energies is yours to bring."""

    name: ClassVar[str] = "pho4"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"loss": "log_variance", "learning_rate": 3e-3, "skip": True}
    )

    table: Path = Path("pho4_10mer.npz")
    """NumPy archive with `score`, the free energies (float32) of all 1,048,576 10-mers in the order
    of their digits in base 4, `alphabet`, its letters in the order of the digits (one string, or an
    array of letters), and `length`."""
    build: Build = "append"
    """Where letters are added; with append the state graph is a tree, and lifting adds nothing."""
    exponent: int = 3
    """The reward is max(10 y^exponent, 1/1000), y the affinity scaled to [0, 1]."""

    def check(self) -> None:
        """The table is left until it is needed: it is large, and not there to ask for help."""
        self.check_last()

    def make_problem(self) -> TableSequences:
        """The table as a problem."""
        return TableSequences.pho4(self.table, self.build, self.exponent)

    def states(self) -> int:
        """Strings over A, C, G, T."""
        return words(4, 10)


@dataclass(frozen=True)
class SynTask(StringTask):
    """Synthetic sequences: log R(s) = sum of u(i) v(s_i), with random utilities."""

    name: ClassVar[str] = "syn"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"loss": "log_variance"})

    length: int = 6
    """S, the number of letters; the paper has 8, 16 and 32."""
    letters: int = 6
    """V, the size of the alphabet."""
    build: Build = "append"
    """Where letters are added; with append the state graph is a tree, and lifting adds nothing."""
    form: RewardForm = "product"
    """Whether the sum of u(i) v(s_i) is log R (product) or, as printed, R (sum)."""
    utility_seed: int = 0
    """Seed of the utilities u and v."""
    decisive: int | None = None
    """How many letters from the left the reward depends on, in the same way for every length: the
    utilities u of the others are 0; by default all."""

    def check(self) -> None:
        """Refuses a reward that depends on no letter, or on more than there are."""
        if self.decisive is not None:
            rule = f"be at least 1 and at most {self.length}, the length"
            require(self, "decisive", 1 <= self.decisive <= self.length, rule)
        super().check()

    def make_problem(self) -> SyntheticSequences:
        """The synthetic problem."""
        decisive = self.length if self.decisive is None else self.decisive
        made = SyntheticSequences.random(
            decisive, self.letters, self.build, self.utility_seed, self.form
        )
        if decisive == self.length:
            return made
        idle = (0.0,) * (self.length - decisive)
        return replace(made, length=self.length, u=(*made.u, *idle))

    def states(self) -> int:
        """Strings over the alphabet."""
        return words(self.letters, self.length)


@dataclass(frozen=True)
class BitsTask(StringTask):
    """Bit sequences near hidden modes: log R(x) = -c times the least Hamming distance over n."""

    name: ClassVar[str] = "bits"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"loss": "log_variance"})

    length: int = 16
    """n, a multiple of 8; the paper has 16, 32 and 64."""
    word: int = 1
    """k, bits per step."""
    build: Build = "append"
    """Where words are added; with append the state graph is a tree, and lifting adds nothing."""
    exponent: int = 3
    """c; 20 is the hard setting."""
    mode_seed: int = 0
    """Seed of the modes."""

    def make_problem(self) -> BitSequences:
        """The bit sequences."""
        return BitSequences.random(
            self.length, self.word, self.build, self.exponent, seed=self.mode_seed
        )

    def states(self) -> int:
        """Strings of words."""
        return words(2**self.word, self.length // self.word)
