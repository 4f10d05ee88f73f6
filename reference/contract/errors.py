"""Errors caused by a user's input, and the one way to check arguments.

`checked` holds arguments to their annotations, and `check_fields` the fields of a dataclass, by
`check_value`; other rules have checks of their own. Each raises `InputError` before any work.
"""

import dataclasses
import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")
Options = TypeVar("Options")

# Packages of the extras, by the names that are imported.
EXTRAS = {
    **dict.fromkeys(("jax", "jaxlib", "equinox", "optax", "jaxtyping", "matplotlib"), "train"),
    **dict.fromkeys(("sympy", "pytest", "hypothesis"), "verify"),
    "pandas": "experiments",
}
# The most names that a message lists beside the one that is near.
MOST_NAMES = 30
# Above this, neighbouring integers are the same float64.
INTEGERS_END = 2**53

# The accepted types of plain values, and their names in messages; a bool is no number.
_PLAIN: dict[Any, tuple[Any, str]] = {
    int: (int, "an integer"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
    str: (str, "a string"),
    Path: (Path, "a pathlib.Path"),
}


class InputError(ValueError):
    """Input that breaks a rule; the message names the object, the value, the rule and the fix.

    Very long messages, such as those with a huge state, are shortened in the middle.
    """

    # Characters; and the exit status of a command that ends with it.
    most = 2_000
    status = 2

    def __init__(self, message: str):
        if len(message) > self.most:
            half = self.most // 2
            left_out = f" [... {len(message) - 2 * half:,} characters ...] "
            message = message[:half] + left_out + message[-half:]
        super().__init__(message)


class TooLargeError(InputError):
    """An instance too large for exact enumeration; the message has the size that it reached."""


@contextmanager
def naming_extras() -> Iterator[None]:
    """Refuses with the name of the extra where the body lacks a package of it."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        raise InputError(
            f"this needs {name}, which is not installed: in the clone, run "
            f"pip install -c constraints.txt -e '.[{EXTRAS[name]}]'"
        ) from None


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


def check_fields(record: object, *, stored: bool = False) -> None:
    """Checks the fields of a dataclass against their declared types, as `check_value` does.

    Args:
        record: the dataclass.
        stored: whether it is written as JSON.
    """
    kind: Any = type(record)
    for field in dataclasses.fields(kind):
        value, declared = getattr(record, field.name), _fields(kind)[field.name]
        check_value(kind.__name__, field.name, value, declared, stored=stored)


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def check_value(owner: str, name: str, value: object, kind: Any, *, stored: bool = False) -> None:
    """Checks a value against an annotation; kinds that cannot be decided pass.

    Args:
        owner: the function or the class, for messages.
        name: the argument, for messages.
        value: the value.
        kind: a class, a number, `Literal`, `Sequence`, `tuple`, `Callable`, or one of these or
            None.
        stored: whether to accept only JSON numbers, integers below 2^53 and true tuples.
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
        if not isinstance(value, str) or value not in entries:
            choices = ", ".join(map(repr, entries))
            raise _refusal(owner, name, value, f"one of {choices}{nearest(value, entries)}")
    elif origin in (Sequence, tuple):
        if stored and not isinstance(value, tuple):
            raise _refusal(owner, name, value, "a tuple")
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
            raise _refusal(owner, name, value, called)
        if stored and kind is int and abs(value) >= INTEGERS_END:
            raise _refusal(owner, name, value, "below 2^53 in size")
    elif isinstance(kind := origin or kind, type) and not getattr(kind, "_is_protocol", False):
        check_type(owner, name, value, kind)


def _refusal(owner: str, name: str, value: object, rule: str) -> InputError:
    return InputError(f"{owner}: {name} is {shown(value)}, but must be {rule}")


def check_type(owner: str, name: str, value: object, kind: type | tuple[type, ...]) -> None:
    """Checks that an argument is an instance of a class, or of one of several.

    Args:
        owner: the function or the class, for messages.
        name: the argument, for messages.
        value: the value.
        kind: the class or classes.
    """
    if not isinstance(value, kind):
        expected = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise InputError(
            f"{owner}: {name} is {shown(value)}, a {type(value).__name__}, but must be a {expected}"
        )


def check_integer(owner: str, name: str, value: object, least: int, most: int = 1_000_000) -> None:
    """Checks that an argument is an integer, and no bool, in a range.

    Args:
        owner: the function or the class, for messages.
        name: the argument, for messages.
        value: the value.
        least: the least that is accepted.
        most: the largest.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _refusal(owner, name, value, f"an integer of at least {least}")
    if value > most:
        raise _refusal(owner, name, value, f"at most {most:,}")


def check_seed(owner: str, seed: object) -> None:
    """Checks a random seed, from 0 to 2^64 - 1; an unseeded draw could not be repeated."""
    check_integer(owner, "the seed", seed, 0, most=2**64 - 1)


def check_list(owner: str, name: str, value: object, kinds: Any = Iterable) -> list[Any]:
    """The entries of a sequence; a string is none.

    Args:
        owner: the function or the class, for messages.
        name: the argument, for messages.
        value: the value.
        kinds: the accepted types.
    """
    try:
        if isinstance(value, str | bytes | bytearray) or not isinstance(value, kinds):
            raise TypeError
        entries: Any = value
        return list(entries)
    except TypeError:  # such as from an array without axes
        raise InputError(
            f"{owner}: {name} is {shown(value)}, a {type(value).__name__}, but must be a sequence, "
            "such as a list or a tuple"
        ) from None


def check_sequence(owner: str, name: str, value: object) -> list[Any]:
    """The entries of a sequence or an array, by number; a set has no order, and is refused.

    Args:
        owner: the function or the class, for messages.
        name: the argument, for messages.
        value: the value.
    """
    return check_list(owner, name, value, Sequence | np.ndarray)


def check_takes(what: str, function: object, count: int) -> None:
    """Checks that something can be called with so many arguments.

    Args:
        what: its name, for messages.
        function: what is called.
        count: the number of arguments.
    """
    try:
        if not callable(function):
            raise TypeError("it cannot be called")
        inspect.signature(function).bind(*[None] * count)
    except TypeError as error:
        wrong = "" if callable(function) else f" is {shown(function)}, but"
        raise InputError(
            f"{what}{wrong} must be a function of {count} argument{'s' * (count != 1)} ({error})"
        ) from None
    except ValueError:
        pass  # functions written in C may have no signature


def check_hashable(what: str, value: object) -> None:
    """Checks that a state or latent can be a key, so that equal ones are met."""
    try:
        hash(value)
    except TypeError:
        raise InputError(
            f"{what} is {shown(value)}, of type {type(value).__name__}, not hashable, so equal "
            "ones could not be recognised: use a tuple or a frozen dataclass"
        ) from None


def require(options: object, name: str, holds: bool, rule: str) -> None:
    """Refuses an option of a dataclass that breaks a rule.

    Args:
        options: the dataclass.
        name: the field.
        holds: whether the rule holds.
        rule: the rule, for the message after "must".
    """
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

    Args:
        owner: the dataclass.
        values: its fields by name.
        source: where they are from, for messages; may be "".
        make: what takes the fields; by default the class.

    Raises:
        InputError: if a field is refused or missing, or the class is abstract.
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


def no_such(kind: str, word: str, known: Iterable[str]) -> str:
    """A "there is no X" message with the nearest name, and all if there are few or none is near.

    Args:
        kind: what the names are of, such as "problem".
        word: the word that is none of them.
        known: the names.
    """
    names = list(known)
    meant = nearest(word, names)
    all_names = "" if meant and len(names) > MOST_NAMES else f" There are {', '.join(names)}"
    return f"there is no {kind} {shown(word)}{meant or '.'}{all_names}"


def nearest(word: object, known: Iterable[str]) -> str:
    """The end of a message, ": did you mean X?", or "" if no name is close."""
    near = difflib.get_close_matches(plain(word), list(known), 1)
    return f": did you mean {near[0]}?" if near else ""


def shown(value: object) -> str:
    """The `repr` of a value for a message, shortened if long."""
    return _written(repr, value)


def plain(value: object, most: int = 60) -> str:
    """The `str` of a value for a message, shortened if long."""
    return _written(str, value, most)


def _written(write: Callable[[object], str], value: object, most: int = 60) -> str:
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    try:
        # A string may have a billion letters.
        text = write(value[: most + 1] if isinstance(value, str) else value)
    except Exception as error:  # from a user's class
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"
    # An array has a line for each row.
    text = re.sub(r"\s*\n\s*", " ", text)
    return text if len(text) <= most else text[: most - 3] + "..."


def printable(text: str, besides: str = "\n") -> str:
    """A text whose unprintable characters, such as terminal codes, are escaped, but for some."""
    return "".join(
        c if c.isprintable() or c in besides else c.encode("unicode_escape").decode() for c in text
    )
