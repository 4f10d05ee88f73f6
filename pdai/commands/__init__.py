"""The commands of `pdai`. None imports JAX before it runs."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Accepting:
    """Accepts a run though a part of the user's own has changed."""

    accept_changed: bool = False
    """Accept a run although a part of your own has changed since it was trained; output says so."""
