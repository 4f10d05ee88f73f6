"""All policies, flows and rewards at once, as polynomials, and the lifts this is done for.

What holds as an identity of polynomials holds for every policy, flow and reward on that graph.

A test that needs other parameters combines `free_edges`, a field and `generic`. One that divides
takes `backward_and_rewards`, of rational functions, which are about 30 times slower.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeVar

from reference import Symbolic
from reference.dag import PointedDAG
from reference.fields.field import Field
from reference.fields.symbolic import MAX_PARAMETERS
from reference.lifted import History, LiftedDAG, lift
from reference.policies import BackwardPolicy, EdgeWeights, ForwardPolicy
from verify.lib.fields import Polynomials
from verify.lib.scopes import EXHAUSTIVE_NODES, MAX_NODES
from verify.lib.small_scope import isomorphism_classes, lifts

P = TypeVar("P", ForwardPolicy[Any], BackwardPolicy[Any])


def free_edges(kind: type[EdgeWeights[Any]], dag: PointedDAG[Any]) -> list[int]:
    """The edges whose probabilities determine a policy: all of each row but the last."""
    return [edge for _, row in kind.rows(dag) for edge in row[:-1]]


def generic(kind: type[P], dag: PointedDAG[Any], field: Field[Any], symbols: Iterable[Any]) -> P:
    """The policy with these symbols on its free edges; the last edge of a row gets the rest."""
    values = [field.one] * len(dag.edges)
    for edge, symbol in zip(free_edges(kind, dag), symbols, strict=True):
        values[edge] = symbol
    for _, row in kind.rows(dag):
        values[row[-1]] = field.one - field.sum(values[edge] for edge in row[:-1])
    return kind(dag, field, values)


class Everything(NamedTuple):
    """A forward policy, a backward policy, a flow and rewards, with nothing in common.

    On each free edge, `p_F` has a parameter `f` and its number, and `p_B`, normalised over the
    parents in this DAG, a parameter `b`. The flow has a parameter `F` per node, at a terminal its
    reward `R`.
    """

    field: Field[Any]
    forward: ForwardPolicy[Any]
    backward: BackwardPolicy[Any]
    flow: list[Any]
    rewards: tuple[Any, ...]


def everything(dag: PointedDAG[Any]) -> Everything:
    """All policies, flows and rewards on a DAG, lifted or not."""
    names = [
        *(f"f{edge}" for edge in free_edges(ForwardPolicy, dag)),
        *(f"b{edge}" for edge in free_edges(BackwardPolicy, dag)),
        *(f"{'F' if row else 'R'}{node}" for node, row in enumerate(dag.children)),
    ]
    field = Polynomials(" ".join(names))
    symbols = iter(field.symbols)

    def policy(kind: type[P]) -> P:
        return generic(kind, dag, field, [next(symbols) for _ in free_edges(kind, dag)])

    forward, backward, flow = policy(ForwardPolicy), policy(BackwardPolicy), list(symbols)
    return Everything(field, forward, backward, flow, tuple(flow[x] for x in dag.terminals))


class Generic(NamedTuple):
    """Every backward policy and every reward on a DAG, as parameters of rational functions."""

    field: Symbolic
    backward: BackwardPolicy[Any]
    rewards: tuple[Any, ...]


def backward_and_rewards(dag: PointedDAG[Any], max_parameters: int = MAX_PARAMETERS) -> Generic:
    """All normalised backward policies and all rewards on a DAG at once.

    An identity that holds for this one instance holds for every `p_B` and `R` at which its
    denominators do not vanish.
    """
    free = free_edges(BackwardPolicy, dag)
    names = [*(f"b{edge}" for edge in free), *(f"R{x}" for x in dag.terminals)]
    field = Symbolic(" ".join(names), max_parameters)
    symbols = field.symbols[: len(free)]
    return Generic(field, generic(BackwardPolicy, dag, field, symbols), field.symbols[len(free) :])


def symbolic_lifts(exhaustive: bool) -> Iterator[LiftedDAG[int]]:
    """Every lift of each DAG up to five states, one labelling each: 572.

    If exhaustive, also each of the 3,341 DAGs with six states, without memory and with full memory.
    """
    for nodes in range(2, MAX_NODES + 1):
        for dag in _shapes(nodes):
            yield from lifts(dag)
    if exhaustive:
        for dag in _shapes(EXHAUSTIVE_NODES):
            yield next(lifts(dag))
            yield lift(dag, History())


@cache
def _shapes(nodes: int) -> tuple[PointedDAG[int], ...]:
    return tuple(dag for dag, _ in isomorphism_classes(nodes))
