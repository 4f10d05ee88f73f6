"""`pdai.certify`: the total variation of any sampler to its target."""

import inspect
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from os.path import isdir, isfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pdai.adapters.log_prob import LogProb
from pdai.certifying.options import CertifyOptions
from pdai.certifying.proofs import bare_proof, samples_proof
from pdai.certifying.sources import (
    UNUSED,
    DrawingSource,
    FunctionSource,
    LogProbSource,
    PricedSource,
    RecordSource,
    SamplerSource,
    SampleSource,
    check_outside,
    fresh_draws,
    two_spellings,
)
from pdai.certifying.target import Target, log_z_interval
from reference.certificates.bare import STANDING_OUT, against_law, against_samples
from reference.certificates.betting import Interval
from reference.certificates.expectations import (
    FeatureMeans,
    both,
    exact_lines,
    modes,
    sample_lines,
)
from reference.certificates.independence import check_apart, check_independent
from reference.certificates.inputs import FILES, STDIN
from reference.certificates.listed import ListedLaw, from_logs, law_of
from reference.certificates.recorded import Recorded, read_record
from reference.certificates.regimes import Draws, Result, with_log_z, with_neither, with_target
from reference.certificates.state_texts import Outside
from reference.certificates.statement import Certificate, Kind, Line, Regime
from reference.contract.errors import InputError, TooLargeError, no_such, shown
from reference.contract.loading import load_object
from reference.contract.text import at_most
from reference.contract.user_code import called
from reference.problems.closed_form import ClosedForm
from reference.problems.members import as_problem
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
COUNTED = (
    "the law is a Counter, whose counts are taken for exact weights: if they count draws of the "
    "target, the distance is to those draws, and not to the target"
)
TWO = "the samples of the target are independent, of each other and of the sampler's"
# A width of log Z that is only rounding is not worth a note, in nats.
NEGLIGIBLE = 1e-9


def certify(what: Any, problem: Any = None, **options: Any) -> Certificate:
    """Certify how close a sampler is to its target: TV exactly, or with a level of confidence.

    The certificate has the first of these regimes that the inputs allow. E: everything is
    enumerated. Z: `log Z` is known or bounded. S: samples of the target are given. N: neither, so
    that only lower bounds are certified.

    Args:
        what: a run, or its folder; a function from a state to a row of numbers, one per child, or
            `module:name` of one; samples, as a sequence, an array, an iterator or a `Counter`; a
            CSV file of samples or of recorded trajectories, `-` for the standard input; an object
            with `log_prob(x)`, such as a module of PyTorch; one whose `draw(count)` gives as many
            independent draws; or a sampler of `pdai.adapters`.
        problem: a problem, its class, or `module:Name`; a run has its own, and for samples a `law`
            may stand in its place.
        options: the fields of `pdai.certifying.options.CertifyOptions`, by name, such as
            `log_z=29.97`.

    Raises:
        InputError: if the sampler, the problem, an option or a sample breaks a rule, or the
            requested regime is not possible.
    """
    names = [field.name for field in fields(CertifyOptions)]
    for name in options:
        if name not in names:
            raise InputError(no_such("option of certify", name, names))
    return certificate_of(what, problem, CertifyOptions(**options))


# Shells and notebooks show each option with its default.
certify.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        *list(inspect.signature(certify).parameters.values())[:2],
        *(
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
            for field in fields(CertifyOptions)
        ),
    ],
    return_annotation=Certificate,
)


# A module of the user's may have numpy.seterr(all="raise"), where exponentials underflow.
@np.errstate(all="warn", under="ignore")
def certificate_of(what: Any, problem: Any, options: CertifyOptions) -> Certificate:
    """The certificate of `certify`, with the options as one record."""
    options = options.checked()
    problem, options = _listed(problem, options)
    source = source_of(what, problem, options)
    if options.log_prob is not None and source.impossible:
        source.notes = [*source.notes, UNUSED]
    elif options.log_prob is not None:
        source = PricedSource(source, options.log_prob)
    if isinstance(options.target, str | Path):
        # Another seed than that of the sampler's samples, which must not be ordered alike.
        record = read_record(Path(options.target), source.target.texts(), options.header, seed=1)
        options = replace(options, target=record.terminals)
    source.target.check_terminals("mode_states", options.mode_states)
    features, known_means = _features(source.target.problem, options)
    made = _exact(source, options, features)
    if made is None and source.samples is not None:
        made = _bare(source, options, source.samples, features)
    made = made or _sampled(source, options, features, known_means)
    compared = made.regime == "S" and source.target.probabilities() is not None
    given = {
        "log Z": options.log_z is not None and made.regime != "Z",
        "samples of the target": options.target is not None and made.regime != "S",
        "paths": options.paths > 1 and PATHS not in made.notes,
        "features": features is not None and source.samples is not None and not compared,
    }
    unused = [
        f"the {name} given: not used in regime {made.regime}" for name in given if given[name]
    ]
    if isinstance(problem, ListedLaw):
        problem.check_heading(source.impossible)
        unused += two_spellings(problem.weights)
    if any(isinstance(law, Counter) for law in (options.law, options.weights)):
        unused.append(COUNTED)
    return replace(
        made,
        name=source.name,
        notes=[*made.notes, *source.notes, *unused],
        excluded=source.impossible,
        conditions=[*source.conditions, *made.conditions],
    )


