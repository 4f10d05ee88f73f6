"""Checks of every environment: types, and the encoding of labels."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.environments.base import AbstractEnvironment
from fast.tracing import traced
from reference.contract.errors import InputError, check_hashable, check_integer
from reference.contract.user_code import called


def check_types(environment: AbstractEnvironment) -> None:
    """Checks that an environment can be traced by `jax.jit`, and the types of all its results.

    Raises InputError if a field or a result has another type, or a method cannot be traced.
    """
    name = type(environment).__name__
    for field in ("horizon", "actions", "parents"):
        check_integer(name, field, getattr(environment, field), 1)
    for leaf in jax.tree.leaves(environment):
        if not eqx.is_array(leaf):
            raise InputError(
                f"{name}: a field holds {leaf!r}, which is no array: convert it with jnp.asarray, "
                "or declare the field as eqx.field(static=True)"
            )
    state, action = traced(name, "initial", jax.eval_shape, environment.initial), jnp.int32(0)
    for method in ("step", "backward_step"):
        result = traced(name, method, jax.eval_shape, getattr(environment, method), state, action)
        if _types(result) != _types(state):
            raise InputError(
                f"{name}: {method}() gives {_shown(result)}, and initial() {_shown(state)}, but "
                "states have one type: cast it with astype()"
            )
    for method, shape, kind in (
        ("mask", (environment.actions,), jnp.bool_),
        ("parent_mask", (environment.parents,), jnp.bool_),
        ("is_terminal", (), jnp.bool_),
        ("log_reward", (), jnp.floating),
        ("observe", None, jnp.floating),
        ("undo", (), jnp.integer),
        ("redo", (), jnp.integer),
    ):
        given = (state, action) if kind is jnp.integer else (state,)
        result = traced(name, method, jax.eval_shape, getattr(environment, method), *given)
        is_array = isinstance(result, jax.ShapeDtypeStruct)
        fits = is_array and (result.ndim == 1 if shape is None else result.shape == shape)
        if not fits or not jnp.issubdtype(result.dtype, kind):
            expected = "a vector" if shape is None else f"an array of shape {shape}"
            raise InputError(
                f"{name}: {method}() gives {_shown(result)}, but must give {expected} of "
                f"{kind.__name__} numbers: fix its shape, or cast it with astype()"
            )


def _shown(tree: Any) -> str:
    """The types of a pytree of arrays, as text."""
    leaves, structure = jax.tree.flatten(tree)
    return str(
        jax.tree.unflatten(structure, [f"{leaf.dtype}{list(leaf.shape)}" for leaf in leaves])
    )


def _types(tree: Any) -> tuple[Any, ...]:
    """The structure, types and shapes of a pytree, for comparison."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, *((leaf.dtype, leaf.shape) for leaf in leaves)


def same_state(state: Any, other: Any) -> jax.Array:
    """True if two states have equal arrays."""
    leaves = zip(jax.tree.leaves(state), jax.tree.leaves(other), strict=True)
    return jnp.array([jnp.all(a == b) for a, b in leaves]).all()


def encode_all(environment: AbstractEnvironment, labels: Sequence[Any]) -> Any:
    """The batch of the states of all labels, which must survive encoding and decoding.

    Raises InputError if one does not, or its state is of another type than the initial one.
    """
    initial = jax.eval_shape(environment.initial)
    # Taking a method from a module is slow, as equinox wraps it anew each time.
    encode, decode = environment.encode, environment.decode
    name, states = type(environment).__name__, []
    for label in labels:
        state = jax.tree.map(np.asarray, called(name, "encode", encode, label))
        if _types(state) != _types(initial):
            raise InputError(
                f"{name}: encode({label!r}) gives {_shown(state)}, and initial() "
                f"{_shown(initial)}, but states have one type: fix encode()"
            )
        decoded = called(name, "decode", decode, state)
        check_hashable(f"{name}: the label that decode() gives for {label!r}", decoded)
        if decoded != label:
            raise InputError(
                f"{name}: {label!r}, encoded and decoded, is {decoded!r}, but labels must survive: "
                "fix encode() or decode()"
            )
        states.append(state)
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)
