"""Tasks whose objects are where a walk ends.

Imports no JAX, so that the command line answers at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from fast.tasks.options import require_counts
from fast.tasks.task import BuiltIn
from reference.errors import InputError
from reference.problems import Grid, LazyRandomWalk, Lines


@dataclass(frozen=True)
class LinesTask(BuiltIn):
    """Lines: walk along p_0 ... p_N in steps of at most M, and stop at q_i."""

    name: ClassVar[str] = "lines"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"parameters": 10_000, "steps": 2_000})

    length: int = 16
    """N."""
    step: int = 2
    """M; with M = 1 the state graph is a tree, and lifting adds nothing."""
    target: Literal["laplaces", "sparse"] = "laplaces"
    """A random mixture of four Laplaces, or 1 at the peaks and 1/1000 elsewhere."""
    target_seed: int = 0
    """Seed of the mixture; read by that target alone."""
    peaks: tuple[int, ...] = (2, 20)
    """Where the sparse target has reward 1; read by that target alone."""

    def check(self) -> None:
        """Refuses options of the target that is not asked for."""
        other = "peaks" if self.target == "laplaces" else "target_seed"
        usual = {field.name: field.default for field in fields(self)}[other]
        if getattr(self, other) != usual:
            raise InputError(
                f"{other} is {getattr(self, other)!r} with target {self.target}, which does not "
                f"read it: use the other target, or leave {other} at {usual!r}"
            )
        super().check()

    def make_problem(self) -> Lines:
        """The Lines problem."""
        if self.target == "laplaces":
            return Lines.laplaces(self.length, self.step, self.target_seed)
        return Lines.sparse(self.length, self.step, self.peaks)

    def states(self) -> int:
        """p_i and q_i."""
        return 2 * (self.length + 1)


@dataclass(frozen=True)
class GridTask(BuiltIn):
    """The hypergrid, with modes near the corners."""

    name: ClassVar[str] = "grid"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"parameters": 10_000, "epsilon": 0.5})

    side: int = 16
    """H, cells per axis."""
    dimension: int = 2
    """Number of axes."""
    landscape: Literal["standard", "printed", "sparse"] = "standard"
    """The reward: the usual one, the paper's as printed, or four cells of 1 in a sea of 1/1000."""
    coarse: int = 1
    """c: networks see coordinates divided by c and rounded down, so that cells look alike in blocks
    of c along each axis."""

    def check(self) -> None:
        """Refuses blocks of no cell."""
        require_counts(self, "coarse")
        super().check()

    def seen(self) -> dict[str, Any]:
        """The size of the blocks that look alike."""
        return {"coarse": self.coarse}

    def make_problem(self) -> Grid:
        """The grid problem."""
        return Grid(self.side, self.dimension, self.landscape)

    def states(self) -> int:
        """Cells, visited and stopped at."""
        return 2 * self.side**self.dimension  # type: ignore[no-any-return]


@dataclass(frozen=True)
class RandomWalkTask(BuiltIn):
    """The lazy random walk: where a walk of T steps on a box ends."""

    name: ClassVar[str] = "random-walk"
    # The one task without graphs where memory pays though the state is seen (fig:apx:lra).
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"dynamics": "gru"})

    radius: int = 16
    """M: coordinates lie in -M, ..., M."""
    walk_steps: int = 32
    """T, the length of a walk."""
    dimension: int = 2
    """d."""
    landscape: Literal["rings", "sharp-rings", "sinusoidal"] = "rings"
    """The reward of the last position."""
    time_code: Literal["same", "fourier"] = "same"
    """How the time is coded: as the position is, or by sines and cosines, as the paper does, while
    --encoding is the code of the position."""
    coarse: int = 1
    """c: networks see positions in blocks of c along each axis, from -M on, and the exact time."""

    def check(self) -> None:
        """Refuses blocks of no cell, and a second name for the same features."""
        require_counts(self, "coarse")
        if self.encoding == "fourier" and self.time_code == "fourier":
            raise InputError(
                "time_code is 'fourier' with encoding 'fourier', which codes the time by sines and "
                "cosines already: leave time_code at 'same'"
            )
        super().check()

    def make_problem(self) -> LazyRandomWalk:
        """The walk."""
        return LazyRandomWalk(self.radius, self.walk_steps, self.dimension, self.landscape)

    def seen(self) -> dict[str, Any]:
        """The code of time, and the size of the blocks that look alike."""
        return {"time_code": self.time_code, "coarse": self.coarse}

    def states(self) -> int:
        """Positions and times."""
        return int((2 * self.radius + 1) ** self.dimension * (self.walk_steps + 1))
