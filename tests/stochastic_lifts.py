"""Finite stochastic lifts to test on: random ones, and the smallest that break one thing."""

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from reference import PointedDAG, pointed_dag
from reference.stochastic import StochasticLift
from reference.stochastic_kernels import ZERO, Kernel, LiftedState, Measure, restrict

ONE, HALF, THIRD, QUARTER, FIFTH, SIXTH = (Fraction(1, n) for n in range(1, 7))
SEEDS = pytest.mark.parametrize("seed", range(40))
Row = str | Mapping[str, Fraction]


def law(dag: PointedDAG[str], row: Row) -> dict[LiftedState, Fraction]:
    """A law on states written "x0": node x, latent 0. A bare state stands for all the mass."""
    masses = {row: ONE} if isinstance(row, str) else row
    return {(dag.index[state[0]], int(state[1])): p for state, p in masses.items()}


def kernel(dag: PointedDAG[str], rows: Mapping[str, Row], latents: tuple[int, ...]) -> Kernel:
    """A kernel written out; a row named "x" is that of x with every latent without its own row."""
    return {
        (node, w): law(dag, rows[name] if (name := f"{s}{w}") in rows else rows[s])
        for s, node in dag.index.items()
        for w in latents
    }


def build(
    children: Mapping[str, str],
    kappa_f: Mapping[str, Row],
    kappa_b: Mapping[str, Row],
    nu: Mapping[str, Fraction],
    latents: tuple[int, ...] = (0,),
) -> StochasticLift:
    """A lift written out."""
    dag = pointed_dag({state: list(row) for state, row in children.items()})
    forward, backward = kernel(dag, kappa_f, latents), kernel(dag, kappa_b, latents)
    return StochasticLift(dag, latents, forward, backward, law(dag, nu))


def build_forward(children: Mapping[str, str], kappa_f: Mapping[str, Row]) -> StochasticLift:
    """The lift that a forward kernel forces, with two latents, equally likely at the start."""
    dag = pointed_dag({state: list(row) for state, row in children.items()})
    return StochasticLift.from_forward(
        dag, (0, 1), kernel(dag, kappa_f, (0, 1)), {0: HALF, 1: HALF}
    )


@cache
def random_lift(seed: int, least: int = 1) -> StochasticLift:
    """A lift of a random DAG with at most 5 nodes, by 2 latents; `least = 0` allows zeros."""
    rng = random.Random(seed)
    children: dict[int, list[int]] = {0: []}
    for node in range(1, rng.randint(3, 5)):
        for parent in rng.sample(range(node), rng.randint(1, node)):
            children[parent].append(node)
        children[node] = []
    dag = pointed_dag({state: list(row) for state, row in children.items()})

    def choose(keys: list[Any]) -> dict[Any, Fraction]:
        weights = [rng.choice([least, *range(least, 7)]) for _ in keys]
        weights[rng.randrange(len(keys))] += 1
        return {
            key: Fraction(weight, sum(weights)) for key, weight in zip(keys, weights, strict=True)
        }

    kappa_f = {
        (u, w): choose([(v, x) for v in dag.children[u] or (u,) for x in (0, 1)])
        for u in range(len(dag.labels))
        for w in (0, 1)
    }
    return StochasticLift.from_forward(dag, (0, 1), kappa_f, choose([0, 1]))


def with_row(kernel: Kernel, s: LiftedState, row: Measure) -> Kernel:
    return {**kernel, s: row}


def mass(kernel: Kernel, s: LiftedState, states: frozenset[LiftedState]) -> Fraction:
    return sum(restrict(kernel[s], states).values(), ZERO)


def longest(dag: PointedDAG[Any]) -> int:
    return max(map(len, dag.trajectories()))


CHAIN = {"o": "u", "u": "x", "x": ""}
FORK = {"o": "xu", "u": "y", "x": "", "y": ""}
"""Two trajectories, of one step and of two."""


def chain() -> StochasticLift:
    nu = {"o0": THIRD, "u0": THIRD, "x0": THIRD}
    return build(CHAIN, {"o": "u0", "u": "x0", "x": "x0"}, {"o": "o0", "u": "o0", "x": "u0"}, nu)


def fork() -> StochasticLift:
    return build(
        FORK,
        {"o": {"x0": HALF, "u0": HALF}, "u": "y0", "x": "x0", "y": "y0"},
        {"o": "o0", "u": "o0", "x": "o0", "y": "u0"},
        {"o0": 2 * FIFTH, "u0": FIFTH, "x0": FIFTH, "y0": FIFTH},
    )


def copying_fork() -> StochasticLift:
    """The fork with two latents that every move copies; in `S_o*` the latent is drawn anew."""
    rows: dict[str, Row] = {}
    for w in "01":
        rows |= {"o" + w: {"x" + w: HALF, "u" + w: HALF}, "u" + w: "y" + w}
        rows |= {"x" + w: "x" + w, "y" + w: "y" + w}
    return build_forward(FORK, rows)


def leaves_a_null_terminal() -> StochasticLift:
    return build(
        {"o": "xu", "u": "x", "x": ""},
        {"o0": "x0", "o1": "x1", "u": "x0", "x0": "x0", "x1": "u0"},
        {"o": "o0", "u": "o0", "x": "o0"},
        {"o0": HALF, "x0": HALF},
        latents=(0, 1),
    )


def leaves_a_null_initial_state() -> StochasticLift:
    return build(
        {"o": "xu", "u": "v", "v": "y", "x": "", "y": ""},
        {"o": {"x0": HALF, "u0": HALF}, "u": "v0", "v": "y0", "x": "x0", "y": "y0"},
        {"o0": {"o0": HALF, "o1": HALF}, "o1": "u0", "u": "o0", "v": "u0", "x": "o0", "y": "v0"},
        {"o0": THIRD, "u0": SIXTH, "v0": SIXTH, "x0": SIXTH, "y0": SIXTH},
        latents=(0, 1),
    )


def wrong_nu() -> StochasticLift:
    return replace(chain(), nu={(0, 0): HALF, (1, 0): QUARTER, (2, 0): QUARTER})


def stuck_backward() -> StochasticLift:
    return replace(chain(), kappa_b=with_row(chain().kappa_b, (1, 0), {(1, 0): ONE}))


def stuck_forward() -> StochasticLift:
    return replace(chain(), kappa_f=with_row(chain().kappa_f, (1, 0), {(1, 0): ONE}))


def waiting() -> StochasticLift:
    """`kappa_F` waits in `u` with probability 1/2, so that no `N` exists."""
    return build(
        CHAIN,
        {"o": "u0", "u": {"u0": HALF, "x0": HALF}, "x": "x0"},
        {"o": "o0", "u": {"o0": HALF, "u0": HALF}, "x": "u0"},
        {"o0": QUARTER, "u0": HALF, "x0": QUARTER},
    )


def backward_enters_x() -> StochasticLift:
    return build(
        {"o": "x", "x": ""},
        {"o": "x0", "x": "x0"},
        {"o": "o0", "x": {"o0": HALF, "x0": HALF}},
        {"o0": THIRD, "x0": 2 * THIRD},
    )


def backward_enters_a_null_state() -> StochasticLift:
    return build(
        CHAIN,
        {"o": "u0", "u": "x0", "x": "x0"},
        {"o": "o0", "u0": "o0", "u1": "o0", "x": {"u0": HALF, "u1": HALF}},
        {"o0": THIRD, "u0": THIRD, "x0": THIRD},
        latents=(0, 1),
    )
