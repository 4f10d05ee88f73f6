"""The tasks of `pdai train`: one configuration per problem, with its defaults.

Imports no JAX, so that the command line answers at once.
"""

import dataclasses
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any, ClassVar, Literal

from fast.config import DynamicsName, LossName, TrainConfig
from reference.errors import InputError
from reference.problems import (
    BitSequences,
    Build,
    EdgeAddition,
    Grid,
    Ising,
    LazyRandomWalk,
    Lines,
    Preference,
    RewardForm,
    Sets,
    SyntheticSequences,
    TableSequences,
)

FORMAT = 2

Order = Literal["fixed", "any"]


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
    """NumPy archive with `sequence` and `score`, a free energy, for all 1,048,576 10-mers."""
    build: Build = "append"
    """Where letters are added; with append the state graph is a tree, and lifting adds nothing."""
    exponent: int = 3
    """The reward is max(10 y^exponent, 1/1000), y the affinity scaled to [0, 1]."""
    loss: LossName = "log_variance"
    learning_rate: float = 3e-3

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


@dataclass(frozen=True)
class LinesConfig(TrainConfig):
    """Lines: walk along p_0 ... p_N in steps of at most M, and stop at q_i."""

    problem_name: ClassVar[str] = "lines"

    length: int = 16
    """N."""
    step: int = 2
    """M; with M = 1 the state graph is a tree, and lifting adds nothing."""
    target: Literal["laplaces", "sparse"] = "laplaces"
    """A random mixture of four Laplaces, or 1 at the peaks and 1/1000 elsewhere."""
    target_seed: int = 0
    """Seed of the mixture (laplaces only)."""
    peaks: tuple[int, ...] = (2, 20)
    """Where the sparse target has reward 1 (sparse only)."""
    parameters: int = 10_000
    steps: int = 2_000

    def problem(self) -> Lines:
        """The Lines problem."""
        if self.target == "laplaces":
            return Lines.laplaces(self.length, self.step, self.target_seed)
        return Lines.sparse(self.length, self.step, self.peaks)

    def states(self) -> int:
        """p_i and q_i."""
        return 2 * (self.length + 1)


@dataclass(frozen=True)
class GridConfig(TrainConfig):
    """The hypergrid, with modes near the corners."""

    problem_name: ClassVar[str] = "grid"

    side: int = 16
    """H, cells per axis."""
    dimension: int = 2
    """Number of axes."""
    landscape: Literal["standard", "printed", "sparse"] = "standard"
    """The reward: the usual one, the paper's as printed, or four cells of 1 in a sea of 1/1000."""
    parameters: int = 10_000
    epsilon: float = 0.5
    skip: bool = True
    """Let the head see psi(s_t) beside y_t; not in the paper, whose head misses modes here."""

    def problem(self) -> Grid:
        """The grid problem."""
        return Grid(self.side, self.dimension, self.landscape)

    def states(self) -> int:
        """Cells, visited and stopped at."""
        return 2 * self.side**self.dimension  # type: ignore[no-any-return]


@dataclass(frozen=True)
class SetsConfig(TrainConfig):
    """Sets of K out of S items: log R = sum of utilities."""

    problem_name: ClassVar[str] = "sets"

    items: int = 64
    """S, the number of items."""
    size: int = 16
    """K, the size of a set; the paper has 16, 24 and 32."""
    form: RewardForm = "product"
    """Whether R is the product of exp(u) or, as printed, their sum."""
    utility_seed: int = 0
    """Seed of the utilities u."""
    loss: LossName = "log_variance"

    def problem(self) -> Sets:
        """The set problem."""
        return Sets.random(self.items, self.size, self.form, self.utility_seed)

    def states(self) -> int:
        """Sets of at most K items."""
        return sum(comb(self.items, n) for n in range(self.size + 1))


@dataclass(frozen=True)
class PreferenceConfig(TrainConfig):
    """Bayesian preference learning: integer weights w given comparisons of pairs."""

    problem_name: ClassVar[str] = "preference"

    comparisons: int = 50
    """Number of comparisons; the paper has 50, 100 and 150."""
    dimension: int = 8
    """d, the number of weights."""
    bound: int = 4
    """m: each weight lies in -m, ..., m."""
    order: Order = "fixed"
    """Choose the weights one after the other (a tree), or in any order."""
    data_seed: int = 0
    """Seed of the comparisons."""

    def problem(self) -> Preference:
        """The posterior."""
        return Preference.random(
            self.comparisons, self.dimension, self.bound, self.order, self.data_seed
        )

    def states(self) -> int:
        """Vectors with some weights chosen."""
        values = 2 * self.bound + 1
        if self.order == "fixed":
            return words(values, self.dimension)
        return int((values + 1) ** self.dimension)


