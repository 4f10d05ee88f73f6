"""Tasks whose objects are strings.

Imports no JAX, so that the command line answers at once.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fast.training.config import TrainConfig
from fast.training.names import LossName
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
class Six6Config(TrainConfig):
    """DNA 8-mers that bind the transcription factor SIX6 (65,536 measured sequences)."""

    problem_name: ClassVar[str] = "six6"

    build: Build = "prepend-append"
    """Where letters are added; with append the state graph is a tree, and lifting adds nothing."""
    exponent: int = 3
    """The reward is max(10 y^exponent, 1/1000), y the score scaled to [0, 1]."""
    loss: LossName = "log_variance"
    steps: int = 20_000
    learning_rate: float = 3e-3
    skip: bool = True
    epsilon: float = 0.0

    def problem(self) -> TableSequences:
        """The SIX6 table as a problem."""
        return TableSequences.six6(self.build, self.exponent)

    def states(self) -> int:
        """Strings over A, C, G, T."""
        return words(4, 8)


@dataclass(frozen=True)
class Pho4Config(TrainConfig):
    """DNA 10-mers that bind PHO4; the table of free energies is yours to bring."""

    problem_name: ClassVar[str] = "pho4"

    table: Path = Path("pho4_10mer.npz")
    """NumPy archive with `score`, the free energies (float32) of all 1,048,576 10-mers in the order
    of their digits in base 4, `alphabet`, its letters in the order of the digits (one string, or an
    array of letters), and `length`."""
    build: Build = "append"
    """Where letters are added; with append the state graph is a tree, and lifting adds nothing."""
    exponent: int = 3
    """The reward is max(10 y^exponent, 1/1000), y the affinity scaled to [0, 1]."""
    loss: LossName = "log_variance"
    learning_rate: float = 3e-3
    skip: bool = True

    def problem(self) -> TableSequences:
        """The table as a problem."""
        return TableSequences.pho4(self.table, self.build, self.exponent)

    def states(self) -> int:
        """Strings over A, C, G, T."""
        return words(4, 10)


@dataclass(frozen=True)
class SynConfig(TrainConfig):
    """Synthetic sequences: log R(s) = sum of u(i) v(s_i), with random utilities."""

    problem_name: ClassVar[str] = "syn"

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
    loss: LossName = "log_variance"

    def problem(self) -> SyntheticSequences:
        """The synthetic problem."""
        return SyntheticSequences.random(
            self.length, self.letters, self.build, self.utility_seed, self.form
        )

    def states(self) -> int:
        """Strings over the alphabet."""
        return words(self.letters, self.length)


@dataclass(frozen=True)
class BitsConfig(TrainConfig):
    """Bit sequences near hidden modes: log R(x) = -c times the least Hamming distance over n."""

    problem_name: ClassVar[str] = "bits"

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
    loss: LossName = "log_variance"

    def problem(self) -> BitSequences:
        """The bit sequences."""
        return BitSequences.random(
            self.length, self.word, self.build, self.exponent, seed=self.mode_seed
        )

    def states(self) -> int:
        """Strings of words."""
        return words(2**self.word, self.length // self.word)
