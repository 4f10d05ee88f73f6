"""Options of linear policies (prop:lines). Imports no JAX."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fast.dynamics.options.base import DynamicsOptions

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment


@dataclass(frozen=True)
class LinearOptions(DynamicsOptions):
    """The linear recurrence of prop:lines (eq:linear_rec), whose read-outs are the logits."""

    has_width: ClassVar[bool] = False

    @property
    def layers(self) -> int:
        """Those of a learned backward policy: the network itself has none."""
        return self.hidden_layers or 1

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The recurrence; the width is not read."""
        import jax

        from fast.dynamics.linear import Linear
        from fast.environments.features import feature_count, feature_norm

        features, norm = feature_count(environment), feature_norm(environment)
        return Linear(features, outputs, norm=norm, key=jax.random.split(key)[0])


@dataclass(frozen=True)
class LinearMarkovOptions(LinearOptions):
    """The linear policy without its memory (prop:lines)."""

    @property
    def is_markovian(self) -> bool:
        """Always."""
        return True

    @property
    def layers(self) -> int:
        """Those of a learned backward policy: the network itself has none."""
        return self.hidden_layers or 3

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The linear map; the width is not read."""
        import jax

        from fast.dynamics.linear import LinearMarkov
        from fast.environments.features import feature_count, feature_norm

        features, norm = feature_count(environment), feature_norm(environment)
        return LinearMarkov(features, outputs, norm=norm, key=jax.random.split(key)[0])
