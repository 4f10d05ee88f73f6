"""Linear Gaussian networks drawn by a seed, and data from them."""

from random import Random
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.contract.errors import check_integer, check_seed, check_value

GraphLaw = Literal["erdos-renyi", "scale-free"]


class RandomNetwork(NamedTuple):
    """A linear Gaussian network, as bit masks of parents, and observations of it, shape (N, n)."""

    parents: tuple[int, ...]
    data: npt.NDArray[np.float64]


def random_network(
    nodes: int, rows: int, seed: int, graphs: GraphLaw = "erdos-renyi"
) -> RandomNetwork:
    """A network whose edges follow a random order of n nodes, with data drawn from it.

    Each value is `sum over parents of beta x_parent + e` with `e` standard normal and `beta`
    uniform on the two intervals `[-2, -1/2]` and `[1/2, 2]`.

    Args:
        nodes: n.
        rows: the number of observations, N.
        seed: the seed of graph, coefficients and observations.
        graphs: "erdos-renyi": every pair has an edge with one probability, for n expected edges.
            "scale-free": each node but the first has a parent, drawn by the number of its edges
            plus one (Barabási and Albert, 1999).

    Raises:
        InputError: if an argument breaks a rule.
    """
    owner = "random_network"
    check_integer(owner, "nodes", nodes, 1, most=1000)
    check_integer(owner, "rows", rows, 2)
    check_seed(owner, seed)
    check_value(owner, "graphs", graphs, GraphLaw)
    rng = Random(seed)
    order = rng.sample(range(nodes), nodes)
    chosen = (_equal_parents if graphs == "erdos-renyi" else _popular_parents)(order, rng)
    data = np.random.default_rng(seed).normal(size=(rows, nodes))
    for v in order:
        for u in chosen[v]:
            beta = rng.choice((-1, 1)) * rng.uniform(0.5, 2)
            data[:, v] += beta * data[:, u]
    return RandomNetwork(tuple(sum(1 << u for u in chosen[v]) for v in range(nodes)), data)


def _equal_parents(order: list[int], rng: Random) -> dict[int, list[int]]:
    pairs = len(order) * (len(order) - 1) / 2
    probability = min(1.0, len(order) / pairs) if pairs else 0.0
    return {v: [u for u in order[:i] if rng.random() < probability] for i, v in enumerate(order)}


def _popular_parents(order: list[int], rng: Random) -> dict[int, list[int]]:
    degrees, chosen = dict.fromkeys(order, 1), dict[int, list[int]]()
    for i, v in enumerate(order):
        before = order[:i]
        chosen[v] = rng.choices(before, [degrees[w] for w in before]) if before else []
        for end in (*chosen[v], v) if before else ():
            degrees[end] += 1
    return chosen
