"""A problem of one's own: necklaces of four beads; the more changes of colour, the better."""

from fractions import Fraction
from itertools import pairwise


class Necklaces:
    """Strings of `r` and `g`, built at either end."""

    initial = ""

    def children(self, state: str) -> tuple[str, ...]:
        """A bead more at either end."""
        longer = [new for bead in "rg" for new in (state + bead, bead + state)]
        return () if len(state) == 4 else tuple(dict.fromkeys(longer))

    def reward(self, terminal: str) -> Fraction:
        """One more than the number of changes."""
        return Fraction(1 + sum(a != b for a, b in pairwise(terminal)))
