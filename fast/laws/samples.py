"""Samples and laws of terminal states, as users see them. Imports no JAX."""

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, shown
from reference.contract.tables import columns_html, framed

Floats = npt.NDArray[np.float64]

# All samples are in memory before the first is shown.
MAX_SAMPLES = 10_000_000


class Samples(NamedTuple):
    """Sampled terminal states by their labels, with `log R(x)`, in nats.

    `log_p_f` and `log_p_b` are `log p_F(tau)` and `log p_B(tau | x)` of the trajectories to them.
    """

    states: list[Any]
    log_reward: Floats
    log_p_f: Floats
    log_p_b: Floats

    def table(self) -> dict[str, Any]:
        """The columns of a table: `state`, and in nats `log_reward`, `log_p_f` and `log_p_b`."""
        names = ("log_reward", "log_p_f", "log_p_b")
        return {"state": self.states, **{name: getattr(self, name) for name in names}}

    def to_frame(self) -> Any:
        """A pandas frame, a row for each sample; columns where pandas is not installed."""
        return framed(self.table())

    def to_arviz(self) -> Any:
        """ArviZ's tree of one chain: `state`, and as `lp` the log R of each draw, in nats.

        Raises InputError if ArviZ is not installed, or states are no numbers, or tuples of as many.
        """
        try:
            from arviz import from_dict
        except ImportError:
            raise InputError("to_arviz needs ArviZ: pip install arviz") from None
        try:
            states = np.asarray(self.states, np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"states such as {shown(self.states[0])} are not numbers, or tuples of as many: "
                "give ArviZ's from_dict numbers of them"
            ) from None
        groups = {
            "posterior": {"state": states[None]},
            "sample_stats": {"lp": self.log_reward[None]},
        }
        # Before version 1 each group is an argument.
        is_old = "posterior" in signature(from_dict).parameters
        return from_dict(**groups) if is_old else from_dict(groups)

    def _repr_html_(self) -> str:
        return columns_html("samples", self.table())


class Law(NamedTuple):
    """A learned distribution `p_T(x)` by label, one row per seed, with its target `R(x) / Z`."""

    labels: tuple[Any, ...]
    learned: Floats
    target: Floats

    def table(self) -> dict[str, Any]:
        """The columns of a table: `state`, `target`, and `learned`, with a number for each seed."""
        several = len(self.learned) > 1
        learned = {f"learned_{i}" if several else "learned": x for i, x in enumerate(self.learned)}
        return {"state": self.labels, "target": self.target, **learned}

    def to_frame(self) -> Any:
        """A pandas frame, a row for each state; a dict of columns where pandas is not installed."""
        return framed(self.table())

    def _repr_html_(self) -> str:
        return columns_html("law", self.table())
