"""The least TV that policies of a coarse observation can have, for each setting of the dial.

`python -m pdai.experiments.floors` computes all, which takes minutes, and stores them beside the
results: they are the same in every run. Imports no JAX.
"""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from pdai.experiments.aliasing import DIAL, Setting
from reference.errors import InputError
from reference.expressivity import minors, relaxation
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.coarse import tied_policies
from reference.expressivity.nearest import nearest
from reference.files import parsed_json, read_file, replace_file
from reference.problems import enumerate_rewards

STORED = Path(__file__).parent / "results" / "study_aliasing_floors.json"
# How long to look: seconds for a search, up to minutes for the splits.
STARTS, SPLITS = 8, 1_000
DIGITS = 6


class Interval(NamedTuple):
    """Where a floor lies: proved from below, and from above by a policy that has that TV."""

    lower: float
    upper: float


class Floors(NamedTuple):
    """The least TV to the target of a setting.

    Attributes:
        markovian: of policies of what is seen of the state.
        with_memory: of policies of all that was seen on the way. From below nothing is proved but
            that TV is not negative.
    """

    markovian: Interval
    with_memory: Interval


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


def stored(path: Path = STORED) -> dict[str, Floors]:
    """The stored floors by row.

    Raises:
        InputError: if the file is not one that `store` writes.
    """
    try:
        data = parsed_json(read_file(path))
        return {
            row: Floors(*(Interval(*map(float, kind[name])) for name in Floors._fields))
            for row, kind in data.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{str(path)!r} holds no floors ({error}): write it with python -m "
            "pdai.experiments.floors"
        ) from None


if __name__ == "__main__":
    store()
