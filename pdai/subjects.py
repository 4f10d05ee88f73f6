"""What a certificate is of: a run, a function, a file of samples, or an object that draws."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pdai.proof_files import write_file
from reference.balance import log_float
from reference.certificates.betting import Interval
from reference.certificates.exact import ExactLaw, exact_law, exact_sampler
from reference.certificates.importance import Walks
from reference.certificates.partition import Bounding, bound_partition
from reference.certificates.policies import BackwardRows, ForwardRows, Gives, Takes
from reference.certificates.recorded import Recorded, read_record
from reference.certificates.reversal import reversed_walker
from reference.certificates.state_texts import StateTexts
from reference.certificates.walks import Sampler, Walker, no_parents, parents_of
from reference.dag import PointedDAG
from reference.errors import InputError, TooLargeError, check_type, plain, shown
from reference.loading import as_problem, load_object, name_of
from reference.metrics import normalize
from reference.problems.base import enumerate_dag, enumerate_rewards
from reference.sources import digest_of
from reference.user_code import called, exact, number_or_infinite

FILES = (".csv", ".txt", ".tsv")


@dataclass
class Subject:
    """What is certified, and what can be asked of it.

    Attributes:
        name: as reports call it.
        problem: the problem, if there is one.
        seed: of draws.
        max_states: more are not enumerated.
        seconds: of each search.
        exact: its exact law, and the certificate file if a path is given; raises TooLargeError.
        sampler: a fresh sampler of trajectories.
        tightened: a sampler with a `p_B` learned in so many steps of 256 of its trajectories.
        bare: samples of terminal states, if there is nothing else.
        rewards: of all terminal states, where they were enumerated already.
        notes: what a reader must know.
        exact_notes: what a reader of the exact law must know.
        drawn_from: what its draws depend on, by name, as digests and numbers.
    """

    name: str
    problem: Any
    seed: int
    max_states: int
    seconds: float = 60.0
    exact: Callable[[Any], ExactLaw] | None = None
    sampler: Callable[[], Sampler] | None = None
    tightened: Callable[[Any, int], Sampler] | None = None
    bare: list[Hashable] | None = None
    rewards: Sequence[Fraction] | None = None
    notes: tuple[str, ...] = ()
    exact_notes: tuple[str, ...] = ()
    drawn_from: Callable[[], dict[str, str | int | None]] = dict
    _dag: PointedDAG[Any] | TooLargeError | None = None

    def dag(self) -> PointedDAG[Any]:
        """The enumerated graph.

        Raises:
            TooLargeError: if it is too large.
        """
        if self._dag is None:
            try:
                self._dag = enumerate_dag(self.problem, self.max_states)
            except TooLargeError as error:
                self._dag = error
        if isinstance(self._dag, TooLargeError):
            raise self._dag
        return self._dag

    def target_law(self) -> Mapping[Hashable, Fraction] | None:
        """`pi(x)` of every terminal state; None if they are too many."""
        try:
            dag = self.dag()
        except TooLargeError:
            return None
        labels = [dag.labels[x] for x in dag.terminals]
        return dict(zip(labels, normalize(enumerate_rewards(self.problem, dag)), strict=True))

    def texts(self) -> StateTexts:
        """How terminal states are written in files of samples."""
        return StateTexts(self.problem, None if self.problem is None else self.target_law())

    @property
    def searches(self) -> bool:
        """Whether `log_z` is searched for with the problem's bounds of what lies below states."""
        known = getattr(self.problem, "log_z", None)
        return not callable(known) and isinstance(self.problem, Bounding)

    def log_z(self) -> Interval | None:
        """What the problem knows of `log Z`; None if nothing."""
        if self.searches:
            return bound_partition(self.problem, seconds=min(10.0, self.seconds)).log_z
        known = getattr(self.problem, "log_z", None)
        if not callable(known):
            return self._summed_log_z()
        try:
            given = called(type(self.problem).__name__, "log_z", known)
        except TooLargeError:
            return self._summed_log_z()
        return log_z_interval(given, f"{type(self.problem).__name__}.log_z()")

    def _summed_log_z(self) -> Interval | None:
        """`log Z` from all rewards, where states can be enumerated though histories may not."""
        rewards = self.rewards
        if rewards is None and self.problem is not None:
            try:
                rewards = enumerate_rewards(self.problem, self.dag())
            except TooLargeError:
                return None
        if rewards is None:
            return None
        total = sum(rewards, start=Fraction(0))
        value = log_float(total)
        # Two logarithms of integers and their difference, each within units of what it is.
        error = 2.0**-49 * (math.log(total.numerator) + math.log(total.denominator) + 1)
        return Interval(value - error, value + error)


