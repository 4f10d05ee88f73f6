"""Options of dynamics with a random latent, and of their mean."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jaxtyping import PRNGKeyArray

from fast.dynamics.base import DynamicsOptions
from fast.environments import AbstractEnvironment, feature_count
from fast.stochastic.densities import covariance_factor, mean_vector
from fast.stochastic.policy import StochasticPolicy
from reference.contract.errors import require, require_counts

GradientKind = Literal["fixed", "reparameterised"]


@dataclass(frozen=True)
class MeanOptions(DynamicsOptions[StochasticPolicy]):
    """The mean of a Gaussian latent: path-dependent, and not random."""

    name: ClassVar[str] = "gaussian-mean"
    is_summable: ClassVar[bool] = False
    method: ClassVar[Literal["networks", "latents"]] = "latents"
    is_stochastic: ClassVar[bool] = False

    latent_size: int = 8
    """d: the latent is a vector of d numbers."""
    sigma: float = 0.6
    """Scale of the latent's steps before training; the latent remembers sqrt(1 - sigma^2) of
    itself, so that its law stays N(0, I)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "latent_size")
        require(
            self,
            "sigma",
            0 < self.sigma < float("inf"),
            "be positive and finite: without noise the latent has no density; use --dynamics "
            "gaussian-mean",
        )

    @property
    def gradient(self) -> GradientKind:
        """The gradient, as in `GaussianOptions`."""
        return "fixed"

    @property
    def laws(self) -> dict[str, Any]:
        """The laws of the first and the last latent, for `StochasticPolicy`."""
        return {}

    def build(
        self, environment: AbstractEnvironment, outputs: int, width: int, *, key: PRNGKeyArray
    ) -> StochasticPolicy:
        """A whole `StochasticPolicy`, which is a law of states and latents."""
        return StochasticPolicy(
            feature_count(environment) + 1,
            outputs,
            self.latent_size,
            sigma=self.sigma,
            hidden=(width,) * self.layers,
            is_stochastic=self.is_stochastic,
            key=key,
            **self.laws,
        )


@dataclass(frozen=True)
class GaussianOptions(MeanOptions):
    """A latent drawn anew on every step from a normal law, at first from a mixture of them."""

    name: ClassVar[str] = "gaussian"
    is_stochastic: ClassVar[bool] = True

    gradient: GradientKind = "fixed"
    """Hold sampled trajectories fixed, as trajectory balance does, or differentiate the on-policy
    loss through the latents as well (with --epsilon 0)."""
    components: int = 4
    """Normal laws in the mixture xi, the law of the latent at s_o."""
    mu: tuple[float, ...] = ()
    """Mean of the latent at a terminal, d numbers; zeros by default."""
    covariance: tuple[float, ...] = ()
    """Lambda, its covariance there: d numbers (the diagonal) or d^2 (row by row); the identity by
    default."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "components")
        mean_vector(self.mu, self.latent_size)
        covariance_factor(self.covariance, self.latent_size)

    @property
    def laws(self) -> dict[str, Any]:
        """`xi`, `mu` and `Lambda`."""
        return {"components": self.components, "mu": self.mu, "covariance": self.covariance}
