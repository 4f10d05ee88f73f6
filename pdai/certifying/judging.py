"""The judgement of any sampler: a certificate in the first regime that its options allow."""

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pdai.certifying.proofs import bare_proof, exact_proof, samples_proof
from pdai.certifying.target import Real, Target, check_outside
from reference.certificates.bare import STANDING_OUT, against_law, against_samples
from reference.certificates.betting import Interval
from reference.certificates.expectations import FeatureMeans, both, exact_lines, modes, sample_lines
from reference.certificates.independence import check_apart, check_independent
from reference.certificates.listed import ListedLaw
from reference.certificates.recorded import Recorded
from reference.certificates.regimes import (
    Budget,
    Draws,
    ExactLaw,
    Result,
    law_beside_target,
    with_log_z,
    with_neither,
    with_target,
)
from reference.certificates.state_texts import Outside
from reference.certificates.statement import Certificate, Kind, Line, Regime
from reference.contract.errors import InputError, TooLargeError, check_integer, check_seed
from reference.contract.files import check_output
from reference.contract.text import at_most
from reference.contract.user_code import number_or_infinite
from reference.marginals import marginal
from reference.rows.exact import ExactSampler
from reference.rows.features import Features, knows_means
from reference.rows.importance import Walks
from reference.rows.sums import ExactPath
from reference.rows.walks import Sampler, SeveralPaths

EACH = (
    "each bound fails with probability at most its level, whenever drawing stops; for k bounds "
    "together, count k times that"
)
TRAJECTORIES = (
    "TV between trajectory distributions is at least that between terminal states; the two are "
    "equal where each terminal state has one trajectory; another p_B may lower it (--tighten), and "
    "--paths bounds that of terminal states"
)
PATHS = (
    "TV of terminal states is at most that of terminal states with so many paths of each, one of "
    "p_F and the others of p_B; that falls as there are more, and says nothing of it from below "
    "(claim several-paths-tv-bound)"
)
WHY_NO_MORE = (
    "why no more is known: a mode that the sampler never visits changes none of its samples; give "
    "log Z, an upper bound of it (log_mass_bound), or exact samples of the target"
)
ASSUMED = (
    "assumes that the samples of the target, given or drawn by the problem, are exact and "
    "independent"
)
FIXED = (
    "each bound fails with probability at most its level, for a number of samples that is fixed "
    "beforehand; for several looks, share the level between them, as pdai.testing.assert_law does"
)
TOGETHER = (
    "the values that stand out are chosen from the first half of the samples; their intervals are "
    "from the other, and hold all together at the level"
)
TWO = "the samples of the target are independent, of each other and of the sampler's"
# A width of log Z that is only rounding is not worth a note, in nats.
NEGLIGIBLE = 1e-9


def checked_level(level: Any) -> float:
    """A level of confidence; raises InputError unless it lies between 0 and 1."""
    # A fraction of a smaller level would be zero in float64.
    if not 1e-300 < (number := number_or_infinite(level, "level")) < 1:
        raise InputError(f"level is {level}, but must lie between 0 and 1: say, 1e-6")
    return number


def checked_budget(width: Real, samples: int, seconds: Real) -> Budget:
    """The limits at which drawing stops.

    Args:
        width: the width of the interval.
        samples: the number of trajectories.
        seconds: the wall time.

    Raises InputError if one breaks a rule.
    """
    limits = number_or_infinite(width, "width"), samples, number_or_infinite(seconds, "seconds")
    for name, value, least in zip(Budget._fields, limits, (0, 2, 0), strict=True):
        if not value >= least:
            raise InputError(f"{name} is {value}, but must be at least {least}")
    return Budget(*limits)


@dataclass(frozen=True)
class Question:
    """A question about a sampler, in options that `certify_policy` describes, and its budget.

    Raises InputError if an option breaks a rule.
    """

    regime: Regime | None
    level: float
    seed: int
    budget: Budget
    features: Features | None = None
    mode_states: Sequence[Hashable] = ()
    certificate: str | Path | None = None
    drawn: Callable[[int], None] | None = None
    tighten: int = 0
    paths: int = 1

    def __post_init__(self) -> None:
        check_seed("certify", self.seed)
        check_integer("certify", "tighten", self.tighten, 0)
        check_integer("certify", "paths", self.paths, 1)
        if self.certificate is not None:
            check_output(Path(self.certificate))


@runtime_checkable
class _KeepsPaths(Protocol):
    """A sampler that keeps the exact probabilities of the trajectories that it draws, if asked."""

    exact_paths: list[ExactPath] | None