def _listed(problem: Any, options: CertifyOptions) -> tuple[Any, CertifyOptions]:
    """The problem, made of a law where one is given."""
    names = ("law", "weights", "log_weights")
    laws = {name: law for name in names if (law := getattr(options, name)) is not None}
    if len(laws) + (problem is not None) > 1:
        given = [*laws, *(["problem"] if problem is not None else [])]
        raise InputError(
            f"the {' and the '.join(given)} each give the target: leave one of the two out"
        )
    if not laws:
        if options.support is not None:
            raise InputError("support is given without a law: add law='uniform' (--law uniform)")
        return problem, options
    (name, law), *_ = laws.items()
    if name == "log_weights":
        law = ListedLaw(from_logs(law))
    else:
        law = law_of(law, options.support, options.header)
    # A function that is certified is asked at every value.
    return law, replace(options, max_states=max(options.max_states, len(law.weights) + 1))


def has_log_prob(what: Any) -> bool:
    """True for an object that knows log-probabilities and cannot be drawn from."""
    return callable(getattr(what, "log_prob", None)) and not hasattr(what, "draw")


def _source_of_run(
    what: Any, folder: str | Path, problem: Any, options: CertifyOptions
) -> SamplerSource:
    if problem is not None:
        raise InputError(f"the run {str(folder)!r} has a problem of its own: leave --problem out")
    if options.p_b is not None:
        raise InputError("p_b is for functions, and a run has its own: leave it out")
    # Imported here, as other samplers need no runs, nor JAX, which trained ones load.
    from pdai.certifying.solved import SolvedSource
    from pdai.loading import load
    from pdai.solving.solved import Solved

    run: Any = what if hasattr(what, "accept_changed") else load(folder)
    if isinstance(run, Solved):
        return SolvedSource(run, options)
    from pdai.certifying.runs import RunSource

    return RunSource(run, options)


def source_of(what: Any, problem: Any, options: CertifyOptions) -> SamplerSource:
    """The sampler that the first argument of `certify` means, with checked options.

    Raises InputError if it means none, or a problem is missing.
    """
    # An object of one's own may wrap a run, and draw otherwise.
    is_ours = type(what).__module__.partition(".")[0] == "pdai"
    folder = getattr(what, "folder", what) if is_ours else what
    # A text may be longer than the name of a file can be.
    if isinstance(folder, str | Path) and isdir(folder):
        return _source_of_run(what, folder, problem, options)
    if (of := options.of) is not None:
        raise InputError(f"of is {of}, but only a run has several seeds, and {what!r} is none")
    own = None if problem is None else as_problem(problem)
    target = Target(own, options.max_states, options.seconds)
    if isinstance(what, str | Path):
        path = Path(what)
        if str(path) == STDIN or isfile(path) or path.suffix in FILES:
            return RecordSource(path, target, options)
    elif has_log_prob(what):
        return LogProbSource(LogProb.at(what), target)
    elif isinstance(what, Counter) or (
        isinstance(what, Iterable) and not isinstance(what, Mapping) and not hasattr(what, "draw")
    ):
        return SampleSource(what, target, options)
    if isinstance(what, Path) or (isinstance(what, str) and ":" not in what):
        raise InputError(
            f"there is no run folder and no file {shown(str(what))} here: check the path; a "
            "sampler of your own is named module:Name, such as my_module:policy"
        )
    sampler = load_object(what, "sampler", "my_module:policy") if isinstance(what, str) else what
    if isinstance(sampler, type) and hasattr(sampler, "draw"):
        sampler = called(sampler.__name__, "its constructor", sampler)
    if isinstance(sampler, Sampler):
        return DrawingSource(sampler, target)
    if hasattr(sampler, "draw"):
        own_name, count = type(sampler).__name__, options.samples
        draws = fresh_draws(own_name, sampler.draw, count)
        return SampleSource(draws, target, options, own_name)
    if has_log_prob(sampler):
        return LogProbSource(LogProb.at(sampler), target)
    if not callable(sampler):
        raise InputError(
            f"the sampler is of the type {type(sampler).__name__}, but must be a run folder, a "
            "function from a state to a row of probabilities (table.__getitem__), samples in the "
            "order of the draws or a Counter of them, a CSV file of them, or has draw(count)"
        )
    if own is None:
        raise InputError(
            f"{what!r} gives rows over the children of states, but no problem is given: add "
            "--problem my_module:MyProblem"
        )
    name = what if isinstance(what, str) else getattr(sampler, "__name__", type(sampler).__name__)
    return FunctionSource(name, target, sampler, options)


