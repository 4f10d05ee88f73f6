"""Programs compiled for a GPU that is not here: `python benchmarks/gpu_program.py [--quick]`.

XLA compiles for a description of a GPU, given the wheel `jax-cuda13-pjrt` of the version of jaxlib
(`pip install --no-deps --target FOLDER`, and FOLDER on PYTHONPATH); without it this says so, and
exits with 3. Nothing is run. It counts the kernels of each program, and ends with 1 if they are
more than the budget, if a host would be asked something in between, if float64 stands in a program
of float32, or if the memory that `pdai train` foresees is a tenth off the peak that XLA finds by
going through its assignment of buffers. The seconds beside them are inferred: from the rates of the
data sheet, and from 1.1 to 2.1 microseconds for each kernel, which an H100 took in sixteen
trainings (`results/device-gpu.md`). It ran as many kernels as are counted here, to 1 in 2,291.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from benchmarks.harness import Table, machine, parser  # noqa: E402
from benchmarks.on_device.program import A100, H100, Target, cost, inferred, waits  # noqa: E402
from benchmarks.on_device.rates import NAME, configuration, environment_of, listed  # noqa: E402
from fast.laws.paths import ESTIMATE_BLOCK, rollout  # noqa: E402
from fast.laws.walk import BLOCK, _evaluate, _on_device  # noqa: E402
from fast.runs.sizes import least_memory  # noqa: E402
from fast.schedule import ONE_PASS  # noqa: E402
from fast.training.build import make_policy  # noqa: E402
from fast.training.trainer import make_trainer, program_memory  # noqa: E402

# Steps of training in a program, by which its kernels are divided.
STEPS = 20
NO_WHEEL = 3


# The kernels that a training step may have, by task, policy, batch and seeds side by side: half of
# gfnx's where it has the task; and those of gfnx 0.0.1, compiled in the same way.
TRAINING: dict[tuple[str, str, int, int], tuple[int, int | None]] = {
    ("hypergrid 8^2", "Markovian", 128, 1): (247, 494),
    ("hypergrid 8^2", "Markovian", 128, 64): (247, None),
    ("hypergrid 16^4", "Markovian", 128, 1): (875, 1_750),
    ("hypergrid 32^4", "Markovian", 512, 1): (1_772, 3_545),
    ("hypergrid 16^4", "GRU", 128, 1): (2_500, None),
    ("SIX6", "SRWM", 128, 1): (350, None),
    **{
        (task, "Markovian", 128, seeds): (budget, None)
        for task, budget in (("hypergrid 8^4", 460), ("SIX6", 175))
        for seeds in (1, 8, 64)
    },
}
# Kernels of a block of samples, of their terms in certificates, and of histories of a law.
BUDGETS = {"samples": 760, "terms of samples": 820, "law": 20}


def training(
    task: str, policy: str, batch: int, seeds: int, target: Target, platform: str = "cuda"
) -> Any:
    """The compiled program of a training, laid out for a platform.

    Args:
        task: a name of `TASKS`.
        policy: a name of `POLICIES`.
        batch: trajectories per step.
        seeds: trainings side by side.
        target: the GPU.
        platform: whose layout it has.
    """
    config, environment = configuration(task, policy, batch, seeds), environment_of(task)
    trainer = make_trainer(config, environment, platform=platform)
    advance = jax.jit(trainer.advance, static_argnums=1, donate_argnums=0)
    return advance.lower(target.shapes(trainer.shapes()), STEPS).compile()


def sampling(target: Target, with_terms: bool) -> Any:
    """The compiled program of a block of samples, with their terms of balance or without."""
    environment = environment_of("hypergrid 16^4")
    config = configuration("hypergrid 16^4", "Markovian", 128)

    def draw(policy: Any, key: Any) -> Any:
        drawn, steps = rollout(policy, environment, key, ESTIMATE_BLOCK)
        return drawn.final, drawn.log_reward, steps if with_terms else ()

    key = jax.random.key(0)
    policy = jax.eval_shape(lambda key: make_policy(config, environment, key=key), key)
    # The process itself computes on a CPU.
    with patch("fast.sampling.forward.schedule_for", return_value=ONE_PASS):
        return jax.jit(draw).lower(*target.shapes((policy, key))).compile()


def law(target: Target) -> Any:
    """The compiled program of a block of histories: latents, outputs and `log p_F` on arrival."""
    policy, enumeration, _ = listed(4)
    _, tables = _on_device(policy, enumeration, float64=False)
    latents = policy.network.initial((BLOCK,))
    nodes = jnp.zeros(BLOCK, int)
    return _evaluate.lower(*target.shapes((policy, latents, nodes, nodes, tables))).compile()


def measured(compiled: Any, target: Target, steps: int = 1) -> dict[str, Any]:
    """Work of one step of a program, and the time inferred from the rates of the target."""
    text, memory = compiled.as_text(), compiled.memory_analysis()
    work = cost(text)
    return {
        "kernels": round(work.kernels / steps),
        "MB touched": work.bytes / steps / 1e6,
        "MFLOP of products": work.operations / steps / 1e6,
        **inferred(target.name, work, steps),
        "peak MB": memory.peak_memory_in_bytes / 1e6,
        "foreseen MB": program_memory(compiled) / 1e6,
        "waits": ", ".join(waits(text) + ["float64"] * ("f64[" in text)),
    }


def is_near(foreseen: float, peak: float) -> bool:
    """True if a prediction is within a tenth of the peak."""
    return abs(foreseen - peak) <= 0.1 * peak


def checked(values: dict[str, Any], budget: int) -> dict[str, Any]:
    """With the budget, and whether a program keeps it, waits for nobody and is as foreseen."""
    right = values["kernels"] <= budget and not values["waits"]
    right &= is_near(values["foreseen MB"], values["peak MB"])
    return {"budget": budget, **values, "right": right}


def rows(target: Target, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kinds and rows; quick ones are two trainings, and the control."""
    kind = "training steps"
    for cell, (budget, peer) in list(TRAINING.items())[: 2 if quick else None]:
        values = checked(measured(training(*cell, target), target, STEPS), budget)
        config, environment = configuration(*cell), environment_of(cell[0])
        sizes = (config.run.precision, config.sampling.batch, config.replay.capacity)
        least = cell[-1] * sum(least_memory(environment, config.dynamics, *sizes).values()) / 1e6
        # Control: a sum over shapes, without compiling, is far below.
        values["right"] &= least <= values["peak MB"] and not is_near(least, values["peak MB"])
        name = {"program": NAME.format(*cell), "seeds": cell[-1], "gfnx, on an H100": peer}
        yield kind, {**name, **values, "least MB, from shapes": least}
    # Control: what suits a CPU is over the budget, and asks a host what to run next.
    cell, (budget, _) = next(iter(TRAINING.items()))
    of_cpu = checked(measured(training(*cell, target, "cpu"), target, STEPS), budget)
    over = of_cpu["kernels"] > budget and bool(of_cpu["waits"])
    name = {"program": f"control: {NAME.format(*cell)}, as on a CPU", "seeds": 1}
    yield kind, {**name, **of_cpu, "right": over}
    blocks: dict[str, Callable[[Target], Any]] = {
        "samples": partial(sampling, with_terms=False),
        "terms of samples": partial(sampling, with_terms=True),
        "law": law,
    }
    for block, build in ({} if quick else blocks).items():
        values = checked(measured(build(target), target), BUDGETS[block])
        yield "blocks of samples and of exact laws", {"program": block, **values}


def main() -> int:
    """Compiles all rows; 1 if one of them is wrong."""
    command = parser(__doc__)
    command.add_argument("--quick", action="store_true", help="two trainings, and the control")
    options = command.parse_args()
    jax.config.update("jax_platforms", "cpu")
    try:
        H100.sharding()
    except RuntimeError as error:
        print(f"NOT COMPILED: programs for a GPU, as jax-cuda13-pjrt cannot be had: {error}")
        return NO_WHEEL
    # As training does on a GPU (fast.runs.frozen.arithmetic).
    jax.config.update("jax_default_matmul_precision", "float32")
    about = {"compiled for": "GPUs that were not there; nothing was run"}
    about |= {name: machine("jax", "jaxlib")[name] for name in ("jax", "jaxlib")}
    table, right = Table("python benchmarks/gpu_program.py", options.out, about), True
    for target in (H100,) if options.quick else (H100, A100):
        for kind, row in rows(target, options.quick):
            table.add(row, f"{target.name}, {kind}")
            right &= row["right"]
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
