"""Forward and backward policies, and backward kernels, as one number on each edge of a DAG."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Self

from reference.contract.errors import InputError, check_fields, check_type, checked, plain, shown
from reference.dag import Pictured, PointedDAG, Trajectory
from reference.fields.field import Field, T
from reference.lifted import LiftedDAG


@dataclass(frozen=True, eq=False, repr=False)
class EdgeWeights(Pictured, Generic[T]):
    """A non-negative number on each edge of a DAG; a path has the product over its edges.

    Attributes:
        dag: the DAG, lifted or not.
        field: the arithmetic.
        values: a non-negative number per edge of `dag`.
    """

    dag: PointedDAG[Any]
    field: Field[T]
    values: Sequence[T]

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_fields(self)
        if len(self.values) != len(self.dag.edges):
            raise InputError(
                f"{name}: {len(self.values)} values for a DAG of {len(self.dag.edges)} edges; give "
                "one per edge, in the DAG's numbering"
            )
        numbers = self.field.numbers(self.values, f"{name}: the value of edge")
        object.__setattr__(self, "values", numbers)
        for (u, v), value in zip(self.dag.edges, self.values, strict=True):
            if not self.field.nonnegative(value):
                raise InputError(
                    f"{name}: the value on the edge {shown(self.dag.labels[u])} -> "
                    f"{shown(self.dag.labels[v])} is {plain(value)}, but must be a number >= 0"
                )

    @classmethod
    @checked
    def from_weights(
        cls, dag: PointedDAG[Any], field: Field[T], weights: Iterable[int | Fraction | float]
    ) -> Self:
        """The policy proportional to a positive weight per edge: `w / sum of its row`.

        Integer weights give exact rationals (float probabilities rarely sum to one exactly).

        Args:
            dag: the DAG, lifted or not.
            field: the arithmetic.
            weights: a number per edge.
        """
        numbers = EdgeWeights(dag, field, [field.convert(w) for w in weights]).values
        values = list(numbers)
        for node, row in cls.rows(dag):
            total = field.sum(numbers[edge] for edge in row)
            if not field.positive(total):
                raise InputError(
                    f"{cls.__name__}: the weights at state {shown(dag.labels[node])} sum to "
                    f"{plain(total)}, so they cannot be normalised: give at least one a positive "
                    "weight"
                )
            for edge in row:
                values[edge] = numbers[edge] / total
        return cls(dag, field, values)

    @classmethod
    @checked
    def uniform(cls, dag: PointedDAG[Any], field: Field[T]) -> Self:
        """The policy that chooses uniformly in every row."""
        return cls.from_weights(dag, field, [1] * len(dag.edges))

    @classmethod
    def rows(cls, dag: PointedDAG[Any]) -> Iterable[tuple[int, Sequence[int]]]:
        """The groups of edges that belong to one choice, with the node that makes it.

        They are the parents of each node, but the children for a forward policy.
        """
        return ((v, row) for v, row in enumerate(dag.in_edges) if row)

    def along(self, trajectory: Trajectory) -> T:
        """The product of the values along a trajectory."""
        product = self.field.one
        for edge in trajectory:
            product = product * self.values[edge]
        return product

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.field.name}, on {self.dag.size})"


@dataclass(frozen=True, eq=False, repr=False)
class BackwardKernel(EdgeWeights[T]):
    """Weights `B(tau) = prod of values over the edges of tau`, not necessarily normalised.

    Implementations use this for `p_B(tau|x)`: an unlifted backward policy evaluated along the
    trajectory. On a lifted DAG its rows need not sum to one. The balance conditions only need its
    mass `b(x) = sum over tau ending in x of B(tau)` to be constant in `x`
    (`reference.marginals.mass`); with trajectory balance, `p_T(x)` is proportional to
    `R(x) b(x)`.
    """

    @checked
    def on(self, lifted: LiftedDAG[Any]) -> "BackwardKernel[T]":
        """The kernel on a lift of its DAG: each lifted edge has the value of its base edge."""
        if lifted.base is not self.dag:
            raise InputError(
                "on: the lift is of another DAG: give a lift of the policy's own `dag`"
            )
        return BackwardKernel(lifted.dag, self.field, [self.values[e] for e in lifted.base_edge])


@dataclass(frozen=True, eq=False, repr=False)
class _Policy(EdgeWeights[T]):
    """Values whose rows sum to one: exactly in an exact field, else up to rounding."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for node, row in self.rows(self.dag):
            total = self.field.sum(self.values[edge] for edge in row)
            # n roundings to normalise and n to sum: a correctly rounded soft-max passes.
            if not self.field.agree(total, self.field.one, 2 * len(row) + 2):
                raise InputError(
                    f"{type(self).__name__}: the row of state {shown(self.dag.labels[node])} sums "
                    f"to {plain(total)}, not to 1: normalise it (in float64 or better), or use "
                    "from_weights"
                )


@dataclass(frozen=True, eq=False, repr=False)
class BackwardPolicy(_Policy[T], BackwardKernel[T]):
    """A backward policy `p_B(s|s')`: a distribution over the parents of each node of `dag`."""


@dataclass(frozen=True, eq=False, repr=False)
class ForwardPolicy(_Policy[T]):
    """A forward policy `p_F(s'|s)`: a distribution over the children of each node of `dag`.

    On a lifted DAG, `p_F(s'|s, W)`.
    """

    @classmethod
    def rows(cls, dag: PointedDAG[Any]) -> Iterable[tuple[int, Sequence[int]]]:
        """The out-edges of each non-terminal node."""
        return ((u, row) for u, row in enumerate(dag.out_edges) if row)

    @classmethod
    @checked
    def from_rows(
        cls,
        dag: PointedDAG[Any],
        field: Field[T],
        rows: Mapping[Any, Mapping[Any, int | Fraction | float]],
    ) -> "ForwardPolicy[T]":
        """The policy given by `rows[state][child]`; absent children have probability zero.

        Args:
            dag: the DAG, lifted or not.
            field: the arithmetic.
            rows: for each state that is not terminal, the probabilities of its children.
        """
        values = [field.zero] * len(dag.edges)
        for u, row in cls.rows(dag):
            state: Hashable = dag.labels[u]
            if state not in rows:
                raise InputError(f"ForwardPolicy: no row for the state {shown(state)}: add one")
            check_type(cls.__name__, f"the row of {shown(state)}", rows[state], Mapping)
            edge_to = {dag.labels[dag.edges[edge][1]]: edge for edge in row}
            for child, value in rows[state].items():
                if child not in edge_to:
                    raise InputError(
                        f"ForwardPolicy: the row of {shown(state)} has {shown(child)}, which is "
                        f"not one of its children {list(edge_to)}"
                    )
                values[edge_to[child]] = field.convert(value)
        return cls(dag, field, values)
