"""Rows of probabilities by a user's function, each checked."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from reference.contract.errors import InputError, check_sequence, plain, shown
from reference.contract.text import at_most
from reference.contract.user_code import (
    ASKED_AGAIN,
    NORMAL,
    Asked,
    Of,
    are_rational,
    asked_again,
    called,
    exact_or_infinite,
    has_no_order,
    number_or_infinite,
    same_states,
)
from reference.dag import PointedDAG
from reference.problems.enumeration import LONG, AskedProblem, Growth, met_again
from reference.rows.exact import (
    FLOAT32,
    ExactSampler,
    choose,
    exact_row,
    exact_sampler,
    soft_row,
    unit_row,
)

Number = TypeVar("Number")

# The kinds of arguments and of results of a user's function.
Takes = Literal["state", "states", "history", "histories"]
Gives = Literal["probabilities", "logits"]

# The number of rows that are kept in memory, and of states or histories per call.
KEPT, BATCH = 1_000_000, 4_096

# The largest difference of probabilities between batches: matrix products of another size round
# differently, by 2^-11 of a logit in TF32. Dropout changes far more.
BATCH_ROUNDING = 2.0**-9

History = tuple[Hashable, ...]
# The note that says which floats were read; and rows of floats, in words.
FLOATS = "read as, or rounded to, the rational numbers that float64 has: {}"
LOGITS = "rows, the soft-max of logits"


class Row(NamedTuple):
    """A checked row over children or parents, with its partial sums and its logarithms.

    Probabilities given as rational numbers are in `rational`, and the floats next to them in
    `values`; other rows are floats, and closed.
    """

    others: Sequence[Hashable]
    values: list[float]
    sums: list[float]
    logs: list[float]
    rational: Sequence[Fraction] | None = None

    @classmethod
    def of(
        cls, others: Sequence[Any], values: list[float], rational: Sequence[Fraction] | None = None
    ) -> "Row":
        """The row with its sums and logarithms.

        Args:
            others: children or parents.
            values: the floats of a closed row, or those next to `rational`.
            rational: the probabilities, if they were given as rational numbers.
        """
        logs = [_log(p) if p > 0 else -math.inf for p in rational or values]
        return cls(others, values, [*accumulate(values)], logs, rational)

    @classmethod
    def read(cls, others: Sequence[Hashable], answer: Any, what: Of) -> tuple["Row", float]:
        """The row of a user's probabilities, and the largest change of one.

        Args:
            others: children or parents.
            answer: a number for each, in a sequence or a mapping.
            what: its name in messages.

        Raises:
            InputError: if they are no probabilities, or rational, and do not sum to exactly one.
        """
        numbers = _numbers(answer, others, 0, what, exact_or_infinite)
        if not are_rational(numbers):
            floats = [number_or_infinite(p, what) for p in numbers]
            values = unit_row(floats, what)
            largest = values.index(max(values))
            # Of the exact row, whose largest number is one minus the others.
            left = math.fsum([1.0, values[largest], -floats[largest], *(-p for p in values)])
            changes = [abs(p - q) for p, q in zip(values, floats, strict=True)]
            changes[largest] = abs(left)
            return cls.of(others, values), max(changes)
        rational = [Fraction(p) for p in numbers]
        total = sum(rational, start=Fraction(0))
        if min(rational) < 0 or total != 1:
            raise InputError(
                f"{what} is {plain(', '.join(map(str, rational)))}, and sums to {plain(total)}: "
                "rational numbers must be at least 0 and sum to exactly 1; correct it, or give "
                "floats, which are normalised"
            )
        return cls.of(others, [*map(float, rational)], rational), 0.0

    @property
    def exact(self) -> Sequence[Fraction]:
        """The exact probabilities, with the sum one."""
        return self.rational or exact_row(self.values)

    def draw(self, rng: np.random.Generator) -> int:
        """The number of a child or parent, drawn with its exact probability."""
        return choose(self.values, self.sums, rng, self.rational)

    def __repr__(self) -> str:
        return repr(dict(zip(self.others, self.values, strict=True)))

    def near(self, other: "Row") -> bool:
        """True if another row equals this one, up to the rounding of another batch.

        Equal states may list their children in other orders, as sets do.
        """
        row = dict(zip(self.others, self.values, strict=True))
        pairs = zip(other.others, other.values, strict=True)
        return all(abs(row.get(child, math.inf) - p) <= BATCH_ROUNDING for child, p in pairs)


def _log(p: float | Fraction) -> float:
    """The logarithm of a probability, also of one below the range of floats."""
    if p >= NORMAL or isinstance(p, float):
        return math.log(p)
    shift = p.denominator.bit_length() - p.numerator.bit_length()
    return math.log(p * 2**shift) - shift * math.log(2)


class ForwardRows:
    """The rows of `p_F`, by a function of the state or of the history.

    It `takes` one state, a list of states, one history (a tuple of states from the initial one on)
    or a list of histories, and `gives` probabilities, which must sum to one, floats up to the
    rounding of float32, or logits. A row is a sequence in the order of `problem.children(state)`,
    or a mapping from child to number, in which absent children have probability zero.
    """

    def __init__(
        self,
        policy: Callable[[Any], Any],
        problem: Any,
        takes: Takes = "state",
        gives: Gives = "probabilities",
    ):
        self.graph: AskedProblem[Any] = AskedProblem(problem)
        self.takes, self.gives = takes, gives
        self.is_markovian = takes in ("state", "states")
        # The largest change of a float; None where all rows are rational.
        self.largest_change: float | None = None
        # For logits: whether rows are probabilities themselves, where that makes a difference.
        self._are_rows = set[bool]()
        self._kept: dict[Hashable, Row] = {}
        self._name = getattr(policy, "__name__", type(policy).__name__)
        self._one = Asked("the sampler", self._name, policy, self._row)
        self._many = policy
        self._first: list[tuple[Any, Row]] = []

    def rows(self, histories: Sequence[History]) -> list[Row]:
        """The row at the end of each history; InputError if one is no row over the children."""
        keys: list[Hashable] = [h[-1] if self.is_markovian else h for h in histories]
        new = [key for key in dict.fromkeys(keys) if key not in self._kept]
        if new:
            if not self.is_markovian or len(self._kept) > KEPT:
                self._kept.clear()
                new = list(dict.fromkeys(keys))
            for key, row in zip(new, self._ask(new), strict=True):
                self._kept[key] = row
        return [self._kept[key] for key in keys]

    def ask_again(self) -> None:
        """Asks for the first hundred rows, and their children, again in another order.

        Rows of many states are asked for in other batches too, on which a row must not depend, as
        it does in training mode. Raises InputError if a row differs.
        """
        self.graph.ask_again()
        self._one.ask_again()
        for some in (self._first[::-2], self._first[-2::-2]):
            for (key, first), row in zip(some, self._batch([key for key, _ in some]), strict=True):
                if not first.near(row):
                    call = f"the sampler: the row of {shown(key)} that {self._name} gives"
                    raise asked_again(call, first, row)

    def exact(self, dag: PointedDAG[Any], max_nodes: int) -> ExactSampler:
        """The rows on every state, or on every history, of an enumerated problem.

        Raises TooLargeError if there are more than `max_nodes` of these, InputError if a row is no
        row of probabilities, or equal states have other rows.
        """

        def read(paths: list[list[int]]) -> Iterator[list[Fraction]]:
            for start in range(0, len(paths), BATCH):
                part = paths[start : start + BATCH]
                histories = [tuple(map(dag.labels.__getitem__, path)) for path in part]
                for path, row in zip(part, self.rows(histories), strict=True):
                    # Made once, as closing a row of floats takes all of its numbers.
                    exact = dict(zip(row.others, row.exact, strict=True))
                    yield [exact[dag.labels[child]] for child in dag.children[path[-1]]]

        sampler = exact_sampler(dag, read, max_nodes, is_markovian=self.is_markovian)
        self.ask_again()
        if self.is_markovian:
            for node, other in met_again(self.graph, dag):
                if not dag.children[node]:
                    continue
                state = dag.labels[node]
                (first,), (second,) = self.rows([(state,)]), self._ask([other])
                if not first.near(second):
                    raise InputError(
                        f"{self._name} gives {shown(first)} at {shown(state)} and {shown(second)} "
                        f"at {shown(other)}, which are equal: equal states are one, so let __eq__ "
                        "and __hash__ compare all that it reads, or certify a function of the "
                        "history (takes='history')"
                    )
        return sampler

    def floats(self) -> str:
        """The floats among the rows, in words; "" where all rows are rational.

        Raises InputError if logits are probabilities.
        """
        if self._are_rows == {True}:
            raise InputError(
                f"{self._name} gives logits, but each of its rows is at least 0 and sums to 1, as "
                "probabilities do: leave gives='logits' out, or shift the logits if they are meant"
            )
        if self.gives == "logits":
            return LOGITS
        if self.largest_change is None:
            return ""
        return f"rows, each changed by at most {at_most(self.largest_change)} to sum to one"

    def _ask(self, keys: list[Hashable]) -> list[Row]:
        if self.takes in ("state", "history"):
            return [self._one(key) for key in keys]
        rows = self._batch(keys)
        self._first += zip(keys[: ASKED_AGAIN - len(self._first)], rows, strict=False)
        return rows

    def _batch(self, keys: list[Hashable]) -> list[Row]:
        answer = called("the sampler", self._name, self._many, keys) if keys else []
        if not hasattr(answer, "__len__") or len(answer) != len(keys) or has_no_order(answer):
            raise InputError(
                f"the policy gives {shown(answer)} for {len(keys)} {self.takes}: give one row "
                f"each, in a sequence in the order of the {self.takes}"
            )
        return [self._row(row, key) for row, key in zip(answer, keys, strict=True)]

    def _row(self, given: Any, key: Any) -> Row:
        children = self.graph.children(key if self.is_markovian else key[-1])
        what = Of("the row", key)
        if self.gives == "logits":
            numbers = _numbers(given, children, -math.inf, what, number_or_infinite)
            soft = Row.of(children, soft_row(numbers, what))
            # An even row means the same, and an indicator may be meant.
            if min(numbers) < max(numbers) and not {0.0, 1.0} >= {*numbers}:
                gap = abs(math.fsum(numbers) - 1)
                self._are_rows.add(min(numbers) >= 0 and gap <= FLOAT32 * (len(numbers) + 2))
            return soft
        row, change = Row.read(children, given, what)
        if row.rational is None:
            self.largest_change = max(self.largest_change or 0.0, change)
        return row


def _numbers(
    answer: Any, others: Sequence[Any], absent: float, what: Of, read: Callable[[Any, Of], Number]
) -> list[Number]:
    """The numbers of a user's row; raises InputError unless there is one for each state."""
    if callable(getattr(answer, "items", None)):
        # A row of pandas is a mapping, whose labels may repeat.
        pairs = list(answer.items())
        row = dict(pairs)
        strange = [other for other in row if other not in others]
        if len(row) != len(pairs):
            raise InputError(f"{what} has a state twice among {shown([x for x, _ in pairs])}")
        if strange:
            raise InputError(f"{what} is over {shown(strange[0])}, which is none of {others}")
        answer = [row.get(other, absent) for other in others]
    # JAX has an __iter__ also where there is no axis.
    is_scalar = getattr(answer, "ndim", 1) == 0 or not isinstance(answer, Iterable)
    if is_scalar or has_no_order(answer):
        raise InputError(
            f"{what} is {shown(answer)}, a {type(answer).__name__}, but must be a sequence of "
            "numbers or a mapping to them, which say whose each is: a set has no order"
        )
    numbers = list(answer)
    if len(numbers) != len(others):
        raise InputError(
            f"{what} has {len(numbers)} numbers for {len(others)} states: give one per state, in "
            "the order of children(state) or parents(state), or a mapping from state to number"
        )
    return [read(number, what) for number in numbers]


