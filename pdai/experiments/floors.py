"""The least TV that policies of a coarse observation can have, for each setting of the dial.

`python -m pdai.experiments.floors` computes all, which takes minutes, and stores them beside the
results: they are the same in every run. Imports no JAX.
"""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from pdai.experiments import minors, relaxation
from pdai.experiments.dial import DIAL, STORED, Floors, Interval, Setting
from pdai.experiments.nearest import nearest
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.coarse import tied_policies
from reference.files import replace_file
from reference.problems import enumerate_rewards

# How long to look: seconds for a search, up to minutes for the splits.
STARTS, SPLITS = 8, 1_000
DIGITS = 6


def floors(setting: Setting, starts: int = STARTS, splits: int = SPLITS) -> Floors:
    """The floors of a setting.

    Args:
        setting: what is sampled, and what is seen.
        starts: of the searches for policies that come near.
        splits: of the boxes of branch and bound, where the states are no strings.
    """
    problem = setting.config.problem()
    tied = tied_policies(problem, setting.observe)
    if tied.count == len(tied.dag.edges):
        # Nothing is tied, and every positive law is that of some policy.
        return Floors(Interval(0.0, 0.0), Interval(0.0, 0.0))
    target = _target(problem, tied)
    if setting.last is not None:
        law = {tied.dag.labels[x]: p for x, p in zip(tied.dag.terminals, target, strict=True)}
        lower = minors.least_distance(law, setting.last)
    else:
        lower = relaxation.least_distance(tied, target, splits)
    remembering = tied_policies(problem, setting.observe, memory=True)
    reached = _attained(remembering, _target(problem, remembering), starts)
    return Floors(
        _rounded(lower, nearest(tied, target, starts).distance), _rounded(Fraction(0), reached)
    )


def _target(problem: Any, tied: TiedPolicies) -> list[Fraction]:
    rewards = enumerate_rewards(problem, tied.dag)
    total = sum(rewards, Fraction(0))
    return [reward / total for reward in rewards]


def _attained(tied: TiedPolicies, target: list[Fraction], starts: int) -> Fraction:
    """The least TV found; 0 where nothing is tied."""
    if tied.count == len(tied.dag.edges):
        return Fraction(0)
    return nearest(tied, target, starts).distance


def _rounded(lower: Fraction, upper: Fraction) -> Interval:
    """The interval, rounded outwards."""
    scale = 10**DIGITS
    return Interval(math.floor(lower * scale) / scale, math.ceil(upper * scale) / scale)


def store(path: Path = STORED) -> None:
    """Computes the floors of every setting, and writes them."""
    found = {}
    for row, setting in DIAL.items():
        found[row] = floors(setting)._asdict()
        print(f"{row}: {found[row]}", flush=True)
    replace_file(path, f"{json.dumps(found, indent=1)}\n".encode())


if __name__ == "__main__":
    store()
