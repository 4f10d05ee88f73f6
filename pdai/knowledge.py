"""What is known of the target beside the sampler, and what it allows to be said: Z, S and N."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple

from pdai.subjects import Subject
from reference.certificates.betting import Interval
from reference.certificates.regimes import (
    Budget,
    Found,
    Seen,
    with_log_z,
    with_neither,
    with_target,
)
from reference.certificates.statement import Kind, Line, Regime, small
from reference.certificates.walks import Sampler
from reference.errors import InputError
from reference.problems.closed_form import ClosedForm

OF_TRAJECTORIES = (
    "TV of the laws of trajectories bounds that of terminal states from above, and equals it where "
    "each terminal state has one trajectory; another p_B may give less (--tighten)"
)
WHY_NO_MORE = (
    "why no more is known: a mode that the sampler never visits changes none of its samples; give "
    "log Z, an upper bound of it (log_mass_bound), or exact samples of the target"
)
# `log Z` that is known as well as floats allow is not worth a note.
NEGLIGIBLE = 1e-9


class Knowledge(NamedTuple):
    """What is known of the target.

    Attributes:
        regime: the letter of the regime.
        bound: what samples then say of the sampler, with a level and a budget.
        notes: what a reader must know.
    """

    regime: Regime
    bound: Callable[[Sampler, float, Budget, Seen], Found]
    notes: list[str]


def _known_log_z(log_z: Interval, kind: Kind, *, searched: bool = False) -> Knowledge:
    """Regime Z.

    Args:
        log_z: contains `log Z`, in nats.
        kind: how it is known.
        searched: whether a search with the problem's `log_mass_bound` gave it.
    """

    def bound(sampler: Sampler, level: float, budget: Budget, seen: Seen) -> Found:
        made = with_log_z(sampler, log_z, level, budget, seen)
        value = log_z if log_z.width else log_z.low
        return made._replace(lines=[Line("log Z, nats", value, kind), *made.lines])

    notes = [OF_TRAJECTORIES]
    if searched:
        notes.insert(0, "log Z is bounded by best-first search with the problem's log_mass_bound")
    if log_z.width > NEGLIGIBLE:
        notes.append(
            f"log Z is known within {small(log_z.width)} nats, which widens the interval by as "
            "much at most"
        )
    return Knowledge("Z", bound, notes)


def knowledge_of(
    subject: Subject,
    regime: Regime | None,
    log_z: Interval | None,
    target: Sequence[Hashable] | None,
    samples: int,
) -> Knowledge:
    """What is known, for the regime that is wanted, or for the one that says most.

    Args:
        subject: what is certified.
        regime: which is wanted; None for the one that says most.
        log_z: contains `log Z`, in nats, as given; None if the problem is to tell it.
        target: independent samples of the target.
        samples: how many of the target are drawn, where the problem can.

    Raises:
        InputError: if what the regime needs is not known.
    """
    if regime in (None, "Z"):
        if log_z is not None:
            return _known_log_z(log_z, "as given")
        if (own := subject.log_z()) is not None:
            return _known_log_z(own, "bound", searched=subject.searches)
    if regime == "Z":
        raise InputError(
            f"regime Z needs log Z, which {subject.name} does not tell: give --log-z, or a problem "
            "with log_z() or log_mass_bound(state)"
        )
    if regime == "S" or (regime is None and target is not None):
        if target is None and isinstance(subject.problem, ClosedForm):
            target = subject.problem.sample(samples, subject.seed)
        if target is None:
            raise InputError("regime S needs independent samples of the target: give --target FILE")
        given = "that the target's samples are exact and independent is as given"
        return Knowledge("S", partial(with_target, target), [OF_TRAJECTORIES, given])
    if regime in (None, "N"):
        return Knowledge("N", with_neither, [WHY_NO_MORE])
    raise InputError(f"regime is {regime!r}, but must be E, Z, S or N")
