"""Inputs that a library must refuse, each beside the same input repaired.

The repaired one differs in what the rule speaks of and nothing else: a library that refuses
everything, or for another reason, does not pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from reference import (
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    History,
    LiftedDAG,
    PointedDAG,
    forward_from_backward,
    lift,
    pointed_dag,
)
from verify.lib.named_dags import DIAMOND, FORK
from verify.vectors.encoding import Json, encode_graph, encode_lift, encode_lifted_graph, numbers

FORK_JSON = encode_graph(FORK)
DIAMOND_JSON = encode_graph(DIAMOND)
WITH_HISTORY = lift(DIAMOND, History())


@dataclass(frozen=True)
class RefusalCase:
    """An input that breaks one rule, and one that does not."""

    name: str
    rule: str
    refused: Json
    accepted: Json

    def encode(self) -> Json:
        """The case as JSON."""
        return {
            "id": self.name,
            "rule": self.rule,
            "refused": self.refused,
            "accepted": self.accepted,
        }


def read(given: Json) -> None:
    """Builds the reference's objects from the input of a refusal case.

    Raises:
        InputError: if it breaks a rule.
    """
    dag = _read_graph(given["graph"])
    rewards = tuple(map(Fraction, given.get("rewards", ["1"] * len(dag.terminals))))
    p_b = BackwardPolicy.uniform(dag, RATIONAL)
    if "p_b" in given:
        p_b = BackwardPolicy(dag, RATIONAL, list(map(Fraction, given["p_b"])))
    if "p_f" in given:
        ForwardPolicy(dag, RATIONAL, list(map(Fraction, given["p_f"])))
    forward_from_backward(p_b, rewards)
    if "lift" in given:
        below = given["lift"]
        LiftedDAG(
            _read_graph(below["base"]), dag, tuple(below["projection"]), tuple(below["base_edge"])
        )


def _read_graph(given: Json) -> PointedDAG[str]:
    names = dict(enumerate(given["states"]))
    children: dict[str, list[str]] = {name: [] for name in names.values()}
    for u, v in given["edges"]:
        children[names[u]].append(names.get(v, f"number {v}"))
    return pointed_dag(children, names[given["initial"]], [names[x] for x in given["terminals"]])


def refusal_cases() -> Iterator[RefusalCase]:
    """Every rule, broken once."""
    yield from _graphs()
    yield from _numbers()
    yield from _lifts()


def _graphs() -> Iterator[RefusalCase]:
    def case(name: str, rule: str, refused: Json, accepted: Json) -> RefusalCase:
        return RefusalCase(name, rule, {"graph": refused}, {"graph": accepted})

    fork = _graph("oxy", [(0, 1), (0, 2)], [1, 2])
    chain = _graph("oax", [(0, 1), (1, 2)], [2])
    yield case(
        "second-source",
        "the initial state is the only one without parents: from o -> x, o -> y, u -> x with a "
        "uniform p_B, trajectory balance gives (1/3, 2/3) for a uniform target",
        _graph("oxyu", [(0, 1), (0, 2), (3, 1)], [1, 2]),
        _graph("oxyu", [(0, 1), (0, 2), (3, 1), (0, 3)], [1, 2]),
    )
    yield case(
        "unreachable-terminal",
        "every state is reached from the initial one",
        _graph("oxy", [(0, 1)], [1, 2]),
        fork,
    )
    yield case(
        "cycle",
        "the graph has no cycle",
        _graph("oabx", [(0, 1), (1, 2), (2, 1), (2, 3)], [3]),
        _graph("oabx", [(0, 1), (1, 2), (2, 3)], [3]),
    )
    yield case(
        "self-loop",
        "no state is its own child",
        _graph("oax", [(0, 1), (1, 1), (1, 2)], [2]),
        chain,
    )
    yield case(
        "edge-into-the-initial-state",
        "the initial state has no parents",
        _graph("oax", [(0, 1), (1, 0), (1, 2)], [2]),
        chain,
    )
    yield case(
        "dead-end",
        "every state without children is terminal: probability that enters another is lost",
        _graph("oxy", [(0, 1), (0, 2)], [1]),
        fork,
    )
    yield case(
        "terminal-with-children",
        "terminal states have no children",
        _graph("oax", [(0, 1), (1, 2)], [1, 2]),
        chain,
    )
    yield case(
        "repeated-edge",
        "there is at most one edge between two states",
        _graph("oxy", [(0, 1), (0, 2), (0, 2)], [1, 2]),
        fork,
    )
    yield case(
        "edge-to-no-state",
        "both ends of an edge are states",
        _graph("oxy", [(0, 1), (0, 2), (0, 3)], [1, 2]),
        fork,
    )
    yield case(
        "initial-state-alone",
        "the initial state has children: there is no trajectory otherwise",
        _graph("o", [], [0]),
        _graph("ox", [(0, 1)], [1]),
    )


def _numbers() -> Iterator[RefusalCase]:
    def case(
        name: str, rule: str, key: str, refused: list[str], accepted: list[str], graph: Json
    ) -> RefusalCase:
        given = {"graph": graph}
        return RefusalCase(name, rule, given | {key: refused}, given | {key: accepted})

    fork, diamond = FORK_JSON, DIAMOND_JSON
    normalised = "p_F sums to 1 over the children of each state, exactly"
    yield case("p-f-row-above-one", normalised, "p_f", ["2/3", "2/3"], ["2/3", "1/3"], fork)
    yield case("p-f-row-below-one", normalised, "p_f", ["1/2", "1/3"], ["1/2", "1/2"], fork)
    yield case(
        "p-f-negative", "probabilities are >= 0", "p_f", ["3/2", "-1/2"], ["1/2", "1/2"], fork
    )
    yield case("p-f-too-short", "there is one probability per edge", "p_f", ["1"], ["1", "0"], fork)
    # The edges of the diamond are o-a, o-b, a-c, b-c, c-x, c-y.
    yield case(
        "p-b-row",
        "p_B sums to 1 over the parents of each state, exactly",
        "p_b",
        ["1", "1", "1/2", "1/3", "1", "1"],
        ["1", "1", "1/2", "1/2", "1", "1"],
        diamond,
    )
    yield case(
        "p-b-normalised-over-children",
        "p_B is a law over parents: rows over children are not one",
        "p_b",
        ["1/2", "1/2", "1", "1", "1/2", "1/2"],
        ["1", "1", "1/2", "1/2", "1", "1"],
        diamond,
    )
    yield case("reward-negative", "rewards are >= 0", "rewards", ["2", "-1"], ["2", "1"], fork)
    yield case(
        "rewards-all-zero", "some reward is positive", "rewards", ["0", "0"], ["0", "1"], fork
    )
    yield case(
        "reward-missing", "there is one reward per terminal", "rewards", ["1"], ["1", "1"], fork
    )


def _lifts() -> Iterator[RefusalCase]:
    graph, below = encode_lifted_graph(WITH_HISTORY), encode_lift(WITH_HISTORY)
    right = {"graph": graph, "lift": below}
    # The two copies of c become one of c and one of b.
    b, c = DIAMOND.index["b"], DIAMOND.index["c"]
    wrong = list(WITH_HISTORY.projection)
    wrong[wrong.index(c)] = b
    yield RefusalCase(
        "lift-projection",
        "the projection maps the edges out of a lifted state one to one onto those below it",
        {"graph": graph, "lift": below | {"projection": wrong}},
        right,
    )
    edges = list(WITH_HISTORY.base_edge)
    edges[0], edges[1] = edges[1], edges[0]
    yield RefusalCase(
        "lift-base-edge",
        "below a lifted edge lies the base edge between the states below its ends",
        {"graph": graph, "lift": below | {"base_edge": edges}},
        right,
    )
    uniform = BackwardPolicy.uniform(DIAMOND, RATIONAL)
    yield RefusalCase(
        "copied-p-b-as-a-policy",
        "a p_B over lifted parents sums to 1 over them: a base p_B copied onto a lift with memory "
        "does not, its rows at the copies of c sum to 1/2 and those at x and y to 2",
        {"graph": graph, "p_b": numbers(uniform.on(WITH_HISTORY).values)},
        {
            "graph": graph,
            "p_b": numbers(BackwardPolicy.uniform(WITH_HISTORY.dag, RATIONAL).values),
        },
    )


def _graph(states: str, edges: list[tuple[int, int]], terminals: list[int]) -> Json:
    return {
        "states": list(states),
        "edges": [list(edge) for edge in edges],
        "initial": 0,
        "terminals": terminals,
    }
