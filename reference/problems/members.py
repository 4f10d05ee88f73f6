"""A user's problem, by its name, as its class or as an object: its members are looked at."""

import inspect
from functools import cached_property
from types import FunctionType
from typing import Any

from reference.contract.errors import InputError, check_hashable, check_takes
from reference.contract.loading import load_object
from reference.contract.user_code import asked_again, called, same_states

# What defines a target; and what is said of it, each with the methods that it may be made of.
DEFINING = ("initial", "children", "reward", "log_reward")
SAID = {"log_z": ("z", "law"), "sample": ("law",), "quantity_means": (), "log_mass_bound": ()}
# Methods that neither is made of.
ASIDE = {*SAID, "z", "law", "parents", "quantities", "indicators", "mode", "best", "parse"}
# How often the initial state is asked for: one of two at random is the same with 2^-19.
SAME = 20


def as_problem(problem: Any) -> Any:
    """A problem given as an object, as its class or by name.

    A class is called without arguments, and so is a function that `module:Name` names. Raises
    InputError if there is no such module or name, it cannot be called without arguments or raises,
    or the result lacks a member of `Problem` or has one too many.
    """
    made, is_named = problem, isinstance(problem, str)
    if is_named:
        example = "reference.problems:Grid.minimal, or my_module:MyProblem"
        made = load_object(problem, "problem", example)
    makes = is_named and callable(made) and not hasattr(made, "children")
    if makes or isinstance(made, type):
        spec = problem if is_named else problem.__name__
        try:
            inspect.signature(made).bind()
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{spec!r} cannot be called without arguments ({error}): name a preset such as "
                "Grid.minimal, or a function that returns the instance"
            ) from None
        made = called("the constructor", spec, made)
    try:
        check_members(made)
        _check_inherited(made)
        return made
    except InputError as error:
        raise InputError(f"{problem!r}: {error}" if is_named else str(error)) from None


def check_members(problem: object, *, with_reward: bool = True) -> None:
    """Checks that an object has the members of a problem; a state graph alone has no reward.

    Raises InputError if it lacks a member, or has both `reward` and `log_reward`.
    """
    kind = type(problem).__name__
    if isinstance(problem, type):
        raise InputError(
            f"{problem.__name__} is a class, but must be a problem: make one, {problem.__name__}()"
        )
    has = "a problem has initial, children(state) and reward(terminal) or log_reward(terminal)"
    for member in ("initial", "children"):
        if not called(kind, member, lambda: hasattr(problem, member)):  # noqa: B023
            raise InputError(f"an object of type {kind} has no member {member!r}: {has}")
    rules = [name for name in ("reward", "log_reward") if hasattr(problem, name)]
    if with_reward and not rules:
        raise InputError(f"an object of type {kind} has no member 'reward': {has}")
    if len(rules) == 2:
        raise InputError(
            f"an object of type {kind} has both reward and log_reward, which might disagree: keep "
            "one"
        )
    asked: Any = problem
    first, *others = called(kind, "initial", lambda: [asked.initial for _ in range(SAME)])
    if inspect.ismethod(first):
        raise InputError(
            f"{kind}: initial is a method, but must be the initial state itself: make it an "
            "attribute or a property"
        )
    for member in ("children", *rules):
        check_takes(f"{kind}: {member}", getattr(problem, member), 1)
    check_hashable("the initial state", first)
    if not same_states([first] * len(others), others):
        again = next((other for other in others if other != first), others[0])
        raise asked_again(f"{kind}: initial", first, again)


def _check_inherited(problem: Any) -> None:
    """Checks that a user's subclass of a problem here inherits nothing that is of another target.

    Raises:
        InputError: if it changes the target, or a method that it may be made of, and not what is
            said of it.
    """
    kind = type(problem)
    ours = [base for base in kind.__mro__ if base.__module__.startswith("reference.")]
    own = {name for base in kind.__mro__ if base not in ours for name in vars(base)}
    methods = (FunctionType, property, cached_property)
    read = {
        name
        for base in ours
        for name, member in vars(base).items()
        if name in DEFINING or (isinstance(member, methods) and not name.startswith("__"))
    }
    changed = sorted(own & read - ASIDE)
    kept = [name for name, parts in SAID.items() if own.isdisjoint((name, *parts))]
    kept = [name for name in kept if getattr(problem, name, None) is not None]
    if changed and kept:
        raise InputError(
            f"{kind.__name__} has {' and '.join(changed)} of its own, but {' and '.join(kept)} of "
            f"{ours[0].__name__}, for which the target is, or may be, another: define these too, "
            f"or set them to None ({kept[0]} = None)"
        )
