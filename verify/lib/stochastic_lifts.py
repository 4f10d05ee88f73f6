"""Finite stochastic lifts to check claims on: of every small DAG, and ones that break one thing.

A state written `x0` is the node x with the latent 0.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from reference import PointedDAG, pointed_dag
from verify.lib.scopes import all_small_dags
from verify.lib.small_scope import canonical
from verify.lib.stochastic.axioms import axioms
from verify.lib.stochastic.kernels import ZERO, Kernel, LiftedState, Measure, restrict
from verify.lib.stochastic.lemmas import Lemma
from verify.lib.stochastic.lift import StochasticLift

ONE, HALF, THIRD, QUARTER, FIFTH, SIXTH = (Fraction(1, n) for n in range(1, 7))
Row = str | Mapping[str, Fraction]


def law(dag: PointedDAG[str], row: Row) -> dict[LiftedState, Fraction]:
    """A law on states written "x0": node x, latent 0; a string of states is the uniform one."""
    if isinstance(row, str):
        states = row.split()
        row = dict.fromkeys(states, Fraction(1, len(states)))
    return {(dag.index[state[0]], int(state[1])): p for state, p in row.items()}


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
    kappa_b: Mapping[str, Row] | None = None,
    nu: Row | None = None,
    latents: tuple[int, ...] = (0,),
) -> StochasticLift:
    """A lift written out; without `kappa_b` and `nu` that which `kappa_f` forces.

    It starts with all latents alike.
    """
    dag = pointed_dag({state: list(row) for state, row in children.items()})
    forward = kernel(dag, kappa_f, latents)
    if kappa_b is None or nu is None:
        fair = dict.fromkeys(latents, Fraction(1, len(latents)))
        return StochasticLift.from_forward(dag, latents, forward, fair)
    return StochasticLift(dag, latents, forward, kernel(dag, kappa_b, latents), law(dag, nu))


@cache
def small_lifts(least: int = 1) -> tuple[StochasticLift, ...]:
    """One lift by two latents of every small DAG, up to isomorphism; `least = 0` allows zeros."""
    rng = random.Random(least)
    classes = {canonical(dag)[0]: dag for dag in all_small_dags()}
    return tuple(random_lift(rng, dag, least) for dag in classes.values())


def random_lift(
    rng: random.Random, dag: PointedDAG[Any], least: int = 1, size: int = 2
) -> StochasticLift:
    """The lift by `size` latents that a random forward kernel forces."""
    latents = tuple(range(size))

    def choose(keys: list[Any]) -> dict[Any, Fraction]:
        weights = [rng.choice([least, *range(least, 7)]) for _ in keys]
        weights[rng.randrange(len(keys))] += 1
        return {
            key: Fraction(weight, sum(weights)) for key, weight in zip(keys, weights, strict=True)
        }

    kappa_f = {
        (u, w): choose([(v, x) for v in dag.children[u] or (u,) for x in latents])
        for u in range(len(dag.labels))
        for w in latents
    }
    return StochasticLift.from_forward(dag, latents, kappa_f, choose(list(latents)))


@cache
def mutated_lifts(least: int = 0) -> tuple[StochasticLift, ...]:
    """Lifts with rows moved at random: some keep all axioms, others break one or several.

    Rows of `nu`-null states are moved first: they may change without breaking most axioms.
    """
    rng = random.Random(0)
    mutated = []
    for index, lift in enumerate(small_lifts(least)):
        rows = [(name, s) for name in ("kappa_f", "kappa_b") for s in sorted(lift.states)]
        null = [(name, s) for name, s in rows if s not in lift.charged]
        for name, s in rng.sample(null, min(len(null), 2)) + rng.sample(rows, index % 2):
            row = {rng.choice(sorted(lift.states)): ONE}
            moved: Any = {name: with_row(getattr(lift, name), s, row)}
            lift = replace(lift, **moved)
        mutated.append(lift)
    return tuple(mutated)


def described(least: int = 1) -> str:
    """The scope of a test over `small_lifts`, for the ledger."""
    lifts = small_lifts(least)
    states = max(len(lift.dag.labels) for lift in lifts)
    kernels = "positive kernels" if least else "kernels with zeros"
    return f"random {kernels} on all {len(lifts):,} DAGs up to {states} states"


def failing(lift: StochasticLift) -> list[str]:
    """The axioms of the repaired definition that a lift violates."""
    return [name for name, holds in axioms(lift)._asdict().items() if not holds]


def check_fails_without(
    lemma: Callable[[StochasticLift], Lemma], missing: str, wrong: StochasticLift
) -> None:
    """`missing` is the only hypothesis that fails, and the conclusion fails with it."""
    verdict = lemma(wrong)
    assert [name for name, holds in verdict.hypotheses.items() if not holds] == [missing]
    assert not verdict.conclusion


def check_never_refuted(
    lemma: Callable[[StochasticLift], Lemma], lifts: tuple[StochasticLift, ...]
) -> None:
    """The conclusion holds wherever the hypotheses do; both cases and the opposite one occur."""
    seen = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for lift in lifts:
        verdict = lemma(lift)
        seen[verdict.applies, verdict.conclusion] += 1
    assert seen[True, False] == 0
    assert min(seen[True, True], seen[False, False]) >= 10


def with_row(kernel: Kernel, s: LiftedState, row: Measure) -> Kernel:
    return {**kernel, s: row}


def mass(kernel: Kernel, s: LiftedState, states: frozenset[LiftedState]) -> Fraction:
    return sum(restrict(kernel[s], states).values(), ZERO)


def longest(dag: PointedDAG[Any]) -> int:
    return max(map(len, dag.trajectories()))


CHAIN = {"o": "u", "u": "x", "x": ""}
TRIANGLE = {"o": "ux", "u": "x", "x": ""}
"""Two trajectories, of one step and of two."""


def chain() -> StochasticLift:
    """One trajectory of two steps."""
    return build(CHAIN, {"o": "u0", "u": "x0", "x": "x0"})


def triangle() -> StochasticLift:
    """Trajectories of one step and of two, equally likely."""
    return build(TRIANGLE, {"o": "x0 u0", "u": "x0", "x": "x0"})


def copying_triangle() -> StochasticLift:
    """The triangle with two latents that every move copies; in `S_o*` the latent is drawn anew."""
    rows = {"o0": "x0 u0", "o1": "x1 u1", "u0": "x0", "u1": "x1", "x0": "x0", "x1": "x1"}
    return build(TRIANGLE, rows, latents=(0, 1))


def leaves_a_null_initial_state() -> StochasticLift:
    """Within `S_o*`, `kappa_B` enters the null `(o, 1)`, from where it leaves `S_o*`."""
    return build(
        {"o": "ux", "u": "v", "v": "x", "x": ""},
        {"o": "x0 u0", "u": "v0", "v": "x0", "x": "x0"},
        {"o0": "o0 o1", "o1": "u0", "u": "o0", "v": "u0", "x": "o0 v0"},
        {"o0": THIRD, "u0": SIXTH, "v0": SIXTH, "x0": THIRD},
        latents=(0, 1),
    )


def wrong_nu() -> StochasticLift:
    """The chain with a `nu` that is not its measure of visits."""
    return replace(chain(), nu={(0, 0): HALF, (1, 0): QUARTER, (2, 0): QUARTER})


def with_another_nu(lift: StochasticLift) -> StochasticLift:
    """The lift with half of what `nu` has at a terminal at an initial state instead."""
    x = (lift.dag.terminals[0], 0)
    moved = {(0, 0): lift.nu[0, 0] + lift.nu[x] / 2, x: lift.nu[x] / 2}
    return replace(lift, nu={**lift.nu, **moved})


def stuck_backward() -> StochasticLift:
    """The chain with a backward kernel that stays in `u`."""
    return replace(chain(), kappa_b=with_row(chain().kappa_b, (1, 0), {(1, 0): ONE}))


def waiting() -> StochasticLift:
    """`kappa_F` waits in `u` with probability 1/2, so that no `N` exists."""
    return build(
        CHAIN,
        {"o": "u0", "u": "u0 x0", "x": "x0"},
        {"o": "o0", "u": "o0 u0", "x": "u0"},
        {"o0": QUARTER, "u0": HALF, "x0": QUARTER},
    )


def backward_enters_x() -> StochasticLift:
    """`kappa_B` stays in `x` with probability 1/2."""
    return build(
        {"o": "x", "x": ""},
        {"o": "x0", "x": "x0"},
        {"o": "o0", "x": "o0 x0"},
        {"o0": THIRD, "x0": 2 * THIRD},
    )
