"""The kinds of samplers that can be certified: functions, files of samples, objects that draw."""

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from pdai.adapters.log_prob import LogProb
from pdai.certifying.options import CertifyOptions
from pdai.certifying.proofs import accepted, checked_claim, remarks
from pdai.certifying.target import Target
from reference.certificates import (
    check_certificate,
    confirm_problem,
    lifted_states,
    write_certificate,
)
from reference.certificates.independence import check_independent, check_repeats, written_out
from reference.certificates.inputs import JSON_LINES, values_of
from reference.certificates.listed import ListedLaw
from reference.certificates.problem import states_by_label
from reference.certificates.recorded import (
    EXCESS,
    PRICED,
    REWARD_TOLERANCE,
    Likeliest,
    Record,
    Recorded,
    check_mass,
    priced,
    read_record,
)
from reference.certificates.regimes import ExactLaw, law_beside_target
from reference.certificates.state_texts import Outside
from reference.contract.errors import InputError, TooLargeError, check_hashable, check_type, shown
from reference.contract.loading import name_of
from reference.contract.text import at_most
from reference.contract.user_code import called
from reference.marginals import marginal
from reference.posterior.columns import NOTHING, UNSEEN
from reference.problems.base import MAX_LOG_REWARD
from reference.problems.enumeration import exponential
from reference.rows.exact import ExactSampler
from reference.rows.functions import BackwardRows, ForwardRows
from reference.rows.importance import Walks
from reference.rows.walks import LogRewards, Sampler, Walker

# What two programs put around one value; and numbers, which they may round to float32,
# or begin with zeros; the most values of a law that are compared.
AROUND = " \t\r\n\"'\xa0\u3000" + UNSEEN
ROUNDED = re.compile(r"-?(?<!\d)\d+(\.\d*([eE][+-]?\d+)?|[eE][+-]?\d+)")
ZEROS = re.compile(r"\+?(-?)0*(\d+)")
COMPARED = 100_000
# The conditions of titles.
INDEPENDENT = "the samples are independent"
DRAWN_FROM = "these are the probabilities drawn from"
# The error of a log-probability in float32, a sum over some steps, relative to one plus its size.
ROUNDING = 2.0**-20
LEAST, MOST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


def _bare_text(x: Hashable) -> str:
    """A value as text, without what two programs may write otherwise."""
    text = normalize("NFC", str(x)).strip(AROUND)
    return ROUNDED.sub(lambda number: _narrow(float(number[0])), text)


def _narrow(number: float) -> str:
    """A number as float32 has it, or as it is beyond the range of float32."""
    fits = number == 0 or LEAST <= abs(number) <= MOST
    return f"{(np.float32(number) if fits else number) + 0:.9g}"


def two_spellings(values: Iterable[Hashable]) -> Sequence[str]:
    """A remark on the first two values that may be one, written in two ways; empty if none are.

    So many values are compared that it takes less than a second.
    """
    met: dict[str, Hashable] = {}
    for x in islice(values, COMPARED):
        text = _bare_text(x)
        number = ZEROS.fullmatch(text)
        if (first := met.setdefault(number[1] + number[2] if number else text, x)) is not x:
            both = f"{shown(first)} and {shown(x)}"
            return [f"the law has the values {both}: if they are one, write it once"]
    return ()


def check_outside(outside: Iterable[Hashable], target: Iterable[Hashable]) -> None:
    """Checks samples that are none of the values of the target.

    Raises InputError if one may be a value of the target, written otherwise, or a missing one.
    """
    texts = {_bare_text(x): x for x in target}
    for x in dict.fromkeys(outside):
        if (alike := _bare_text(x)) in texts:
            raise InputError(
                f"the sample {shown(x)} is not in the target, but {shown(texts[alike])} is, and "
                "may be the same value: write both as the same text or the same type of number"
            )
        if alike.lower() in NOTHING:
            raise InputError(
                f"the sample {shown(x)} is not in the target, and may stand for a missing one: "
                "leave such samples out, or write them otherwise"
            )


def independence(
    owner: str, samples: Sequence[Hashable], options: CertifyOptions, *, is_histogram: bool
) -> Sequence[str]:
    """The condition of a title about samples that are not tested for independence, if any.

    Raises DependentError if they are tested, and are not independent.
    """
    if is_histogram or options.if_independent:
        return [INDEPENDENT]
    check_independent(owner, samples, options.level)
    return ()


