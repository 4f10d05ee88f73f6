"""Small graphs by hand, and the counterexamples of the paper's audit as samplers."""

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from reference import (
    RATIONAL,
    BackwardKernel,
    BackwardPolicy,
    ForwardPolicy,
    History,
    PointedDAG,
    flows,
    forward_from_backward,
    lift,
    pointed_dag,
)
from verify.lib.named_dags import DIAMOND, FORK
from verify.vectors.samplers import Draws, SamplerCase

UNEVEN = pointed_dag({"o": ["x", "u"], "u": ["y"], "x": [], "y": []})
TWO_PATHS = pointed_dag(
    {"o": ["a", "b", "c"], "a": ["x"], "b": ["x"], "c": ["y"], "x": [], "y": []}
)
GRAPHS: dict[str, PointedDAG[Any]] = {
    "chain": pointed_dag({"o": ["a"], "a": ["x"], "x": []}),
    "fork": FORK,
    "uneven": UNEVEN,
    "two-paths": TWO_PATHS,
    "diamond": DIAMOND,
    "tree": pointed_dag(
        {"": ["0", "1"], "0": ["00", "01"], "1": ["10", "11"]}
        | {leaf: [] for leaf in ("00", "01", "10", "11")}
    ),
    "complete": pointed_dag(
        {str(i): [str(j) for j in range(i + 1, 5)] for i in range(5)} | {"3": ["4", "x"], "x": []}
    ),
}
HALF = Fraction(1, 2)


def graph_cases() -> Iterator[SamplerCase]:
    """Every graph by hand, and its lift by the full history, with drawn samplers."""
    for name, dag in GRAPHS.items():
        rng = random.Random(name)
        rewards = tuple(Fraction(rng.randrange(1, 10), 2) for _ in dag.terminals)
        base = Draws(name, dag, rewards, rng)
        yield from (base.arbitrary(), base.balanced(), base.misnormalised())
        lifted = Draws(f"{name}/history", lift(dag, History()), rewards, rng)
        yield from (lifted.arbitrary(), lifted.balanced())
        yield from (lifted.copied(), lifted.misnormalised())


def counterexamples() -> Iterator[SamplerCase]:
    """Samplers that pass a wrong test, or fail one that looks right; `about` says which."""
    yield SamplerCase(
        "contrasts-of-equal-length",
        "the trajectories have lengths 1 and 2: a contrastive loss that pairs only equal lengths "
        "has nothing to compare and lets (9/10, 1/10) pass for a uniform target; the residual of "
        "the one pair is not zero (col:cb as printed)",
        UNEVEN,
        (Fraction(1), Fraction(1)),
        ForwardPolicy.from_rows(
            UNEVEN,
            RATIONAL,
            {"o": {"x": Fraction(9, 10), "u": Fraction(1, 10)}, "u": {"y": 1}},
        ),
        BackwardPolicy.uniform(UNEVEN, RATIONAL),
        [Fraction(2), *[Fraction(1)] * 3],
    )
    ones = BackwardKernel(TWO_PATHS, RATIONAL, [RATIONAL.one] * len(TWO_PATHS.edges))
    yield _forced(
        "p-b-left-out",
        "p_B = 1 on every edge, as when it is forgotten: trajectory balance holds, and the "
        "marginal is (2/3, 1/3) for a uniform target, in proportion to R b with b the number of "
        "paths",
        ones,
        (Fraction(1), Fraction(1)),
    )
    uniform = BackwardPolicy.uniform(DIAMOND, RATIONAL)
    history = lift(DIAMOND, History())
    one_two = (Fraction(1), Fraction(2))
    yield replace(
        _forced(
            "copied-p-b-inside",
            "a uniform p_B copied onto the full-history lift: every residual is zero and the "
            "marginal is right, but each copy of c is visited with probability 1/2 while F / Z = 1 "
            "(prop:lifted_balance needs a p_B normalised over lifted parents)",
            uniform.on(history),
            one_two,
        ),
        space=history,
        copied=uniform,
    )
    right = _forced(
        "inner-flow-overwritten",
        "a balanced sampler whose flow at the state a is changed: trajectory balance and the "
        "marginal do not see it, detailed, subtrajectory and flow matching balance do",
        uniform,
        one_two,
    )
    a = DIAMOND.index["a"]
    yield replace(right, flow=[f + 1 if s == a else f for s, f in enumerate(right.flow)])
    yield _path_dependent_where_p_b_vanishes()
    yield _path_dependent_by_the_terminal()
    yield SamplerCase(
        "projection-is-weighted",
        "the copies of c are visited with 9/10 and 1/10 and go to different terminals: the Markov "
        "projection weighs rows by visits and keeps the marginal (9/10, 1/10); a plain mean of the "
        "rows would give (1/2, 1/2)",
        history,
        (Fraction(1), Fraction(1)),
        ForwardPolicy(
            history.dag,
            RATIONAL,
            [Fraction(9, 10), Fraction(1, 10), *map(Fraction, (1, 1, 1, 0, 0, 1))],
        ),
        BackwardPolicy.uniform(history.dag, RATIONAL),
        flows(BackwardPolicy.uniform(history.dag, RATIONAL), (Fraction(1), Fraction(1))),
    )
    yield _forced(
        "reward-zero",
        "a terminal of reward 0: balance and the marginal are defined, logarithms are not",
        BackwardPolicy.uniform(FORK, RATIONAL),
        (Fraction(0), Fraction(3)),
    )
    yield _forced(
        "beyond-float64",
        "rewards 10^-400 and 3 10^-400, below the least float64: only log rewards can be used",
        uniform,
        (Fraction(1, 10**400), Fraction(3, 10**400)),
    )


