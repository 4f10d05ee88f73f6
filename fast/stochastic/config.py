"""What a training run with a random latent is asked to do. Imports no JAX."""

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from fast.stochastic.moments import covariance_factor, mean_vector
from fast.tasks.options import build, check_options, check_seeds
from fast.tasks.walks import LinesTask
from reference.errors import InputError
from reference.problems import Grid, LazyRandomWalk, Lines

FORMAT = 1

LatentKind = Literal["gaussian", "deterministic"]
GradientKind = Literal["fixed", "reparameterised"]


@dataclass(frozen=True)
class StochasticConfig(ABC):
    """Options of every problem."""

    problem_name: ClassVar[str]

    latent: LatentKind = "gaussian"
    """Draw the latent from N(mean, scale^2), or let it be the mean: the path-dependent sampler of
    the main text, with the same networks."""
    gradient: GradientKind = "fixed"
    """Hold sampled trajectories fixed, as trajectory balance does, or differentiate the on-policy
    loss through the latents as well (gaussian only, with --epsilon 0)."""
    latent_size: int = 8
    """d: the latent is a vector of d numbers."""
    sigma: float = 0.6
    """Scale of the latent's steps before training; the latent remembers sqrt(1 - sigma^2) of
    itself, so that its law stays N(0, I)."""
    components: int = 4
    """Normal laws in the mixture xi, the law of the latent at s_o (gaussian only)."""
    mu: tuple[float, ...] = ()
    """Mean of the latent at a terminal, d numbers; zeros by default (gaussian only)."""
    covariance: tuple[float, ...] = ()
    """Lambda, its covariance there: d numbers (the diagonal) or d^2 (row by row); the identity by
    default (gaussian only)."""
    width: int = 64
    """Width of the hidden layer of each network."""
    steps: int = 2_000
    """Gradient steps."""
    batch: int = 128
    """Trajectories per step."""
    learning_rate: float = 2e-3
    """AdamW's learning rate for the networks."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """How the learning rate goes: down to zero along a cosine, or not at all."""
    log_z_learning_rate: float = 1e-1
    """Learning rate of log Z."""
    epsilon: float = 0.05
    """Share of uniformly random actions at the start."""
    epsilon_until: float = 0.5
    """The share of the steps after which epsilon has fallen, linearly, to 0."""
    seed: int = 0
    """Random seed: equal seeds give equal runs on one machine."""
    seeds: int = 1
    """Train this many seeds side by side: seed, seed + 1, ..."""
    evaluations: int = 5
    """How often the distance to the target is estimated during training."""
    checkpoint_every: int = 500
    """Steps between checkpoints, rounded up to hundreds: what a killed run loses at most."""
    out: Path | None = None
    """The run folder, which must not exist yet. Default: runs/stochastic-PROBLEM-LATENT-SEED."""

    def __post_init__(self) -> None:
        check_options(self)
        counts = ("latent_size", "components", "width", "steps", "batch", "seeds", "evaluations")
        for name in (*counts, "checkpoint_every"):
            self._require(name, getattr(self, name) >= 1, "be at least 1")
        # Its covariance is a matrix of d x d.
        self._require("latent_size", self.latent_size <= 10_000, "be at most 10,000")
        for name in ("learning_rate", "log_z_learning_rate"):
            self._require(name, 0 < getattr(self, name) < math.inf, "be positive and finite")
        self._require(
            "sigma",
            0 < self.sigma < math.inf,
            "be positive and finite: without noise the latent has no density; use --latent "
            "deterministic",
        )
        self._require("epsilon", 0 <= self.epsilon <= 1, "lie between 0 and 1")
        self._require("epsilon_until", 0 < self.epsilon_until <= 1, "lie in (0, 1]")
        check_seeds(self.seed, self.seeds)
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        for name in ("components", "mu", "covariance"):
            if not self.is_stochastic and getattr(self, name) != usual[name]:
                raise InputError(
                    f"{name} is {getattr(self, name)!r} with latent deterministic, which does not "
                    "read it: the latent has no law at either end; use --latent gaussian, or leave "
                    f"{name} at {usual[name]!r}"
                )
        if self.gradient == "reparameterised" and (self.epsilon or self.latent != "gaussian"):
            raise InputError(
                f"gradient reparameterised with latent {self.latent} and epsilon {self.epsilon}: "
                "it is the gradient of the on-policy loss by random latents, so it needs --latent "
                "gaussian and --epsilon 0"
            )
        mean_vector(self.mu, self.latent_size)
        covariance_factor(self.covariance, self.latent_size)
        self.problem()

    def _require(self, name: str, holds: bool, rule: str) -> None:
        # NaN makes every comparison false, so that it is refused as well.
        if not holds:
            raise InputError(f"{name} is {getattr(self, name)}, but must {rule}")

    @property
    def is_stochastic(self) -> bool:
        """Whether the latent is random."""
        return self.latent == "gaussian"

    @abstractmethod
    def problem(self) -> Any:
        """The problem to train on.

        Raises:
            InputError: if its options break one of its rules.
        """

    def folder(self) -> Path:
        """The run folder."""
        name = f"stochastic-{self.problem_name}-{self.latent}-{self.seed}"
        return self.out or Path("runs") / name


@dataclass(frozen=True)
class StochasticLines(StochasticConfig):
    """Lines: walk along p_0 ... p_N in steps of at most M, and stop at q_i."""

    problem_name: ClassVar[str] = "lines"

    length: int = 16
    """N."""
    step: int = 2
    """M."""
    target: Literal["laplaces", "sparse"] = "laplaces"
    """A random mixture of four Laplaces, or 1 at the peaks and 1/1000 elsewhere."""
    target_seed: int = 0
    """Seed of the mixture (laplaces only)."""
    peaks: tuple[int, ...] = (2, 20)
    """Where the sparse target has reward 1 (sparse only; it needs a length of 20 or more)."""

    def problem(self) -> Lines:
        """The Lines problem."""
        lines: Lines = LinesTask(
            "one-hot", self.length, self.step, self.target, self.target_seed, self.peaks
        ).make_problem()
        return lines


@dataclass(frozen=True)
class StochasticGrid(StochasticConfig):
    """The hypergrid, with modes near the corners."""

    problem_name: ClassVar[str] = "grid"

    side: int = 8
    """H, cells per axis."""
    dimension: int = 2
    """Number of axes."""
    landscape: Literal["standard", "printed", "sparse"] = "standard"
    """The reward: the usual one, the paper's as printed, or four cells of 1 in a sea of 1/1000."""
    epsilon: float = 0.5

    def problem(self) -> Grid:
        """The grid problem."""
        return Grid(self.side, self.dimension, self.landscape)