@dataclass(frozen=True)
class RandomWalkConfig(TrainConfig):
    """The lazy random walk: where a walk of T steps on a box ends."""

    problem_name: ClassVar[str] = "random-walk"

    radius: int = 16
    """M: coordinates lie in -M, ..., M."""
    walk_steps: int = 32
    """T, the length of a walk."""
    dimension: int = 2
    """d."""
    landscape: Literal["rings", "sharp-rings", "sinusoidal"] = "rings"
    """The reward of the last position."""

    def problem(self) -> LazyRandomWalk:
        """The walk."""
        return LazyRandomWalk(self.radius, self.walk_steps, self.dimension, self.landscape)

    def states(self) -> int:
        """Positions and times."""
        return int((2 * self.radius + 1) ** self.dimension * (self.walk_steps + 1))


@dataclass(frozen=True)
class IsingConfig(TrainConfig):
    """The Ising model with couplings of rank one, spin by spin."""

    problem_name: ClassVar[str] = "ising"

    spins: int = 36
    """d; the paper has 36 and 64."""
    order: Order = "any"
    """Set the spins in any order, or one after the other (a tree)."""
    model_seed: int = 0
    """Seed of couplings and fields."""

    def problem(self) -> Ising:
        """The model."""
        return Ising.random(self.spins, self.order, self.model_seed)

    def states(self) -> int:
        """Spins that are up, down, or not set."""
        return words(2, self.spins) if self.order == "fixed" else int(3**self.spins)


@dataclass(frozen=True)
class GraphsConfig(TrainConfig):
    """Edge addition to small graphs that no Markovian graph network tells apart."""

    problem_name: ClassVar[str] = "graphs"

    instance: Literal["matching", "paths", "marked", "mirrored", "paper"] = "paper"
    """Which instance."""
    alpha: float = 0.7
    """The target probability of the first terminal graph."""
    dynamics: DynamicsName = "temporal-gcn"
    parameters: int = 2_000
    steps: int = 2_000

    def problem(self) -> EdgeAddition:
        """The instance."""
        from reference.problems.base import dyadic

        if not 0 < self.alpha < 1:
            raise InputError(f"alpha is {self.alpha}, but must lie strictly between 0 and 1")
        problem: EdgeAddition = getattr(EdgeAddition, self.instance)(dyadic(self.alpha))
        return problem

    def states(self) -> int:
        """Listed graphs."""
        problem = self.problem()
        return len(problem.inner) + len(problem.terminals)


@dataclass(frozen=True)
class CustomConfig(TrainConfig):
    """Your own problem: any class with initial, children(state) and reward(terminal).

    It is enumerated. Networks see the number of a state, one-hot, or what the problem's method
    features(state) gives, if it has one: equally many numbers for each state.
    """

    problem_name: ClassVar[str] = "custom"

    name: str = "reference.problems:Grid.minimal"
    """MODULE:NAME of it; a class or function is called without arguments."""

    def problem(self) -> Any:
        """The problem, imported."""
        from reference.inspection import load_problem

        return load_problem(self.name)

    def states(self) -> int:
        """Not known before enumeration, which a problem of this kind needs anyway."""
        return 0

    def folder(self) -> Path:
        """The run folder, named after the problem."""
        name = self.name.rpartition(":")[2].lower().replace(".", "-")
        return self.out or Path("runs") / f"{name}-{self.dynamics}-{self.seed}"


TASKS: dict[str, type[TrainConfig]] = {
    task.problem_name: task
    for task in (
        Six6Config, Pho4Config, SynConfig, BitsConfig, LinesConfig, GridConfig, SetsConfig,
        PreferenceConfig, RandomWalkConfig, IsingConfig, GraphsConfig, CustomConfig,
    )
}  # fmt: skip


def to_json(config: TrainConfig) -> dict[str, Any]:
    """A configuration as plain data, without the folder it is stored in."""
    fields = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in dataclasses.asdict(config).items()
    }
    del fields["out"]
    return {"format": FORMAT, "problem": config.problem_name, **fields}


def from_json(data: dict[str, Any], source: str) -> TrainConfig:
    """The configuration that `to_json` wrote.

    Raises:
        InputError: if it is of another format, or its fields are not those of its problem.
    """
    values = dict(data)
    version, name = values.pop("format", None), values.pop("problem", None)
    if version != FORMAT:
        raise InputError(
            f"{source} has format {version!r}, but this version of pdai reads format {FORMAT}: "
            "use the version that wrote it, or train again"
        )
    if name not in TASKS:
        raise InputError(f"{source} has the problem {name!r}, but known are {sorted(TASKS)}")
    kind = TASKS[name]
    known = {field.name for field in dataclasses.fields(kind)} - {"out"}
    if set(values) != known:
        raise InputError(
            f"{source} has the wrong fields: missing {sorted(known - set(values))}, unknown "
            f"{sorted(set(values) - known)}; use the version that wrote it, or train again"
        )
    if "peaks" in values:
        values["peaks"] = tuple(values["peaks"])
    if "table" in values:
        values["table"] = Path(values["table"])
    return kind(**values)
