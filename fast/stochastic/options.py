"""Options of dynamics with a random latent, and of their mean."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jaxtyping import PRNGKeyArray

from fast.balance.losses import TrajectoryBalance
from fast.dynamics.base import DynamicsOptions
from fast.environments import AbstractEnvironment, feature_count
from fast.stochastic.densities import covariance_factor, mean_vector
from fast.stochastic.policy import StochasticPolicy
from fast.training.compose import TrainConfig
from reference.contract.errors import InputError, require, require_counts

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

    def check(self, config: TrainConfig) -> None:
        """Refuses a run whose other parts need a deterministic latent, with the reason."""
        loss, p_b = config.loss, config.p_b
        reasons = {
            f"loss {config.name_of('loss')}": (
                not isinstance(loss, TrajectoryBalance) or loss.penalty != "square",
                "it is trained by trajectory balance, of squares; use --loss tb",
            ),
            f"p_b {config.name_of('p_b')}": (
                p_b.has_parameters or p_b.reads_latent,
                "its p_B is uniform over parents, and a law of its own over latents; leave --p-b "
                "at uniform",
            ),
            "replay or several devices": (
                config.replay.capacity or config.run.devices > 1,
                "it draws all forwards, on one device; use neither",
            ),
            "factors of a reward": (
                config.factors.parts > 1 or config.factors.frozen,
                "samplers are combined along trajectories of states, whose probability is an "
                "integral here; choose other dynamics",
            ),
        }
        for part, (is_wrong, reason) in reasons.items():
            if is_wrong:
                name = config.name_of("dynamics")
                raise InputError(f"dynamics {name} with {part}: {reason}")

    def build(
        self, environment: AbstractEnvironment[Any], outputs: int, width: int, *, key: PRNGKeyArray
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

    def check(self, config: TrainConfig) -> None:
        """Also refuses exploration together with the on-policy gradient."""
        super().check(config)
        drawn = config.sampling
        if self.gradient == "reparameterised" and (drawn.epsilon or drawn.temperature != 1):
            raise InputError(
                f"gradient reparameterised with epsilon {drawn.epsilon} and temperature "
                f"{drawn.temperature}: it is the gradient of the on-policy loss, so it needs "
                "--epsilon 0 and --temperature 1"
            )
