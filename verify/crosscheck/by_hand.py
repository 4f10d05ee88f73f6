"""The functions of `fast.balance.losses` by their definitions: float64, one term at a time, no JAX.

Names and parameters are those of `fast.balance.losses`; `test_losses` compares the two one by one.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Penalty = Callable[[float], float]


def square(residual: float) -> float:
    return residual * residual


def huber(residual: float) -> float:
    return residual * residual if abs(residual) <= 1 else 2 * abs(residual) - 1


def log_cosh(residual: float) -> float:
    return 2 * math.log(math.cosh(residual))


def log_path_ratio(steps: Any) -> list[float]:
    return [
        sum(steps.log_p_f[row][t] - steps.log_p_b[row][t] for t in range(length))
        for row, length in enumerate(_lengths(steps))
    ]


def log_ratio(steps: Any) -> list[float]:
    return [f - r for f, r in zip(log_path_ratio(steps), steps.log_reward, strict=True)]


def tb_residuals(steps: Any, log_z: float) -> list[float]:
    return [log_z + f for f in log_ratio(steps)]


def tb(steps: Any, log_z: float, penalty: Penalty = square) -> float:
    return _mean([penalty(residual) for residual in tb_residuals(steps, log_z)])


def log_variance(ratios: Sequence[float], penalty: Penalty = square) -> float:
    """The mean over all ordered pairs of distinct trajectories."""
    numbered = list(enumerate(ratios))
    return _mean([penalty(f - g) for i, f in numbered for j, g in numbered if i != j])


def aggregated_ratio(steps: Any, clients: Sequence[Any]) -> list[float]:
    columns = [log_path_ratio(client) for client in clients]
    return [own - sum(others) for own, *others in zip(log_path_ratio(steps), *columns, strict=True)]


def streaming_ratio(steps: Any, previous: Any) -> list[float]:
    return [f - g for f, g in zip(log_ratio(steps), log_path_ratio(previous), strict=True)]


def db_residuals(steps: Any) -> Floats:
    residuals = np.zeros(np.shape(steps.log_p_f))
    for row, length in enumerate(_lengths(steps)):
        for t in range(length):
            residuals[row, t] = _between(steps, row, t, t + 1)
    return residuals


def db(steps: Any, penalty: Penalty = square) -> float:
    residuals = db_residuals(steps)
    lengths = enumerate(_lengths(steps))
    return _mean([penalty(residuals[row, t]) for row, length in lengths for t in range(length)])


def subtb_residuals(steps: Any) -> Floats:
    batch, time = np.shape(steps.log_p_f)
    residuals = np.zeros((batch, time, time))
    for row, length in enumerate(_lengths(steps)):
        for i, j in _pairs(length):
            residuals[row, i, j - 1] = _between(steps, row, i, j)
    return residuals


def subtb(steps: Any, decay: float = 0.9, penalty: Penalty = square) -> float:
    losses = []
    for row, length in enumerate(_lengths(steps)):
        pairs = _pairs(length)
        total = sum(decay ** (j - i) for i, j in pairs)
        terms = [decay ** (j - i) * penalty(_between(steps, row, i, j)) for i, j in pairs]
        losses.append(sum(terms) / total)
    return _mean(losses)


def _between(steps: Any, row: int, i: int, j: int) -> float:
    """`log F(s_i) + sum of (log p_F - log p_B) - log F(s_j)`."""
    length = _lengths(steps)[row]

    def flow(t: int) -> float:
        return float(steps.log_reward[row] if t == length else steps.log_flow[row][t])

    path = sum(steps.log_p_f[row][t] - steps.log_p_b[row][t] for t in range(i, j))
    return flow(i) + float(path) - flow(j)


def _pairs(length: int) -> list[tuple[int, int]]:
    return [(i, j) for j in range(1, length + 1) for i in range(j)]


def _lengths(steps: Any) -> list[int]:
    return [int(sum(row)) for row in steps.active]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
