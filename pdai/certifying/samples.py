"""Certificates of samples: at hand, in a file, or of an object that is asked for them once."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pdai.adapters.log_prob import LogProb
from pdai.certifying.judging import Question, SamplerSource, checked_budget, checked_level, judged
from pdai.certifying.target import Real, Target, check_outside
from reference.certificates.independence import check_independent, check_repeats, written_out
from reference.certificates.listed import ListedLaw
from reference.certificates.recorded import PRICED, Record, Recorded, priced, read_record
from reference.certificates.state_texts import Outside
from reference.certificates.statement import Certificate, Regime
from reference.contract.errors import InputError, check_hashable, checked, shown
from reference.contract.tables import JSON_LINES, Shape, Sheet, frame_sheet, values_of
from reference.contract.user_code import called
from reference.problems.members import as_problem
from reference.rows.features import Features
from reference.rows.importance import Walks

# The conditions of titles.
INDEPENDENT = "the samples are independent"
DRAWN_FROM = "these are the probabilities drawn from"
# Where a draw is impossible.
UNUSED = "log_prob is not used, as a draw of probability 0 shows the sampler wrong without it"


@runtime_checkable
class Draws(Protocol):
    """An object that draws independent terminal states."""

    def draw(self, count: int) -> Any:
        """As many draws, in a list, an array or an iterator."""
        ...


class SampleSource(SamplerSource):
    """Terminal states that were drawn, bare or with their numbers in a record."""

    record: Record

    def walker(self) -> Recorded:
        return Recorded(self.record, self.target.problem)

    def test(self, owner: str, drawn: Sequence[Hashable], level: float, counted: bool) -> None:
        """Tests that draws may be independent, or says in the title that they are not tested.

        Args:
            owner: whose they are, for messages.
            drawn: the draws, in their order.
            level: the level of the certificate.
            counted: whether they come from a histogram, which has no order.

        Raises DependentError if they are not independent.
        """
        if counted or self.target.if_independent:
            self.conditions = [INDEPENDENT]
        else:
            check_independent(owner, drawn, level)
        check_repeats(owner, drawn, self.target.probabilities)

    def price(self, record: Record) -> None:
        """Takes the log-probabilities that stand beside the samples in a record."""
        self.record, self.samples = priced(record, self.target.problem), None
        self.of = "terminals"


def _of_file(path: Path | Sheet, target: Target, level: float) -> SampleSource:
    """The samples of a file or a frame: trajectories, or terminal states, bare or with `log_prob`.

    Raises InputError if the file cannot be read, bare samples have no problem, or are dependent.
    """
    source = SampleSource(path.source if isinstance(path, Sheet) else str(path), target)
    record = read_record(path, target.texts(), target.shape, tolerant=True)
    owner, drawn = repr(source.name), record.terminals
    source.notes = [*record.notes, *([UNUSED] if record.leaves_numbers_out else [])]
    if record.numbers is None:
        if target.problem is None:
            raise InputError(
                f"{owner} holds bare samples: add --problem my_module:MyProblem, or --law"
            )
        source.samples, source.impossible = drawn, record.outside
        if isinstance(path, Path):
            _check_quotes(path, record, target)
        check_outside(target.strange(record.outside), target.probabilities or ())
    elif not isinstance(target.problem, ListedLaw):
        target.check_drawn(source.name, drawn)
    source.test(owner, drawn, level, record.is_histogram)
    source.conditions = [*source.conditions, *record.conditions]
    if record.numbers is not None:
        source.conditions = [*source.conditions, DRAWN_FROM]
        source.record = record
        if PRICED in record.numbers:
            source.price(record)
    return source


def _check_quotes(path: Path, record: Record, target: Target) -> None:
    """Raises InputError if a sample outside of the target has a value of it in a later line."""
    texts = {str(x) for x in target.probabilities or ()} if record.outside else set()
    outside = (x for x in record.outside if isinstance(x, str))
    long = (x for x in outside if not texts.isdisjoint(x.splitlines()[1:]))
    if path.suffix not in JSON_LINES and (first := next(long, None)):
        raise InputError(
            f"{str(path)!r} has the sample {shown(first)}, which a quotation mark begins: "
            'in CSV, write one within a text as "", in quotation marks'
        )


def _at_hand(draws: Any, target: Target, level: float, count: int) -> SampleSource:
    """The samples of a sequence, an array, an iterator, a `Counter` or an object that draws.

    Raises InputError if there is no target, they are a set or a frame, or not independent, or one
    is no terminal state.
    """
    name = "samples"
    if isinstance(draws, Draws):
        name = type(draws).__name__
        draws = fresh_draws(name, draws.draw, count)
    source = SampleSource(name, target)
    if isinstance(draws, Set):
        raise InputError(
            f"the samples are a {type(draws).__name__}, which has each value once: give every "
            "draw, in the order of the draws"
        )
    if target.problem is None:
        raise InputError("samples need a problem or a law, also beside a target: give one")
    if hasattr(draws, "columns"):
        return _of_file(frame_sheet(draws, "the frame"), target, level)
    if isinstance(draws, Iterator):
        draws = list(islice(draws, count))
        source.notes = [f"the first {len(draws):,} values of an iterator"]
    if isinstance(draws, np.ndarray):
        draws = values_of(draws, "the samples")
    terminals: list[Any] = [*draws]
    if isinstance(target.problem, ListedLaw) and hasattr(target.problem, "parse"):
        terminals = [*map(target.problem.parse, terminals)]
    for x in terminals:
        check_hashable("a sample", x)
    if isinstance(draws, Counter):
        order = written_out(name, terminals, [*draws.values()])
        terminals = [terminals[i] for i in order.tolist()]
    source.samples = _inside(source, terminals)
    source.test(name, terminals, level, isinstance(draws, Counter))
    return source


def _inside(source: SampleSource, samples: Sequence[Any]) -> Sequence[Hashable]:
    """The samples, with `Outside()` for those outside of the target, which are impossible.

    Raises InputError if half of them or more are outside, or one is seen to be no terminal state,
    or to be one that is written otherwise.
    """
    target, known = source.target, source.target.probabilities
    if known is None:
        target.check_drawn("samples", samples)
        return samples
    source.impossible = [x for x in samples if x not in known]
    strange = target.strange(source.impossible)
    if samples and 2 * len(strange) >= len(samples):
        raise InputError(
            f"{len(strange):,} of {len(samples):,} samples are not in the target, such as "
            f"{shown(strange[0])}: write them as the target does"
        )
    check_outside(strange, known)
    return [x if x in known else Outside() for x in samples]


def fresh_draws(owner: str, draw: Callable[[int], Any], count: int) -> list[Any]:
    """The draws of a user's `draw(count)`, whose answer is a list, an array or an iterator.

    Args:
        owner: the name of the object in messages.
        draw: its method.
        count: the number of draws to ask for; an iterator may have no end.

    Raises InputError if it raises, or gives fewer or more.
    """

    def taken(size: int) -> Any:
        answer = draw(size)
        return [*islice(answer, size)] if isinstance(answer, Iterator) else answer

    answer = called(owner, "draw", taken, count)
    if isinstance(answer, Walks):
        raise InputError(
            f"{owner}: draw({count}) gives Walks, which are of trajectories: derive the class from "
            "reference.rows.walks.Sampler"
        )
    if hasattr(answer, "__array__") and not hasattr(answer, "columns"):
        answer = values_of(np.asarray(answer), f"the answer of {owner}")
    if not isinstance(answer, Sequence) or len(answer) != count:
        size = f"{len(answer):,} draws" if isinstance(answer, Sequence) else shown(answer)
        raise InputError(
            f"{owner}: draw({count}) gives {size}, but must give as many draws as are asked for: "
            "a list, an array or an iterator of them"
        )
    return [*answer]


@checked
def certify_samples(
    draws: Iterable[Any] | Draws | str | Path,
    problem: Any = None,
    *,
    log_prob: Callable[[Any], Any] | None = None,
    header: bool | None = None,
    columns: Sequence[str] = (),
    if_independent: bool = False,
    regime: Regime | None = None,
    log_z: Any = None,
    target: Sequence[Hashable] | str | Path | None = None,
    samples: int = 100_000,
    seconds: Real = 60.0,
    level: Real = 1e-6,
    seed: int = 0,
    features: Features | None = None,
    mode_states: Sequence[Hashable] = (),
    max_states: int = 100_000,
    certificate: str | Path | None = None,
    drawn: Callable[[int], None] | None = None,
) -> Certificate:
    """Certify how close the sampler is that drew these samples.

    Args:
        draws: samples in the order of the draws, in a sequence, an array, a frame or an iterator; a
            `Counter` of them; a file of samples or of recorded trajectories, `-` for the standard
            input; or an object whose `draw(count)` gives as many.
        problem: the problem, its class or `module:Name`, or a law.
        log_prob: a function from a value to its log-probability under the sampler, in nats.
        header: whether the first lines of files name the columns.
        columns: the columns of a state in files and frames, a part each; by default those of a law.
        if_independent: whether the samples are taken for independent, untested.
        regime: E, Z, S or N; by default the first in this order that is possible.
        log_z: log Z in nats, or a lower and an upper bound of it, for trajectories.
        target: independent samples of the target for regime S, or a file of them.
        samples: the most values that are taken of an iterator, or asked of an object.
        seconds: the most seconds of a search for log Z, and of bets on trajectories.
        level: the probability with which each bound may fail, at most.
        seed: the random seed of samples of the target that a problem draws.
        features: a function from a terminal state to numbers in [0, 1] by name.
        mode_states: terminal states whose probabilities are reported.
        max_states: the most states that are enumerated.
        certificate: a file of a certificate to write, and to check.
        drawn: receives the number of recorded trajectories read so far.

    Raises:
        InputError: if a sample, the problem or an option breaks a rule, or the requested regime is
            not possible.
    """
    # Samples that are at hand are all used, however narrow the interval is.
    level, budget = checked_level(level), checked_budget(0.0, samples, seconds)
    question = Question(regime, level, seed, budget, features, mode_states, certificate, drawn)
    judged_problem = None if problem is None else as_problem(problem)
    names = judged_problem.names if isinstance(judged_problem, ListedLaw) else ()
    shape = Shape(header, tuple(columns) or names, bool(columns))
    own = Target(judged_problem, max_states, budget.seconds, log_z, target, shape, if_independent)
    if isinstance(draws, str | Path):
        source = _of_file(Path(draws), own, level)
    else:
        source = _at_hand(draws, own, level, samples)
    if log_prob is not None and source.impossible:
        source.notes = [*source.notes, UNUSED]
    elif log_prob is not None:
        if source.samples is None or own.problem is None:
            raise InputError("log_prob is of bare samples beside a law or problem: leave it out")
        terminals = [*source.samples]
        source.price(Record(terminals, {PRICED: LogProb.at(log_prob).many(terminals)}))
        source.conditions = [*source.conditions, DRAWN_FROM]
    return judged(source, question)
