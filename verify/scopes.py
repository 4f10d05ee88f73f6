"""What the claims are checked on: every small lift, with random rational policies and rewards.

With `--exhaustive`, also the lifts of one labelling of each DAG with six states: all of them for
the claims that the others rest on, one in ten for the rest, as all take a quarter of an hour.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import cycle, product
from typing import Any, NamedTuple

from reference import (
    RATIONAL,
    BackwardKernel,
    BackwardPolicy,
    ForwardPolicy,
    LiftedDAG,
    PointedDAG,
    forward_from_law,
)
from verify.small_scope import isomorphism_classes, lifts, pointed_dags

MAX_NODES = 5
EXHAUSTIVE_NODES = 6

# Of the DAGs with up to five states and with six; `test_small_scope.py` counts them.
SMALL_LIFTS, SIX_STATE_LIFTS = 784, 438_805

_exhaustive = False


def set_exhaustive(exhaustive: bool) -> None:
    """Chooses the scope of the session: called once, before any test runs."""
    global _exhaustive
    _exhaustive = exhaustive


class Draw(NamedTuple):
    """A lift with random positive rewards, and the source of more randomness."""

    lifted: LiftedDAG[int]
    rewards: tuple[Fraction, ...]
    rng: random.Random

    def backward(self, dag: PointedDAG[Any]) -> BackwardPolicy[Fraction]:
        """A random positive backward policy."""
        return BackwardPolicy.from_weights(dag, RATIONAL, self.weights(len(dag.edges)))

    def sparse_backward(self, dag: PointedDAG[Any]) -> BackwardPolicy[Fraction]:
        """A random backward policy in which about half of what may be zero is zero."""
        weights = self.weights(len(dag.edges))
        for _, row in BackwardPolicy.rows(dag):
            kept = self.rng.choice(row)
            for edge in row:
                if edge != kept and self.rng.random() < 0.5:
                    weights[edge] = 0
        return BackwardPolicy.from_weights(dag, RATIONAL, weights)

    def forward(self, dag: PointedDAG[Any]) -> ForwardPolicy[Fraction]:
        """A random positive forward policy."""
        return ForwardPolicy.from_weights(dag, RATIONAL, self.weights(len(dag.edges)))

    def weights(self, count: int) -> list[int]:
        """Random integers from 1 to 9."""
        return self.rng.choices(range(1, 10), k=count)


def crossed(names: Iterable[str], options: Sequence[str]) -> list[tuple[str, str]]:
    """Each name with one of the options, in turn; if exhaustive, with every one."""
    if _exhaustive:
        return list(product(names, options))
    return list(zip(names, cycle(options), strict=False))


def all_small_dags() -> Iterator[PointedDAG[int]]:
    """Every labelled pointed DAG up to five states; if exhaustive, each DAG with six states too."""
    for nodes in range(2, MAX_NODES + 1):
        yield from pointed_dags(nodes)
    if _exhaustive:
        for dag, _ in isomorphism_classes(EXHAUSTIVE_NODES):
            yield dag


def all_small_lifts(one_in: int = 10) -> Iterator[Draw]:
    """Every lift of every labelled pointed DAG up to five states, each with random rewards.

    Args:
        one_in: if exhaustive, one in so many lifts of the DAGs with six states comes as well.
    """
    rng = random.Random(0)
    for number, lifted in enumerate(lifted for dag in all_small_dags() for lifted in lifts(dag)):
        if number < SMALL_LIFTS or (number - SMALL_LIFTS) % one_in == 0:
            rewards = tuple(Fraction(rng.randint(1, 9)) for _ in lifted.base.terminals)
            yield Draw(lifted, rewards, rng)


def balanced_with(
    kernel: BackwardKernel[Fraction],
    rewards: tuple[Fraction, ...],
    elsewhere: ForwardPolicy[Fraction] | None = None,
) -> ForwardPolicy[Fraction]:
    """The policy whose trajectory law is `R(x) p_B(tau|x) / Z`, from the law alone."""
    dag = kernel.dag
    reward = dict(zip(dag.terminals, rewards, strict=True))
    return forward_from_law(
        elsewhere or ForwardPolicy.uniform(dag, RATIONAL),
        lambda tau: reward[dag.end(tau)] * kernel.along(tau) / sum(rewards),
    )


def described(draws: int) -> str:
    """The scope of a test over `all_small_lifts`, for the ledger."""
    if draws == SMALL_LIFTS + SIX_STATE_LIFTS:
        return f"all {draws:,} lifts of DAGs up to {EXHAUSTIVE_NODES} states"
    six = f", {draws - SMALL_LIFTS:,} with {EXHAUSTIVE_NODES}" if draws > SMALL_LIFTS else ""
    return f"all {min(draws, SMALL_LIFTS):,} lifts of DAGs up to {MAX_NODES} states{six}"
