"""Sets of variables as states."""

from typing import NamedTuple


class Selection(NamedTuple):
    """A state: whether each variable is chosen; terminal if it is stopped."""

    chosen: tuple[bool, ...]
    stopped: bool = False

    @property
    def mask(self) -> int:
        """The set as a bit mask."""
        return sum(1 << i for i, here in enumerate(self.chosen) if here)

    def __str__(self) -> str:
        members = ",".join(str(i) for i, here in enumerate(self.chosen) if here)
        return f"{{{members}}}" if self.stopped else f"{{{members}}} ..."


def changed(chosen: tuple[bool, ...], were: bool) -> tuple[Selection, ...]:
    """The sets that differ from a set in one variable: one fewer, or one more."""
    return tuple(
        Selection((*chosen[:i], not were, *chosen[i + 1 :]))
        for i, here in enumerate(chosen)
        if here == were
    )


def inclusion_indicators(state: Selection) -> dict[str, float]:
    """Indicators of the variables of a set, by number, for `pdai certify --features`."""
    return {str(i): float(here) for i, here in enumerate(state.chosen)}
