"""Tasks whose objects are where a walk ends.

Imports no JAX, so that the command line answers at once.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from fast.training.config import TrainConfig
from reference.problems import Grid, LazyRandomWalk, Lines


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

    def problem(self) -> Grid:
        """The grid problem."""
        return Grid(self.side, self.dimension, self.landscape)

    def states(self) -> int:
        """Cells, visited and stopped at."""
        return 2 * self.side**self.dimension  # type: ignore[no-any-return]


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
