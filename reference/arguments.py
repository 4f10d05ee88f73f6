"""The types of arguments, checked against annotations: one decorator for public functions.

A value of another type, such as a policy of the wrong direction, a string for a number or a
generator for a sequence, raises `InputError` before anything is computed.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from numbers import Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from reference.errors import (
    InputError,
    check_choice,
    check_sequence,
    check_takes,
    check_type,
    shown,
)

P = ParamSpec("P")
R = TypeVar("R")

# The accepted types of numbers, and their names in messages; a bool is no number.
_NUMBERS: dict[Any, tuple[Any, str]] = {
    int: (int, "an integer"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which raises `InputError` for an argument that contradicts its annotation.

    Numbers of a field, and types declared by a protocol, are left to the function.
    """
    name, signature = function.__name__, inspect.signature(function)
    # At the first call, when every annotated name is defined.
    hints = functools.cache(lambda: get_type_hints(function))

    @functools.wraps(function)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        for argument, value in signature.bind(*args, **kwargs).arguments.items():
            check_value(name, argument, value, hints().get(argument, Any))
        return function(*args, **kwargs)

    return checking


def check_fields(owner: str, record: object) -> None:
    """Checks that the fields of a dataclass have their declared types, as `check_value` does.

    Raises:
        InputError: if one has not.
    """
    declaring: Any = type(record)
    for name, kind in _fields(declaring).items():
        check_value(owner, name, getattr(record, name), kind)


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def check_value(owner: str, name: str, value: object, kind: Any) -> None:
    """Checks a value against an annotation; kinds that cannot be decided pass.

    Args:
        owner: the function or class, in messages.
        name: of the argument or option.
        value: its value.
        kind: the annotation: a class, a number, `Literal`, `Sequence`, `tuple`, `Callable`, or one
            of these or None.

    Raises:
        InputError: if the value is not of this kind.
    """
    origin, entries = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if origin in (Union, UnionType):
        options = tuple(entry for entry in entries if entry is not NoneType)
        if value is None and NoneType in entries:
            return
        # Other unions, such as of problems with two kinds of reward, are the function's to decide.
        if len(options) == 1:
            check_value(owner, name, value, options[0])
        elif set(options) == {str, Path}:
            check_type(owner, name, value, options)
    elif origin is Literal:
        check_choice(owner, name, value, kind)
    elif origin in (Sequence, tuple):
        check_sequence(owner, name, value)
        entry_kind = entries[0] if entries else Any
        if isinstance(get_origin(entry_kind) or entry_kind, type):
            listed: Any = value
            for number, entry in enumerate(listed):
                check_value(owner, f"{name}[{number}]", entry, entry_kind)
    elif origin is Callable:
        check_takes(f"{owner}: {name}", value, len(entries[0]))
    elif kind in _NUMBERS:
        accepted, called = _NUMBERS[kind]
        if not isinstance(value, accepted) or (kind is not bool and isinstance(value, bool)):
            raise InputError(f"{owner}: {name} is {shown(value)}, but must be {called}")
    elif isinstance(kind := origin or kind, type) and not getattr(kind, "_is_protocol", False):
        check_type(owner, name, value, kind)
