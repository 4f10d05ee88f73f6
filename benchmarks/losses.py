"""Seconds until losses that are right are near: `python benchmarks/losses.py [--rates 0.01]`.

Processor seconds of one seed, without compilation, until the exact TV is below each distance, at
100, 200, 400, 800 and 1,000 steps, the length of the training. All losses have the same options and
rates; three seeds (0, 1, 2) are trained side by side, and a row is the rate with which the slowest
of them needs the fewest steps to 0.05, and among these the one whose last TV is least. Policy
gradients draw from the policy itself, the others explore as the task does.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.harness import Table, machine, parser
from benchmarks.time_to_tv import Curve, columns, curves, first_below

DISTANCES = (0.1, 0.05, 0.02)
COMMON = {"steps": 1_000, "batch": 32, "seeds": 3}
TASKS: dict[str, dict[str, Any]] = {
    "grid 16^2": {"task": "grid", "side": 16},
    "sets of 4 of 10": {"task": "sets", "items": 10, "size": 4},
    "8 bits from both ends": {"task": "bits", "length": 8, "build": "prepend-append"},
}
ON_POLICY = {"epsilon": 0.0}
HERE = "examples.losses."
LOSSES: dict[str, dict[str, Any]] = {
    "trajectory balance": {"loss": "tb"},
    "log variance": {"loss": "log_variance"},
    "detailed balance": {"loss": "db"},
    "subtrajectory balance": {"loss": "subtb"},
    "reverse KL, REINFORCE": {"loss": HERE + "divergences:ReverseKL", **ON_POLICY},
    "f-TB, forward KL": {"loss": HERE + "divergences:FBalance"},
    "flow matching": {"loss": "fm"},
    "Linex(1)": {"loss": HERE + "regression:Regression"},
    "Sub-EB": {"loss": HERE + "divergences:EvaluationBalance", **ON_POLICY},
    "Tsallis": {"loss": HERE + "divergences:Tsallis", **ON_POLICY},
    "Z of the batch": {"loss": HERE + "balance:BatchZ", "group": 32},
    "shifted cosh": {"loss": HERE + "regression:Regression", "kind": "shifted cosh"},
}


def by_seed(measured: Iterable[tuple[float, list[float]]]) -> list[Curve]:
    """The curve of each of the seeds that are trained side by side."""
    times, distances = zip(*measured, strict=True)
    return [list(zip(times, tvs, strict=True)) for tvs in zip(*distances, strict=True)]


def row_of(task: str, loss: str, by_rate: dict[float, list[Curve]]) -> dict[str, Any]:
    """The best rate of a loss on a task, and the seconds with it."""

    def worst(rate: float) -> tuple[float, float]:
        # By looks at the TV, since the seconds of two rates to the same step differ by chance.
        looks = [[(float(look), tv) for look, (_, tv) in enumerate(one)] for one in by_rate[rate]]
        return max(first_below(one, 0.05) for one in looks), max(one[-1][1] for one in looks)

    rate = min(by_rate, key=worst)
    return {"task": task, "loss": loss, "rate": rate, **columns(by_rate[rate], DISTANCES)}


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--rates", nargs="+", type=float, default=[0.003, 0.01, 0.03])
    command.add_argument("--only", nargs="+", default=list(LOSSES), choices=LOSSES)
    asked = command.parse_args()
    rates = {"rates": ", ".join(map(str, asked.rates))}
    table = Table("python benchmarks/losses.py", asked.out, machine("jax") | rates)
    for loss in asked.only:
        for task, options in TASKS.items():
            measured = {}
            for rate in asked.rates:
                chosen = COMMON | options | LOSSES[loss] | {"learning_rate": rate}
                measured[rate] = by_seed(curves(chosen, 0, compiled=True))
            table.add(row_of(task, loss, measured))


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