def _features(
    problem: Any, options: CertifyOptions
) -> tuple[Features | None, Callable[[], Any] | None]:
    """All features, and their exact means under the target where the problem knows them."""
    features, known_means = options.features, None
    if knows_means(problem) and features in (problem.indicators, problem.quantities):
        # With the names that the problem gives.
        features, known_means = problem.quantities, problem.quantity_means
    return both(features, modes(options.mode_states) if options.mode_states else None), known_means


def _exact(
    source: SamplerSource, options: CertifyOptions, features: Features | None
) -> Certificate | None:
    """Regime E, if everything can be enumerated and no other regime is requested."""
    if options.regime not in (None, "E"):
        return None
    try:
        law = source.exact(options.certificate)
        if law is None:
            raise TooLargeError(f"{source.name} cannot be enumerated: regime E needs its rows")
    except TooLargeError:
        if options.regime == "E":
            raise
        return None
    lines = [*law.lines, *([] if features is None else exact_lines(features, law.table, law.kind))]
    summary = law.interval, "terminals", 0.0, 0
    laws: Any = {"table": law.table, "tv": law.tv, "kind": law.kind}
    return Certificate("E", *summary, lines, law.notes, **laws)


def _bare(
    source: SamplerSource,
    options: CertifyOptions,
    samples: Sequence[Hashable],
    features: Features | None,
) -> Certificate:
    """Regimes S and N, from terminal states without probabilities."""
    known, target, level = source.target.probabilities(), options.target, options.level
    if options.certificate is not None and (known is None or options.regime in ("Z", "N")):
        raise _no_file(source.name)
    if options.regime == "Z":
        raise InputError(
            f"regime Z needs log p_F and log p_B of trajectories, and {source.name} has terminal "
            "states alone: record them, or give the sampler"
        )
    notes = ["assumes that the samples are independent draws of one sampler"]
    regime, interval, lines = options.regime, Interval(0.0, 1.0), list[Line]()
    conditions = list[str]()
    unused = ": the samples of the target are not used"
    if target is None and known is None:
        target = _target_samples(source, options, len(samples))
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
        if options.certificate is not None:
            problem = source.target.problem
            notes += bare_proof(options.certificate, samples, known, problem, level)
    else:
        texts, values = source.target.texts(), dict.fromkeys(target)  # type: ignore[arg-type]  # read
        texts.check(values, "the target")
        check_outside([x for x in samples if x not in values], values)
        texts.check(samples, "the sampler")
        if not options.if_independent:
            check_independent("the target", target, level)  # type: ignore[arg-type]
            check_apart(source.name, samples, target, level)  # type: ignore[arg-type]
        conditions = [TWO]
        interval, lines = against_samples(samples, target, level)  # type: ignore[arg-type]
        notes += [ASSUMED, "no upper bound: bare samples do not show which modes they miss"]
    summary = interval, "terminals", level, len(samples), lines, notes
    return Certificate(regime or "S", *summary, conditions=conditions)


def _target_samples(source: SamplerSource, options: CertifyOptions, count: int) -> Any:
    """Samples of the target, given or drawn exactly by the problem; None without either."""
    problem = source.target.problem
    if options.target is None and isinstance(problem, ClosedForm):
        return problem.sample(count, options.seed)
    return options.target


class _Bound(NamedTuple):
    """The bound of a regime, with its lines and notes, and `log Z` in regime Z."""

    regime: Regime
    bound: Callable[..., Result]
    lines: list[Line]
    notes: list[str]
    log_z: Interval | None = None


