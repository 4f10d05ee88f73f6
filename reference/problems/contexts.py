"""Conditional problems: one state graph, with a reward for each of several contexts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from reference.errors import InputError, check_takes, no_such, shown
from reference.problems.base import check_members
from reference.user_code import Of, called, feature

# Members that are the same in all contexts, and methods whose last argument is the context.
SHARED = ("children", "parents", "features", "quantities", "parse")
BY_CONTEXT = ("reward", "log_reward", "log_z", "log_mass_bound", "sample")


@dataclass(frozen=True, eq=False)
class InContext:
    """A conditional problem in one of its contexts: an ordinary problem.

    The problem has `contexts` and `reward(terminal, context)` or `log_reward(terminal, context)`.
    Networks see the context's features, its `code`, after those of a state; one of `held_out` is
    judged and not trained on.
    """

    conditional: Any
    context: Any
    code: tuple[float, ...]
    is_held_out: bool = False

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __post_init__(self) -> None:
        # Set, as `isinstance` of a protocol asks no `__getattr__` from Python 3.12 on.
        for name in SHARED:
            if hasattr(self.conditional, name):
                object.__setattr__(self, name, getattr(self.conditional, name))
        for name in BY_CONTEXT:
            if hasattr(self.conditional, name):
                method = _Within(getattr(self.conditional, name), self.context)
                object.__setattr__(self, name, method)

    @property
    def initial(self) -> Any:
        """`s_o`."""
        return self.conditional.initial


class _Within(NamedTuple):
    """A method whose last argument is a context."""

    method: Callable[..., Any]
    context: Any

    def __call__(self, *arguments: Any) -> Any:
        return self.method(*arguments, self.context)


def is_conditional(problem: object) -> bool:
    """True of a problem with contexts, of which none is chosen yet."""
    return hasattr(problem, "contexts")


def contexts_of(problem: Any) -> dict[str, InContext]:
    """A conditional problem in each of its contexts, by name; those held out of training come last.

    The name of a context is its text. Its features are the result of `context_features(context)`;
    without that method a number, or a tuple of numbers, stands for itself, and any others are
    one-hot. The problem has `contexts`, and perhaps `held_out`. Raises InputError if there are
    none, or two of one name, their features are not equally many numbers, or the reward takes none.
    """
    kind = type(problem).__name__
    trained, others = (_listed(kind, name, problem) for name in ("contexts", "held_out"))
    if not trained:
        raise InputError(f"{kind}: contexts is empty, but training needs one: list some")
    every = (*trained, *others)
    names = [*map(str, every)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(
            f"{kind}: two contexts have the name {twice!r}, but names choose contexts: leave one "
            "out, or give them different texts"
        )
    codes = _codes(kind, problem, trained, others)
    chosen = {
        name: InContext(problem, context, code, is_held_out=number >= len(trained))
        for number, (name, context, code) in enumerate(zip(names, every, codes, strict=True))
    }
    check_members(chosen[names[0]])
    for member in ("reward", "log_reward"):
        if hasattr(problem, member):
            check_takes(f"{kind}: {member}, with a context,", getattr(problem, member), 2)
    return chosen


def in_context(problem: Any, name: str) -> Any:
    """A conditional problem in the context of a name; any problem as it is for the name "".

    Raises InputError if the problem has no such context, or none at all.
    """
    if not name:
        return problem
    if not is_conditional(problem):
        raise InputError(
            f"context is {name!r}, but {type(problem).__name__} is no conditional problem: leave "
            "it out, or give the problem contexts and reward(terminal, context)"
        )
    every = contexts_of(problem)
    if name not in every:
        raise InputError(no_such(f"context of {type(problem).__name__}", name, every))
    return every[name]


def _listed(kind: str, name: str, problem: Any) -> tuple[Any, ...]:
    """The contexts of a member, in their order."""
    contexts = getattr(problem, name, ())
    if not isinstance(contexts, Sequence) or isinstance(contexts, str | bytes):
        raise InputError(
            f"{kind}: {name} is {shown(contexts)}, but must be a tuple of contexts, in an order "
            "that is the same in every process"
        )
    return tuple(contexts)


def _codes(
    kind: str, problem: Any, trained: Sequence[Any], others: Sequence[Any]
) -> list[tuple[float, ...]]:
    """The features of all contexts."""
    every = [*trained, *others]
    if hasattr(problem, "context_features"):
        answers = [
            called(kind, "context_features", problem.context_features, each) for each in every
        ]
    elif all(_is_numbers(each) for each in every):
        answers = [each if isinstance(each, Sequence) else [each] for each in every]
    elif others:
        raise InputError(
            f"{kind}: held_out is {shown(others)}, but nothing is learned about contexts without "
            "numbers that are not trained on: add context_features(context), or leave held_out out"
        )
    else:
        answers = [[float(i == j) for j in range(len(every))] for i in range(len(every))]
    codes = [
        tuple(feature(entry, Of("a feature of the context", each)) for entry in answer)
        for each, answer in zip(every, answers, strict=True)
    ]
    if len({*map(len, codes)}) > 1 or not codes[0]:
        raise InputError(
            f"{kind}: the contexts {shown(every)} have the features {shown(codes)}, but must have "
            "equally many numbers, at least one: pad or cut them"
        )
    return codes


def _is_numbers(context: Any) -> bool:
    entries = context if isinstance(context, Sequence) else [context]
    return all(not isinstance(x, str | bytes) and hasattr(x, "__float__") for x in entries)