class SamplerSource:
    """A sampler that can be certified, with its target; a kind of sampler is a subclass.

    Attributes:
        name: its name in reports.
        target: the target of its problem.
        notes: remarks for readers.
        impossible: the samples that have target probability 0.
        conditions: assumptions that the title names, each as a clause.
        samples: bare terminal states, where they are all that is known; else None.
        ends: the terminal states that it was seen to draw beside its numbers.
        of: what the probabilities of its draws are of.
    """

    notes: Sequence[str] = ()
    impossible: Sequence[Hashable] = ()
    conditions: Sequence[str] = ()
    ends: Sequence[Hashable] = ()
    of: str = "trajectories"
    samples: Sequence[Hashable] | None = None

    def __init__(self, name: str, target: Target):
        self.name, self.target = name, target

    def exact(self, file: str | Path | None) -> ExactLaw | None:
        """The exact distribution, and its file if one is named; None without rows to enumerate.

        Raises TooLargeError if there are too many states or histories.
        """
        return None

    def walker(self) -> Sampler:
        """A sampler of fresh trajectories."""
        raise NotImplementedError

    def tightened(self, walker: Any, steps: int) -> Sampler:
        """The walker with a `p_B` that is learned in steps of 256 trajectories."""
        raise NotImplementedError

    def law_of_rows(
        self, made: ExactSampler, file: str | Path | None, problem_name: str, floats: str
    ) -> ExactLaw:
        """The exact distribution of an enumerated sampler.

        Args:
            made: the enumerated sampler.
            file: the certificate file to write; None for none.
            problem_name: the name of the problem in that file.
            floats: the floats among its rows, in words.
        """
        dag, rewards = made.lifted.base, self.target.rewards
        proved: list[str] = []
        if file is not None:
            proved = exact_proof(file, made, rewards, self.target.problem, problem_name)
        labels = [dag.labels[x] for x in dag.terminals]
        law = law_beside_target(marginal(made.forward), labels, rewards, floats)
        return law._replace(notes=[*law.notes, *proved])


def judged(source: SamplerSource, question: Question) -> Certificate:
    """The certificate of a sampler: in the requested regime, or in the first that is possible.

    Raises InputError if that regime is not possible, or a sample breaks a rule.
    """
    target = source.target
    stated = target.samples
    target.check_terminals("mode_states", question.mode_states)
    if target.stated is not None:
        target.check_log_z(target.stated, "log_z")
    features, known_means = _features(target.problem, question)
    answer = _exact(source, question, features)
    if answer is None and source.samples is not None:
        answer = _bare(source, question, source.samples, features)
    answer = answer or _sampled(source, question, features, known_means)
    compared = answer.regime == "S" and target.probabilities is not None
    options = {
        "log Z": target.stated is not None and answer.regime != "Z",
        "samples of the target": stated is not None and answer.regime != "S",
        "paths": question.paths > 1 and PATHS not in answer.notes,
        "features": features is not None and source.samples is not None and not compared,
    }
    unused = [
        f"the {name} given: not used in regime {answer.regime}" for name in options if options[name]
    ]
    if isinstance(target.problem, ListedLaw):
        target.problem.check_heading(source.impossible)
    return replace(
        answer,
        name=source.name,
        notes=[*answer.notes, *source.notes, *unused],
        excluded=source.impossible,
        conditions=[*source.conditions, *answer.conditions],
    )


def _features(problem: Any, question: Question) -> tuple[Features | None, Callable[[], Any] | None]:
    """All features, and their exact means under the target where the problem knows them."""
    features, known_means = question.features, None
    if knows_means(problem) and features in (problem.indicators, problem.quantities):
        # With the names that the problem gives.
        features, known_means = problem.quantities, problem.quantity_means
    return both(
        features, modes(question.mode_states) if question.mode_states else None
    ), known_means


def _exact(
    source: SamplerSource, question: Question, features: Features | None
) -> Certificate | None:
    """Regime E, if everything can be enumerated and no other regime is requested."""
    if question.regime not in (None, "E"):
        return None
    try:
        law = source.exact(question.certificate)
        if law is None:
            raise TooLargeError(f"{source.name} cannot be enumerated: regime E needs its rows")
    except TooLargeError:
        if question.regime == "E":
            raise
        return None
    lines = [*law.lines, *([] if features is None else exact_lines(features, law.table, law.kind))]
    summary = law.interval, "terminals", 0.0, 0
    laws: Any = {"table": law.table, "tv": law.tv, "kind": law.kind}
    return Certificate("E", *summary, lines, law.notes, **laws)


