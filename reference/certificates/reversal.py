"""A backward policy counted from a sampler's own trajectories: an estimate of its reversal."""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from itertools import pairwise, takewhile

from reference.certificates.policies import BackwardRows
from reference.certificates.walks import Walker, no_parents

# Trajectories per step, as in the training of a network.
TRAJECTORIES = 256
# The weight of the uniform policy at every state, so that no parent is excluded.
PRIOR = 1.0


def reversed_walker(walker: Walker, steps: int, seconds: float = math.inf) -> Walker:
    """The sampler with a `p_B` that is counted from its trajectories, for fresh trajectories.

    `p_B(u | v) = (n(u -> v) + 1 / parents) / (n(v) + 1)`: the reversal of a Markovian sampler in
    the limit, for which TV of trajectories is TV of terminal states; a valid `p_B` in any case.

    Args:
        walker: the sampler.
        steps: the number of steps, of 256 trajectories each.
        seconds: the time after which drawing stops.

    Raises:
        InputError: if the parents of states are not known.
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
        row, seen = parents(state), counts[state]
        total = seen.total() + PRIOR
        return {parent: (seen[parent] + PRIOR / len(row)) / total for parent in row}

    return walker.with_backward(BackwardRows(parents, walker.problem, p_b))
