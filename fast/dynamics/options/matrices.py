"""Options of cells whose latent is a matrix. Imports no JAX."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fast.dynamics.options.cells import CellOptions
from fast.tasks.options import require, require_counts

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment


@dataclass(frozen=True)
class MatrixOptions(CellOptions):
    """A matrix with heads, alone or in a residual block."""

    heads: int = 1
    """h: the latent is h matrices of d/h x d/h."""
    block: bool = False
    """Put the latent into a residual block with layer normalisation and a feed-forward layer, as
    in Irie et al. (2022); the paper's head reads it alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "heads")

    def matrix(
        self, features: int, norm: Any, environment: "AbstractEnvironment[Any]", *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The matrix itself.

        Args:
            features: how many it reads.
            norm: their typical length.
            environment: the state graph.
            key: for its parameters.
        """
        raise NotImplementedError

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The matrix, in its block if there is one."""
        import jax

        from fast.dynamics.residual import ResidualBlock
        from fast.environments.features import feature_count, feature_norm

        features, norm = feature_count(environment), feature_norm(environment)
        if not self.block:
            return self.matrix(features, norm, environment, key=key)
        inner_key, block_key = jax.random.split(key)
        # What has been normalised is as long as the root of the number of its entries.
        d = self.latent_size
        inner = self.matrix(d, d**0.5, environment, key=inner_key)
        return ResidualBlock(inner, features, norm=norm, key=block_key)


@dataclass(frozen=True)
class SRWMOptions(MatrixOptions):
    """The self-referential weight matrix with a rotation (eq:ASRWM), the paper's."""

    rotation: Literal["planes", "haar", "none"] = "planes"
    """R: incommensurable rotations of d/2 planes, the same in a random basis, or the identity."""
    angle_scale: float = 1.0
    """All angles of R are multiplied by it; those of 1 are up to a full turn per step."""
    link: Literal["elu", "softmax", "identity"] = "elu"
    """zeta: the normalised ELU, the soft-max, or the identity."""
    start: Literal["rank-one", "full"] = "rank-one"
    """W_o: of rank one, as printed, or of full rank."""
    write_key: Literal["q", "k"] = "q"
    """Write at q, as printed, or at k, as in the delta rule."""
    erase: Literal["before", "after"] = "before"
    """Erase before the rotation, as printed, or after it: stable with --write-key k."""
    normalize: bool = False
    """Divide y_t by its root mean square; not in the paper."""
    latent_scale: float = 1.0
    """Scale of W_o."""
    slow_scale: float = 1.0
    """Scale of the slow weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("angle_scale", "latent_scale", "slow_scale"):
            require(self, name, 0 < getattr(self, name) < float("inf"), "be positive and finite")

    def matrix(
        self, features: int, norm: Any, environment: "AbstractEnvironment[Any]", *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The matrix with slow weights."""
        from fast.dynamics.srwm import SRWM

        return SRWM(
            features,
            self.latent_size,
            1 if self.reset else environment.horizon,
            norm=norm,
            heads=self.heads,
            rotation=self.rotation,
            angle_scale=self.angle_scale,
            link=self.link,
            start=self.start,
            write_key=self.write_key,
            erase=self.erase,
            normalize=self.normalize,
            latent_scale=self.latent_scale,
            slow_scale=self.slow_scale,
            key=key,
        )


@dataclass(frozen=True)
class SelfReferentialOptions(MatrixOptions):
    """The self-referential weight matrix of Irie et al. (2022), which makes its own gates."""

    link: Literal["elu", "softmax"] = "elu"
    """zeta: the normalised ELU, or the soft-max."""

    def matrix(
        self, features: int, norm: Any, environment: "AbstractEnvironment[Any]", *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The matrix without slow weights."""
        from fast.dynamics.self_reference import SelfReferential

        return SelfReferential(
            features, self.latent_size, norm=norm, heads=self.heads, link=self.link, key=key
        )
