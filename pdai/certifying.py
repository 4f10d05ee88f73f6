"""`pdai.certify`: how wrong is this sampler, for anybody's sampler."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from pdai.knowledge import WHY_NO_MORE, knowledge_of
from pdai.subjects import Subject, log_z_interval, subject_of
from reference.arguments import checked
from reference.certificates.bare import against_law, against_samples
from reference.certificates.betting import Interval
from reference.certificates.exact import ExactLaw
from reference.certificates.features import (
    FeatureMeans,
    Features,
    KnowsMeans,
    both,
    exact_lines,
    modes,
)
from reference.certificates.kept import KeptDraws
from reference.certificates.policies import Gives, Takes
from reference.certificates.recorded import read_record
from reference.certificates.regimes import Budget, Seen
from reference.certificates.state_texts import Outside
from reference.certificates.statement import Certificate, Regime
from reference.certificates.walks import LogRewards, Sampler
from reference.errors import (
    InputError,
    TooLargeError,
    check_integer,
    check_seed,
    check_sequence,
    shown,
)
from reference.files import check_output
from reference.problems.closed_form import ClosedForm

EACH = (
    "each bound fails with probability at most its level, however one stops; for k bounds "
    "together, count k times that"
)


@dataclass(frozen=True)
class Asked:
    """What is asked of a certificate.

    Attributes:
        log_z: contains `log Z`, in nats; None if the problem is to tell it.
        target: independent samples of the target.
        regime: which is wanted; None for the one that says most.
        budget: when to stop drawing.
        level: with which probability, at most, each bound may be wrong.
        features: whose expectations are wanted.
        knows_means: whether the problem knows some of these.
        tighten: steps of 256 trajectories in which `p_B` is learned first; 0 for none.
        max_states: more states or histories are not enumerated.
        keep: the folder of draws that are kept, to go on from.
    """

    log_z: Interval | None = None
    target: Sequence[Hashable] | None = None
    regime: Regime | None = None
    budget: Budget = field(default_factory=Budget)
    level: float = 1e-6
    features: Features | None = None
    knows_means: bool = False
    tighten: int = 0
    max_states: int = 100_000
    keep: Path | None = None

    def __post_init__(self) -> None:
        # A part of a smaller level is zero in float64.
        if not 1e-300 < self.level < 1:
            raise InputError(f"level is {self.level}, but must lie between 0 and 1: say, 1e-6")
        check_integer("certify", "tighten", self.tighten, 0)
        check_integer("certify", "max_states", self.max_states, 1, most=10**12)
        if self.target is not None and not len(self.target):
            raise InputError("target is empty, but must be samples of the target: leave it out")
        for name, value, least in zip(Budget._fields, self.budget, (0, 2, 0), strict=True):
            if not value >= least:
                raise InputError(f"{name} is {value}, but must be at least {least}")


@checked
def certify(
    what: Any,
    problem: Any = None,
    *,
    log_z: float | tuple[float, float] | None = None,
    target: Sequence[Hashable] | str | Path | None = None,
    p_b: Callable[[Any], Any] | None = None,
    takes: Takes = "state",
    gives: Gives = "probabilities",
    regime: Regime | None = None,
    width: float = 0.01,
    samples: int = 100_000,
    seconds: float = 60.0,
    level: float = 1e-6,
    seed: int = 0,
    tighten: int = 0,
    features: Features | None = None,
    mode_states: Sequence[Hashable] = (),
    max_states: int = 100_000,
    of: int | None = None,
    certificate: str | Path | None = None,
    keep: str | Path | None = None,
) -> Certificate:
    """How wrong a sampler is: `TV` to its target, exactly or with a level of confidence.

    Regimes, of which the first that is possible is taken: E, everything is enumerated; Z, `log Z`
    is known or bounded; S, samples of the target are given; N, neither, where nothing is claimed
    but what can say "wrong".

    Args:
        what: a run, or its folder; a function from a state to a row of numbers, one per child, or
            `module:name` of one; a CSV file of samples or of recorded trajectories; or an object
            with `draw`, such as those of `pdai.adapters`.
        problem: a problem, its class, or `module:Name`; runs have one.
        log_z: `log Z` in nats, or a lower and an upper bound of it, as given; else the problem's.
        target: independent samples of the target, or a CSV file of them, for regime S.
        p_b: from a state to a row over its parents; uniform by default.
        takes: what the function is called with: a state, states, a history or histories.
        gives: what it answers: probabilities, or logits.
        regime: which is wanted; by default the one that says most.
        width: stop when the interval is as narrow.
        samples: stop after so many trajectories.
        seconds: stop after so much wall time, and learn `p_B` no longer.
        level: with which probability, at most, each bound may be wrong.
        seed: of the draws.
        tighten: learn `p_B` in so many steps of 256 trajectories first.
        features: from a terminal state to numbers in [0, 1] by name, whose expectations are wanted.
        mode_states: terminal states whose masses are wanted.
        max_states: more states or histories are not enumerated.
        of: which of a run's seeds; by default its first.
        certificate: where to write the certificate file of regime E.
        keep: a folder for what is drawn; the same call goes on from it after it was cut off, or
            with a larger budget.

    Raises:
        InputError: if the sampler, the problem, `log Z` or a sample breaks a rule, or the regime
            that is wanted is not possible.
    """
    if certificate is not None:
        check_output(Path(certificate))
    check_seed("certify", seed)
    subject = subject_of(what, problem, p_b, takes, gives, seed, max_states, of, seconds)
    if isinstance(target, str | Path):
        target = read_record(Path(target), subject.texts()).terminals
    elif target is not None:
        check_sequence("certify", "target", target)
    check_modes(subject, mode_states)
    asked = Asked(
        None if log_z is None else log_z_interval(log_z, "log_z"),
        target,
        regime,
        Budget(width, samples, seconds),
        level,
        tighten=tighten,
        max_states=max_states,
        keep=None if keep is None else Path(keep),
    )
    asked = _with_features(asked, subject, features, mode_states)
    made = _exact(subject, asked, certificate)
    if made is None and certificate is not None:
        raise InputError(
            f"a certificate file is of regime E, where everything is enumerated, but "
            f"{subject.name} is not: leave it out, or take a smaller instance"
        )
    if made is None:
        made = _bare(subject, asked) if subject.bare is not None else _sampled(subject, asked)
    unused = _unused(made.regime, asked, subject)
    return replace(made, name=subject.name, notes=[*made.notes, *unused])


def _with_features(
    asked: Asked, subject: Subject, features: Features | None, mode_states: Sequence[Hashable]
) -> Asked:
    """The request with all features, those of the problem under its own names."""
    own, known = subject.problem, isinstance(subject.problem, KnowsMeans)
    features = own.quantities if known and features is own.indicators else features
    return replace(
        asked,
        features=both(features, modes(mode_states) if mode_states else None),
        knows_means=known and features == own.quantities,
    )


def _unused(regime: Regime, asked: Asked, subject: Subject) -> list[str]:
    """What was given and says nothing in a regime."""
    given = [
        ("log Z", asked.log_z, regime == "Z"),
        ("samples of the target", asked.target, regime == "S"),
        ("features", asked.features, subject.bare is None),
    ]
    return [
        f"the {name} given: not used in regime {regime}"
        for name, value, used in given
        if value is not None and not used
    ]


def check_modes(subject: Subject, states: Sequence[Hashable]) -> None:
    """Checks that states are terminal ones of the problem, where one can tell.

    Raises:
        InputError: if one is not.
    """
    if not states or subject.problem is None:
        return
    law, reward = subject.target_law(), LogRewards(subject.problem)
    for state in states:
        reward(state)
        if law is not None and state not in law:
            raise InputError(
                f"mode_states has {shown(state)}, which is none of the problem's {len(law):,} "
                "terminal states: write it as the problem does"
            )


def _exact(subject: Subject, asked: Asked, file: str | Path | None) -> Certificate | None:
    """Regime E, if everything can be enumerated and nothing else is wanted."""
    if asked.regime not in (None, "E") or subject.exact is None:
        if asked.regime == "E":
            raise InputError(f"{subject.name} cannot be enumerated: regime E needs its rows")
        return None
    try:
        law: ExactLaw = subject.exact(file)
    except TooLargeError:
        if asked.regime == "E":
            raise
        return None
    lines = list(law.lines)
    if asked.features is not None:
        lines += exact_lines(asked.features, law.table)
    notes = [*law.notes, *subject.notes, *subject.exact_notes]
    return Certificate(
        "E", law.interval, "terminals", 0.0, 0, lines, notes, table=law.table, tv=law.tv
    )


def _bare(subject: Subject, asked: Asked) -> Certificate:
    """Of terminal states whose probabilities nobody told."""
    assert subject.bare is not None
    law, target = subject.target_law(), asked.target
    notes = [
        "that the samples are independent draws of one sampler is the word of who drew them",
        *subject.notes,
    ]
    if asked.regime in ("Z", "E"):
        raise InputError(
            f"regime {asked.regime} needs log p_F and log p_B of trajectories, and {subject.name} "
            "has terminal states alone: record them, or give the sampler"
        )
    if law is not None and asked.regime != "N":
        exact = f"the target is exact here, from its {len(law):,} enumerated terminal states"
        notes.append(exact if target is None else f"{exact}: the samples of it are not used")
        # A sampler may give what is no terminal state, whether or not it did here.
        possible = {**law, Outside(): Fraction(0)}
        interval, lines = against_law(subject.bare, possible, asked.level)
        return Certificate("S", interval, "terminals", asked.level, len(subject.bare), lines, notes)
    if target is None and isinstance(subject.problem, ClosedForm):
        target = subject.problem.sample(len(subject.bare), subject.seed)
    if target is not None and asked.regime != "N":
        subject.texts().check(target)
        interval, lines = against_samples(subject.bare, target, asked.level)
        notes.append("from above nothing is known: bare samples do not tell what they miss")
        return Certificate("S", interval, "terminals", asked.level, len(subject.bare), lines, notes)
    return Certificate(
        "N",
        Interval(0.0, 1.0),
        "terminals",
        asked.level,
        len(subject.bare),
        [],
        [*notes, WHY_NO_MORE],
    )


def _sampled(subject: Subject, asked: Asked) -> Certificate:
    """Regimes Z, S and N, from trajectories."""
    known = knowledge_of(subject, asked.regime, asked.log_z, asked.target, asked.budget.samples)
    sampler, notes = _sampler(subject, asked)
    means = None
    if asked.features is not None:
        # Of ends that are kept, their features are all there is, as pairs.
        means = FeatureMeans(asked.features if asked.keep is None else dict)
    seen = Seen(watch=None if means is None else means.add)
    found = known.bound(sampler, asked.level, asked.budget, seen)
    lines = list(found.lines)
    if means is not None and asked.features is not None:
        exact = subject.problem.quantity_means() if asked.knows_means else None
        lines += means.lines(asked.level, found.interval, exact)
    return Certificate(
        known.regime,
        found.interval,
        "trajectories",
        asked.level,
        found.samples,
        lines,
        [EACH, *notes, *known.notes, *sampler.findings(), *subject.notes],
    )


def _sampler(subject: Subject, asked: Asked) -> tuple[Sampler, list[str]]:
    """What is drawn from, with the `p_B` and the kept draws that are asked for; and notes."""
    assert subject.sampler is not None
    sampler, notes = subject.sampler(), []
    if asked.tighten:
        if subject.tightened is None:
            raise InputError(f"p_B cannot be learned for {subject.name}: only its draws are known")
        sampler = subject.tightened(sampler, asked.tighten)
        notes.append(
            f"p_B was learned in {asked.tighten:,} steps of 256 trajectories, or as many as "
            f"{asked.budget.seconds:g} s allow; fresh ones are used after them"
        )
    if asked.keep is not None:
        drawn_from = {**subject.drawn_from(), "tighten": asked.tighten}
        sampler = KeptDraws(sampler, asked.keep, subject.seed, asked.features, drawn_from)
    return sampler, notes
