"""Training of tables by state: a step reads, and moves, the rows of its batch alone."""

from typing import Any

import jax
import optax
from jaxtyping import Array, Int

from fast.dynamics.state_table import StateTable, is_table, row_of
from fast.environments import AbstractEnvironment
from fast.sampling.trajectories import Trajectories

Rows = Int[Array, " states"]


def rows_of_batch(
    policy: Any, environment: AbstractEnvironment, trajectories: Trajectories
) -> Rows | None:
    """The rows of all states of a batch, with repetitions; None for a policy without tables.

    Args:
        policy: the policy.
        environment: the state graph as array code.
        trajectories: the batch.
    """
    tables = [leaf for leaf in jax.tree.leaves(policy, is_leaf=is_table) if is_table(leaf)]
    if not tables:
        return None
    seen = jax.vmap(jax.vmap(environment.observe))(trajectories.states)
    return row_of(seen, len(tables[0].rows)).reshape(-1)


def with_rows(policy: Any, rows: Rows | None) -> Any:
    """The policy with these rows of its tables alone, so that a gradient by them is small."""
    return policy if rows is None else _map_tables(lambda table: table.of(rows), policy)


def by_row(gradient: Any, policy: Any, rows: Rows | None) -> Any:
    """The gradient by `with_rows(policy, rows)`, with that of a row wherever the row is repeated.

    Args:
        gradient: the gradient by `with_rows(policy, rows)`, with a repeated row once.
        policy: `with_rows(policy, rows)`.
        rows: the numbers of the rows, with repetitions; None for a policy without tables.
    """
    if rows is None:
        return gradient

    def spread(of_rows: StateTable, table: StateTable) -> StateTable:
        assert table.places is not None
        return StateTable(of_rows.rows[table.places[rows]])

    return _map_tables(spread, gradient, policy)


def _map_tables(change: Any, tree: Any, *others: Any) -> Any:
    def each(leaf: Any, *same: Any) -> Any:
        return change(leaf, *same) if is_table(leaf) else leaf

    return jax.tree.map(each, tree, *others, is_leaf=is_table)


def on_rows(inner: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
    """An optimiser that moves some rows, given as `rows`, and leaves the state of all others."""

    def update(
        updates: Any, state: Any, params: Any = None, *, rows: Rows | None, **_: Any
    ) -> tuple[Any, Any]:
        if rows is None:
            everywhere: tuple[Any, Any] = inner.update(updates, state, params)
            return everywhere
        of_rows = jax.tree.map(lambda leaf: leaf[rows] if leaf.ndim else leaf, state)
        updates, moved = inner.update(updates, of_rows)
        return updates, jax.tree.map(
            lambda old, new: old.at[rows].set(new) if old.ndim else new, state, moved
        )

    return optax.GradientTransformationExtraArgs(inner.init, update)


def applied(parameters: Any, updates: Any, rows: Rows | None) -> Any:
    """The parameters after the updates, which for tables are those of `rows`.

    Args:
        parameters: the parameters.
        updates: what is added to them.
        rows: the numbers of the rows that the updates of tables are of; None for all.
    """

    def each(old: Any, update: Any) -> Any:
        if update is None:
            return old
        if not is_table(old):
            return old + update
        if rows is None:
            return StateTable(old.rows + update.rows)
        return StateTable(old.rows.at[rows].set(old.rows[rows] + update.rows))

    return jax.tree.map(each, parameters, updates, is_leaf=lambda x: x is None or is_table(x))