@dataclass(frozen=True)
class StochasticRings(StochasticConfig):
    """The lazy random walk: where a walk of T steps on a box ends."""

    problem_name: ClassVar[str] = "rings"

    radius: int = 4
    """M: coordinates lie in -M, ..., M."""
    walk_steps: int = 8
    """T, the length of a walk; every cell is reached from T = 2 M on."""
    landscape: Literal["rings", "sharp-rings"] = "rings"
    """The reward of the last position."""

    def problem(self) -> LazyRandomWalk:
        """The walk."""
        return LazyRandomWalk(self.radius, self.walk_steps, 2, self.landscape)


TASKS: dict[str, type[StochasticConfig]] = {
    task.problem_name: task for task in (StochasticLines, StochasticGrid, StochasticRings)
}


def to_json(config: StochasticConfig) -> dict[str, Any]:
    """A configuration as plain data, without the folder it is stored in."""
    fields = dataclasses.asdict(config)
    del fields["out"]
    return {"stochastic_format": FORMAT, "problem": config.problem_name, **fields}


def from_json(data: dict[str, Any], source: str) -> StochasticConfig:
    """The configuration that `to_json` wrote.

    Raises:
        InputError: if it is not one, of another format, or has other fields, or fields of other
            types or of no meaning.
    """
    values = dict(data)
    version, name = values.pop("stochastic_format", None), values.pop("problem", None)
    if version is None or not isinstance(name, str) or name not in TASKS:
        raise InputError(
            f"{source} is not of a run with a random latent: continue it with `pdai train --resume`"
        )
    known = {field.name for field in dataclasses.fields(TASKS[name])} - {"out"}
    if version != FORMAT or set(values) != known:
        raise InputError(
            f"{source} has format {version!r} and the fields {sorted(values)}, but this version of "
            f"pdai reads format {FORMAT} with {sorted(known)}: use the version that wrote it, or "
            "train again"
        )
    return build(TASKS[name], values, source)
