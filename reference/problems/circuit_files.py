"""Files of circuits, as the compilers c2d and d4 write them."""

from collections import defaultdict
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Literal, NamedTuple

from reference.errors import InputError
from reference.problems.formulas import refused, text_of
from reference.problems.solutions import COUNT, INTEGER

D4 = {"o": "or", "a": "and", "t": "and", "f": "or"}
C2D = {"A": "and", "O": "or"}
C2D_LINES = "L LITERAL, A COUNT NODES or O VARIABLE COUNT NODES, of nodes before it"
D4_LINES = "o, a, t or f with a node and 0, or an edge between two nodes with literals and 0"


class Node(NamedTuple):
    """A node with its name and line, the numbers of its children, and its literal or 0.

    A conjunction without children is true, a disjunction without children false.
    """

    name: str
    kind: Literal["literal", "and", "or"]
    children: tuple[int, ...] = ()
    literal: int = 0


def read_circuit(path: Path) -> tuple[list[Node], int]:
    """The nodes of a circuit, each after its children, the root last; and its last variable.

    Raises InputError, with the line, if the file cannot be read or breaks its format.
    """
    source = repr(str(path))
    lines = [
        (number, text.split())
        for number, text in enumerate(text_of(path).splitlines(), 1)
        if text.split()[:1] not in ([], ["c"])
    ]
    if not lines:
        raise InputError(f"{source} is empty, but must be a circuit of c2d or d4")
    if lines[0][1][0] == "nnf":
        return _from_c2d(source, lines)
    return _from_d4(source, lines)


def _from_c2d(source: str, lines: Sequence[tuple[int, list[str]]]) -> tuple[list[Node], int]:
    (first, header), *rest = lines
    if len(header) != 4 or not all(map(COUNT.fullmatch, header[1:])):
        raise refused(source, first, " ".join(header), "nnf NODES EDGES VARIABLES")
    count, variables = int(header[1]), int(header[3])
    nodes: list[Node] = []
    for line, (kind, *words) in rest:
        name, text = f"node {len(nodes)} (line {line})", " ".join([kind, *words])
        numbers = [int(word) for word in words if INTEGER.fullmatch(word)]
        before = {"L": 0, "A": 1, "O": 2}.get(kind)
        if before is None or len(numbers) != len(words) or len(numbers) < max(1, before):
            raise refused(source, line, text, C2D_LINES)
        if kind == "L":
            if len(numbers) > 1 or not 1 <= abs(numbers[0]) <= variables:
                raise refused(source, line, text, f"L and a literal of the {variables} variables")
            nodes.append(Node(name, "literal", literal=numbers[0]))
            continue
        children = numbers[before:]
        if numbers[before - 1] != len(children) or any(
            not 0 <= child < len(nodes) for child in children
        ):
            raise refused(source, line, text, C2D_LINES)
        nodes.append(Node(name, "and" if kind == "A" else "or", tuple(children)))
    if len(nodes) != count or not nodes:
        raise InputError(
            f"{source} has {len(nodes):,} nodes, but its header says {count:,}: it is cut off, or "
            "the header is wrong"
        )
    return nodes, variables


def _from_d4(source: str, lines: Sequence[tuple[int, list[str]]]) -> tuple[list[Node], int]:
    kinds: dict[int, tuple[int, str]] = {}
    edges: dict[int, list[tuple[int, int, tuple[int, ...]]]] = defaultdict(list)
    for line, words in lines:
        kind, numbers = words[0], [int(word) for word in words if INTEGER.fullmatch(word)]
        text = " ".join(words)
        if numbers[-1:] != [0] or len(words) - len(numbers) != (kind in D4):
            raise refused(source, line, text, D4_LINES)
        if kind in D4:
            if len(numbers) != 2 or numbers[0] in kinds:
                raise refused(source, line, text, "o, a, t or f with a new node and 0")
            kinds[numbers[0]] = line, kind
        else:
            if len(numbers) < 3 or 0 in numbers[:-1]:
                raise refused(source, line, text, D4_LINES)
            parent, child, *literals = numbers[:-1]
            edges[parent].append((line, child, tuple(literals)))
    for parent, below in edges.items():
        for line, child, _ in below:
            for node in (parent, child):
                if node not in kinds:
                    raise InputError(f"{source}, line {line}: there is no node {node}")
            if kinds[parent][1] in "tf":
                raise InputError(
                    f"{source}, line {line}: node {parent} is a constant ({kinds[parent][1]}), and "
                    "has no edges"
                )
    graph = {node: [child for _, child, _ in edges[node]] for node in kinds}
    entered = {child for below in graph.values() for child in below}
    roots = [node for node in kinds if node not in entered]
    if len(roots) != 1:
        some = ", ".join(map(str, roots[:3])) or "none"
        raise InputError(
            f"{source} has {len(roots):,} nodes that no edge enters ({some}), but must have one, "
            "the root"
        )
    return _in_order(source, kinds, edges, graph)


def _in_order(
    source: str,
    kinds: dict[int, tuple[int, str]],
    edges: dict[int, list[tuple[int, int, tuple[int, ...]]]],
    graph: dict[int, list[int]],
) -> tuple[list[Node], int]:
    """The nodes of d4 in order; the literals of an edge are a conjunction with its end."""
    try:
        order = [*TopologicalSorter(graph).static_order()]
    except CycleError as error:
        raise InputError(f"{source}: node {error.args[1][0]} is below itself") from None
    nodes: list[Node] = []
    places: dict[int, int] = {}
    literals: dict[int, int] = {}
    for node in order:
        below = []
        for line, child, labels in edges[node]:
            for label in labels:
                if label not in literals:
                    literals[label] = len(nodes)
                    nodes.append(Node(f"literal {label}", "literal", literal=label))
            ends = (places[child], *(literals[label] for label in labels))
            if labels:
                nodes.append(Node(f"edge {node} {child} (line {line})", "and", ends))
            below.append(len(nodes) - 1 if labels else ends[0])
        line, kind = kinds[node]
        places[node] = len(nodes)
        nodes.append(Node(f"node {node} (line {line})", D4[kind], tuple(below)))  # type: ignore[arg-type]
    return nodes, max(map(abs, literals), default=0)
