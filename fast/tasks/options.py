"""Options have the types that their class declares, whether from Python or from a file.

The command line reads them by those types; Python and a `config.json` can say anything. Imports no
JAX.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from reference.errors import InputError, check_choice, plain, shown

Options = TypeVar("Options")

# JAX keeps 32 bits of a seed, without a word; NumPy refuses one that is negative.
SEEDS_END = 2**31

# Beyond, neighbours are one float64.
INTEGERS_END = 2**53

# What an option may be an instance of, and how a message calls that. A bool is no number, though
# Python counts it among the integers.
PLAIN: dict[type, tuple[type | tuple[type, ...], str]] = {
    bool: (bool, "True or False"),
    int: (int, "an integer"),
    float: ((int, float), "a number"),
    str: (str, "a string"),
    Path: (Path, "a pathlib.Path"),
}


def check_options(options: object) -> None:
    """Checks that every field of a dataclass has the type that it is declared with.

    Raises:
        InputError: if one is of another type, or none of the choices of its `Literal`.
    """
    owner: Any = type(options)
    for name, kind in _declared(owner):
        _check(owner.__name__, name, getattr(options, name), kind)


def check_seeds(seed: int, seeds: int) -> None:
    """Checks that all seeds of a run are numbers that JAX and NumPy tell apart.

    Raises:
        InputError: if one is not.
    """
    if not 0 <= seed <= SEEDS_END - seeds:
        raise InputError(
            f"seed is {seed} and seeds is {seeds}, but all seeds must be at least 0 and below "
            f"{SEEDS_END:,}: JAX takes others for one of these; choose a smaller --seed"
        )


def build(
    owner: type[Options],
    values: Mapping[str, Any],
    source: str,
    make: Callable[..., Options] | None = None,
) -> Options:
    """A dataclass from JSON data, which has lists for its tuples and strings for paths.

    Args:
        owner: the class, which checks its options.
        values: its fields.
        source: their origin, for messages.
        make: what takes the fields, if not the class itself.

    Raises:
        InputError: if the class refuses them, or is abstract, or lacks an option.
    """
    declaring: Any = owner
    kinds = dict(_declared(declaring))
    options = {name: _converted(value, kinds[name]) for name, value in values.items()}
    try:
        return (make or owner)(**options)
    except InputError as error:
        raise InputError(f"{source}: {error}" if source else str(error)) from None
    except TypeError as error:
        raise InputError(
            f"{error}: define the method, give the field a default, or set it as an option"
        ) from None


# Configurations are copied often, and resolving annotations takes a millisecond.
@functools.cache
def _declared(owner: Any) -> tuple[tuple[str, Any], ...]:
    """The fields of a dataclass with their types, without what `Annotated` adds."""
    hints = get_type_hints(owner)
    return tuple((field.name, hints[field.name]) for field in dataclasses.fields(owner))


def _check(owner: str, name: str, value: object, kind: Any) -> None:
    origin = get_origin(kind)
    if kind is Any or origin is Callable or kind is Callable:
        return
    if origin is Literal:
        check_choice(owner, name, value, kind)
    elif origin is tuple:
        _require(owner, name, value, isinstance(value, tuple), "a tuple")
        assert isinstance(value, tuple)
        for number, entry in enumerate(value):
            _check(owner, f"{name}[{number}]", entry, get_args(kind)[0])
    elif origin in (Union, UnionType):
        if value is not None:
            _check(owner, name, value, _present(kind))
    elif isinstance(kind, TypeVar):
        _check(owner, name, value, kind.__bound__)
    else:
        kinds, called = PLAIN.get(kind, (kind, f"a {kind.__name__}"))
        holds = isinstance(value, kinds) and (kind is bool or not isinstance(value, bool))
        _require(owner, name, value, holds, called)
        if kind is int and isinstance(value, int) and abs(value) >= INTEGERS_END:
            raise InputError(f"{owner}: {name} is {shown(value)}, but must be below 2^53 in size")


def _require(owner: str, name: str, value: object, holds: bool, called: str) -> None:
    if not holds:
        raise InputError(f"{owner}: {name} is {shown(value)}, but must be {called}")


def _converted(value: Any, kind: Any) -> Any:
    if value is not None and get_origin(kind) in (Union, UnionType):
        kind = _present(kind)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_converted(entry, get_args(kind)[0]) for entry in value)
    return Path(value) if kind is Path and isinstance(value, str) else value


def _present(kind: Any) -> Any:
    """What an optional type is if it is not None."""
    (present,) = (option for option in get_args(kind) if option is not NoneType)
    return present


def require(options: object, name: str, holds: bool, rule: str) -> None:
    """Refuses an option that breaks a rule.

    Raises:
        InputError: if it does not hold.
    """
    # NaN makes every comparison false, so that it is refused as well.
    if not holds:
        raise InputError(f"{name} is {plain(getattr(options, name))}, but must {rule}")


def require_counts(options: object, *names: str) -> None:
    """Refuses options that count things and are not at least 1.

    Raises:
        InputError: if one is not.
    """
    for name in names:
        require(options, name, getattr(options, name) >= 1, "be at least 1")