class SamplerSource:
    """A sampler that can be certified, with its target; a kind of sampler is a subclass.

    Attributes:
        name: its name in reports.
        target: the target of its problem.
        notes: remarks for readers.
        impossible: the samples that have target probability 0.
        conditions: assumptions that the title names, each as a clause.
        samples: bare terminal states, where they are all that is known; else None.
        of: what the probabilities of its draws are of.
    """

    notes: Sequence[str] = ()
    impossible: Sequence[Hashable] = ()
    conditions: Sequence[str] = ()
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
        """The walker with a `p_B` that is learned in steps of 256 trajectories.

        Raises InputError if none can be learned.
        """
        raise InputError(f"p_B cannot be learned for {self.name}: only its draws are known")

    def _law(
        self, made: ExactSampler, file: str | Path | None, problem_name: str, floats: str
    ) -> ExactLaw:
        """The exact distribution of an enumerated sampler; writes the certificate file.

        `floats` are those among its rows, in words.
        """
        dag, rewards = made.lifted.base, self.target.rewards
        said = [] if file is None else self._written_proof(file, made, problem_name)
        labels = [dag.labels[x] for x in dag.terminals]
        law = law_beside_target(marginal(made.forward), labels, rewards, floats)
        return law._replace(notes=[*law.notes, *said])

    def _written_proof(self, path: str | Path, made: ExactSampler, name: str) -> list[str]:
        """The results of the checks of a certificate file, which is written first.

        The claim is TV as a fraction, or a bound of 12 decimals if that has too many digits.
        """
        states, rewards = lifted_states(made.lifted), self.target.rewards
        # Before there is a file, whose claim alone would be accepted.
        states_by_label(made.lifted.base)
        try:
            write_certificate(path, made.forward, rewards, states=states, problem=name)
        except InputError:
            bound: Any = {"claim": "<=", "scale": 10**40}
            write_certificate(path, made.forward, rewards, states=states, problem=name, **bound)
        claim = checked_claim(path, check_certificate)
        count = len(made.lifted.base.labels)
        accepted(path, "graph or rewards", confirm_problem(path, self.target.problem, count))
        return remarks(
            path, claim, "its graph and rewards are those of the problem, compared in Python"
        )


class FunctionSource(SamplerSource):
    """A function from states or histories to rows over the children; options describe it."""

    notes = (
        "assumes that the sampler and the problem are functions (PROMISE.md, 1): a hundred answers "
        "were asked for again in another order; where states are listed, equal ones were compared "
        "on a hundred walks",
    )

    def __init__(
        self, name: str, target: Target, policy: Callable[[Any], Any], options: CertifyOptions
    ):
        super().__init__(name, target)
        self.policy, self.options = policy, options
        self.rows = ForwardRows(policy, target.problem, options.takes, options.gives)

    def exact(self, file: str | Path | None) -> ExactLaw:
        made = self.rows.exact(self.target.dag(), self.target.max_states)
        name = name_of(type(self.target.problem))
        return self._law(made, file, name, self.rows.floats())

    def walker(self) -> Walker:
        problem, options, dag = self.target.problem, self.options, None
        with suppress(TooLargeError):
            dag = self.target.dag()
        backward = BackwardRows(problem, options.p_b, dag)
        return Walker(problem, self.rows, backward, options.seed, options.seconds)

    def tightened(self, walker: Walker, steps: int) -> Walker:
        return walker.reversed(steps, self.options.seconds)


# Where a draw is impossible.
UNUSED = "log_prob is not used, as a draw of probability 0 shows the sampler wrong without it"


