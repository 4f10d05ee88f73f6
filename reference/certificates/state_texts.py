"""Terminal states as text, as in a CSV file."""

import ast
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from random import Random
from typing import Any

import numpy as np

from reference.contract.errors import InputError, check_hashable, plain, shown
from reference.contract.tables import Cell, list_text
from reference.contract.user_code import called
from reference.problems.base import is_ours
from reference.problems.enumeration import AskedProblem, Growth, parts_of
from reference.rows.functions import WaysBack

# If states are not listed: the number of random walks that show the kinds of their parts, and the
# number of states of a target that are followed back to the initial state.
WALKS, FOLLOWED = 100, 1_000


# No tuple, as an empty one would equal the state `()`.
@dataclass(frozen=True, repr=False)
class Outside:
    """A text that is no terminal state of the problem; its target probability is 0."""

    def __repr__(self) -> str:
        return "what is no terminal state"


class OutsideError(InputError):
    """A text that is a state of the problem's type, but not a terminal state."""


class StateTexts:
    """A reader of texts as terminal states of a problem; without one, texts are left as they are.

    A problem's `parse(text)` comes first. Without it, a text is a listed state's `repr` or `str`.
    If states are not listed, the type of the initial state decides: a string is taken as it is, and
    another state must be exactly the text that `repr` writes, so that `001` is no integer. A tuple
    of texts is a state whose parts are written so.
    """

    def __init__(self, problem: Any, terminals: Iterable[Hashable] | None = None):
        self._problem, self._name = problem, type(problem).__name__
        self._parse = getattr(problem, "parse", None)
        self.excluded = getattr(problem, "excluded", ()) if is_ours(problem) else ()
        self._terminals = None if terminals is None else dict.fromkeys(terminals)
        self._read: dict[Cell, Hashable] = {}
        self._written: dict[Cell, list[Hashable]] = {}
        for x in (listed := self._terminals or {}):
            written: set[Cell] = {repr(x), str(x)} if self._parse is None else set()
            if isinstance(x, tuple) and len(x) > 1:
                written.add(tuple(map(str, x)))
            # A law may spell a list as the lines of JSON do, which are read as tuples.
            if isinstance(x, str) and (spelled := list_text(x)) and spelled not in listed:
                written.add(spelled)
            for text in written:
                self._written.setdefault(text, []).append(x)

    @property
    def listed(self) -> bool:
        """True if all terminal states are known."""
        return self._terminals is not None

    def read(self, text: Cell) -> Hashable:
        """The terminal state of a text, or of a tuple of those of its parts.

        Raises OutsideError if it is a state that is not terminal, InputError if it is none or two.
        """
        if text not in self._read:
            self._read[text] = text if self._problem is None else self._state(text)
        return self._read[text]

    def check(self, states: Iterable[Hashable], owner: str) -> None:
        """Checks samples of a target or sampler, where terminal states are not listed.

        Raises InputError, with whose they are, if one is of another type than the initial state, by
        which texts are read, is not terminal, or is not reached, as far as `parents(state)` shows.
        """
        kind = _kind(self._problem.initial)
        for state in states:
            check_hashable(owner, state)
            if self._parse is None and _kind(state) != kind:
                raise InputError(
                    f"{owner} has {shown(state)}, a {type(state).__name__}, but states are "
                    f"read as the initial state {shown(self._problem.initial)} of {self._name}: "
                    f"write them as that, or give {self._name} a parse(text)"
                )
        ways = WaysBack(self._problem)
        for number, state in enumerate(dict.fromkeys(states)):
            self._terminal(str(state), state)
            if number < FOLLOWED:
                ways.check(state, owner)

    @cached_property
    def _kinds(self) -> set[str]:
        """The kinds of the parts of terminal states, where they are not listed."""
        graph, rng = AskedProblem[Any](self._problem), Random(0)
        growth, kinds = Growth(self._name, 60.0), set[str]()
        for _ in range(WALKS):
            kinds |= _kinds_of(graph.random_walk(rng, growth)[-1])
        return kinds

    def _state(self, text: Cell) -> Hashable:
        states = self._written.get(text, [])
        if len(states) == 1:
            return states[0]
        if states:
            either = " or ".join(f"{shown(x)}, a {type(x).__name__}," for x in states[:2])
            raise InputError(
                f"the sample {shown(text)} may be {either} of {self._name}: give it a parse(text), "
                "such as ast.literal_eval, and write states as repr does"
            )
        if isinstance(text, tuple):
            if self._terminals is not None:
                raise OutsideError(self._none(text))
            text = f"({', '.join(text)})"
        if self._parse is None:
            return self._terminal(text, self._literal(text))
        state: Hashable = called(self._name, "parse", self._parse, text)
        check_hashable(f"{self._name}: parse({shown(text)})", state)
        return self._terminal(text, state)

    def _literal(self, text: str) -> Hashable:
        """A text as a state of the type of the initial one."""
        kind, value = type(self._problem.initial), None
        # A string as repr writes it would be read as another string.
        quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
        if kind is str and not quoted and (self.listed or text == text.strip()):
            return text
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            value = ast.literal_eval(text)
        if kind is not str and type(value) is kind and repr(value) == text:
            check_hashable("a sample", value)
            return value
        if self._terminals is not None:
            raise InputError(self._none(text))
        rules = dict.fromkeys((int, float, tuple), "write states as repr does, or ")
        plain_text = "write states without quotes or spaces around them, or "
        rule = plain_text if kind is str else rules.get(kind, "")
        raise InputError(
            f"the sample {shown(text)} is no state of {self._name}, whose initial state is "
            f"{shown(self._problem.initial)}: {rule}give {self._name} a parse(text)"
        )

    def _none(self, text: Cell) -> str:
        some = next(iter(self._terminals or ()))
        is_theirs = self._parse is None and not is_ours(self._problem)
        parse = f", or give {self._name} a parse(text)" if is_theirs else ""
        if isinstance(some, tuple) and (isinstance(text, tuple) or "," in text):
            parse += "; a column for each part is named in the first line, and by --columns"
        return (
            f"the sample {shown(text)} is none of the problem's {len(self._terminals or ()):,} "
            f"terminal states: write them as the problem does, such as {plain(some)}{parse}"
        )

    def _terminal(self, text: str, state: Hashable) -> Hashable:
        if self._terminals is not None:
            if state not in self._terminals:
                raise OutsideError(self._none(text))
        elif len(called(self._name, "children", self._problem.children, state)):
            raise OutsideError(
                f"the sample {shown(text)} is not terminal in {self._name}: give the ends of "
                "trajectories"
            )
        elif other := _kinds_of(state) - self._kinds:
            raise InputError(
                f"the sample {shown(state)} has {' and '.join(sorted(other))} in it, but the "
                f"states that {WALKS} random walks in {self._name} reach have "
                f"{' and '.join(sorted(self._kinds))}: write them as the problem does"
            )
        return state


def _kind(state: Any) -> str:
    """The kind of a state; equal numbers of two kinds are one."""
    if isinstance(state, Number | np.bool_):
        return "numbers"
    kind = next((base.__name__ for base in (str, bytes) if isinstance(state, base)), None)
    return kind or type(state).__name__


def _kinds_of(state: Any) -> set[str]:
    """The kinds of a state and of all parts of it."""
    return {_kind(state)}.union(*map(_kinds_of, parts_of(state)))
