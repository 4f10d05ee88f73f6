"""Options of cells whose latent is a matrix. Imports no JAX."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fast.dynamics.options.cells import CellOptions
from fast.tasks.options import require, require_counts

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment


@dataclass(frozen=True)
class SRWMOptions(CellOptions):
    """The self-referential weight matrix with a rotation (eq:ASRWM), the paper's."""

    heads: int = 1
    """h: the latent is h matrices of d/h x d/h."""
    rotation: Literal["planes", "haar", "none"] = "planes"
    """R: incommensurable rotations of d/2 planes, the same in a random basis, or the identity."""
    link: Literal["elu", "softmax", "identity"] = "elu"
    """zeta: the normalised ELU, the soft-max, or the identity."""
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
        require_counts(self, "heads")
        for name in ("latent_scale", "slow_scale"):
            require(self, name, 0 < getattr(self, name) < float("inf"), "be positive and finite")

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The matrix."""
        from fast.dynamics.srwm import SRWM
        from fast.environments.features import feature_count, feature_norm

        return SRWM(
            feature_count(environment),
            self.latent_size,
            1 if self.reset else environment.horizon,
            norm=feature_norm(environment),
            heads=self.heads,
            rotation=self.rotation,
            link=self.link,
            write_key=self.write_key,
            erase=self.erase,
            normalize=self.normalize,
            latent_scale=self.latent_scale,
            slow_scale=self.slow_scale,
            key=key,
        )
