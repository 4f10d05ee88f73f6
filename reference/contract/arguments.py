"""The types of arguments, checked against annotations: one decorator for public functions.

A value of another type, such as a policy of the wrong direction, a string for a number or a
generator for a sequence, raises `InputError` before anything is computed.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from reference.contract.errors import (
    InputError,
    check_choice,
    check_sequence,
    check_takes,
    check_type,
    plain,
    shown,
)

P = ParamSpec("P")
R = TypeVar("R")
Options = TypeVar("Options")

# The accepted types of plain values, and their names in messages; a bool is no number.
_PLAIN: dict[Any, tuple[Any, str]] = {
    int: (int, "an integer"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
    str: (str, "a string"),
    Path: (Path, "a pathlib.Path"),
}
# Above this, neighbouring integers are the same float64.
INTEGERS_END = 2**53


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a function to raise `InputError` for an argument that contradicts its annotation.

    Numbers of a field, and types declared by a protocol, are left to the function.
    """
    name, signature = function.__name__, inspect.signature(function)
    # Resolved at the first call, when every annotated name is defined.
    hints = functools.cache(lambda: get_type_hints(function))

    @functools.wraps(function)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        for argument, value in bound.arguments.items():
            check_value(name, argument, value, hints().get(argument, Any))
        return function(*args, **kwargs)

    return checking


def check_fields(record: object, owner: str = "", *, stored: bool = False) -> None:
    """Checks the fields of a dataclass against their declared types, as `check_value` does.

    `owner` is its name in messages, by default that of its class; options are `stored` as JSON.
    """
    kind: Any = type(record)
    for field in dataclasses.fields(kind):
        value, declared = getattr(record, field.name), _fields(kind)[field.name]
        check_value(owner or kind.__name__, field.name, value, declared, stored=stored)


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def check_value(owner: str, name: str, value: object, kind: Any, *, stored: bool = False) -> None:
    """Checks a value against an annotation; kinds that cannot be decided pass.

    A kind is a class, a number, `Literal`, `Sequence`, `tuple`, `Callable`, or one of these or
    None. If it is to be `stored`, only JSON numbers, integers below 2^53 and true tuples are
    accepted. Raises InputError, with owner and name, if the value is of another kind.
    """
    origin, entries = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if origin in (Union, UnionType):
        options = tuple(entry for entry in entries if entry is not NoneType)
        if value is None and NoneType in entries:
            return
        # Other unions, such as of problems with two kinds of reward, are checked by the function.
        if len(options) == 1:
            check_value(owner, name, value, options[0], stored=stored)
        elif set(options) == {str, Path}:
            check_type(owner, name, value, options)
    elif origin is Literal:
        check_choice(owner, name, value, kind)
    elif origin in (Sequence, tuple):
        if stored and not isinstance(value, tuple):
            raise InputError(f"{owner}: {name} is {shown(value)}, but must be a tuple")
        listed = check_sequence(owner, name, value)
        entry_kind = entries[0] if entries else Any
        if isinstance(get_origin(entry_kind) or entry_kind, type):
            for number, entry in enumerate(listed):
                check_value(owner, f"{name}[{number}]", entry, entry_kind, stored=stored)
    elif origin is Callable:
        if not stored:
            check_takes(f"{owner}: {name}", value, len(entries[0]))
    elif kind in _PLAIN:
        accepted, called = _PLAIN[kind]
        if stored and kind is float:
            accepted = int | float
        if not isinstance(value, accepted) or (kind is not bool and isinstance(value, bool)):
            raise InputError(f"{owner}: {name} is {shown(value)}, but must be {called}")
        if stored and kind is int and abs(value) >= INTEGERS_END:
            raise InputError(f"{owner}: {name} is {shown(value)}, but must be below 2^53 in size")
    elif isinstance(kind := origin or kind, type) and not getattr(kind, "_is_protocol", False):
        check_type(owner, name, value, kind)


def require(options: object, name: str, holds: bool, rule: str) -> None:
    """Refuses an option of a dataclass unless it `holds` a rule, for the message after "must"."""
    if not holds:
        raise InputError(f"{name} is {plain(getattr(options, name))}, but must {rule}")


def require_counts(options: object, *names: str) -> None:
    """Refuses options of a dataclass that count things and are below 1."""
    for name in names:
        require(options, name, getattr(options, name) >= 1, "be at least 1")


def build(
    owner: type[Options],
    values: Mapping[str, Any],
    source: str,
    make: Callable[..., Options] | None = None,
) -> Options:
    """A dataclass from JSON data, which has lists for its tuples and strings for paths.

    `make` takes the fields, by default the class. Raises InputError, after their source, if they
    are refused, the class is abstract, or an option is missing.
    """
    declaring: Any = owner
    kinds = _fields(declaring)
    options = {name: _converted(value, kinds[name]) for name, value in values.items()}
    try:
        return (make or owner)(**options)
    except InputError as error:
        raise InputError(f"{source}: {error}" if source else str(error)) from None
    except TypeError as error:
        raise InputError(
            f"{error}: define the method, give the field a default, or set it as an option"
        ) from None


def _converted(value: Any, kind: Any) -> Any:
    if value is not None and get_origin(kind) in (Union, UnionType):
        kind = next(entry for entry in get_args(kind) if entry is not NoneType)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_converted(entry, get_args(kind)[0]) for entry in value)
    return Path(value) if kind is Path and isinstance(value, str) else value


def fixed_choices(kind: Any, name: str = "") -> dict[str, tuple[str, ...]]:
    """The strings of every `Literal` among the fields of dataclasses, at any depth, by field."""
    if get_origin(kind) is Literal:
        return {name: get_args(kind)}
    if get_origin(kind) is ClassVar:
        return {}
    parts = [(name, part) for part in get_args(kind)]
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        parts = list(get_type_hints(kind).items())
    choices: dict[str, tuple[str, ...]] = {}
    for field, part in parts:
        choices |= fixed_choices(part, field)
    return choices
