"""Problems with dynamics, losses with all options of parts; steps lowered for other platforms."""

from collections import Counter
from typing import Any, get_args

import jax
import numpy as np
import pytest

from fast.balance.losses import PenaltyName
from fast.parts import BACKWARD, DYNAMICS, LOSSES, REPLAYS, option_names
from fast.stochastic import training as stochastic_training
from fast.tasks import TASKS
from fast.training import build
from fast.training.compose import configure
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
    "phylogeny": {"taxa": 4},
    "torus": {"rows": 2, "columns": 2},
    "hard-core": {"rows": 1, "columns": 4},
    "custom": {"problem": "tests.fast.test_matrix:custom_grid"},
}
COMMON: dict[str, Any] = {"parameters": 4_000, "batch": 8, "steps": 6}


def custom_grid() -> Grid:
    """The problem of the task that is the user's own."""
    return Grid(3, 2)


# The tables of PHO4 and QM9 are not shipped; their environment is that of SIX6.
NAMES = [name for name in TASKS if name not in ("pho4", "qm9")]


def steps(name: str, count: int, *, run: bool, **options: Any) -> Any:
    """A few steps of training: run, or only traced, which checks every shape and type."""
    more = {"replay_capacity": 16} if options.get("replay", "none") != "none" else {}
    dynamics = options.get("dynamics", TASKS[name].defaults.get("dynamics", "markov"))
    for size in option_names(DYNAMICS[dynamics]) & {"latent_size", "block_size"}:
        more[size] = 8
    config = configure(name, **{**COMMON, **more, **SMALL.get(name, {}), **options})
    environment = config.task.make_environment(config.problem(), config.run.max_states)
    trainer = make_trainer(config, environment)
    if run:
        return trainer.advance(trainer.init(), count)
    return jax.eval_shape(lambda: trainer.advance(trainer.init(), count))


@pytest.fixture
def one_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """One width of hidden layers: the search for that of a budget traces each network six times."""
    for module in (build, stochastic_training):
        monkeypatch.setattr(module, "fitted", lambda dynamics, p_b, build: build(8))


@pytest.mark.long
@pytest.mark.usefixtures("one_width")
@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_every_problem_goes_with_a_third_of_the_dynamics(number: int) -> None:
    # Another third beside each problem: a network sees of a problem its features alone,
    # but for graph networks.
    name = NAMES[number]
    for place, (dynamics, kind) in enumerate(DYNAMICS.items()):
        if place % 3 != number % 3 and not kind.reads_graphs:
            continue
        if kind.reads_graphs and not TASKS[name].has_graphs:
            with pytest.raises(InputError, match="graph networks read graphs"):
                configure(name, **SMALL.get(name, {}), dynamics=dynamics)
            continue
        _, info = steps(name, 2, run=False, dynamics=dynamics)
        assert info.loss.shape == (1, 2)


@pytest.mark.long
@pytest.mark.usefixtures("one_width")
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_goes_with_every_backward_policy_penalty_and_replay(loss: Any) -> None:
    refused, traced = 0, 0
    traced_with = {"uniform": "huber", "none": "log-cosh"}
    penalties: list[dict[str, Any]] = [{"penalty": name} for name in get_args(PenaltyName)]
    for dynamics in ("markov", "gru"):
        for p_b in BACKWARD:
            for replay in REPLAYS:
                for penalty in penalties:
                    options = {"p_b": p_b, "replay": replay, **penalty}
                    try:
                        configure("lines", loss=loss, dynamics=dynamics, **options)
                    except InputError:
                        refused += 1
                        continue
                    if traced_with.get(replay) == penalty.get("penalty", "none"):
                        steps("lines", 2, run=False, loss=loss, dynamics=dynamics, **options)
                        traced += 1
    assert refused
    assert traced >= (2 if loss == "fm" else 9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("syn", {"dynamics": "lstm", "loss": "subtb", "p_b": "lifted", "build": "prepend-append"}),
        ("bits", {"dynamics": "rnn", "loss": "db"}),
        ("sets", {"dynamics": "srwm", "replay": "reward", "p_b": "learned"}),
        ("sets", {"dynamics": "srwm", "block": True, "start": "full", "angle_scale": 0.1}),
        ("bits", {"dynamics": "self-referential", "heads": 4, "block": True}),
        ("bits", {"dynamics": "attention", "heads": 4, "block": True}),
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


@pytest.mark.long
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
        configure("graphs", dynamics="gcn", loss="db")
    trainer = make_trainer(
        config := configure("grid", dynamics="srwm", latent_size=6, heads=2, side=3),
        config.task.make_environment(config.problem(), config.run.max_states),
    )
    with pytest.raises(InputError, match="must be a multiple of"):
        trainer.init()


PLATFORMS = ("cpu", "cuda", "tpu")


def step(name: str, platform: str, **options: Any) -> tuple[Any, Any]:
    """A training step, laid out for a platform, and the shapes that it takes."""
    dynamics = options.get("dynamics", TASKS[name].defaults.get("dynamics", "markov"))
    small = {"latent_size": 8} if "latent_size" in option_names(DYNAMICS[dynamics]) else {}
    config = configure(name, **{**COMMON, **small, **SMALL.get(name, {}), **options})
    environment = config.task.make_environment(config.problem(), config.run.max_states)
    trainer = make_trainer(config, environment, platform=platform)
    return jax.jit(lambda state: trainer.advance(state, 1)), trainer.shapes()


def primitives(jaxpr: Any) -> Counter[str]:
    """The count of each operation of JAX in a program, parts of others included."""
    counts = Counter(equation.primitive.name for equation in jaxpr.eqns)
    for equation in jaxpr.eqns:
        for part in jax.tree.leaves(list(equation.params.values()), is_leaf=is_program):
            if is_program(part):
                counts += primitives(getattr(part, "jaxpr", part))
    return counts


def is_program(part: Any) -> bool:
    return hasattr(part, "eqns") or hasattr(part, "jaxpr")


@pytest.mark.catches(
    "A GPU is given the schedule of a CPU.",
    "fast/schedule.py",
    'if (platform or jax.default_backend()) != "cpu":',
    'if (platform or jax.default_backend()) == "tpu":',
)
@pytest.mark.parametrize("dynamics", ["markov", "gru"])
def test_a_step_for_a_gpu_asks_no_host_what_comes_next(dynamics: str) -> None:
    for platform in ("cuda", "cpu"):
        function, shapes = step("grid", platform, dynamics=dynamics, loss="tb")
        counts = primitives(jax.make_jaxpr(function)(shapes).jaxpr)
        # A choice by the platform is made before the program runs; loops of known length are scans.
        decisions = counts["cond"] - counts["platform_index"] + counts["while"]
        assert counts["scan"] > 0 < counts["platform_index"]
        assert not any("callback" in name for name in counts)
        # Control: a CPU's program decides by its numbers how many rows are evaluated.
        assert (decisions == 0) == (platform == "cuda")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_task_is_lowered_for_every_platform(name: str) -> None:
    function, shapes = step(name, "cuda")
    exported = jax.export.export(function, platforms=PLATFORMS)(shapes)
    assert exported.platforms == PLATFORMS
    assert len(exported.mlir_module_serialized) > 1_000
