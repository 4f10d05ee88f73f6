"""No latent, but a residual block between the state and the head."""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import PRNGKeyArray

from fast.dynamics.head import HeadOptions, Network
from fast.dynamics.markov import Markov
from fast.dynamics.residual import ResidualBlock
from fast.dynamics.wrappers import Reset
from fast.environments import AbstractEnvironment
from fast.environments.features import feature_count, feature_norm
from reference.arguments import require_counts


@dataclass(frozen=True)
class MarkovBlockOptions(HeadOptions):
    """No latent, but a residual, normalised block between the state and the head."""

    name: ClassVar[str] = "markov-block"
    is_markovian = True
    block_size: int = 32
    """d: the width of the block, the one that srwm has around a matrix with its `block`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "block_size")

    @property
    def layers(self) -> int:
        """One hidden layer, as after the block of a matrix."""
        return self.hidden_layers or 1

    def cell(self, environment: AbstractEnvironment[Any], *, key: PRNGKeyArray) -> Network:
        """The block, which adds to the state what a linear map reads of it."""
        features, norm = feature_count(environment), feature_norm(environment)
        return Reset(ResidualBlock(Markov(self.block_size), features, norm=norm, key=key))
