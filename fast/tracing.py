"""User code in JAX: modules as values of arrays, and functions that can be traced."""

import re
from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from reference.contract.errors import InputError, shown
from reference.contract.loading import name_of
from reference.contract.user_code import asked_again, called

# Raised where traced code reads numbers.
TRACED = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


class Held(eqx.Module):
    """A user's module whose leaves are its arrays; everything else in it is a constant.

    So functions, flags and numbers may be fields of a network, as in `eqx.nn`, while only arrays
    are transformed, trained and saved. Every other attribute is the module's, of which `arrays` has
    `None` for everything but arrays, and `rest` for these.
    """

    arrays: Any
    rest: Any = eqx.field(static=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("arrays", "rest"):
            raise AttributeError(name)
        return getattr(eqx.combine(self.arrays, self.rest), name)


def held(what: str, module: Any) -> Any:
    """The module itself if all its leaves are arrays, else as a `Held`.

    Raises InputError if a leaf is neither an array nor hashable, or is a random key.
    """
    for path, leaf in jax.tree_util.tree_leaves_with_path(module):
        is_key = _is_array(leaf) and jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
        if is_key or not (_is_array(leaf) or getattr(type(leaf), "__hash__", None)):
            raise InputError(
                f"{what} has {jax.tree_util.keystr(path)} = {shown(leaf)}, which is no array of "
                "numbers, and cannot be held fixed as a constant: keep a tuple for a set, or "
                "jax.random.key_data for a key"
            )
    arrays, rest = eqx.partition(module, _is_array)
    return Held(arrays, rest) if jax.tree.leaves(rest) else module


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray)


def traced(owner: str, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a user's function while JAX traces it.

    Raises InputError if it raises; the message names owner, function, error, file and line.

    Args:
        owner: the name of the class, for messages.
        name: the name of the function, for messages.
        function: the user's function.
        arguments: its arguments.
    """

    def in_words() -> Any:
        try:
            return function(*arguments)
        except TRACED as error:
            words = TypeError("it reads a traced array: use jnp, and jnp.where for if")
            raise words.with_traceback(error.__traceback__) from None

    return called(owner, name, in_words)


def built(part: str, base: type, advice: str, call: "partial[Any]") -> Any:
    """The module that a call of a user's class or function makes, as `held` keeps it.

    Raises InputError if the call raises, or makes no instance of the base; the message says from
    what to derive.

    Args:
        part: the part of a run that it is, for messages.
        base: the class of which it must make an instance.
        advice: the class to derive from, for messages.
        call: the call of the user's class or function.
    """
    what, made = f"{part} {call.func!r}", traced(name_of(call.func), "__init__", call)
    if not isinstance(made, base):
        raise InputError(
            f"{what} gives {made!r}, but must give an {base.__name__}: derive from {advice}"
        )
    return held(what, made)


def answer(
    owner: str, shape: tuple[int, ...], name: str, function: Callable[..., Any], *arguments: Any
) -> jax.Array:
    """The result of a user's method, which must be an array of real numbers of a shape.

    Raises InputError if it raises, or returns something else.

    Args:
        owner: the name of the class, for messages.
        shape: the shape that the result must have.
        name: the name of the method, for messages.
        function: the user's method.
        arguments: its arguments.
    """
    value = traced(owner, name, function, *arguments)
    got = f"{shown(value)}, a {type(value).__name__}"
    if isinstance(value, jax.Array):
        if value.shape == shape and jnp.issubdtype(value.dtype, jnp.floating):
            return value
        got = f"{value.dtype} numbers of the shape {value.shape}"
    wanted = f"an array of the shape {shape}" if shape else "one number, such as a mean"
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    where = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
    raise InputError(
        f"{owner}: {name}(){where} gives {got}, but must give {wanted}, of floats that jnp "
        "computes from what it is given"
    )


def same_program(owner: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Traces a function twice, and compares the two programs line by line.

    Raises InputError, which names the owner, if they differ, or use an array of an earlier trace.
    """
    first, again = (_program(owner, function, *arguments) for _ in range(2))
    for line, other in zip_longest(first, again, fillvalue=""):
        if line != other:
            raise asked_again(f"{owner}: a step of the program", line, other)


def _program(owner: str, function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The lines of a program, and the arrays in it, as text."""
    # A new function each time, as JAX caches traces.
    program, _, _ = eqx.filter_make_jaxpr(lambda *given: function(*given))(*arguments)
    if any(isinstance(each, jax.core.Tracer) for each in program.consts):
        raise InputError(
            f"{owner}: a function in it uses an array that __init__ made and that is no field: "
            "keep the array as a field, and let a method read it"
        )
    lines = re.sub(r" at 0x\w+", "", str(program)).splitlines()
    return [line.strip() for line in lines] + [f"{np.asarray(x).tolist()}" for x in program.consts]
