"""`log Z` of trajectory balance where it is far from what a batch says, and where it is not."""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.losses import LogVariance, TrajectoryBalance
from fast.balance.steps import Steps
from fast.runs.setup import set_up
from fast.training.compose import configure

FAR = -300.0


@dataclass(frozen=True)
class Patient(TrajectoryBalance):
    """Trajectory balance that never takes the `log Z` of a batch."""

    log_z_reach: ClassVar[float] = float("inf")


def steps_of(ratios: list[float]) -> Steps:
    terms, none = jnp.array(ratios)[:, None], jnp.zeros((len(ratios), 1))
    return Steps(terms, none, none, none == 0, jnp.zeros(len(ratios)))


def test_log_z_is_left_alone_within_reach_and_taken_of_the_batch_beyond() -> None:
    loss, batch = TrajectoryBalance(), steps_of([4.0, 8.0])
    for near in (-16.0, -6.0, 4.0):
        assert float(loss.starting_log_z(batch, jnp.float32(near))) == near
    for far in (FAR, -16.5, 4.5):
        assert float(loss.starting_log_z(batch, jnp.float32(far))) == -6.0
        # Controls: what has no log Z, or never takes another.
        assert float(LogVariance().starting_log_z(batch, jnp.float32(far))) == far
        assert float(Patient().starting_log_z(batch, jnp.float32(far))) == far


def after(loss: Any, steps: int, log_z: float | None = None) -> Any:
    setup = set_up(
        configure("grid", side=4, dynamics="markov", parameters=2_000, loss=loss, batch=32)
    )
    started = setup.initial
    if log_z is not None:
        far = jnp.full((1,), log_z, jnp.float32)
        started = eqx.tree_at(lambda state: state.sampler.log_z, started, far)
    return setup.trainer.advance(started, steps)


@pytest.mark.long
def test_training_goes_on_from_the_batch_where_log_z_is_far() -> None:
    state, info = after(TrajectoryBalance(), 2, FAR)
    first, _ = np.asarray(info.log_z)[0]
    assert abs(first) < 10
    # At most two steps of Adam from there.
    assert abs(float(state.sampler.log_z[0]) - first) < 0.5
    # Control: without, it is where Adam has brought it.
    state, _ = after(Patient(), 2, FAR)
    assert float(state.sampler.log_z[0]) == pytest.approx(FAR + 0.2, abs=1e-3)


def test_within_reach_training_is_the_same_bit_by_bit() -> None:
    states = [after(loss, 5)[0] for loss in (TrajectoryBalance(), Patient())]
    leaves = [jax.tree.leaves(state.sampler) for state in states]
    assert all(np.array_equal(a, b) for a, b in zip(*leaves, strict=True))
    # Control: from far off it is not.
    far = jax.tree.leaves(after(TrajectoryBalance(), 5, FAR)[0].sampler)
    assert not all(np.array_equal(a, b) for a, b in zip(leaves[0], far, strict=True))
