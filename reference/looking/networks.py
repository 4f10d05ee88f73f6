"""Conversion of pointed DAGs to and from networkx graphs; networkx is optional."""

from typing import TYPE_CHECKING, Any

from reference.contract.errors import InputError
from reference.dag import PointedDAG, pointed_dag

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(dag: PointedDAG[Any]) -> "nx.DiGraph[Any]":
    """A `networkx.DiGraph` whose nodes are the states, with the attribute `terminal`.

    Nodes and edges are added in the DAG's numbering, so that `from_networkx` returns the same DAG.
    Raises InputError if networkx is not installed.
    """
    graph = _networkx().DiGraph()
    for label, row in zip(dag.labels, dag.children, strict=True):
        graph.add_node(label, terminal=not row)
    graph.add_edges_from((dag.labels[u], dag.labels[v]) for u, v in dag.edges)
    return graph


def from_networkx(graph: "nx.DiGraph[Any]") -> PointedDAG[Any]:
    """The pointed DAG of a `networkx.DiGraph`, checked as by `pointed_dag`.

    Terminals are the nodes without successors; node and edge attributes are not read. Raises
    InputError if it is no simple directed graph or no pointed DAG.
    """
    if not isinstance(graph, _networkx().DiGraph) or graph.is_multigraph():
        raise InputError(
            f"from_networkx was given a {type(graph).__name__}, but a pointed DAG is a simple "
            "directed graph: convert it to a networkx.DiGraph"
        )
    return pointed_dag({state: list(graph.successors(state)) for state in graph})


def _networkx() -> Any:
    try:
        import networkx as nx
    except ImportError:
        raise InputError(
            "networkx is not installed, and is needed to convert graphs: pip install networkx"
        ) from None
    return nx
