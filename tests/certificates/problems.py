"""Small problems, and samplers of them."""

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pdai
from reference import BackwardPolicy, enumerate_dag, enumerate_rewards, forward_from_backward
from reference.certificates.regimes import PILOT
from reference.certificates.statement import Certificate
from reference.fields.field import RATIONAL
from reference.problems import Grid
from reference.rows.importance import Walks
from reference.rows.walks import Sampler

Policy = Callable[[Any], Any]

GRID = Grid(3, 2)
DAG = enumerate_dag(GRID)
ENDS = [DAG.labels[x] for x in DAG.terminals]


class Words:
    """Words of three letters, with `Z` = 20."""

    initial: Any = ""

    def children(self, state: Any) -> Any:
        return [state + c for c in "ab"] if len(state) < 3 else []

    def parents(self, state: Any) -> Any:
        return [state[:-1]]

    def reward(self, terminal: Any) -> Any:
        return 1 + terminal.count("a")


def other(name: str = "P", **members: Any) -> Any:
    """The words with other members."""
    return type(name, (Words,), members)()


def half(state: Any) -> list[float]:
    """Two children, equally likely."""
    return [0.5, 0.5]


def noisy(state: Any) -> list[float]:
    """Two children, with another row each time."""
    x = random.random()
    return [x, 1 - x]


def uniform(problem: Any) -> Policy:
    """Each child is as likely."""
    return lambda state: [1 / len(problem.children(state))] * len(problem.children(state))


def stopping(share: float) -> Policy:
    """Stops in the grid with that probability wherever it may go on."""

    def policy(state: Any) -> list[float]:
        others = len(GRID.children(state)) - 1
        return [share, *[(1 - share) / others] * others] if others else [1.0]

    return policy


def balanced(
    problem: Any, weight: Callable[[Any], Fraction | int] = lambda x: 1, backward: Any = None
) -> Policy:
    """The sampler that balance forces, for the reward times a weight; `p_B` is uniform or given."""
    dag = enumerate_dag(problem)
    pairs = zip(enumerate_rewards(problem, dag), dag.terminals, strict=True)
    rewards = [reward * weight(dag.labels[x]) for reward, x in pairs]
    forward, _ = forward_from_backward(backward or BackwardPolicy.uniform(dag, RATIONAL), rewards)
    rows = {
        dag.labels[u]: {dag.labels[dag.edges[e][1]]: float(forward.values[e]) for e in row}
        for u, row in enumerate(dag.out_edges)
    }
    return lambda state: rows[state]


class Fork(Sampler):
    """Ends in 0 with one probability and in 1 with another; `R p_B` is given.

    Args:
        p: of the end 0.
        weights: `R p_B` of both.
        pilot: what it pretends `log Z` to be while a pilot is drawn, in nats too much.
    """

    def __init__(
        self, p: float = 0.75, weights: tuple[float, float] = (1.0, 1.0), pilot: float = 0.0
    ):
        self.p, self.weights, self.pilot = p, weights, pilot
        self.rng = np.random.default_rng(0)

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        shift, self.pilot = self.pilot * (count == PILOT), 0.0
        return self._of((self.rng.random(count) >= self.p).astype(int), shift)

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        return self._of(np.array(terminals, int), 0.0)

    def findings(self) -> list[str]:
        return []

    def _of(self, ends: Any, shift: float) -> Walks:
        log_p_f = np.log(np.where(ends, 1 - self.p, self.p))
        log_reward = np.log(np.array(self.weights))[ends] + shift
        zeros = np.zeros(len(ends))
        return Walks(ends.tolist(), log_p_f, zeros, log_reward, zeros + 1e-12)


def certify_lines(lines: Iterable[str], problem: Any = None, **options: Any) -> Certificate:
    """The certificate of a file of these lines."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "x.csv")
        file.write_text("\n".join(lines))
        return pdai.certify(file, problem, **{"level": 1e-3, **options})


FAIR = {"a": 1, "b": 1, "c": 2}


def drawn(size: int, chances: Sequence[float] = (0.25, 0.25, 0.5), seed: int = 0) -> list[str]:
    """Samples of a law on the values of `FAIR`, of itself by default."""
    values: list[str] = np.random.default_rng(seed).choice([*FAIR], size, p=chances).tolist()
    return values


def fair_ends(count: int) -> list[Hashable]:
    """Samples of the law (1/2, 1/2) on the ends of a fork."""
    return (np.random.default_rng(1).random(count) < 0.5).astype(int).tolist()
