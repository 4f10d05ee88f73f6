"""Edge marginals of posteriors over graphs, and Markov chains that sample them. Imports no JAX."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby, islice
from random import Random
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from fast.training.compose import TrainConfig, to_json
from reference.posterior import StructureLearning
from reference.posterior.mcmc import GraphTarget, OrderTarget, chain, linear_extensions

# The share of a chain that is discarded, and the steps between orders that give a graph.
BURN_IN, APART = 0.2, 20
# The draws by which trained samplers are measured; for exact draws the error is known.
DRAWS = 16_384

Floats = npt.NDArray[np.float64]
Walker = Literal["edges", "orders"]


@dataclass(frozen=True)
class Chain:
    """A Markov chain on the problem of a task, of which nothing is trained.

    The walker moves graphs edge by edge (`GraphTarget`), or orders (`OrderTarget`), and visits so
    many states, including the discarded ones at the start.
    """

    config: TrainConfig
    walker: Walker
    moves: int

    @property
    def kind(self) -> str:
        """The name of the kind of chain, as part of a folder's name."""
        return f"chain-of-{self.walker}"

    def to_json(self) -> dict[str, Any]:
        """The chain as plain data."""
        return {"config": to_json(self.config), "walker": self.walker, "moves": self.moves}


def walked(plan: Chain) -> dict[str, Any]:
    """Runs a chain; returns the fields of a `Run`, with processor seconds as training time."""
    problem: StructureLearning = plan.config.problem()
    exact = marginals_of(problem)
    started = time.process_time()
    marginals = _RUNS[plan.walker](problem, plan.moves, Random(plan.config.run.seed))
    seconds = time.process_time() - started
    errors = {name: distance(value, exact) for name, value in marginals.items()}
    nothing = {"tv": None, "fcs": None, "kl": None, "log_z": None, "best": None, "top_found": None}
    return {
        "parameters": 0,
        "seconds": seconds,
        "learned": nothing,
        "uniform": nothing,
        "exact": None,
        "tv_kind": "unknown",
        "log_z": problem.log_z().value,
        "curve": [],
        "probes": [
            {"step": plan.moves, "exact": spread_of_draws(exact), "processor": seconds, **errors}
        ],
        "law": None,
    }


def _by_edges(problem: StructureLearning, moves: int, rng: Random) -> dict[str, Floats]:
    """The fraction of the states with each edge."""
    total, first = np.zeros((problem.nodes, problem.nodes)), round(BURN_IN * moves)
    # A repeated state is added once, with its count.
    for graph, repeated in groupby(islice(chain(GraphTarget(problem), rng), first, moves)):
        total += sum(1 for _ in repeated) * adjacency(graph)
    return {"learned": total / (moves - first)}


def _by_orders(problem: StructureLearning, moves: int, rng: Random) -> dict[str, Floats]:
    """Graphs drawn given orders, weighed by `1 / L(G)`; unweighed, they have another law."""
    target = OrderTarget(problem)
    weighed, plain = (np.zeros((problem.nodes, problem.nodes)) for _ in range(2))
    weights, count = 0.0, 0
    for order in islice(chain(target, rng), round(BURN_IN * moves), moves, APART):
        graph = target.draw(order, rng)
        seen, weight = adjacency(graph), 1 / linear_extensions(graph)
        weighed += weight * seen
        plain += seen
        weights += weight
        count += 1
    return {"learned": weighed / weights, "unweighed": plain / count}


_RUNS: dict[Walker, Callable[[StructureLearning, int, Random], dict[str, Floats]]] = {
    "edges": _by_edges,
    "orders": _by_orders,
}


def adjacency(parents: tuple[int, ...]) -> Floats:
    """1 in row u, column v for an edge from u to v."""
    masks = np.array(parents)
    return (masks >> np.arange(len(parents))[:, None] & 1).astype(float)


def marginals_of(problem: StructureLearning) -> Floats:
    """The exact probability of each edge; the row is where it starts."""
    return np.array([[float(p) for p in row] for row in problem.edge_marginals()])


def distance(marginals: Floats, exact: Floats) -> float:
    """The mean of `|p - p*|` over the `n (n - 1)` possible edges."""
    pairs = ~np.eye(len(exact), dtype=bool)
    return float(np.abs(marginals - exact)[pairs].mean())


def spread_of_draws(exact: Floats, draws: int = DRAWS) -> float:
    """The expectation of `distance` for the edge frequencies of a number of exact draws.

    `E |K - N p| = 2 p (1 - p) N P(K' = k)` of a binomial K, with K' one of `N - 1` and `k` the
    largest integer up to `N p` (De Moivre; Diaconis and Zabell, 1991).
    """
    pairs = ~np.eye(len(exact), dtype=bool)
    p = exact[pairs]
    mean = 2 * p * (1 - p) * binom.pmf(np.floor(draws * p), draws - 1, p)
    return float(mean.mean())
