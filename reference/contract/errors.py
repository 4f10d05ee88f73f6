"""Errors caused by a user's input, and the checks that raise them."""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import numpy as np

# Packages of the extra `train`, by the names that are imported.
TRAIN = {
    *("jax", "jaxlib", "equinox", "optax", "jaxtyping"),
    *("sympy", "matplotlib", "pytest", "hypothesis"),
}

# The most names that a message lists beside the one that is near.
MOST_NAMES = 30


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
    """Refuses with the name of the extra `train` where the body lacks a package of it."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in TRAIN:
            raise
        raise InputError(
            f"this needs {name}, which is not installed: in the clone, run "
            "pip install -c constraints.txt -e '.[train]'"
        ) from None


def check_type(owner: str, name: str, value: object, kind: type | tuple[type, ...]) -> None:
    """Checks the type of an argument; raises InputError if it is not an instance of `kind`."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(k.__name__ for k in kinds)
        raise InputError(
            f"{owner}: {name} is {shown(value)}, a {type(value).__name__}, but must be a {expected}"
        )


def check_integer(owner: str, name: str, value: object, least: int, most: int = 1_000_000) -> None:
    """Checks that an argument is an integer (no bool) from `least` to `most`; raises InputError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(
            f"{owner}: {name} is {shown(value)}, but must be an integer of at least {least}"
        )
    if value > most:
        raise InputError(f"{owner}: {name} is {shown(value)}, but must be at most {most:,}")


def check_seed(owner: str, seed: object) -> None:
    """Checks a random seed, from 0 to 2^64 - 1; an unseeded draw could not be repeated."""
    check_integer(owner, "the seed", seed, 0, most=2**64 - 1)


def check_choice(owner: str, name: str, value: object, choices: Any) -> None:
    """Checks that an argument is one of the strings of a `Literal`; raises InputError if not."""
    allowed = get_args(choices)
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(map(repr, allowed))
        meant = nearest(value, allowed)
        raise InputError(f"{owner}: {name} is {shown(value)}, but must be one of {listed}{meant}")


def check_list(owner: str, name: str, value: object, kinds: Any = Iterable) -> list[Any]:
    """The entries of a sequence of some types, never a string; raises InputError for others."""
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
    """The entries of a sequence or an array, by number; raises InputError for a string or a set."""
    return check_list(owner, name, value, Sequence | np.ndarray)


def check_takes(what: str, function: object, count: int) -> None:
    """Checks that something can be called with `count` arguments; raises InputError if not."""
    try:
        if not callable(function):
            raise TypeError("it cannot be called")
        inspect.signature(function).bind(*[None] * count)
    except TypeError as error:
        raise InputError(
            f"{what} is {shown(function)}, but must be a function of {count} "
            f"argument{'' if count == 1 else 's'} ({error})"
        ) from None
    except ValueError:
        pass  # functions written in C may have no signature


def check_hashable(what: str, value: object) -> None:
    """Checks that a state or latent can be a key, so that equal ones are met; raises InputError."""
    try:
        hash(value)
    except TypeError:
        raise InputError(
            f"{what} is {shown(value)}, of type {type(value).__name__}, not hashable, so equal "
            "ones could not be recognised: use a tuple or a frozen dataclass"
        ) from None


def no_such(kind: str, word: str, known: Iterable[str]) -> str:
    """A "there is no X" message with the nearest name, and all if there are few or none is near."""
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
