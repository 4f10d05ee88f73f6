"""Policies with coarse observations of the state, with or without memory of earlier ones.

With the states of one observation alike, the Markovian policies are `TiedPolicies`: actions of one
name, at states that look alike, have the same weight, and illegal actions at a state are left out
of its row, as by a mask. With memory, a policy sees the observations of the path so far: one class
for each such history and action. It sees which actions it took only if that is asked for.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple

from reference.contract.errors import InputError, check_integer, shown
from reference.expressivity.aliasing import TiedPolicies
from reference.problems import Cell, Problem, enumerate_dag, exact_reward
from reference.problems.random_walk import Walker

Observation = Callable[[Any], Hashable]


def block_of_cell(cell: Cell, width: int) -> Hashable:
    """The coordinates of a grid cell, divided by `width` and rounded down."""
    return tuple(x // width for x in cell.coordinates)


def end_of_string(string: str, last: int, word: int = 1) -> Hashable:
    """The length of a string, and its last words.

    Args:
        string: the string.
        last: the number of words.
        word: the letters of a word.
    """
    return len(string), string[max(len(string) - last * word, 0) :]


@singledispatch
def action(child: Any, parent: Any) -> Hashable:
    """The name of the action from a state to the next, the same at all states; or an InputError."""
    raise InputError(
        f"the action from {shown(parent)} to {shown(child)} has no name: give states of a grid, of "
        "a lazy random walk, or strings"
    )


@action.register
def _(child: Cell, parent: Cell) -> Hashable:
    moved = tuple(b - a for a, b in zip(parent.coordinates, child.coordinates, strict=True))
    return "stop" if child.stopped else moved


@action.register
def _(child: Walker, parent: Walker) -> Hashable:
    return tuple(b - a for a, b in zip(parent.position, child.position, strict=True))


@action.register
def _(child: str, parent: str) -> Hashable:
    # If both ends give the same string, the one edge is named as an appended letter.
    if child.startswith(parent):
        return "append", child[len(parent) :]
    return "prepend", child[: len(child) - len(parent)]


class Remembered(NamedTuple):
    """A state that is not terminal, with what was seen on the path, its own observation last."""

    state: Any
    seen: tuple[Hashable, ...]


@dataclass(frozen=True)
class WithMemory:
    """A problem whose inner states remember observations, and perhaps actions, of their paths."""

    problem: Problem[Any]
    observe: Observation
    actions: bool = False

    @property
    def initial(self) -> Remembered:
        """The initial state, with its observation."""
        return Remembered(self.problem.initial, (self.observe(self.problem.initial),))

    def children(self, state: Any) -> tuple[Any, ...]:
        """The children of the old state, which remember its observations."""
        if not isinstance(state, Remembered):
            return ()

        def taken(child: Any) -> tuple[Hashable, ...]:
            return (action(child, state.state),) if self.actions else ()

        return tuple(
            Remembered(child, (*state.seen, *taken(child), self.observe(child)))
            if self.problem.children(child)
            else child
            for child in self.problem.children(state.state)
        )

    def reward(self, terminal: Any) -> Fraction:
        """The old reward."""
        return exact_reward(self.problem, terminal)


def tied_policies(
    problem: Problem[Any],
    observe: Observation,
    memory: bool = False,
    max_states: int = 100_000,
    actions: bool = False,
) -> TiedPolicies:
    """The policies that see `observe(state)`, or with memory its list along the path.

    Args:
        problem: a grid, a lazy random walk or strings.
        observe: the function of a state that a policy sees.
        memory: whether it sees those of earlier states too.
        max_states: the most states, or pairs of a state and its observations.
        actions: whether a policy with memory sees its earlier actions too.

    Raises:
        TooLargeError: if there are more.
    """
    check_integer("tied_policies", "max_states", max_states, 1)
    seen_from = WithMemory(problem, observe, actions) if memory else problem
    dag = enumerate_dag(seen_from, max_states)
    number: dict[Hashable, int] = {}
    classes = []
    for u, v in dag.edges:
        parent, child = dag.labels[u], dag.labels[v]
        seen = parent.seen if memory else observe(parent)
        if memory:
            parent, child = parent.state, child.state if isinstance(child, Remembered) else child
        classes.append(number.setdefault((seen, action(child, parent)), len(number)))
    return TiedPolicies(dag, tuple(classes))
