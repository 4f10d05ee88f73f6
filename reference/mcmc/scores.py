"""The weights of families as logarithms in float64, which a chain compares."""

import math

from reference.problems import StructureLearning


def log_weights(problem: StructureLearning) -> list[list[float]]:
    """`log w_v(P)`, nats, one row per node with an entry for each bit mask P; -inf for 0."""
    return [
        [log_of(weight, shift) for weight in row]
        for row, shift in zip(problem.weights, problem.shifts, strict=True)
    ]


def log_of(numerator: int, shift: int) -> float:
    """`log(numerator / 2^shift)`, of integers of any size."""
    return math.log(numerator) - shift * math.log(2) if numerator else -math.inf
