"""Every problem with every admissible dynamics, loss and backward policy."""

from typing import Any, get_args

import jax
import numpy as np
import pytest

from fast.environments import TabularEnvironment, make_environment
from fast.tasks import TASKS, CustomConfig, GraphsConfig, GridConfig, LinesConfig, Pho4Config
from fast.training.names import ON_GRAPHS, BackwardKind, DynamicsName, LossName, PenaltyName, Replay
from fast.training.trainer import make_trainer
from reference import InputError
from reference.problems import Grid

SMALL: dict[str, dict[str, Any]] = {
    "syn": {"length": 3, "letters": 2},
    "bits": {"length": 8, "word": 4},
    "lines": {"length": 4},
    "grid": {"side": 3},
    "sets": {"items": 5, "size": 2},
    "preference": {"dimension": 2, "bound": 1, "order": "any"},
    "random-walk": {"radius": 1, "walk_steps": 2},
    "ising": {"spins": 3},
}
COMMON: dict[str, Any] = {
    "parameters": 4_000, "latent_size": 8, "batch": 8, "steps": 6,
}  # fmt: skip


# PHO4's table is not shipped; its environment is that of SIX6.
NAMES = [name for name, task in TASKS.items() if task is not Pho4Config]


def steps(name: str, count: int, *, run: bool, **options: Any) -> Any:
    """A few steps of training: run, or only traced, which checks every shape and type."""
    buffer = {"replay_capacity": 16} if options.get("replay", "none") != "none" else {}
    config = TASKS[name](**{**COMMON, **buffer, **SMALL.get(name, {}), **options})
    environment = (
        TabularEnvironment.from_problem(Grid(3, 2))
        if isinstance(config, CustomConfig)
        else make_environment(config.problem())
    )
    trainer = make_trainer(config, environment)
    if run:
        return trainer.advance(trainer.init(), count)
    return jax.eval_shape(lambda: trainer.advance(trainer.init(), count))


@pytest.mark.parametrize("name", NAMES)
def test_every_problem_goes_with_every_dynamics(name: str) -> None:
    for dynamics in get_args(DynamicsName):
        if dynamics in ON_GRAPHS and name != "graphs":
            with pytest.raises(InputError, match="graph networks read graphs"):
                TASKS[name](dynamics=dynamics)
            continue
        _, info = steps(name, 2, run=False, dynamics=dynamics)
        assert info.loss.shape == (1, 2)


@pytest.mark.parametrize("loss", get_args(LossName))
def test_every_loss_goes_with_every_backward_policy_penalty_and_replay(loss: Any) -> None:
    refused, traced = 0, 0
    traced_with = {"uniform": "huber", "none": "log-cosh"}
    if loss == "log_variance":
        traced_with = dict.fromkeys(traced_with, "square")
    for dynamics in ("markov", "gru"):
        for p_b in get_args(BackwardKind):
            for replay in get_args(Replay):
                for penalty in get_args(PenaltyName):
                    options = {"p_b": p_b, "replay": replay, "penalty": penalty}
                    try:
                        LinesConfig(loss=loss, dynamics=dynamics, **options)
                    except InputError:
                        refused += 1
                        continue
                    if traced_with.get(replay) == penalty:
                        steps("lines", 2, run=False, loss=loss, dynamics=dynamics, **options)
                        traced += 1
    assert refused
    assert traced >= (2 if loss == "fm" else 9)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("syn", {"dynamics": "lstm", "loss": "subtb", "p_b": "lifted", "build": "prepend-append"}),
        ("bits", {"dynamics": "rnn", "loss": "db"}),
        ("sets", {"dynamics": "srwm", "replay": "reward", "p_b": "learned"}),
        ("preference", {"dynamics": "gru", "loss": "tb", "seeds": 2}),
        ("random-walk", {"dynamics": "markov", "loss": "fm"}),
        ("ising", {"dynamics": "linear", "replay": "uniform"}),
        ("graphs", {"dynamics": "temporal-gcn"}),
        ("custom", {"dynamics": "srwm", "heads": 2, "erase": "after", "rotation": "haar"}),
    ],
)
def test_a_few_steps_run_and_stay_finite(name: str, options: dict[str, Any]) -> None:
    state, info = steps(name, 6, run=True, **options)
    assert info.loss.shape == (options.get("seeds", 1), 6)
    assert np.isfinite(info.loss).all()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.sampler))
    assert state.step.tolist() == [6] * options.get("seeds", 1)


def test_seeds_trained_side_by_side_are_those_trained_alone() -> None:
    _, both = steps("grid", 6, run=True, dynamics="markov", seeds=2, seed=3)
    for number in range(2):
        _, alone = steps("grid", 6, run=True, dynamics="markov", seed=3 + number)
        # The order of float32 sums differs between one and several seeds.
        assert np.allclose(both.loss[number], alone.loss[0], rtol=1e-4)
    assert not np.allclose(both.loss[0], both.loss[1], rtol=1e-2)


def test_double_precision_trains_in_double_precision() -> None:
    _, single = steps("grid", 6, run=True, dynamics="markov")
    with jax.enable_x64(True):
        state, double = steps("grid", 6, run=True, dynamics="markov", precision="float64")
        assert {leaf.dtype for leaf in jax.tree.leaves(state.sampler)} == {np.dtype("float64")}
    # The initial weights are drawn with other random bits; only the size is comparable.
    assert 0.2 < np.asarray(double.loss).mean() / np.asarray(single.loss).mean() < 5


def test_graph_networks_refuse_what_they_do_not_give() -> None:
    with pytest.raises(InputError, match="give no flow and no backward policy"):
        GraphsConfig(dynamics="gcn", loss="db")
    trainer = make_trainer(
        config := GridConfig(dynamics="srwm", latent_size=6, heads=2, side=3),
        make_environment(config.problem()),
    )
    with pytest.raises(InputError, match="must be a multiple of"):
        trainer.init()