def _forced(
    name: str, about: str, p_b: BackwardKernel[Fraction], rewards: tuple[Fraction, ...]
) -> SamplerCase:
    p_f, _ = forward_from_backward(p_b, rewards)
    return SamplerCase(name, about, p_b.dag, rewards, p_f, p_b, flows(p_b, rewards))


def _path_dependent_where_p_b_vanishes() -> SamplerCase:
    dag = pointed_dag(
        {"o": ["a", "b", "v"], "a": ["u"], "b": ["u"]}
        | {"u": ["x", "y"], "v": ["x", "y"], "x": [], "y": []}
    )
    # The base p_B never goes from x or y to u, so no balance condition reaches the rows at u.
    p_b = BackwardPolicy.from_weights(
        dag, RATIONAL, [int(dag.labels[u] != "u") for u, _ in dag.edges]
    )
    lifted = lift(dag, History())
    rewards = (Fraction(1), Fraction(1))
    case = _forced("", "", p_b.on(lifted), rewards)
    values = list(case.forward.values)
    copies = [node for node, v in enumerate(lifted.projection) if dag.labels[v] == "u"]
    for number, node in enumerate(copies):
        for position, edge in enumerate(lifted.dag.out_edges[node]):
            values[edge] = Fraction(int(position == number))
    return replace(
        case,
        name="p-b-with-a-zero",
        about="a Markovian p_B that never goes to u: the balanced p_F may depend on the path at "
        "the copies of u, which are never visited (prop:markovian needs p_B > 0)",
        space=lifted,
        copied=p_b,
        forward=ForwardPolicy(lifted.dag, RATIONAL, values),
    )


def _path_dependent_by_the_terminal() -> SamplerCase:
    lifted = lift(DIAMOND, History())
    weight = {("a", "x"): 3, ("b", "x"): 1, ("a", "y"): 1, ("b", "y"): 3}
    values = [RATIONAL.one] * len(lifted.dag.edges)
    for edge, (u, v) in enumerate(lifted.dag.edges):
        end = DIAMOND.labels[lifted.projection[v]]
        if end in ("x", "y"):
            values[edge] = Fraction(weight[lifted.dag.labels[u][1][0], end], 4)
    return replace(
        _forced(
            "p-b-by-the-terminal",
            "a p_B on the lift whose law of paths depends on the terminal: the balanced p_F is "
            "path dependent, (3/4, 1/4) or (1/4, 3/4) at c, and its marginal is uniform",
            BackwardPolicy(lifted.dag, RATIONAL, values),
            (Fraction(1), Fraction(1)),
        ),
        space=lifted,
    )