def log_z_interval(given: Any, what: str) -> Interval:
    """What contains `log Z`, as a user gives it: a number, two bounds, or an `Enclosure`.

    Raises:
        InputError: if it is none of these, or NaN.
    """
    if hasattr(given, "error"):  # an Enclosure
        error = given.error * (1 + 2.0**-40)
        return Interval(given.value - error, given.value + error)
    two = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and np.ndim(given)
    if two and len(given) != 2:
        raise InputError(f"{what} is {shown(given)}: give a number, or a lower and an upper one")
    low, high = (number_or_infinite(value, what) for value in (given if two else (given, given)))
    if math.isfinite(low) and low > exact(given[0] if two else given, what):
        low = math.nextafter(low, -math.inf)
    if math.isfinite(high) and high < exact(given[1] if two else given, what):
        high = math.nextafter(high, math.inf)
    return Interval(low, high)


def subject_of(
    what: Any,
    problem: Any,
    p_b: Callable[[Any], Any] | None,
    takes: Takes,
    gives: Gives,
    seed: int,
    max_states: int,
    of: int | None,
    seconds: float,
) -> Subject:
    """What is meant by the first argument of `certify`; see there.

    Raises:
        InputError: if it is nothing of the kind, or a problem is missing.
    """
    folder = getattr(what, "folder", what)
    if isinstance(folder, str | Path) and Path(folder).is_dir():
        from pdai.certified_runs import run_subject

        if problem is not None:
            raise InputError(
                f"the run {str(folder)!r} has a problem of its own: leave --problem out"
            )
        if p_b is not None:
            raise InputError("p_b is for functions, and a run has its own: leave it out")
        accepts = getattr(what, "accept_changed", False)
        return run_subject(Path(folder), seed, max_states, of, seconds, accepts)
    if of is not None:
        raise InputError(f"of is {of}, but only a run has several seeds, and {what!r} is none")
    own = None if problem is None else as_problem(problem)
    if isinstance(what, str | Path) and (Path(what).is_file() or Path(what).suffix in FILES):
        return _of_file(Path(what), own, seed, max_states)
    if isinstance(what, Path) or (isinstance(what, str) and ":" not in what):
        raise InputError(
            f"there is no run folder and no file {str(what)!r} here: check the path; a sampler of "
            "your own is named module:Name, such as my_module:policy"
        )
    found = load_object(what, "sampler", "my_module:policy") if isinstance(what, str) else what
    if hasattr(found, "draw"):
        return _of_sampler(found, own, seed, max_states)
    if not callable(found):
        raise InputError(
            f"what is certified is of the type {type(found).__name__}, but must be a run folder, a "
            "function from a state to a row of probabilities, a CSV file of samples, or an object "
            "with draw(count)"
        )
    if own is None:
        raise InputError(
            f"{what!r} gives rows over the children of states, but no problem is given: add "
            "--problem my_module:MyProblem"
        )
    name = what if isinstance(what, str) else getattr(found, "__name__", type(found).__name__)
    return _of_function(name, found, own, p_b, takes, gives, seed, max_states, seconds)


