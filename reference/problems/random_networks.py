"""Linear Gaussian networks drawn by a seed, and data from them."""

from random import Random
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.errors import InputError, check_choice, check_integer, check_seed, shown

GraphLaw = Literal["erdos-renyi", "scale-free"]


class RandomNetwork(NamedTuple):
    """A linear Gaussian network, as bit masks of parents, and observations of it, shape (N, n)."""

    parents: tuple[int, ...]
    data: npt.NDArray[np.float64]


def random_network(
    nodes: int, rows: int, seed: int, graphs: GraphLaw = "erdos-renyi", edges_per_node: float = 1.0
) -> RandomNetwork:
    """A network whose edges follow a random order of n nodes, with N rows of data drawn from it.

    Each value is `sum over parents of beta x_parent + e` with `e` standard normal and `beta`
    uniform on the two intervals `[-2, -1/2]` and `[1/2, 2]`. "erdos-renyi": every pair has an edge
    with one probability, `edges_per_node` expected. "scale-free": each node has `edges_per_node`
    parents, or all earlier nodes if these are fewer, drawn without replacement by their number of
    edges plus one (Barabási and Albert, 1999). Raises InputError if an argument breaks its rule.
    """
    owner = "random_network"
    check_integer(owner, "nodes", nodes, 1, most=1000)
    check_integer(owner, "rows", rows, 2)
    check_seed(owner, seed)
    check_choice(owner, "graphs", graphs, GraphLaw)
    if not isinstance(edges_per_node, int | float) or not 0 <= edges_per_node <= nodes:
        raise InputError(
            f"{owner}: edges_per_node is {shown(edges_per_node)}, but must be from 0 to {nodes}"
        )
    rng = Random(seed)
    order = rng.sample(range(nodes), nodes)
    draw = _equal_parents if graphs == "erdos-renyi" else _popular_parents
    chosen = draw(order, edges_per_node, rng)
    noise = np.random.default_rng(seed)
    data = noise.normal(size=(rows, nodes))
    for v in order:
        for u in chosen[v]:
            beta = rng.choice((-1, 1)) * rng.uniform(0.5, 2)
            data[:, v] += beta * data[:, u]
    return RandomNetwork(tuple(sum(1 << u for u in chosen[v]) for v in range(nodes)), data)


def _equal_parents(order: list[int], each: float, rng: Random) -> dict[int, list[int]]:
    pairs = len(order) * (len(order) - 1) / 2
    probability = min(1.0, each * len(order) / pairs) if pairs else 0.0
    return {v: [u for u in order[:i] if rng.random() < probability] for i, v in enumerate(order)}


def _popular_parents(order: list[int], each: float, rng: Random) -> dict[int, list[int]]:
    degrees, chosen = dict.fromkeys(order, 1), {}
    for i, v in enumerate(order):
        left, parents = order[:i], []
        for _ in range(min(i, round(each))):
            u = rng.choices(left, [degrees[w] for w in left])[0]
            left.remove(u)
            parents.append(u)
            degrees[u] += 1
            degrees[v] += 1
        chosen[v] = parents
    return chosen
