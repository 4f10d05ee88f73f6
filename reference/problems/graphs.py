"""Edge addition: labelled graphs that grow by one legal edge at a time (fig:graphssg)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple, Self

from reference.contract.errors import InputError, check_fields, check_integer, check_list, shown
from reference.problems.base import dyadic
from reference.problems.closed_form import FiniteLaw, Listed
from reference.problems.enumeration import positive_reward

Edge = tuple[int, int]


class Graph(NamedTuple):
    """A labelled graph, by its edges `(i, j)`, `i < j`, in increasing order; see `graph`."""

    edges: tuple[Edge, ...]

    def __str__(self) -> str:
        return " ".join(f"{i}-{j}" for i, j in self.edges) or "no edges"


def graph(edges: Iterable[Edge]) -> Graph:
    """The graph with these edges, turned and sorted, each once; refuses what is no such pair."""
    pairs = []
    for edge in check_list("graph", "edges", edges):
        if not isinstance(edge, tuple | list) or [*map(type, edge)] != [int, int]:
            raise InputError(f"the edge {shown(edge)} must be a pair of node numbers")
        pairs.append(edge)
    return Graph(tuple(sorted({(min(pair), max(pair)) for pair in pairs})))


@dataclass(frozen=True)
class EdgeAddition(Listed[Graph]):
    """A state graph of the edge-additive process (ex. Graphs), given by its states.

    States are labelled graphs on the same nodes with the same node features, the paper's `X`, whose
    number fixes the nodes `0, 1, ...`. Their list determines the state graph: `G -> G'` is an edge
    if and only if `G` is inner, `G'` is listed, and `G'` is `G` with one edge more. An edge
    `{m, n}` is legal at `G` when `G + {m, n}` is listed. The sampler acts on labelled graphs, so
    isomorphic states are different states. The first of the inner states, the paper's `S`, is
    `s_o`; each terminal has a rational `R(x) > 0`.
    """

    features: tuple[int, ...]
    inner: tuple[Graph, ...]
    terminals: tuple[Graph, ...]
    rewards: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        if not self.inner or not self.terminals:
            raise InputError("EdgeAddition needs at least one inner and one terminal state")
        states, nodes = (*self.inner, *self.terminals), len(self.features)
        for state in states:
            if state != graph(state.edges) or not all(0 <= i < j < nodes for i, j in state.edges):
                raise InputError(
                    f"the edges of [{state}] must be (i, j) with 0 <= i < j < {nodes}, the number "
                    "of nodes, distinct and in increasing order: build it with "
                    "reference.problems.graphs.graph"
                )
        if len(set(states)) < len(states):
            twice = next(state for state in states if states.count(state) > 1)
            raise InputError(f"the state [{twice}] is listed twice: list each state once")
        if len(self.rewards) != len(self.terminals):
            raise InputError(
                f"EdgeAddition has {len(self.rewards)} rewards for {len(self.terminals)} "
                "terminals: give one reward per terminal"
            )
        for terminal, value in zip(self.terminals, self.rewards, strict=True):
            positive_reward(value, terminal)
        for terminal in self.terminals:
            if self._children[terminal]:
                raise InputError(
                    f"the terminal [{terminal}] leads to the listed state "
                    f"[{self._children[terminal][0]}], but terminals have no children: remove one "
                    "of them"
                )
        entered = {child for state in self.inner for child in self._children[state]}
        for state in (*self.inner[1:], *self.terminals):
            if state not in entered:
                raise InputError(
                    f"the state [{state}] is not an inner state with one edge more, so it is never "
                    "reached: list a state that leads to it, or remove it"
                )
        for state in self.inner:
            if not self._children[state]:
                raise InputError(
                    f"no listed state is [{state}] with one edge more, so it cannot be an inner "
                    "state: list one, or make it a terminal"
                )

    @classmethod
    def fork(
        cls,
        nodes: int,
        inner: Sequence[Graph],
        first: Edge,
        second: Edge,
        t: Fraction = Fraction(7, 10),
    ) -> Self:
        """Two terminals after the last inner state `p`: `q_1 = p + first`, `q_2 = p + second`.

        All features are equal, as in fig:graphssg. `R(q_1) = t` and `R(q_2) = 1 - t`.

        Args:
            nodes: the number of nodes.
            inner: the states, of which the first is `s_o` and the last p.
            first: the edge of `q_1`.
            second: the edge of `q_2`.
            t: a probability between 0 and 1.
        """
        states = check_list("EdgeAddition.fork", "inner", inner)
        if not states or not isinstance(states[-1], Graph):
            raise InputError(
                "EdgeAddition.fork: `inner` must be a list of Graphs that ends with p: give it"
            )
        check_integer("EdgeAddition.fork", "nodes", nodes, 1)
        _check_share(t)
        ends = tuple(graph((*states[-1].edges, edge)) for edge in (first, second))
        return cls((0,) * nodes, tuple(states), ends, (t, 1 - t))

    @classmethod
    def matching(cls, t: Fraction = Fraction(7, 10)) -> Self:
        """Three disjoint edges, the first two in either order; `q_1` and `q_2` are isomorphic.

        All nodes of `p` look alike, but the edge of node 2 always comes before that of node 4.
        """
        return cls.fork(6, _graphs("", "01", "23", "01 23", "01 23 45"), (0, 2), (0, 4), t)

    @classmethod
    def paths(cls, t: Fraction = Fraction(7, 10)) -> Self:
        """Two paths of three nodes, built in one order; `q_1` has a triangle, `q_2` is a path.

        It is the smallest `p` whose actions look alike but lead to non-isomorphic graphs.
        """
        return cls.fork(6, _graphs("", "01", "01 12", "01 12 34", "01 12 34 45"), (0, 2), (0, 3), t)

    @classmethod
    def marked(cls, t: Fraction = Fraction(7, 10)) -> Self:
        """The matching, but with the edge 45 from the start, which marks its ends."""
        return cls.fork(6, _graphs("45", "01 45", "23 45", "01 23 45"), (0, 2), (0, 4), t)

    @classmethod
    def mirrored(cls, t: Fraction = Fraction(7, 10)) -> Self:
        """Two disjoint edges in either order; swapping them swaps `q_1` and `q_2`.

        Node 0 is isolated in `p`, and is then joined to one of the edges.
        """
        return cls.fork(5, _graphs("", "12", "34", "12 34"), (0, 1), (0, 3), t)

    @classmethod
    def paper(cls, t: Fraction = Fraction(7, 10)) -> Self:
        """The 6-cycle, our choice for the unreadable fig:graphssga, with |S| = 5 and |X| = 2.

        `q_1` closes a triangle, `q_2` does not, and all nodes of `p` look alike. On the way node 2
        gains one edge and node 3 two, as the proof of prop:temporal_gnns says of b and c. Nodes
        of equal degree can only differ so if the start has edges, and these then mark them, even
        under a constant gate, whose path feature is a function of the state.
        """
        inner = _graphs(
            "01 12 45", "01 05 12 45", "01 05 12 23 45", "01 05 12 34 45", "01 05 12 23 34 45"
        )
        return cls.fork(6, inner, (0, 2), (0, 3), t)

    @classmethod
    def cycles(cls, size: int = 10, t: Fraction = Fraction(7, 10), *, grown: bool = False) -> Self:
        """Two cycles of `size` nodes, which all look alike, and one of sixteen chords.

        Eight chords join the cycles and share the reward t, eight do not and share 1 - t. Colour
        refinement of any depth chooses uniformly, with TV |t - 1/2|.

        Args:
            size: the nodes of each cycle, at least 6.
            t: a probability between 0 and 1.
            grown: whether the one path adds all edges of the cycles, not the last four alone, whose
                ends the chords join.
        """
        check_integer("EdgeAddition.cycles", "size", size, 6)
        _check_share(t)
        gaps = [(i, i + 1) for i in (0, size, size // 2, size + size // 2)]
        ring = graph((i, i - i % size + (i + 1) % size) for i in range(2 * size)).edges
        edges = [*(edge for edge in ring if edge not in gaps), *gaps]
        first = 0 if grown else len(edges) - len(gaps)
        inner = tuple(graph(edges[:count]) for count in range(first, len(edges) + 1))
        pairs = (((0, 1), t), ((2, 3), t), ((0, 2), 1 - t), ((1, 3), 1 - t))
        rewards = {e: r / 8 for (a, b), r in pairs for e in product(gaps[a], gaps[b])}
        ends = tuple(graph((*edges, chord)) for chord in rewards)
        return cls((0,) * len(edges), inner, ends, tuple(rewards.values()))

    @classmethod
    def minimal(cls) -> Self:
        """The matching: seven states, two histories, and a gain by path dependence."""
        return cls.matching()

    @classmethod
    def instance(
        cls,
        instance: Literal["matching", "paths", "marked", "mirrored", "paper", "cycles"] = "paper",
        alpha: float = 0.7,
        cycle: int = 10,
        grown: bool = False,
    ) -> Self:
        """An instance of ex. Graphs.

        Args:
            instance: the instance; cycles are two of them, joined by one chord or not.
            alpha: the target probability of the first terminal graph, or of a chord between cycles.
            cycle: the nodes of each of two cycles, at least 6.
            grown: whether a path adds all edges of two cycles, not the last four alone.
        """
        if not 0 < alpha < 1:
            raise InputError(f"alpha is {alpha}, but must lie strictly between 0 and 1")
        if instance == "cycles":
            return cls.cycles(cycle, dyadic(alpha), grown=grown)
        problem: Self = getattr(cls, instance)(dyadic(alpha))
        return problem

    @property
    def initial(self) -> Graph:
        """`s_o`."""
        return self.inner[0]

    @cached_property
    def _children(self) -> dict[Graph, tuple[Graph, ...]]:
        states = (*self.inner, *self.terminals)
        rows: dict[Graph, list[Graph]] = {state: [] for state in states}
        for child in states:
            for edge in child.edges:
                parent = Graph(tuple(e for e in child.edges if e != edge))
                if parent in rows:
                    rows[parent].append(child)
        return {state: tuple(row) for state, row in rows.items()}

    def children(self, state: Graph) -> tuple[Graph, ...]:
        """The listed graphs with one edge more, in the order of the list."""
        return self._children[state]

    def reward(self, terminal: Graph) -> Fraction:
        """`R(x)`."""
        return Fraction(self.rewards[self.terminals.index(terminal)])

    def law(self) -> FiniteLaw[Graph]:
        """The target."""
        return FiniteLaw.of({x: self.reward(x) for x in self.terminals})


def _check_share(t: object) -> None:
    """Checks the reward of the one kind of terminals, whose others have the rest."""
    if not isinstance(t, Fraction) or not 0 < t < 1:
        raise InputError(
            f"EdgeAddition: the share t of the rewards is {shown(t)}, but must be a Fraction "
            "between 0 and 1, as the others have 1 - t"
        )


def _graphs(*texts: str) -> tuple[Graph, ...]:
    """Graphs on at most ten nodes, from text such as "01 23"."""
    return tuple(graph((int(pair[0]), int(pair[1])) for pair in text.split()) for text in texts)