def _bare(
    source: SamplerSource, question: Question, samples: Sequence[Any], features: Features | None
) -> Certificate:
    """Regimes S and N, from terminal states without probabilities."""
    known, target, level = source.target.probabilities, source.target.samples, question.level
    if question.certificate is not None and (known is None or question.regime in ("Z", "N")):
        raise _no_file(source.name)
    if question.regime == "Z":
        raise InputError(
            f"regime Z needs log p_F and log p_B of trajectories, and {source.name} has terminal "
            "states alone: record them, or give the sampler"
        )
    notes = ["assumes that the samples are independent draws of one sampler"]
    regime, interval = question.regime, Interval(0.0, 1.0)
    lines, conditions = list[Line](), list[str]()
    unused = ": the samples of the target are not used"
    if target is None and known is None:
        target = source.target.samples_or_own(len(samples), question.seed)
    if regime == "N" or (known is None and target is None):
        regime = "N"
        notes.append(WHY_NO_MORE)
    elif known is not None:
        kind, count = source.target.kind, len(known)
        exact = f"the target is {kind} here, from its {count:,} enumerated terminal states"
        notes += [FIXED, exact + ("" if target is None else unused)]
        # A sampler may leave the terminal states, whether or not these samples do.
        interval, lines = against_law(samples, {**known, Outside(): Fraction(0)}, level)
        if any(line.name.startswith(STANDING_OUT) for line in lines):
            notes.append(TOGETHER)
        if features is not None:
            lines += sample_lines(features, samples, known, level, kind)
        if question.certificate is not None:
            notes += bare_proof(question.certificate, samples, known, source.target.problem, level)
    elif target is not None:
        texts, values = source.target.texts(), dict.fromkeys(target)
        texts.check(values, "the target")
        check_outside([x for x in samples if x not in values], values)
        texts.check(samples, "the sampler")
        if not source.target.if_independent:
            check_independent("the target", target, level)
            check_apart(source.name, samples, target, level)
        conditions = [TWO]
        interval, lines = against_samples(samples, target, level)
        notes += [ASSUMED, "no upper bound: bare samples do not show which modes they miss"]
    summary = interval, "terminals", level, len(samples), lines, notes
    return Certificate(regime or "S", *summary, conditions=conditions)


class _Bound(NamedTuple):
    """The bound of a regime, with its lines and notes, and `log Z` in regime Z."""

    regime: Regime
    bound: Callable[..., Result]
    lines: list[Line]
    notes: list[str]
    log_z: Interval | None = None


def _no_file(name: str) -> InputError:
    return InputError(
        "a certificate file, or a theorem, needs regime E, where everything is enumerated, or "
        "regime Z with trajectories drawn from exact rows, or samples beside a listed law, but "
        f"{name} has none of these here: leave the file out, or take a smaller instance, a run or "
        "a function, without --paths"
    )


def _bound(source: SamplerSource, question: Question) -> _Bound:
    """The bound of the requested regime, or of the first possible one.

    Raises InputError if the regime needs a quantity that is unknown.
    """
    regime = question.regime
    if regime in (None, "Z"):
        if (stated := source.target.stated) is not None:
            return _with_log_z(stated, "as given", [])
        if (log_z := source.target.log_z()) is not None:
            search = "log Z is bounded by best-first search with the problem's log_mass_bound"
            kind: Kind = "as given" if source.target.is_told else "bound"
            return _with_log_z(log_z, kind, [search] if source.target.is_searched else [])
    if regime == "Z":
        raise InputError(
            f"regime Z needs log Z, which is not known for {source.name}: give --log-z, or a "
            "problem with log_z() or log_mass_bound(state)"
        )
    if regime == "S" or (regime is None and source.target.samples is not None):
        target = source.target.samples_or_own(question.budget.samples, question.seed)
        if target is None:
            raise InputError("regime S needs independent samples of the target: give --target FILE")
        if not source.target.if_independent:
            check_independent("the target", target, question.level)
        return _Bound("S", partial(with_target, target), [], [TRAJECTORIES, ASSUMED])
    return _Bound("N", with_neither, [], [WHY_NO_MORE])


def _with_log_z(log_z: Interval, kind: Kind, notes: list[str]) -> _Bound:
    notes = [*notes, TRAJECTORIES]
    if log_z.width > NEGLIGIBLE:
        notes.append(
            f"log Z is known within {at_most(log_z.width)} nats, which widens the interval by at "
            "most that much"
        )
    line = Line("log Z, nats", log_z if log_z.width else log_z.low, kind)
    return _Bound("Z", partial(with_log_z, log_z=log_z), [line], notes, log_z)


