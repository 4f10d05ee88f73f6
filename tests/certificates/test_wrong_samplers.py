"""Twenty seeded wrong samplers: each is exposed in regimes E, Z and S, and the right one is not."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

import pdai
from reference import InputError
from reference.fields.field import RATIONAL
from reference.policies import BackwardPolicy
from reference.problems import Grid, enumerate_dag, enumerate_rewards
from reference.solve import forward_from_backward

PROBLEM = Grid(4, 2)
SAMPLES = 2 * 4_096
# A sampler is exposed if its TV is certified to be above this, or it is refused.
CLOSE = 0.002

Row = dict[Any, float]
Policy = Callable[[Any], Any]


def trained(weight: Callable[[Any], Fraction] = lambda x: Fraction(1)) -> Policy:
    """The sampler that balance forces, for a reward that is the right one times a weight."""
    dag = enumerate_dag(PROBLEM)
    rewards = enumerate_rewards(PROBLEM, dag)
    bent = [r * weight(dag.labels[x]) for r, x in zip(rewards, dag.terminals, strict=True)]
    forward, _ = forward_from_backward(BackwardPolicy.uniform(dag, RATIONAL), bent)
    rows = {
        dag.labels[u]: {dag.labels[dag.edges[e][1]]: float(forward.values[e]) for e in row}
        for u, row in enumerate(dag.out_edges)
    }
    return lambda state: rows[state]


@cache
def right() -> Policy:
    return trained()


def changed(change: Callable[[Any, Row], Row]) -> Policy:
    """The right sampler with its rows changed, and normalised again."""

    def policy(state: Any) -> Row:
        row = change(state, dict(right()(state)))
        total = sum(row.values())
        return {child: p / total for child, p in row.items()}

    return policy


def at(*coordinates: int) -> Any:
    return lambda x: x.coordinates == coordinates


def stop(state: Any) -> Any:
    return PROBLEM.children(state)[0]


def rotated(state: Any, row: Row) -> Row:
    children = list(row)
    return dict(zip(children[1:] + children[:1], row.values(), strict=True))


def masked(state: Any, row: Row) -> Row:
    """The last child of three is forgotten: a mask off by one."""
    children = list(row)
    return {child: row[child] for child in (children[:-1] if len(children) == 3 else children)}


def powered(power: float) -> Policy:
    return changed(lambda state, row: {child: p**power for child, p in row.items()})


def scaled(child: Callable[[Any], Any], factor: float) -> Policy:
    def change(state: Any, row: Row) -> Row:
        return {c: p * (factor if c == child(state) else 1) for c, p in row.items()}

    return changed(change)


def noisy(state: Any, row: Row) -> Row:
    rng = Random(str(state))
    return {child: p * math.exp(rng.gauss(0, 0.3)) for child, p in row.items()}


def with_history(history: Any) -> Row:
    """Path-dependent: whoever went right twice likes to stop."""
    row = dict(right()(history[-1]))
    if len(history) > 2 and history[2].coordinates == (2, 0):
        row[stop(history[-1])] *= 1.5
    total = sum(row.values())
    return {child: p / total for child, p in row.items()}


def position(x: Any) -> int:
    first, second = x.coordinates
    return int(4 * first + second)


def shifted_reward(x: Any) -> Fraction:
    """The reward of the next cell, over that of this one."""
    after = (position(x) + 1) % 16
    other = type(x)((after // 4, after % 4), stopped=True)
    return PROBLEM.reward(other) / PROBLEM.reward(x)


def float16(state: Any, row: Row) -> Row:
    return {child: float(np.float16(p)) + 1e-3 for child, p in row.items()}


def dropped(state: Any, row: Row) -> Row:
    return {c: p for c, p in row.items() if not (at(0, 0)(c) and c.stopped)}


def paths(x: Any) -> Fraction:
    return Fraction(math.comb(sum(x.coordinates), x.coordinates[0]))


def flattened(x: Any) -> Fraction:
    return Fraction(float(PROBLEM.reward(x)) ** -0.5)


def logits(state: Any) -> Row:
    return {child: math.log(p) for child, p in right()(state).items()}


def undefined(state: Any) -> Row:
    return {c: math.nan if at(1, 1)(state) else p for c, p in right()(state).items()}


WRONG: dict[str, tuple[Any, dict[str, Any]]] = {
    "a mode dropped": (changed(dropped), {}),
    "a mode half as likely": (trained(lambda x: Fraction(1 + (not at(0, 0)(x)), 2)), {}),
    "temperature 0.9": (powered(1 / 0.9), {}),
    "temperature 1.1": (powered(1 / 1.1), {}),
    "a mask off by one": (changed(masked), {}),
    "a reward table shifted": (trained(shifted_reward), {}),
    "a reward to the power 0.5": (trained(flattened), {}),
    "children in another order": (changed(rotated), {}),
    "never trained": (changed(lambda s, r: dict.fromkeys(r, 1.0)), {}),
    "a tenth uniform": (changed(lambda s, r: {c: p + 0.11 / len(r) for c, p in r.items()}), {}),
    "greedy": (changed(lambda s, r: {c: float(p == max(r.values())) for c, p in r.items()}), {}),
    "stops too often": (scaled(stop, 1.3), {}),
    "noise on every logit": (changed(noisy), {}),
    "path-dependent where it should not be": (with_history, {"takes": "history"}),
    "rewards counted once per path": (trained(paths), {}),
    "first coordinate preferred": (scaled(lambda s: PROBLEM.children(s)[-1], 0.8), {}),
    "rows in float16 and a floor": (lambda s: float16(s, dict(right()(s))), {}),
    "logits taken for probabilities": (logits, {}),
    "NaN at one state": (undefined, {}),
    "a child that is none": (lambda s: {**right()(s), PROBLEM.initial: 0.0}, {}),
}


def exposed(policy: Any, regime: Any, samples: int = SAMPLES, **options: Any) -> str | None:
    """How a sampler is exposed, in words; None if it is not."""
    try:
        found = pdai.certify(
            policy, PROBLEM, regime=regime, samples=samples, width=CLOSE / 4, **options
        )
    except InputError as error:
        return f"refused: {error}"
    if found.interval.low > CLOSE:
        return f"TV above {found.interval.low} from {found.samples} samples"
    assert found.interval.low <= CLOSE
    return None


@pytest.mark.long
@pytest.mark.parametrize("regime", ["E", "Z", "S"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sampler_is_exposed(name: str, regime: str) -> None:
    policy, options = WRONG[name]
    assert exposed(policy, regime, **options)


def test_there_are_twenty() -> None:
    assert len(WRONG) == 20


@pytest.mark.parametrize("regime", ["E", "Z", "S"])
def test_control_the_right_sampler_is_not(regime: str) -> None:
    assert exposed(right(), regime) is None


@pytest.mark.parametrize("error", [0.05, -0.05])
def test_a_stale_log_z_is_exposed(error: float) -> None:
    true = math.log(PROBLEM.z())
    found = exposed(right(), "Z", log_z=true + error)
    assert found is not None
    assert ("correct log Z" in found) == (error < 0)


def test_a_wrong_backward_policy_is_exposed_by_trajectories_alone() -> None:
    def shifted(state: Any) -> list[float]:
        parents = 1 if state.stopped else sum(x > 0 for x in state.coordinates)
        return [1.0] if parents == 1 else [0.6, 0.4]

    assert exposed(right(), "Z", p_b=shifted)
    assert exposed(right(), "S", p_b=shifted)
    # The law of terminal states is right all the same.
    assert exposed(right(), "E", p_b=shifted) is None
