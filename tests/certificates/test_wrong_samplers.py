"""Twenty seeded wrong samplers: each is exposed in regimes E, Z and S, and the right one is not."""

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import pdai
from reference import InputError
from reference.problems import Grid
from tests.certificates.problems import Policy, balanced

PROBLEM = Grid(4, 2)
SAMPLES = 2 * 4_096
# A sampler is exposed if its TV is certified to be above this, or it is refused.
CLOSE = 0.002

Row = dict[Any, float]
RIGHT = balanced(PROBLEM)
ORIGIN = PROBLEM.children(PROBLEM.initial)[0]


def changed(change: Callable[[Any, Row], Row]) -> Policy:
    """The right sampler with its rows changed, and normalised again."""

    def policy(state: Any) -> Row:
        row = change(state, dict(RIGHT(state)))
        return {child: p / sum(row.values()) for child, p in row.items()}

    return policy


def weighted(weight: Callable[[Any, Any], float]) -> Policy:
    """Each probability times a weight of the state and the child."""
    return changed(lambda state, row: {c: p * weight(state, c) for c, p in row.items()})


def powered(power: float) -> Policy:
    return changed(lambda state, row: {child: p**power for child, p in row.items()})


def rotated(state: Any, row: Row) -> Row:
    children = list(row)
    return dict(zip(children[1:] + children[:1], row.values(), strict=True))


def masked(state: Any, row: Row) -> Row:
    """The last child of three is forgotten: a mask off by one."""
    return {child: row[child] for child in (list(row)[:-1] if len(row) == 3 else row)}


def noisy(state: Any, row: Row) -> Row:
    rng = Random(str(state))
    return {child: p * math.exp(rng.gauss(0, 0.3)) for child, p in row.items()}


def with_history(history: Any) -> Row:
    """Path-dependent: whoever went right twice likes to stop."""
    turned = len(history) > 2 and history[2].coordinates == (2, 0)
    return weighted(lambda _, c: 1.5 if turned and c.stopped else 1)(history[-1])


def shifted_reward(x: Any) -> Fraction:
    """The reward of the next cell, over that of this one."""
    after = (4 * x.coordinates[0] + x.coordinates[1] + 1) % 16
    other = type(x)((after // 4, after % 4), stopped=True)
    return PROBLEM.reward(other) / PROBLEM.reward(x)


def undefined(state: Any) -> Row:
    return {c: math.nan if state.coordinates == (1, 1) else p for c, p in RIGHT(state).items()}


def bent(weight: Callable[[Any], Fraction | int]) -> Policy:
    """The right sampler of a reward that is the right one times a weight."""
    return balanced(PROBLEM, weight)


WRONG: dict[str, Any] = {
    "a mode dropped": weighted(lambda _, c: c != ORIGIN),
    "a mode half as likely": bent(lambda x: Fraction(1 + (x != ORIGIN), 2)),
    "temperature 0.9": powered(1 / 0.9),
    "temperature 1.1": powered(1 / 1.1),
    "a mask off by one": changed(masked),
    "a reward table shifted": bent(shifted_reward),
    "a reward to the power 0.5": bent(lambda x: Fraction(float(PROBLEM.reward(x)) ** -0.5)),
    "children in another order": changed(rotated),
    "never trained": powered(0),
    "a tenth uniform": changed(lambda s, r: {c: p + 0.11 / len(r) for c, p in r.items()}),
    "greedy": changed(lambda s, r: {c: float(p == max(r.values())) for c, p in r.items()}),
    "stops too often": weighted(lambda _, c: 1.3 if c.stopped else 1),
    "noise on every logit": changed(noisy),
    "path-dependent where it should not be": with_history,
    "rewards counted once per path": bent(
        lambda x: math.comb(sum(x.coordinates), x.coordinates[0])
    ),
    "first coordinate preferred": weighted(lambda s, c: 0.8 if c == PROBLEM.children(s)[-1] else 1),
    "rows in float16 and a floor": lambda s: {
        c: float(np.float16(p)) + 1e-3 for c, p in RIGHT(s).items()
    },
    "logits taken for probabilities": lambda s: {c: math.log(p) for c, p in RIGHT(s).items()},
    "NaN at one state": undefined,
    "a child that is none": lambda s: {**RIGHT(s), PROBLEM.initial: 0.0},
}


def exposed(policy: Any, regime: Any, samples: int = SAMPLES, **options: Any) -> str | None:
    """The way in which a sampler is exposed, in words; None if it is not."""
    asked = {"samples": samples, "width": CLOSE / 4, **options}
    try:
        result = pdai.certify(policy, PROBLEM, regime=regime, **asked)
    except InputError as error:
        return f"refused: {error}"
    if result.interval.low > CLOSE:
        return f"TV above {result.interval.low} from {result.samples} samples"
    return None


@pytest.mark.long
@pytest.mark.parametrize("regime", ["E", "Z", "S"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sampler_is_exposed(name: str, regime: str) -> None:
    takes = "history" if WRONG[name] is with_history else "state"
    # Twice as many as any of them takes.
    assert exposed(WRONG[name], regime, samples=2_048, takes=takes)


@pytest.mark.parametrize("regime", ["E", "Z", "S"])
def test_control_the_right_sampler_is_not(regime: str) -> None:
    assert len(WRONG) == 20
    assert exposed(RIGHT, regime) is None


@pytest.mark.parametrize("error", [0.05, -0.05])
@pytest.mark.parametrize("regime", ["Z", "E"])
def test_a_stale_log_z_is_exposed(error: float, regime: str) -> None:
    words = "all rewards of the problem sum to a log Z of"
    assert words in (exposed(RIGHT, regime, log_z=math.log(PROBLEM.z()) + error) or "")


def test_a_wrong_backward_policy_is_exposed_by_trajectories_alone() -> None:
    def shifted(state: Any) -> list[float]:
        parents = 1 if state.stopped else sum(x > 0 for x in state.coordinates)
        return [1.0] if parents == 1 else [0.6, 0.4]

    # The law of terminal states is right all the same.
    seen = [bool(exposed(RIGHT, regime, p_b=shifted)) for regime in "ZSE"]
    assert seen == [True, True, False]
