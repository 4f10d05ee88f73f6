"""Structure MCMC: a chain of directed acyclic graphs, one edge at a time."""

from fractions import Fraction
from random import Random

from reference.mcmc.metropolis import Target
from reference.mcmc.scores import log_weights
from reference.problems import StructureLearning

Parents = tuple[int, ...]


class GraphTarget(Target[Parents]):
    """`w(G) = R(G)`; the neighbours have one edge more, one less, or one turned round.

    Madigan and York (1995); with the numbers of neighbours in the ratio, as these differ between
    graphs, Giudici and Castelo (2003). A graph is the bit mask of the parents of each node.
    """

    def __init__(self, problem: StructureLearning) -> None:
        self.problem = problem
        self.logs = log_weights(problem)

    def start(self, rng: Random) -> Parents:
        """No edges."""
        return (0,) * self.problem.nodes

    def neighbours(self, state: Parents) -> list[Parents]:
        """The acyclic graphs that keep to the limit on parents."""
        behind = all_ancestors(state)
        found = []
        for v, mask in enumerate(state):
            for u in range(len(state)):
                here = 1 << u
                if mask & here:
                    found.append(_with(state, v, mask ^ here))
                    # Turned round, it closes a cycle with any other path from u to v.
                    rest = mask ^ here
                    others = any(rest >> w & 1 and behind[w] & here for w in range(len(state)))
                    if not others and self._may(u, state[u] | 1 << v):
                        found.append(_with(_with(state, v, rest), u, state[u] | 1 << v))
                elif u != v and not behind[u] >> v & 1 and self._may(v, mask | here):
                    found.append(_with(state, v, mask | here))
        return found

    def weight(self, state: Parents) -> Fraction:
        """`R(G)` times a power of two, the same for all graphs."""
        value = 1
        for row, mask in zip(self.problem.weights, state, strict=True):
            value *= row[mask]
        return Fraction(value)

    def log_weight(self, state: Parents) -> float:
        """`log R(G)`, nats."""
        return sum(row[mask] for row, mask in zip(self.logs, state, strict=True))

    def _may(self, node: int, mask: int) -> bool:
        return self.problem.weights[node][mask] > 0


def all_ancestors(parents: Parents) -> list[int]:
    """For each node of an acyclic graph what a path leads from to it, itself included, as masks."""
    found = [0] * len(parents)

    def visit(v: int) -> int:
        if not found[v]:
            mask, reached = parents[v], 1 << v
            while mask:
                reached |= visit((mask & -mask).bit_length() - 1)
                mask &= mask - 1
            found[v] = reached
        return found[v]

    for v in range(len(parents)):
        visit(v)
    return found


def _with(state: Parents, node: int, mask: int) -> Parents:
    return (*state[:node], mask, *state[node + 1 :])
