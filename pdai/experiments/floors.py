"""The least TV of policies with a coarse observation, for each row of study:aliasing.

`python -m pdai.experiments.floors` computes all floors in minutes, and stores them with the
results: every run gives the same floors. Imports no JAX.
"""

import json
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fast.tasks import Task
from fast.training.compose import TrainConfig
from pdai.experiments import minors, relaxation
from pdai.experiments.definitions import FLOORS, define, outwards
from pdai.experiments.nearest import nearest
from reference.certificates.betting import Interval
from reference.contract.files import replace_file
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.coarse import block_of_cell, end_of_string, tied_policies
from reference.metrics import normalize
from reference.problems import enumerate_rewards

# The length of a search: seconds for its starts, up to minutes for the splits.
STARTS, SPLITS = 8, 1_000
DIGITS = 6


class Floors(NamedTuple):
    """The least TV to the target of a row that policies can reach.

    It is proved from below, and from above by a policy that has that TV: for policies that see the
    observation of the state, and for those that see all so far, whose lower bound is 0.
    """

    markovian: Interval
    with_memory: Interval


def settings(label: str = "study:aliasing") -> dict[str, Task]:
    """The task of each row of a study whose states look alike."""
    return {
        cell.row: cell.config.task
        for cell in define(label).cells
        if isinstance(cell.config, TrainConfig)
    }


def observation(task: Any) -> Callable[[Any], Hashable]:
    """The observation of a state by the reference: a block of cells, or the end of a string."""
    if task.name == "grid":
        return partial(block_of_cell, width=task.coarse)
    return partial(end_of_string, last=task.last)


def floors(task: Task, starts: int = STARTS, splits: int = SPLITS) -> Floors:
    """The floors of a coarse task.

    Args:
        task: the task.
        starts: the starts of each search for a policy with a small TV.
        splits: the splits of branch and bound, which strings do not need.
    """
    problem, observe = task.make_problem(), observation(task)
    tied = tied_policies(problem, observe)
    if tied.count == len(tied.dag.edges):
        # No actions are tied, so every positive law is that of some policy.
        return Floors(Interval(0.0, 0.0), Interval(0.0, 0.0))
    target = target_of(problem, tied)
    if task.name == "grid":
        lower = relaxation.least_distance(tied, target, splits)
    else:
        law = {tied.dag.labels[x]: p for x, p in zip(tied.dag.terminals, target, strict=True)}
        lower = minors.least_distance(law, task.last)  # type: ignore[attr-defined]
    remembering = tied_policies(problem, observe, memory=True)
    reached = Fraction(0)
    if remembering.count < len(remembering.dag.edges):
        reached = nearest(remembering, target_of(problem, remembering), starts).distance
    return Floors(
        rounded(lower, nearest(tied, target, starts).distance), rounded(Fraction(0), reached)
    )


def target_of(problem: Any, tied: TiedPolicies) -> list[Fraction]:
    """The target of a problem, one probability per terminal of the DAG."""
    return [*normalize(enumerate_rewards(problem, tied.dag))]


def rounded(lower: Fraction, upper: Fraction) -> Interval:
    """The interval, rounded outwards as it is stored."""
    return Interval(*outwards(lower, upper, DIGITS))


def store(path: Path = FLOORS) -> None:
    """Computes the floors of every row, and writes them."""
    stored = {}
    for row, task in settings().items():
        stored[row] = floors(task)._asdict()
        print(f"{row}: {stored[row]}", flush=True)
    replace_file(path, f"{json.dumps(stored, indent=1)}\n".encode())


if __name__ == "__main__":
    store()
