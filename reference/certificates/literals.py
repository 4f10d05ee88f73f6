"""A lower bound of TV from samples of a circuit with more solutions than can be listed.

The probabilities of literals and of pairs of them are exact. Those that stand out in one half of
the samples are measured on the other, as the events of `bare.py` are.
"""

import math
from collections.abc import Sequence

import numpy as np

from reference.certificates.bare import LISTED, check_two
from reference.certificates.betting import Interval
from reference.certificates.collisions import Floats, divergences, least_gap, probability
from reference.certificates.state_texts import Outside
from reference.certificates.statement import Line, small
from reference.problems.circuits import Circuit
from reference.problems.solutions import Solution

# Pairs are compared up to this product of the numbers of nodes and of variables.
PAIRED = 3_000_000


def against_circuit(
    samples: Sequence[Solution | Outside], circuit: Circuit, level: float
) -> tuple[Interval, list[Line]]:
    """Bounds of `TV(p_T, pi)` from independent samples; the upper one is 1.

    A sample that is no solution of the circuit, the target, is `Outside()`. The level is that of
    the lower bound. Raises InputError if there are fewer than two samples.
    """
    check_two(samples)
    variables = circuit.literals.variables
    nothing = (0,) * variables
    signs = np.array([nothing if isinstance(x, Outside) else x for x in samples])
    # The last column is of what is no solution.
    events = np.column_stack([signs > 0, ~signs.any(axis=1)]).astype(float)
    target = _together(circuit)
    half = len(samples) // 2
    chosen = events[:half].T @ events[:half] / half
    # Pairs whose target is not known are not chosen.
    scores = np.triu(np.nan_to_num(divergences(chosen, target), nan=0.0, posinf=np.inf))
    order = np.argsort(-scores, axis=None, kind="stable")[:LISTED]
    order = order[scores.ravel()[order] > 0]
    # Both ends of each.
    log, count = math.log(2 * max(1, len(order)) / level), len(samples) - half
    low, lines = 0.0, list[Line]()
    for i, j in zip(*np.unravel_index(order, scores.shape), strict=True):
        seen, p = int((events[half:, i] * events[half:, j]).sum()), float(target[i, j])
        bound = probability(seen, count, log)
        low = max(low, least_gap(bound, p))
        name = f"probability {_named(int(i), int(j), variables)}, {small(p)} in the target"
        lines.append(Line(name, bound, "bound"))
    return Interval(low, 1.0), lines


def _named(i: int, j: int, variables: int) -> str:
    if j == variables:
        return "of no solution"
    both = f"variable {i + 1} is true" if i == j else f"variables {i + 1} and {j + 1} are true"
    return f"that {both}"


def _together(circuit: Circuit) -> Floats:
    """The probability that two variables are true, or one; NaN for pairs that are too many."""
    variables = circuit.literals.variables
    target = np.full((variables + 1, variables + 1), np.nan)
    target[-1, :] = target[:, -1] = 0.0
    np.fill_diagonal(target[:-1, :-1], [float(p) for p in circuit.marginals()])
    if circuit.size * variables <= PAIRED:
        for v in range(1, variables + 1):
            target[v - 1, :-1] = [float(p) for p in circuit.marginals((v,))]
    return target