class RecordSource(SamplerSource):
    """A file of recorded trajectories, or of terminal states, bare or with `log_prob`.

    Raises InputError if the file cannot be read, or bare samples come without a problem, or are not
    independent.
    """

    def __init__(self, path: Path, target: Target, options: CertifyOptions):
        super().__init__(str(path), target)
        record = read_record(path, target.texts(), options.header, tolerant=True)
        self._record = record
        owner, drawn = repr(self.name), record.terminals
        if record.leaves_numbers_out:
            self.notes = [UNUSED]
        if record.numbers is None:
            self._check_bare(path, record)
        elif not isinstance(target.problem, ListedLaw):
            target.check_drawn(str(path), drawn)
        self.conditions = independence(owner, drawn, options, is_histogram=record.is_histogram)
        check_repeats(owner, drawn, target.probabilities())
        if record.numbers is not None:
            self.conditions = [*self.conditions, DRAWN_FROM]
            if PRICED in record.numbers:
                self._record, self.of = priced(record, target.problem), "terminals"

    def _check_bare(self, path: Path, record: Record) -> None:
        """Checks bare samples and keeps them; raises InputError as the class does."""
        target = self.target
        if target.problem is None:
            raise InputError(
                f"{str(path)!r} holds bare samples: add --problem my_module:MyProblem, or --law"
            )
        self.samples = record.terminals
        if record.outside:
            texts = {str(x) for x in target.probabilities() or ()}
            long = (x for x in record.outside if not texts.isdisjoint(x.splitlines()[1:]))
            if path.suffix not in JSON_LINES and (first := next(long, None)):
                raise InputError(
                    f"{str(path)!r} has the sample {shown(first)}, which a quotation mark begins: "
                    'in CSV, write one within a text as "", in quotation marks'
                )
            check_outside(target.strange(record.outside), target.probabilities() or ())
            self.impossible = record.outside

    def walker(self) -> Recorded:
        return Recorded(self._record, self.target.problem)


class PricedSource(SamplerSource):
    """Bare samples, and a function from a terminal state to its log-probability.

    Raises InputError if the samples are no bare ones, or a log-probability is no number.
    """

    of = "terminals"

    def __init__(self, source: SamplerSource, log_prob: Callable[[Any], Any]):
        super().__init__(source.name, source.target)
        samples = source.samples
        if samples is None or source.target.problem is None:
            raise InputError("log_prob is of bare samples beside a law or problem: leave it out")
        logs = LogProb.at(log_prob).many(samples)
        self._record = priced(Record(list(samples), {PRICED: logs}), source.target.problem)
        self.notes, self.conditions = source.notes, [*source.conditions, DRAWN_FROM]

    def walker(self) -> Recorded:
        return Recorded(self._record, self.target.problem)


class LogProbSource(SamplerSource):
    """A sampler that knows the log-probability of a terminal state, asked at each of them.

    Raises InputError if there is no target.
    """

    conditions = (DRAWN_FROM,)

    def __init__(self, log_prob: LogProb, target: Target):
        super().__init__(log_prob.name, target)
        self._log_prob = log_prob
        if log_prob.is_called_too:
            self.notes = ["its log_prob was asked, and what it gives when it is called was not"]
        if target.problem is None:
            raise InputError(f"{self.name} has log_prob, but no target: give a problem, or a law")

    def exact(self, file: str | Path | None) -> ExactLaw:
        if file is not None:
            raise InputError(
                "a certificate file holds the rows of a run or a function, and log_prob has none: "
                "leave it out"
            )
        dag, rewards = self.target.dag(), self.target.rewards
        labels: list[Hashable] = [dag.labels[x] for x in dag.terminals]
        logs = self._log_prob.many(labels).tolist()
        # In float64, whoever has less than e^-745 would be taken for one that is never drawn.
        values = [
            exponential(Fraction(min(log, 1.0))) if log > -MAX_LOG_REWARD else Fraction(0)
            for log in logs
        ]
        total = sum(values, start=Fraction(0))
        gap = float(abs(total - 1))
        check_mass(float(total), f"the {len(labels):,} terminal states")
        off = f"the probabilities, as answered, are divided by their sum, 1 up to {at_most(gap)}"
        spread = -math.fsum(float(p) * log for p, log in zip(values, logs, strict=True) if p)
        if total < 1 - ROUNDING * (1 + spread):
            if abs(math.fsum(2.0**log for log in logs) - 1) <= EXCESS:
                raise InputError(
                    f"the probabilities of all terminal states sum to {float(total):.6g}, and to 1 "
                    "in base 2: give natural logarithms"
                )
            off = "the probability that is missing lies outside of the terminal states"
            labels, values = [*labels, Outside()], [*values, 1 - total]
            rewards, total = [*rewards, Fraction(0)], Fraction(1)
        floats = "probabilities, by their logarithms"
        law = law_beside_target([p / total for p in values], labels, rewards, floats)
        return law._replace(notes=[*law.notes, off])

    def walker(self) -> Sampler:
        raise InputError(
            f"{self.name} has log_prob, which is asked at every terminal state, and these are more "
            "than max_states, or another regime than E is asked for: give samples, and log_prob= "
            "beside them"
        )


