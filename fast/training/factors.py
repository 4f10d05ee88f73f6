"""The factors of the reward in a target, and the samplers for others. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

from reference.arguments import check_options, require, require_counts
from reference.errors import InputError


@dataclass(frozen=True)
class Factors:
    """The reward in factors, for runs that are combined (prop:apx:dist, prop:apx:sm)."""

    parts: int = 1
    """Split the reward into this many factors, each the share of some items, positions or
    comparisons (sets, syn, preference)."""
    factors: tuple[int, ...] = ()
    """Which of the factors make up the target, such as 0 2; by default all."""
    frozen: tuple[Path, ...] = ()
    """Finished runs on some of these factors: training asks their samplers instead of the rewards,
    and sees the reward of the other factors only, if there are any (log_variance only)."""
    warm: bool = False
    """Start from the parameters of the frozen run, of which there must be one, of the same
    shape."""

    def __post_init__(self) -> None:
        check_options(self)
        require_counts(self, "parts")
        inside = set(self.factors) <= set(range(self.parts))
        require(
            self,
            "factors",
            inside and len(set(self.factors)) == len(self.factors),
            f"be different numbers from 0 to {self.parts - 1}: there are {self.parts} parts",
        )
        if self.warm and len(self.frozen) != 1:
            raise InputError(
                f"warm with {len(self.frozen)} frozen runs: parameters come from one; use --no-warm"
            )

    @property
    def covered(self) -> tuple[int, ...]:
        """The factors that make up the target."""
        return self.factors or tuple(range(self.parts))
