"""Options of sampling and of a run, which every run has. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reference.arguments import check_options, require, require_counts
from reference.errors import InputError

# JAX silently keeps 32 bits of a seed; NumPy refuses one that is negative.
SEEDS_END = 2**31


@dataclass(frozen=True)
class SamplingOptions:
    """The batches of a training, and the exploration in them."""

    batch: int = 128
    """Trajectories per step."""
    epsilon: float = 0.05
    """Share of uniformly random actions at the start."""
    epsilon_until: float = 0.5
    """The share of the steps after which epsilon has fallen, linearly, to 0."""
    temperature: float = 1.0
    """Actions are drawn from softmax(log p_F / temperature) while training."""

    def __post_init__(self) -> None:
        check_options(self)
        require_counts(self, "batch")
        require(self, "epsilon", 0 <= self.epsilon <= 1, "lie between 0 and 1")
        require(self, "epsilon_until", 0 < self.epsilon_until <= 1, "lie in (0, 1]")
        require(self, "temperature", 0 < self.temperature < float("inf"), "be positive and finite")


@dataclass(frozen=True)
class RunOptions:
    """Seeds, arithmetic, devices, measurements and the run folder."""

    seed: int = 0
    """Random seed: equal seeds give equal runs on one machine."""
    seeds: int = 1
    """Train this many seeds side by side: seed, seed + 1, ..."""
    precision: Literal["float32", "float64"] = "float32"
    """Arithmetic of training."""
    devices: int = 1
    """Split each batch over this many devices."""
    evaluations: int = 10
    """Number of measurements of the distance to the target during training."""
    law_samples: int = 262_144
    """Samples for the final law of a policy, where it cannot be summed. With fewer than 16,384,
    states too many to enumerate are measured by fewer trajectories as well."""
    checkpoint_every: int = 500
    """Steps between checkpoints, rounded up to hundreds: the most that a killed run loses."""
    max_states: int = 2_000_000
    """Problems of at most this many states are enumerated, and measured exactly where possible."""
    out: Path | None = None
    """The run folder, which must not exist yet. Default: runs/TASK-DYNAMICS-SEED, of several runs
    runs/TASK-COMMAND-SEED."""

    def __post_init__(self) -> None:
        check_options(self)
        counts = ("seeds", "devices", "evaluations", "law_samples", "checkpoint_every")
        require_counts(self, *counts, "max_states")
        check_seeds(self.seed, self.seeds)


def check_seeds(seed: int, seeds: int) -> None:
    """Refuses seeds that JAX or NumPy would confuse with others.

    Raises:
        InputError: if one is not.
    """
    if not 0 <= seed <= SEEDS_END - seeds:
        raise InputError(
            f"seed is {seed} and seeds is {seeds}, but all seeds must be at least 0 and below "
            f"{SEEDS_END:,}: JAX takes others for one of these; choose a smaller --seed"
        )