def _sampled(
    source: SamplerSource,
    question: Question,
    features: Features | None,
    known_means: Callable[[], Any] | None,
) -> Certificate:
    """Regimes Z, S and N, from trajectories."""
    known = _bound(source, question)
    paths = question.paths if known.regime in ("Z", "S") else 1
    sampler, notes = _walker(source, question, paths)
    exact: list[ExactPath] = []
    if question.certificate is not None:
        if known.log_z is None or not isinstance(sampler, _KeepsPaths):
            raise _no_file(source.name)
        sampler.exact_paths = exact
    draws, means = Draws(labels=features is not None), None
    if features is not None:
        means = FeatureMeans(features)
    draws.watch = partial(_watch, question, draws, means)
    budget = question.budget
    if isinstance(sampler, Recorded):
        # They were drawn already: a narrower interval costs nothing.
        budget = budget._replace(width=0.0, samples=len(sampler.terminals))
    begun = time.monotonic()
    result = known.bound(sampler, level=question.level, budget=budget, draws=draws)
    is_late = time.monotonic() - begun > budget.seconds and result.samples < budget.samples
    if is_late and result.interval.width > budget.width:
        notes.append(
            f"drawing ended after {budget.seconds:g} s: with more (--seconds) the interval is "
            "narrower"
        )
    lines = [*known.lines, *result.lines]
    if means is not None:
        true_means = None if known_means is None else known_means()
        lines += means.lines(question.level, result.interval, true_means)
    notes = [EACH, *notes, *known.notes, *sampler.findings()]
    if question.certificate is not None and known.log_z is not None:
        problem, bounds = source.target.problem, (known.log_z, result.interval)
        notes += samples_proof(question.certificate, exact, problem, *bounds, question.level)
    interval, of = result.interval, source.of
    if paths > 1:
        lines.insert(0, Line(f"TV of terminals with {paths:,} paths of each", interval, "bound"))
        notes[notes.index(TRAJECTORIES)] = PATHS
        interval, of = Interval(0.0, interval.high), "terminals"
    elif of == "terminals":
        notes.remove(TRAJECTORIES)
    if isinstance(sampler, Recorded):
        lines += _alone(source, sampler.terminals, interval, question.level)
    else:
        # Their number is not fixed beforehand, so that this is no bound to be stated.
        _alone(source, source.ends, interval, question.level)
    summary = interval, of, question.level, result.samples
    conditions = [TWO] if known.regime == "S" else []
    return Certificate(known.regime, *summary, lines, notes, conditions=conditions)


def _watch(question: Question, draws: Draws, means: FeatureMeans | None, walks: Walks) -> None:
    if question.drawn is not None:
        question.drawn(draws.count)
    if means is not None:
        means.add(walks)


def _alone(
    source: SamplerSource, samples: Sequence[Hashable], interval: Interval, level: float
) -> list[Line]:
    """TV of terminals by recorded samples alone, beside that by their numbers, if they are listed.

    Raises InputError if the two contradict each other.
    """
    if (law := source.target.probabilities) is None or len(samples) < 2:
        return []
    alone, _ = against_law(samples, {**law, Outside(): Fraction(0)}, level)
    # TV of trajectories may be larger than that of terminals.
    if alone.low > interval.high or (source.of == "terminals" and alone.high < interval.low):
        by_numbers, by_samples = (Line("TV", x, "bound").text() for x in (interval, alone))
        raise InputError(
            f"{source.name}: TV of {source.of} lies in {by_numbers} by the log-probabilities, and "
            f"that of terminals in {by_samples} by the samples alone, at level {level:g}: give the "
            "log-probabilities of the sampler as it draws, with its temperature and exploration, "
            "and not those of the target"
        )
    return [Line("TV of terminals by the samples alone", alone, "bound")]


def _walker(source: SamplerSource, question: Question, paths: int) -> tuple[Sampler, list[str]]:
    """The sampler, with the requested `p_B` and paths; and notes."""
    sampler, notes = source.walker(), []
    if question.tighten:
        sampler = source.tightened(sampler, question.tighten)
        notes.append(
            f"p_B was learned in {question.tighten:,} steps of 256 trajectories, or as many as "
            f"{question.budget.seconds:g} s allow; the bounds use fresh trajectories"
        )
    return SeveralPaths(sampler, paths) if paths > 1 else sampler, notes
