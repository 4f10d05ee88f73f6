"""The tasks of the comparison, in plain Python, so that every worker reads the same numbers."""

from random import Random
from typing import NamedTuple


class GridTask(NamedTuple):
    """The hypergrid with reward `R0 + R1 prod [1/4 < a_i] + R2 prod [3/10 < a_i < 4/10]`.

    Here `a_i = |x_i / (side - 1) - 1/2|`. The constants are the ones that all three libraries have.
    """

    dimension: int
    side: int
    r0: float = 1e-3
    r1: float = 0.5
    r2: float = 2.0


class BitTask(NamedTuple):
    """Bit strings of `words` words of `bits` bits, filled in any order.

    The action `position * 2^bits + word` fills an empty position, and
    `log R(x) = -exponent * d(x) / (words * bits)`, with `d` the Hamming distance to the
    nearest mode.
    """

    words: int
    bits: int
    modes: tuple[tuple[int, ...], ...]
    exponent: float


class IsingTask(NamedTuple):
    """Spins of -1 and 1 on a torus, set in any order: `log R(x) = coupling sum of x_i x_j`.

    The sum is over neighbours, each pair once: the upper right of the coupling matrix.
    """

    side: int
    coupling: float

    @property
    def matrix(self) -> list[list[float]]:
        """`J`, for which `log R(x) = x' J x`."""
        size = self.side**2
        rows = [[0.0] * size for _ in range(size)]
        for place in range(size):
            row, column = divmod(place, self.side)
            right = row * self.side + (column + 1) % self.side
            for other in (right, (place + self.side) % size):
                rows[min(place, other)][max(place, other)] += self.coupling
        return rows


class TableTask(NamedTuple):
    """Strings of `length` letters, from left to right; string i has the digits of i as letters."""

    letters: int
    length: int
    log_rewards: tuple[float, ...]


class DagTask(NamedTuple):
    """Directed acyclic graphs, edge by edge, with a stop: `log R(G) = sum of score(v, Pa_v)`.

    The scores of a node with all sets of parents are random numbers of a standard deviation.
    """

    nodes: int
    spread: float

    @property
    def scores(self) -> list[list[float]]:
        """Row v, column P for the parents in the bit mask P."""
        random = Random(2)
        return [
            [random.gauss(0, self.spread) for _ in range(2**self.nodes)] for _ in range(self.nodes)
        ]


Task = GridTask | BitTask | IsingTask | TableTask | DagTask


def _modes(count: int, length: int) -> tuple[tuple[int, ...], ...]:
    random = Random(0)
    return tuple(tuple(random.randrange(2) for _ in range(length)) for _ in range(count))


TASKS: dict[str, GridTask | BitTask | DagTask] = {
    "hypergrid 16^2": GridTask(2, 16),
    "hypergrid 8^4": GridTask(4, 8),
    "bits 32/4": BitTask(8, 4, _modes(8, 32), 20.0),
    "dags 8": DagTask(8, 1.0),
}
# What all three libraries have, as it stands there.
COMMON = tuple(name for name, task in TASKS.items() if not isinstance(task, DagTask))

HIDDEN = (256, 256)
LEARNING_RATE = 1e-3
LOG_Z_LEARNING_RATE = 1e-1
# What both become when only the speed is of interest: parameters in float32 do not change.
FROZEN = 1e-30


def random_terminals(task: GridTask | BitTask | DagTask, count: int) -> list[list[int]]:
    """Terminal states: coordinates of a cell, words of a string, or the bit masks of parents."""
    random = Random(1)
    if isinstance(task, DagTask):
        return [_random_dag(random, task.nodes) for _ in range(count)]
    if isinstance(task, GridTask):
        return [[random.randrange(task.side) for _ in range(task.dimension)] for _ in range(count)]
    return [[random.randrange(2**task.bits) for _ in range(task.words)] for _ in range(count)]


def _random_dag(random: Random, nodes: int) -> list[int]:
    """A graph whose edges agree with a random order."""
    order, parents = random.sample(range(nodes), nodes), [0] * nodes
    for place, v in enumerate(order):
        parents[v] = sum(random.randrange(2) << u for u in order[:place])
    return parents
