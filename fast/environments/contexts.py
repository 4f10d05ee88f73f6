"""The contexts of a conditional problem, as environments of one shape."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.environments.base import AbstractEnvironment
from fast.environments.tabular import TabularEnvironment
from reference.errors import InputError
from reference.problems.contexts import InContext, contexts_of


class Contexts(eqx.Module):
    """The environments of a conditional problem, one per context, on one state graph.

    Contexts held out of training come last, after so many `trained` ones. The features of a state
    end with `size` features of a context. Arrays in `every` have a leading axis of contexts.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    trained: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    every: AbstractEnvironment[Any]

    @classmethod
    def of(cls, problem: Any, make: Callable[[InContext], AbstractEnvironment[Any]]) -> "Contexts":
        """The environments of a conditional problem, from a function that makes that in a context.

        Tables are made once, as they differ in rewards and features alone. Raises InputError if
        environments differ in more than their arrays, or do not show their context.
        """
        chosen = contexts_of(problem)
        (first, *others), kind = chosen.values(), type(problem).__name__
        made = make(first)
        remade = made.in_context if isinstance(made, TabularEnvironment) else make
        rest = [remade(each) for each in others]
        try:
            every = jax.tree.map(lambda *leaves: jnp.stack(leaves), made, *rest)
        except ValueError as error:
            raise InputError(
                f"{kind}: the environments of its contexts differ in more than arrays of one shape "
                f"({error}): let all have the same sizes, and hold what differs in arrays"
            ) from None
        codes = np.array([each.code for each in chosen.values()], np.float32)
        seen = jax.vmap(lambda one: one.observe(one.initial()))(every)[:, -codes.shape[1] :]
        if seen.shape != codes.shape or (np.asarray(seen) != codes).any():
            raise InputError(
                f"{kind}: its environment does not show the contexts to networks: let "
                "observe(state) end with the numbers of problem.code, in float32"
            )
        trained = sum(not each.is_held_out for each in chosen.values())
        return cls(tuple(chosen), trained, codes.shape[1], every)

    def at(self, number: int) -> AbstractEnvironment[Any]:
        """The environment in one of the contexts, by its number."""
        environment: AbstractEnvironment[Any] = jax.tree.map(lambda leaf: leaf[number], self.every)
        return environment

    @property
    def in_training(self) -> AbstractEnvironment[Any]:
        """The environments of the contexts that are trained on, stacked."""
        environments: AbstractEnvironment[Any] = jax.tree.map(
            lambda leaf: leaf[: self.trained], self.every
        )
        return environments
