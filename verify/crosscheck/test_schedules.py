"""Every layout of a batch gives the same trajectories, and trains to the same parameters."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.laws.walk import to_float64
from fast.runs.frozen import arithmetic
from fast.sampling.actions import Exploration
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, uniforms
from fast.schedule import COMPACT, LONG_RUN, ONE_PASS, SIDE_BY_SIDE, Schedule, schedule_for
from fast.training import trainer
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from verify.crosscheck.compare import TOLERANCE, tree_distance
from verify.crosscheck.instances import make_instance, random_policy

SCHEDULES = (COMPACT, SIDE_BY_SIDE, ONE_PASS)
STEPS = 4
# Adam divides by the root of the mean square plus 1e-8: a gradient that is zero but for rounding,
# 1e-16 and a few terms, moves a parameter by 1e-8 of the rate, 1e-2, in each step.
AFTER_ADAM = 1e-9


def test_the_platform_chooses_the_schedule() -> None:
    assert [schedule_for(name) for name in ("cpu", "cuda", "tpu")] == [COMPACT, ONE_PASS, ONE_PASS]
    assert [schedule_for(name, seeds=2) for name in ("cpu", "cuda")] == [SIDE_BY_SIDE, ONE_PASS]


def test_a_short_run_has_the_schedule_that_is_compiled_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen: list[Schedule] = []

    def noted(config: Any, schedule: Schedule) -> Any:
        chosen.append(schedule)
        return None, None

    monkeypatch.setattr(trainer, "_programs", noted)
    for steps in (LONG_RUN - 1, LONG_RUN):
        # A run that goes on has no other, as the trainer knows nothing of the steps that are done.
        config = configure("lines", steps=steps)
        make_trainer(config, config.make_environment(), platform="cpu")
    assert chosen == [SIDE_BY_SIDE, COMPACT]


@pytest.mark.catches(
    "In one pass, the last step takes the random numbers of the first.",
    "fast/sampling/forward.py",
    "return lax.scan(move, carry, draws, unroll=schedule.steps_at_once)",
    "return lax.scan(move, carry, draws[::-1], unroll=schedule.steps_at_once)",
    only="markov",
)
@pytest.mark.long
@pytest.mark.crosscheck("fast.schedule")
@pytest.mark.parametrize("dynamics", ["markov", "gru"])
def test_trajectories_are_those_of_every_other_schedule(dynamics: str) -> None:
    environment = make_instance("grid").environment
    policy = random_policy(environment, dynamics=dynamics)

    @eqx.filter_jit
    def drawn(policy: Any, draws: Any) -> list[Any]:
        batches = []
        for schedule in SCHEDULES:
            trajectories, cached = sample_trajectories(
                policy, environment, draws, Exploration(0.2), schedule=schedule
            )
            batches.append((without_padding(trajectories), cached.log_p_f))
        return batches

    # In float64 no draw is within rounding of a partial sum, so that actions are the same.
    with jax.enable_x64(True):
        draws = jnp.asarray(uniforms(jax.random.key(0), environment, 48), jnp.float64)
        first, *others = drawn(to_float64(policy), draws)
        control, *_ = drawn(to_float64(policy), draws[:, ::-1])
    assert not np.asarray(first[0].active).all()
    for other in others:
        assert tree_distance(other, first) <= TOLERANCE["float64"]
    assert tree_distance(control, first) > TOLERANCE["float64"]


def without_padding(trajectories: Trajectories) -> Trajectories:
    """With action 0 where a trajectory has ended: what is drawn there means nothing."""
    return trajectories._replace(actions=trajectories.actions * trajectories.active)


@pytest.mark.long
def test_training_is_that_of_every_other_platform() -> None:
    small: dict[str, Any] = {"side": 4, "parameters": 4_000, "batch": 16, "precision": "float64"}

    def trained(platform: str, seed: int = 0) -> Any:
        config = configure("grid", dynamics="markov", loss="tb", seed=seed, **small)
        with arithmetic("float64"):
            method = make_trainer(config, config.make_environment(), platform=platform)
            state, info = method.advance(method.init(), STEPS)
            return jax.tree.map(np.asarray, (eqx.filter(state.sampler, eqx.is_array), info))

    expected = trained("cpu")
    assert tree_distance(trained("cuda"), expected) <= AFTER_ADAM
    # Control: another seed is another training.
    assert tree_distance(trained("cuda", seed=1), expected) > 1e-3
