"""Latents drawn anew on every step, as dynamics among others. Imports no JAX before one is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fast.balance.options import TrajectoryBalance
from fast.dynamics.options import DynamicsOptions
from fast.stochastic.moments import covariance_factor, mean_vector
from fast.tasks.options import require, require_counts
from reference.errors import InputError

if TYPE_CHECKING:
    from fast.environments import AbstractEnvironment
    from fast.stochastic.policy import StochasticPolicy
    from fast.training.config import TrainConfig

GradientKind = Literal["fixed", "reparameterised"]


@dataclass(frozen=True)
class MeanOptions(DynamicsOptions):
    """The networks of a Gaussian latent, which is its mean here: path-dependent, and not random.

    Attributes:
        defaults: options of a run, by name, that differ here from those of other dynamics.
        is_stochastic: whether the latent is random.
        gradient: see `GaussianOptions`, as the next three.
    """

    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"loss": "tb", "learning_rate": 2e-3})
    is_stochastic: ClassVar[bool] = False
    gradient: ClassVar[GradientKind] = "fixed"
    components: ClassVar[int] = 4
    mu: ClassVar[tuple[float, ...]] = ()
    covariance: ClassVar[tuple[float, ...]] = ()

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

    def check(self, config: "TrainConfig") -> None:
        """Refuses a run whose other parts ask for what only known histories have.

        Raises:
            InputError: if one does, with the reason.
        """
        name, loss = config.name_of("dynamics"), config.loss

        def refuse(what: str, reason: str) -> None:
            raise InputError(f"dynamics {name} with {what}: {reason}")

        if not isinstance(loss, TrajectoryBalance) or loss.penalty != "square":
            refuse(
                f"loss {config.name_of('loss')}",
                "it is trained by trajectory balance, of squares; use --loss tb",
            )
        if config.p_b.has_parameters or config.p_b.reads_latent:
            refuse(
                f"p_b {config.name_of('p_b')}",
                "its p_B is uniform over parents, and a law of its own over latents; leave --p-b "
                "at uniform",
            )
        if config.replay.capacity or config.run.devices > 1:
            refuse("replay or several devices", "it draws all forwards, on one device; use neither")
        if config.factors.parts > 1 or config.factors.frozen:
            refuse(
                "factors of a reward",
                "samplers are combined along trajectories of states, whose probability is an "
                "integral here; choose other dynamics",
            )

    def build(  # type: ignore[override]
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "StochasticPolicy":
        """A whole `StochasticPolicy`: the latents are a part of what it gives the law of."""
        from fast.stochastic.policy import StochasticPolicy, count_features

        return StochasticPolicy(
            count_features(environment),
            outputs,
            self.latent_size,
            sigma=self.sigma,
            hidden=(width,) * self.layers,
            components=self.components,
            mu=self.mu,
            covariance=self.covariance,
            is_stochastic=self.is_stochastic,
            key=key,
        )


@dataclass(frozen=True)
class GaussianOptions(MeanOptions):
    """A latent drawn from N(mean, scale^2) on every step, at first from a mixture of normals."""

    is_stochastic: ClassVar[bool] = True

    gradient: GradientKind = "fixed"  # type: ignore[misc]  # here an option, elsewhere a constant
    """Hold sampled trajectories fixed, as trajectory balance does, or differentiate the on-policy
    loss through the latents as well (with --epsilon 0)."""
    components: int = 4  # type: ignore[misc]  # likewise
    """Normal laws in the mixture xi, the law of the latent at s_o."""
    mu: tuple[float, ...] = ()  # type: ignore[misc]  # likewise
    """Mean of the latent at a terminal, d numbers; zeros by default."""
    covariance: tuple[float, ...] = ()  # type: ignore[misc]  # likewise
    """Lambda, its covariance there: d numbers (the diagonal) or d^2 (row by row); the identity by
    default."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "components")
        mean_vector(self.mu, self.latent_size)
        covariance_factor(self.covariance, self.latent_size)

    def check(self, config: "TrainConfig") -> None:
        """Refuses exploration beside the on-policy gradient as well."""
        super().check(config)
        drawn = config.sampling
        if self.gradient == "reparameterised" and (drawn.epsilon or drawn.temperature != 1):
            raise InputError(
                f"gradient reparameterised with epsilon {drawn.epsilon} and temperature "
                f"{drawn.temperature}: it is the gradient of the on-policy loss, so it needs "
                "--epsilon 0 and --temperature 1"
            )


LATENTS: dict[str, type[DynamicsOptions]] = {
    "gaussian": GaussianOptions,
    "gaussian-mean": MeanOptions,
}
