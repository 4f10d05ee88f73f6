"""How batches are drawn, as options. Imports no JAX."""

from dataclasses import dataclass
from typing import ClassVar

from fast.tasks.options import check_options, require, require_counts


@dataclass(frozen=True)
class SamplingOptions:
    """How many trajectories a step draws, and how their actions explore."""

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
class NoReplay:
    """No replay: every trajectory is drawn forwards."""

    by_reward: ClassVar[bool] = False
    capacity: ClassVar[int] = 0

    def replayed(self, batch: int) -> int:
        """How many trajectories of a batch are drawn backwards."""
        return 0


@dataclass(frozen=True)
class UniformReplay(NoReplay):
    """Part of each batch is drawn backwards from terminal states met before, chosen uniformly."""

    replay_share: float = 0.5
    """That part."""
    replay_capacity: int = 8_192
    """How many terminal states are remembered."""

    def __post_init__(self) -> None:
        check_options(self)
        require_counts(self, "replay_capacity")
        require(self, "replay_share", 0 < self.replay_share < 1, "lie strictly between 0 and 1")

    @property
    def capacity(self) -> int:  # type: ignore[override]
        """How many terminal states are remembered."""
        return self.replay_capacity

    def replayed(self, batch: int) -> int:
        """How many trajectories of a batch are drawn backwards."""
        return round(self.replay_share * batch)


@dataclass(frozen=True)
class RewardReplay(UniformReplay):
    """Part of each batch is drawn backwards from terminal states met before, in proportion to R."""

    by_reward: ClassVar[bool] = True


REPLAYS: dict[str, type[NoReplay]] = {
    "none": NoReplay,
    "uniform": UniformReplay,
    "reward": RewardReplay,
}