class Drawing:
    """A user's object that draws, whose answers are checked.

    Args:
        made: the object.
    """

    def __init__(self, made: Any):
        self.made = made

    @property
    def rng(self) -> Any:
        """The object's random numbers, if it has any that can be set."""
        return self.made.rng

    @rng.setter
    def rng(self, value: Any) -> None:
        self.made.rng = value

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh, independent trajectories."""
        return self._walks("draw", partial(self.made.draw, labels=labels), count)

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """One trajectory for each terminal state."""
        return self._walks("draw_backward", self.made.draw_backward, terminals)

    def findings(self) -> Sequence[str]:
        """What the object notices."""
        return getattr(self.made, "findings", list)()

    def _walks(self, name: str, function: Callable[..., Any], argument: Any) -> Walks:
        owner = type(self.made).__name__
        walks = called(owner, name, function, argument)
        check_type(owner, f"what {name} gives", walks, Walks)
        return walks  # type: ignore[no-any-return]


def _of_sampler(made: Sampler, problem: Any, seed: int, max_states: int) -> Subject:
    """A sampler that draws; one of another library that is asked for rows is enumerated, too."""
    own = Drawing(made)
    subject = Subject(type(made).__name__, problem, seed, max_states, sampler=lambda: own)
    subject.drawn_from = lambda: {"sampler": digest_of(made), "problem": digest_of(problem)}
    if problem is not None and hasattr(made, "exact"):

        def exact(file: Any) -> ExactLaw:
            if file is not None:
                raise InputError(
                    "a certificate file holds the rows of a run or a function, and these are "
                    "another library's: leave it out"
                )
            dag = subject.dag()
            law: ExactLaw = made.exact(dag, enumerate_rewards(problem, dag), max_states)
            return law

        subject.exact = exact
    return subject


def _of_function(
    name: str,
    policy: Callable[[Any], Any],
    problem: Any,
    p_b: Callable[[Any], Any] | None,
    takes: Takes,
    gives: Gives,
    seed: int,
    max_states: int,
    seconds: float,
) -> Subject:
    rows = ForwardRows(policy, problem, takes, gives)
    subject = Subject(name, problem, seed, max_states, seconds)
    parts = {"sampler": policy, "problem": problem, "p_B": p_b}
    subject.drawn_from = lambda: {name: digest_of(part) for name, part in parts.items()}

    def exact(file: Any) -> ExactLaw:
        dag = subject.dag()
        made = exact_sampler(rows, dag, max_states)
        rewards = enumerate_rewards(problem, dag)
        said = write_file(file, made, rewards, problem, name_of(type(problem)))
        law = exact_law(made.forward, [dag.labels[x] for x in dag.terminals], rewards)
        return law._replace(notes=[*law.notes, *_gaps(rows), *said])

    def backward() -> BackwardRows:
        parents = parents_of(problem)
        try:
            dag = subject.dag()
        except TooLargeError:
            if parents is None:
                raise no_parents(problem) from None
            return BackwardRows(parents, problem, p_b)
        if parents is None:
            index = dag.index
            parents = lambda s: [dag.labels[dag.edges[e][0]] for e in dag.in_edges[index[s]]]  # noqa: E731
        return BackwardRows(parents, problem, p_b, dag)

    subject.exact = exact
    subject.sampler = lambda: Walker(problem, rows, backward(), seed, seconds)
    subject.tightened = lambda walker, steps: reversed_walker(walker, steps, seconds)
    return subject


def _gaps(rows: ForwardRows) -> list[str]:
    if not rows.largest_gap:
        return []
    return [
        f"rows were off from one by {rows.largest_gap:.1e} at most, and were normalised exactly: "
        "certified is the normalised sampler"
    ]


def _of_file(path: Path, problem: Any, seed: int, max_states: int) -> Subject:
    subject = Subject(str(path), problem, seed, max_states)
    record = read_record(path, subject.texts(), tolerant=True)
    if record.numbers is not None:
        recorded = Recorded(record, problem)
        subject.sampler = lambda: recorded
        return subject
    if problem is None:
        raise InputError(f"{str(path)!r} holds bare samples: add --problem my_module:MyProblem")
    subject.bare = record.terminals
    if record.outside:
        some = ", ".join(map(shown, dict.fromkeys(record.outside)))
        subject.notes = (
            f"{len(record.outside):,} of {len(record.terminals):,} samples are no terminal state, "
            f"which the target never gives, such as {plain(some)}",
        )
    return subject
