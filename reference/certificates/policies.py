"""Anybody's sampler: a function that gives the probabilities of children, checked by row."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from reference.certificates.rows import soft_row, unit_row
from reference.errors import InputError

# What a function is called with, and what it answers.
Takes = Literal["state", "states", "history", "histories"]
Gives = Literal["probabilities", "logits"]

# How many rows of states are kept: more would fill the memory.
KEPT = 1_000_000

History = tuple[Hashable, ...]


class Row(NamedTuple):
    """A checked row.

    Attributes:
        others: the children, or the parents, that it is over.
        values: their probabilities, as `unit_row` gives them.
        sums: partial sums of these, in float64.
        logs: their logarithms, in nats.
    """

    others: Sequence[Hashable]
    values: list[float]
    sums: list[float]
    logs: list[float]

    @classmethod
    def of(cls, others: Sequence[Hashable], values: list[float]) -> "Row":
        """The row with its sums and logarithms."""
        sums, total = [], 0.0
        for value in values:
            total += value
            sums.append(total)
        return cls(others, values, sums, [math.log(p) if p > 0 else -math.inf for p in values])


class ForwardRows:
    """The rows of `p_F`, of a function of the state or of the history.

    Args:
        policy: the function.
        problem: whose children the rows are over.
        takes: what it is called with: one state, a list of states, one history (a tuple of states
            from the initial one on) or a list of histories.
        gives: probabilities, which must sum to one up to the rounding of float32, or logits. A row
            is a sequence in the order of `problem.children(state)`, or a mapping from child to
            number, in which absent children have probability zero.
    """

    def __init__(
        self,
        policy: Callable[[Any], Any],
        problem: Any,
        takes: Takes = "state",
        gives: Gives = "probabilities",
    ):
        self.policy, self.problem, self.takes, self.gives = policy, problem, takes, gives
        self.is_markovian = takes in ("state", "states")
        self.largest_gap = 0.0
        self._kept: dict[Hashable, Row] = {}

    def rows(self, histories: Sequence[History]) -> list[Row]:
        """The row at the end of each history.

        Raises:
            InputError: if one is no row of probabilities over the children.
        """
        keys: list[Hashable] = [h[-1] if self.is_markovian else h for h in histories]
        new = [key for key in dict.fromkeys(keys) if key not in self._kept]
        if new:
            if not self.is_markovian or len(self._kept) > KEPT:
                self._kept.clear()
                new = list(dict.fromkeys(keys))
            for key, given in zip(new, self._ask(new), strict=True):
                self._kept[key] = self._row(key, given)
        return [self._kept[key] for key in keys]

    def _ask(self, keys: list[Hashable]) -> list[Any]:
        if self.takes in ("state", "history"):
            return [self.policy(key) for key in keys]
        given = list(self.policy(keys))
        if len(given) != len(keys):
            raise InputError(
                f"the policy gives {len(given)} rows for {len(keys)} {self.takes}: give one each"
            )
        return given

    def _row(self, key: Any, given: Any) -> Row:
        state = key if self.is_markovian else key[-1]
        children = self.problem.children(state)
        if isinstance(given, Mapping):
            absent = 0.0 if self.gives == "probabilities" else -math.inf
            for child in given:
                if child not in children:
                    raise InputError(
                        f"the row of {key!r} has {child!r}, which is not one of its children "
                        f"{list(children)}"
                    )
            numbers = [float(given.get(child, absent)) for child in children]
        else:
            numbers = [float(p) for p in given]
        if len(numbers) != len(children):
            raise InputError(
                f"the row of {key!r} has {len(numbers)} numbers for {len(children)} children: give "
                "one per child, in the order of children(state), or a mapping from child to number"
            )
        if self.gives == "logits":
            return Row.of(children, soft_row(numbers, key))
        values = unit_row(numbers, key)
        self.largest_gap = max(self.largest_gap, abs(math.fsum(numbers) - 1))
        return Row.of(children, values)


class BackwardRows:
    """The rows of `p_B` over the parents of a state: given, or uniform.

    Args:
        parents: the parents of a state.
        problem: of whose `children` it is the inverse, which is checked at every state asked for.
        p_b: a function from a state to a row of probabilities over its parents, a sequence or a
            mapping; None for uniform ones.
    """

    def __init__(
        self,
        parents: Callable[[Any], Sequence[Hashable]],
        problem: Any,
        p_b: Callable[[Any], Any] | None = None,
    ):
        self.parents, self.problem, self.p_b = parents, problem, p_b
        self._kept: dict[Hashable, Row] = {}

    def row(self, state: Hashable) -> Row:
        """The row of a state.

        Raises:
            InputError: if a parent does not have the state as a child, or it is no row of
                probabilities: the mass of `p_B` would not be one.
        """
        if state not in self._kept:
            if len(self._kept) > KEPT:
                self._kept.clear()
            self._kept[state] = self._row(state)
        return self._kept[state]

    def _row(self, state: Hashable) -> Row:
        parents = self.parents(state)
        for parent in parents:
            if state not in self.problem.children(parent):
                raise InputError(
                    f"parents({state!r}) has {parent!r}, of which it is no child, so the mass of "
                    "p_B is not one: fix parents, or children"
                )
        if len(set(parents)) != len(parents) or not parents:
            raise InputError(f"parents({state!r}) is {list(parents)!r}: give each parent once")
        if self.p_b is None:
            return Row.of(parents, unit_row([1 / len(parents)] * len(parents), state))
        given = self.p_b(state)
        named = dict(zip(parents, given, strict=False)) if not isinstance(given, Mapping) else given
        if len(named) != len(given) or not set(named) <= set(parents):
            raise InputError(
                f"the row of p_B at {state!r} is over {list(named)!r}, but its parents are "
                f"{list(parents)!r}: give one probability per parent"
            )
        row = [float(named.get(parent, 0.0)) for parent in parents]
        return Row.of(parents, unit_row(row, f"p_B at {state!r}"))
