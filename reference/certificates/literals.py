"""A lower bound of TV from samples of a circuit with more solutions than can be listed.

The probabilities of literals are exact. The ones that stand out in one half of the samples are
measured on the other, as the events of `bare.py` are.
"""

import math
from collections.abc import Sequence

import numpy as np

from reference.certificates.bare import LISTED, check_two
from reference.certificates.betting import Interval
from reference.certificates.collisions import divergence, lower_probability, upper_probability
from reference.certificates.state_texts import Outside
from reference.certificates.statement import Line, small
from reference.problems.circuits import Circuit
from reference.problems.solutions import Solution


def against_circuit(
    samples: Sequence[Solution | Outside], circuit: Circuit, level: float
) -> tuple[Interval, list[Line]]:
    """Bounds of `TV(p_T, pi)`; the upper one is 1.

    Args:
        samples: independent samples, in the order of the draws; `Outside()` for no solution.
        circuit: the target.
        level: the level of the lower bound.

    Raises:
        InputError: if there are fewer than two.
    """
    check_two(samples)
    nothing = (0,) * circuit.literals.variables
    true = np.array([x or nothing for x in samples])
    events = np.column_stack([true > 0, ~true.any(axis=1)])
    target = [*map(float, circuit.marginals()), 0.0]
    half = len(samples) // 2
    chosen, measured = events[:half].mean(axis=0), events[half:].sum(axis=0)
    scores = [divergence(p, q) for p, q in zip(chosen.tolist(), target, strict=True)]
    farthest = sorted(range(len(target)), key=lambda i: -scores[i])[:LISTED]
    # Both ends of each.
    log, count = math.log(2 * len(farthest) / level), len(samples) - half
    low, lines = 0.0, list[Line]()
    for i in farthest:
        seen = int(measured[i])
        bound = Interval(lower_probability(seen, count, log), upper_probability(seen, count, log))
        low = max(low, *(gap - 2.0**-40 for gap in (bound.low - target[i], target[i] - bound.high)))
        name = f"variable {i + 1} is true" if i + 1 < len(target) else "no solution"
        lines.append(
            Line(f"probability of {name}, {small(target[i])} in the target", bound, "bound")
        )
    return Interval(low, 1.0), lines
