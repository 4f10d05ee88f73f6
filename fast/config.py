"""What a training run is asked to do; one class per problem, with its defaults.

Imports no JAX, so that the command line answers at once.
"""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import tyro

from reference.errors import InputError
from reference.problems import Build, Grid, Lines, SyntheticSequences, TableSequences

FORMAT = 1


@dataclass(frozen=True)
class TrainConfig(ABC):
    """Options of every problem."""

    problem_name: ClassVar[str]

    dynamics: Literal["srwm", "markov"] = "srwm"
    """Latent dynamics: srwm is path-dependent (eq:ASRWM), markov has none."""
    loss: Literal["tb", "log_variance"] = "tb"
    """Trajectory balance, or contrastive balance as twice the variance of the log ratio."""
    encoding: Literal["one-hot", "natural"] = "one-hot"
    """Features of a state: one-hot, or the integers themselves as in the paper's psi(p_i) = i."""
    parameters: int = 40_000
    """Parameter budget; the hidden layers are made as wide as it allows, within 5 %."""
    steps: int = 5_000
    """Gradient steps."""
    batch: int = 128
    """Trajectories per step."""
    learning_rate: float = 1e-3
    """AdamW's learning rate for the policy."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """How the learning rate goes: down to zero along a cosine, or not at all."""
    log_z_learning_rate: float = 1e-1
    """Learning rate of log Z (loss tb only)."""
    epsilon: float = 0.05
    """Share of uniformly random actions at the start; falls linearly to 0 at half the steps."""
    latent_size: int = 32
    """d: the latent is a d x d matrix (srwm only)."""
    rotation: Literal["planes", "none"] = "planes"
    """R: incommensurable rotations of d/2 planes, or the identity (srwm only)."""
    link: Literal["elu", "identity"] = "elu"
    """zeta: the normalised ELU, or the identity (srwm only)."""
    write_key: Literal["q", "k"] = "q"
    """Write at q, as printed, or at k, as in the delta rule (srwm only)."""
    skip: bool = False
    """Let the head see psi(s_t) beside y_t; not in the paper (srwm only)."""
    seed: int = 0
    """Random seed: equal seeds give equal runs on one machine."""
    evaluations: int = 10
    """How often the exact distance to the target is measured during training."""
    checkpoint_every: int = 500
    """Steps between checkpoints: what a killed run loses at most."""
    out: tyro.conf.DisallowNone[Path | None] = None
    """The run folder, which must not exist yet. Default: runs/PROBLEM-DYNAMICS-SEED."""

    def __post_init__(self) -> None:
        for name in ("parameters", "steps", "evaluations", "checkpoint_every", "latent_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}, but must be at least 1")
        if self.batch < 2:
            raise InputError(f"batch is {self.batch}, but the variance loss needs at least 2")
        for name in ("learning_rate", "log_z_learning_rate"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}, but must be positive, finite")
        if not 0 <= self.epsilon <= 1:
            raise InputError(f"epsilon is {self.epsilon}, but must lie between 0 and 1")
        self.problem()

    @abstractmethod
    def problem(self) -> Lines | Grid | SyntheticSequences | TableSequences:
        """The problem to train on.

        Raises:
            InputError: if its options break one of its rules.
        """

    def folder(self) -> Path:
        """The run folder."""
        return self.out or Path("runs") / f"{self.problem_name}-{self.dynamics}-{self.seed}"


@dataclass(frozen=True)
class Six6Config(TrainConfig):
    """DNA 8-mers that bind the transcription factor SIX6 (65,536 measured sequences)."""

    problem_name: ClassVar[str] = "six6"

    build: Build = "prepend-append"
    """Where letters are added; with append the state graph is a tree, and lifting adds nothing."""
    exponent: int = 3
    """The reward is max(10 y^exponent, 1/1000), y the score scaled to [0, 1]."""
    loss: Literal["tb", "log_variance"] = "log_variance"
    steps: int = 20_000
    learning_rate: float = 3e-3
    epsilon: float = 0.0

    def problem(self) -> TableSequences:
        """The SIX6 table as a problem."""
        return TableSequences.six6(self.build, self.exponent)


@dataclass(frozen=True)
class SynConfig(TrainConfig):
    """Synthetic sequences: log R(s) = sum of u(i) v(s_i), with random utilities."""

    problem_name: ClassVar[str] = "syn"

    length: int = 6
    """S, the number of letters."""
    letters: int = 6
    """V, the size of the alphabet."""
    build: Build = "append"
    """Where letters are added; with append the state graph is a tree, and lifting adds nothing."""
    utility_seed: int = 0
    """Seed of the utilities u and v."""
    loss: Literal["tb", "log_variance"] = "log_variance"

    def problem(self) -> SyntheticSequences:
        """The synthetic problem."""
        return SyntheticSequences.random(self.length, self.letters, self.build, self.utility_seed)


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


@dataclass(frozen=True)
class GridConfig(TrainConfig):
    """The hypergrid with the standard reward: modes near the corners."""

    problem_name: ClassVar[str] = "grid"

    side: int = 16
    """H, cells per axis."""
    dimension: int = 2
    """Number of axes."""
    parameters: int = 10_000
    epsilon: float = 0.5
    skip: bool = True
    """Let the head see psi(s_t) beside y_t; not in the paper, whose head misses modes here."""

    def problem(self) -> Grid:
        """The grid problem."""
        return Grid(self.side, self.dimension)


CONFIGS: dict[str, type[TrainConfig]] = {
    config.problem_name: config for config in (Six6Config, SynConfig, LinesConfig, GridConfig)
}


def to_json(config: TrainConfig) -> dict[str, Any]:
    """A configuration as plain data, without the folder it is stored in."""
    fields = dataclasses.asdict(config)
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
    if name not in CONFIGS:
        raise InputError(f"{source} has the problem {name!r}, but known are {sorted(CONFIGS)}")
    kind = CONFIGS[name]
    known = {field.name for field in dataclasses.fields(kind)} - {"out"}
    if set(values) != known:
        raise InputError(
            f"{source} has the wrong fields: missing {sorted(known - set(values))}, unknown "
            f"{sorted(set(values) - known)}; use the version that wrote it, or train again"
        )
    if "peaks" in values:
        values["peaks"] = tuple(values["peaks"])
    return kind(**values)