def parents_of(problem: Any) -> Callable[[Any], Sequence[Hashable]] | None:
    """The parents of states as the problem itself gives them; None if it does not."""
    parents = getattr(problem, "parents", None)
    return parents if callable(parents) else None


class WaysBack:
    """The ways of states of a problem with `parents` back to the initial one, by first parents."""

    def __init__(self, problem: Any):
        self._graph, self._parents = AskedProblem[Any](problem), parents_of(problem)
        self._seen: set[Hashable] = {problem.initial}

    def check(self, state: Hashable, owner: str) -> None:
        """Checks that a state is reached, as far as parents show; raises InputError if not."""
        if self._parents is None:
            return
        name, path = self._graph.name, [state]
        growth = Growth(f"{name}, by its parents", 60.0)
        try:
            while path[-1] not in self._seen:
                path.append(self._first(path[-1]))
                if len(path) > LONG:
                    growth.check(len(path), path[-1], path)
        except InputError as error:
            raise InputError(
                f"{owner} has {shown(state)}, which is not reached in {name}: {error}"
            ) from None
        self._seen.update(path)

    def _first(self, state: Hashable) -> Hashable:
        before = called(self._graph.name, "parents", self._parents, state)  # type: ignore[arg-type]
        check_sequence(self._graph.name, what := f"parents({shown(state)})", before)
        if not len(before) or state not in self._graph.children(before[0]):
            raise InputError(f"{what} is {shown(before)}, but must be states that lead to it")
        return before[0]