class SampleSource(SamplerSource):
    """Terminal states that are at hand: a sequence, an array, an iterator, or a `Counter`.

    They are in the order of the draws, or how often each was drawn; of an iterator, which may have
    no end, at most as many as the options say are taken. Raises InputError if there is no target,
    the samples are a set, or not independent, or one is no terminal state.
    """

    def __init__(
        self, samples: Iterable[Any], target: Target, options: CertifyOptions, name: str = "samples"
    ):
        super().__init__(name, target)
        if isinstance(samples, Set):
            raise InputError(
                f"the samples are a {type(samples).__name__}, which has each value once: give "
                "every draw, in the order of the draws"
            )
        if target.problem is None:
            raise InputError("samples come without a target: give a problem, or a law")
        if hasattr(samples, "columns"):
            raise InputError(
                "the samples are a frame: give one of its columns, or frame.to_numpy(), whose rows "
                "are read as tuples"
            )
        if isinstance(samples, Iterator):
            samples = list(islice(samples, options.samples))
            self.notes = (f"the first {len(samples):,} values of an iterator",)
        if isinstance(samples, np.ndarray):
            samples = values_of(samples, "the samples")
        terminals, counts = (
            [*samples],
            [*samples.values()] if isinstance(samples, Counter) else None,
        )
        if isinstance(target.problem, ListedLaw) and hasattr(target.problem, "parse"):
            terminals = [*map(target.problem.parse, terminals)]
        for x in terminals:
            check_hashable("a sample", x)
        if counts is not None:
            order = written_out(self.name, terminals, counts)
            terminals = [terminals[i] for i in order.tolist()]
        self.samples = self._inside(terminals)
        is_histogram = counts is not None
        self.conditions = independence(self.name, terminals, options, is_histogram=is_histogram)
        check_repeats(self.name, terminals, target.probabilities())

    def _inside(self, samples: Sequence[Any]) -> Sequence[Hashable]:
        """The samples, with `Outside()` for those outside of the target, which are impossible.

        Raises InputError if half of them or more are outside, or one is seen to be no terminal
        state, or to be one that is written otherwise.
        """
        is_outside = self.target.outside(samples)
        if is_outside is None:
            self.target.check_drawn("samples", samples)
            return samples
        self.impossible = [x for x, out in zip(samples, is_outside, strict=True) if out]
        strange = self.target.strange(self.impossible)
        if samples and 2 * len(strange) >= len(samples):
            raise InputError(
                f"{len(strange):,} of {len(samples):,} samples are not in the target, such as "
                f"{shown(strange[0])}: write them as the target does"
            )
        check_outside(strange, self.target.probabilities() or ())
        return [Outside() if out else x for x, out in zip(samples, is_outside, strict=True)]


