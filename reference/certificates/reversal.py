"""A backward policy counted from a sampler's own trajectories: its reversal, where it was seen."""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise, takewhile

from reference.certificates.policies import BackwardRows
from reference.certificates.walks import Walker, no_parents

# Trajectories per step, as where a network is trained.
TRAJECTORIES = 256
# What every state has seen of the uniform policy before it is visited: so that none is excluded.
PRIOR = 1.0


def reversed_walker(walker: Walker, steps: int, seconds: float = math.inf) -> Walker:
    """The same sampler with a `p_B` that is counted from its trajectories, for fresh ones.

    `p_B(u | v) = (n(u -> v) + 1 / parents) / (n(v) + 1)`: the reversal of a Markovian sampler in
    the limit, for which TV of trajectories is TV of terminal states; a valid `p_B` in any case.

    Args:
        walker: the sampler.
        steps: of 256 trajectories each.
        seconds: after which no more are drawn.

    Raises:
        InputError: if the problem does not tell the parents of states.
    """
    if walker.backward is None:
        raise no_parents(walker.problem)
    parents = walker.backward.parents
    counts: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    end = time.monotonic() + seconds
    for _ in takewhile(lambda _: time.monotonic() < end, range(steps)):
        for path in walker.paths(TRAJECTORIES):
            for before, after in pairwise(path):
                counts[after][before] += 1

    def p_b(state: Hashable) -> Mapping[Hashable, float]:
        return _row(parents(state), counts[state])

    return walker.with_backward(BackwardRows(parents, walker.problem, p_b))


def _row(parents: Sequence[Hashable], seen: Counter[Hashable]) -> Mapping[Hashable, float]:
    total = seen.total() + PRIOR
    return {parent: (seen[parent] + PRIOR / len(parents)) / total for parent in parents}
