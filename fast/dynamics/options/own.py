"""Dynamics of the user's own, as options. Imports no JAX."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from fast.dynamics.options.cells import CellOptions, GRUOptions
from reference.errors import InputError
from reference.loading import name_of

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment


@dataclass(frozen=True)
class OwnDynamics(CellOptions):
    """Dynamics of the user's own: a cell with a head, or a whole network.

    A cell is called with `(features, latent_size, key=key)`, a whole network, whose `needs_head` is
    False, with `(features, outputs, key=key)`. Either is also given what else its signature names
    of `horizon`, `width` and `environment`.
    """

    make: Callable[..., Any] = field(default=GRUOptions, repr=False)

    @property
    def has_width(self) -> bool:  # type: ignore[override]
        """Whether there is a head, or the network asks for a width."""
        return self._has_head or "width" in _named(self.make)

    @property
    def is_markovian(self) -> bool:
        """If the latent is reset, or the class has none, or says so without an instance."""
        from fast.dynamics.markov import AbstractMarkovian

        if isinstance(self.make, type) and issubclass(self.make, AbstractMarkovian):
            return True
        return self.reset or getattr(self.make, "is_markovian", False) is True

    @property
    def _has_head(self) -> bool:
        return bool(getattr(self.make, "needs_head", True))

    def _called(
        self, environment: "AbstractEnvironment[Any]", size: int, width: int, key: Any
    ) -> Any:
        from fast.dynamics.base import AbstractDynamics
        from fast.dynamics.own import held, traced
        from fast.environments.features import feature_count

        more = {"horizon": environment.horizon, "width": width, "environment": environment}
        asked = {name: value for name, value in more.items() if name in _named(self.make)}
        made = traced(
            name_of(self.make),
            "__init__",
            partial(self.make, feature_count(environment), size, key=key, **asked),
        )
        if not isinstance(made, AbstractDynamics):
            raise InputError(
                f"dynamics {self.make!r} gives {made!r}, but must give an AbstractDynamics: derive "
                "from fast.dynamics.base.AbstractDynamics"
            )
        return held(f"dynamics {self.make!r}", made)

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """What the user's class gives."""
        made: AbstractDynamics[Any] = self._called(environment, self.latent_size, 0, key)
        return made

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The cell with its head, or the whole network."""
        if self._has_head:
            return super().build(environment, outputs, width, key=key)
        made: AbstractDynamics[Any] = self._called(environment, outputs, width, key)
        if made.output != outputs:
            raise InputError(
                f"dynamics {self.make!r} has {made.output} outputs, but the policy needs "
                f"{outputs}: make it with as many as its second argument says"
            )
        return made


def _named(factory: Callable[..., Any]) -> set[str]:
    """The parameters that a class or function names."""
    return set(inspect.signature(factory).parameters)
