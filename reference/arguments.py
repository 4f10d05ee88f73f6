"""Arguments have the types that a function declares: one decorator for every public function.

Whatever is given instead is refused by `InputError` before anything is computed: a policy of the
wrong direction, a string for a number, a generator for a sequence.
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


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which raises `InputError` for an argument that is not as it declares.

    Numbers of a field, and what is declared by a protocol, are the function's own to check.
    """
    name, signature = function.__name__, inspect.signature(function)

    @functools.cache
    def kinds() -> tuple[tuple[str, Any], ...]:
        # At the first call: some types are imported in a circle.
        hints = get_type_hints(function)
        return tuple((given, hints[given]) for given in signature.parameters if given in hints)

    @functools.wraps(function)
    def refusing(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs).arguments
        for argument, kind in kinds():
            if argument in given:
                _check(name, argument, given[argument], kind)
        return function(*args, **kwargs)

    return refusing


def check_fields(owner: str, record: object) -> None:
    """Checks that the fields of a dataclass are of their declared types, as `checked` does.

    Raises:
        InputError: if one is not.
    """
    for name, kind in get_type_hints(type(record)).items():
        _check(owner, name, getattr(record, name), kind)


def _check(owner: str, name: str, value: object, kind: Any) -> None:
    origin, entries = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in entries:
            return
        some = tuple(entry for entry in entries if entry is not NoneType)
        # Of several, such as a problem with one kind of reward or another, the function decides.
        if len(some) == 1:
            _check(owner, name, value, some[0])
        elif set(some) == {str, Path}:
            check_type(owner, name, value, some)
    elif origin is Literal:
        check_choice(owner, name, value, kind)
    elif origin is Sequence:
        _check_sequence(owner, name, value, entries[0])
    elif origin is tuple:
        _check_sequence(owner, name, value, entries[0] if entries else Any)
    elif origin is Callable:
        check_takes(f"{owner}: {name}", value, len(entries[0]))
    elif kind in (int, float, bool):
        _check_number(owner, name, value, kind)
    elif kind is Any:
        return
    elif isinstance(kind := origin or kind, type) and not getattr(kind, "_is_protocol", False):
        check_type(owner, name, value, kind)


def _check_sequence(owner: str, name: str, value: object, kind: Any) -> None:
    check_sequence(owner, name, value)
    if isinstance(get_origin(kind) or kind, type):
        entries: Any = value
        for number, entry in enumerate(entries):
            _check(owner, f"{name}[{number}]", entry, kind)


def _check_number(owner: str, name: str, value: object, kind: type) -> None:
    accepted = {int: int, float: Real, bool: bool}[kind]
    if not isinstance(value, accepted) or (kind is not bool and isinstance(value, bool)):
        called = {int: "an integer", float: "a number", bool: "True or False"}[kind]
        raise InputError(f"{owner}: {name} is {shown(value)}, but must be {called}")