def fresh_draws(owner: str, draw: Callable[[int], Any], count: int) -> list[Any]:
    """So many draws of a user's `draw(count)`, whose answer is a list, an array or an iterator.

    Raises InputError if it raises, or gives fewer or more; an iterator may have no end.
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


class DrawingSource(SamplerSource, Sampler):
    """A sampler of trajectories, such as one of another library; its answers are checked.

    `ends` has the terminal states that were drawn, where a problem has their rewards.
    """

    def __init__(self, sampler: Sampler, target: Target):
        super().__init__(type(sampler).__name__, target)
        self.ends: list[Hashable] = []
        self._likeliest = Likeliest()
        self._sampler: Any = sampler
        if type(sampler).__module__.partition(".")[0] != "pdai":
            self.conditions = [DRAWN_FROM]
        self._rewards = None if target.problem is None else LogRewards(target.problem)
        self._before: Walks | None = None

    def exact(self, file: str | Path | None) -> ExactLaw | None:
        if self.target.problem is None or not hasattr(self._sampler, "exact"):
            return None
        if file is not None:
            raise InputError(
                "a certificate file holds the rows of a run or a function, and these are another "
                "library's: leave it out"
            )
        target = self.target
        law: ExactLaw = self._sampler.exact(target.dag(), target.rewards, target.max_states)
        return law

    def walker(self) -> "DrawingSource":
        return self

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        # The rewards of a problem need the terminal states.
        labels = labels or self._rewards is not None
        walks = self._walks("draw", partial(self._sampler.draw, labels=labels), count)
        if self._before is not None and _repeats(self._before, walks):
            raise InputError(
                f"{self.name}: draw gives the same trajectories again, and fresh, independent ones "
                "are needed: is the seed set in each call?"
            )
        self._before = walks
        if not self.ends:
            self.target.check_drawn(self.name, walks.terminals)
        self.ends += walks.terminals
        self._likeliest.add(walks.terminals, walks.log_p_f)
        return walks

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        walks = self._walks("draw_backward", self._sampler.draw_backward, terminals)
        if list(walks.terminals) != list(terminals):
            raise InputError(
                f"{self.name}: draw_backward gives trajectories that end in "
                f"{shown(walks.terminals)}, but was asked for {shown(terminals)}: give one for each"
            )
        return walks

    def findings(self) -> Sequence[str]:
        self._likeliest.check_drawn(self.ends)
        return self._sampler.findings()  # type: ignore[no-any-return]

    def _walks(self, method: str, function: Callable[..., Any], argument: Any) -> Walks:
        walks = called(self.name, method, function, argument)
        check_type(self.name, f"the answer of {method}", walks, Walks)
        walks = _checked_walks(what := f"{self.name}: {method}", walks)
        if self._rewards is None:
            return walks
        if len(walks.terminals) != len(walks.error):
            raise InputError(
                f"{what} gives no terminal states, of which the problem has the rewards: give "
                "them, or leave the problem out and give log Z"
            )
        own = [
            self._rewards.confirm(x, r, REWARD_TOLERANCE * (1 + abs(r)), "sampler")
            for x, r in zip(walks.terminals, walks.log_reward.tolist(), strict=True)
        ]
        log_reward, off = np.array([[log.value, log.error] for log in own]).reshape(-1, 2).T
        # The object's error is that of its whole sum, log R included.
        other = np.where(log_reward == walks.log_reward, 0.0, off)
        return walks._replace(log_reward=log_reward, error=walks.error + other)


def _repeats(before: Walks, walks: Walks) -> bool:
    """True if trajectories begin with earlier ones, which independent draws never do.

    Trajectories are compared by their numbers. The probability that forty uncommon ones recur at
    the same places is at most 2^-40.
    """
    size = min(len(before.error), len(walks.error))
    one, other = (np.stack([w.log_p_f[:size], w.log_weight[:size]]) for w in (before, walks))
    if not np.array_equal(one, other):
        return False
    return size - int(np.unique(one, axis=1, return_counts=True)[1].max(initial=0)) >= 40


def _checked_walks(what: str, walks: Walks) -> Walks:
    """A user's trajectories; raises InputError unless columns are of one length and in range."""
    columns = {}
    for name, column in zip(Walks._fields[1:], walks[1:], strict=True):
        values = np.asarray(column)
        if values.dtype.kind not in "fiu" or values.ndim != 1 or len(values) != np.size(walks[1]):
            raise InputError(
                f"{what} gives {name} = {shown(column)}, but must give one real number for each "
                "trajectory, in an array of one axis"
            )
        columns[name] = values.astype(float)
    for name in ("log_p_f", "log_p_b"):
        above = columns[name] - np.abs(columns["error"])
        if above.max(initial=0.0) > 1e-6:
            raise InputError(
                f"{what} gives {name} = {columns[name].max():g}, but the logarithm of a "
                "probability is at most 0: give sums of log-probabilities, in nats"
            )
    if (columns["error"] < 0).any():
        raise InputError(f"{what} gives an error below 0: give a bound of the rounding, in nats")
    if len(walks.terminals) not in (0, len(columns["error"])):
        raise InputError(
            f"{what} gives {len(walks.terminals)} terminals for {len(columns['error'])} "
            "trajectories: give each its own"
        )
    return Walks(walks.terminals, **columns)