def _no_file(name: str) -> InputError:
    return InputError(
        "a certificate file needs regime E, where everything is enumerated, or regime Z with "
        "trajectories drawn from exact rows, or samples beside a listed law, but "
        f"{name} has none of these here: leave the file out, or take a smaller instance, a run or "
        "a function, without --paths"
    )


def _bound(source: SamplerSource, options: CertifyOptions) -> _Bound:
    """The bound of the requested regime, or of the first possible one.

    Raises InputError if the regime needs a quantity that is unknown.
    """
    regime = options.regime
    if regime in (None, "Z"):
        if options.log_z is not None:
            stated = log_z_interval(options.log_z, "log_z")
            source.target.check_log_z(stated, "log_z")
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
    if regime == "S" or (regime is None and options.target is not None):
        target = _target_samples(source, options, options.samples)
        if target is None:
            raise InputError("regime S needs independent samples of the target: give --target FILE")
        if not options.if_independent:
            check_independent("the target", target, options.level)
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
    options: CertifyOptions,
    features: Features | None,
    known_means: Callable[[], Any] | None,
) -> Certificate:
    """Regimes Z, S and N, from trajectories."""
    known = _bound(source, options)
    paths = options.paths if known.regime in ("Z", "S") else 1
    sampler, notes = _walker(source, options, paths)
    exact: list[ExactPath] = []
    if options.certificate is not None:
        if known.log_z is None or not hasattr(sampler, "exact_paths"):
            raise _no_file(source.name)
        sampler.exact_paths = exact
    draws, means = Draws(labels=features is not None), None
    if features is not None:
        means = FeatureMeans(features)
    draws.watch = partial(_watch, options, draws, means)
    budget = options.budget
    if isinstance(sampler, Recorded):
        # They were drawn already: a narrower interval costs nothing.
        budget = budget._replace(width=0.0, samples=len(sampler.terminals))
    begun = time.monotonic()
    result = known.bound(sampler, level=options.level, budget=budget, draws=draws)
    is_late = time.monotonic() - begun > budget.seconds and result.samples < budget.samples
    if is_late and result.interval.width > budget.width:
        notes.append(
            f"drawing ended after {budget.seconds:g} s: with more (--seconds) the interval is "
            "narrower"
        )
    lines = [*known.lines, *result.lines]
    if means is not None:
        true_means = None if known_means is None else known_means()
        lines += means.lines(options.level, result.interval, true_means)
    notes = [EACH, *notes, *known.notes, *sampler.findings()]
    if options.certificate is not None and known.log_z is not None:
        problem, bounds = source.target.problem, (known.log_z, result.interval)
        notes += samples_proof(options.certificate, exact, problem, *bounds, options.level)
    interval, of = result.interval, source.of
    if paths > 1:
        lines.insert(0, Line(f"TV of terminals with {paths:,} paths of each", interval, "bound"))
        notes[notes.index(TRAJECTORIES)] = PATHS
        interval, of = Interval(0.0, interval.high), "terminals"
    elif of == "terminals":
        notes.remove(TRAJECTORIES)
    if isinstance(sampler, Recorded):
        lines += _alone(source, sampler.terminals, interval, options.level)
    elif isinstance(source, DrawingSource):
        # Their number is not fixed beforehand, so that this is no bound to be stated.
        _alone(source, source.ends, interval, options.level)
    summary = interval, of, options.level, result.samples
    conditions = [TWO] if known.regime == "S" else []
    return Certificate(known.regime, *summary, lines, notes, conditions=conditions)


def _watch(options: CertifyOptions, draws: Draws, means: FeatureMeans | None, walks: Walks) -> None:
    """Receives each block of trajectories."""
    options.drawn(draws.count)
    if means is not None:
        means.add(walks)


def _alone(
    source: SamplerSource, samples: Sequence[Hashable], interval: Interval, level: float
) -> list[Line]:
    """TV of terminals by recorded samples alone, beside that by their numbers, if they are listed.

    Raises InputError if the two contradict each other.
    """
    if (law := source.target.probabilities()) is None or len(samples) < 2:
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


def _walker(
    source: SamplerSource, options: CertifyOptions, paths: int
) -> tuple[Sampler, list[str]]:
    """The sampler, with the requested `p_B` and paths; and notes."""
    sampler, notes = source.walker(), []
    if options.tighten:
        sampler = source.tightened(sampler, options.tighten)
        notes.append(
            f"p_B was learned in {options.tighten:,} steps of 256 trajectories, or as many as "
            f"{options.seconds:g} s allow; the bounds use fresh trajectories"
        )
    return SeveralPaths(sampler, paths) if paths > 1 else sampler, notes
