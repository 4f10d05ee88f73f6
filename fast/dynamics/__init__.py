"""Latent dynamics `phi`: none (Markovian), linear, recurrent and graph networks, and the SRWM."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics as AbstractDynamics
    from fast.dynamics.markov import AbstractMarkovian as AbstractMarkovian
    from fast.dynamics.recurrence import AbstractRecurrence as AbstractRecurrence

_FROM = {
    "AbstractDynamics": "base",
    "AbstractMarkovian": "markov",
    "AbstractRecurrence": "recurrence",
}


def __getattr__(name: str) -> Any:
    """What networks derive from, imported when first asked for: the options need no JAX."""
    if name in _FROM:
        return getattr(importlib.import_module(f"{__name__}.{_FROM[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
