"""Mutants that change no result, and why."""

from typing import NamedTuple

from tests.mutants.mutant import Mutant


class Equivalent(NamedTuple):
    """A mutant that no test can notice.

    Attributes:
        file: which is changed.
        text: the line of the change, or a part of it in which that begins.
        before: the text that is replaced.
        after: what stands in its place.
        reason: why no result changes.
    """

    file: str
    text: str
    before: str
    after: str
    reason: str


EQUIVALENT: tuple[Equivalent, ...] = ()


def reason_for(mutant: Mutant) -> str | None:
    """Why a mutant changes no result; None if it is not known to."""
    for known in EQUIVALENT:
        change = (known.file, known.before, known.after)
        if change == (mutant.file, mutant.before, mutant.after) and mutant.is_in(known.text):
            return known.reason
    return None
