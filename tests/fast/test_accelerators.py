"""Programs for machines that are not here: lowered by JAX for each platform, and not compiled."""

from collections import Counter
from typing import Any

import jax
import pytest

from fast.parts import DYNAMICS, option_names
from fast.tasks import TASKS
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from tests.fast.test_matrix import COMMON, NAMES, SMALL

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