class BackwardRows:
    """The rows of `p_B` over the parents of a state: by a function, or uniform.

    The problem's `children` must agree with the parents at every requested state. `p_b` gives a row
    of probabilities over these, a sequence or a mapping. The parents of a problem without
    `parents(state)` are taken from the enumerated graph, if any, and other parents must be those in
    it. Raises InputError if the problem has no `parents(state)`, and no graph is given.
    """

    def __init__(
        self,
        problem: Any,
        p_b: Callable[[Any], Any] | None = None,
        dag: PointedDAG[Any] | None = None,
    ):
        parents = parents_of(problem) or (None if dag is None else self._in_graph)
        if parents is None:
            raise InputError(
                f"{type(problem).__name__} is too large to enumerate and has no "
                "parents(state), which p_B needs: give it that method, the states one step before "
                "(in a tree, a single one)"
            )
        self.graph: AskedProblem[Any] = AskedProblem(problem)
        self.parents = Asked(self.graph.name, "parents", parents, self._parents, same_states)
        self.p_b = None if p_b is None else Asked("the sampler", "p_b", p_b, self._given)
        self.dag: Any = dag
        self._kept: dict[Hashable, Row] = {}

    def row(self, state: Hashable) -> Row:
        """The row of a state.

        Raises InputError if the mass of `p_B` is not one: a parent does not have the state as a
        child, or is not reached, or the numbers are no probabilities.
        """
        if state not in self._kept:
            if len(self._kept) > KEPT:
                self._kept.clear()
            if self.p_b is None:
                count = len(self.parents(state))
                self._kept[state] = self._given([Fraction(1, count)] * count, state)
            else:
                self._kept[state] = self.p_b(state)
        return self._kept[state]

    def ask_again(self) -> None:
        """Repeats the first hundred calls of the user's functions, as `Asked.ask_again`."""
        self.graph.ask_again()
        self.parents.ask_again()
        if self.p_b is not None:
            self.p_b.ask_again()

    def _given(self, given: Any, state: Hashable) -> Row:
        return Row.read(self.parents(state), given, Of("the row of p_B", state))[0]

    def _in_graph(self, state: Hashable) -> list[Hashable]:
        edges = self.dag.in_edges[self.dag.index[state]]
        return [self.dag.labels[self.dag.edges[edge][0]] for edge in edges]

    def _parents(self, given: Any, state: Hashable) -> tuple[Hashable, ...]:
        check_sequence(self.graph.name, f"parents({shown(state)})", given)
        parents = tuple(given)
        for parent in parents:
            if state not in self.graph.children(parent):
                raise InputError(
                    f"parents({shown(state)}) has {shown(parent)}, which does not have it as a "
                    "child, so the mass of p_B is not one: fix parents, or children"
                )
        if len(set(parents)) != len(parents) or not parents:
            raise InputError(f"parents({shown(state)}) is {parents!r}: give each parent once")
        is_met = self.dag is not None and state in self.dag.index
        if is_met and (odd := {*self._in_graph(state)} ^ {*parents}):
            raise InputError(
                f"parents({shown(state)}) is {parents!r}, but the states before it that are "
                f"reached from the initial one are others, as {shown(min(odd, key=repr))} shows: "
                "the mass of p_B is not one; fix parents"
            )
        return parents
