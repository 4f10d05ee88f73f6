"""How fast things are: `python tests/benchmarks/speed.py`. Prints a Markdown table.

What is compared runs in one process, interleaved in rounds, so that a busy machine disturbs both
alike; the median over rounds is shown with the smallest and the largest.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from fast.bridge import enumerate_environment
from fast.config import TrainConfig
from fast.environments import make_environment
from fast.laws import exact_law
from fast.models import make_policy
from fast.tasks import GridConfig, Six6Config
from fast.training import make_trainer
from reference import FLOAT64, RATIONAL, ForwardPolicy, marginal

ROUNDS, STEPS = 5, 200


def seconds(action: Callable[[], Any]) -> float:
    """Wall time of one call, its results awaited."""
    started = time.perf_counter()
    jax.block_until_ready(action())
    return time.perf_counter() - started


def show(name: str, values: list[float], unit: str) -> None:
    """One row: median (least to largest)."""
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"| {name} | {middle:.3g} {unit} | {low:.3g} to {high:.3g} |", flush=True)


def training(config_type: type[TrainConfig]) -> None:
    """Training steps per second of both families, and their ratio."""
    runs: dict[str, Callable[[], Any]] = {}
    for dynamics in ("srwm", "markov"):
        config = config_type(dynamics=dynamics)  # type: ignore[arg-type]
        trainer = make_trainer(config, make_environment(config.problem()))
        box = [trainer.init()]

        def go(trainer: Any = trainer, box: Any = box) -> Any:
            box[0], info = trainer.advance(box[0], STEPS)
            return info

        go()
        runs[dynamics] = go
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, go in runs.items():
            rates[name].append(STEPS / seconds(go))
    problem = config_type.problem_name
    for name, values in rates.items():
        show(f"{problem}: training, {name}", values, "steps/s")
    ratio = [a / b for a, b in zip(rates["srwm"], rates["markov"], strict=True)]
    show(f"{problem}: srwm over markov", ratio, "")


def exact_sums() -> None:
    """Exact marginals of SIX6: by the reference, and of networks."""
    config = Six6Config()
    problem = config.problem()
    environment = make_environment(problem)
    show(
        "SIX6: enumeration and check of the environment",
        [seconds(lambda: enumerate_environment(problem, environment)) for _ in range(3)],
        "s",
    )
    enumeration = enumerate_environment(problem, environment)
    weights = np.random.default_rng(0).integers(1, 2**20, len(enumeration.dag.edges)).tolist()
    for field in (FLOAT64, RATIONAL):
        policy = ForwardPolicy.from_weights(enumeration.dag, field, weights)  # type: ignore[misc]
        values = [seconds(lambda policy=policy: marginal(policy)) for _ in range(3)]  # type: ignore[misc]
        show(f"SIX6: reference marginal, {field.name}", values, "s")
    policy_ = make_policy(config, environment, key=jax.random.key(0))
    for float64 in (False, True):
        law = lambda f=float64: exact_law(policy_, enumeration, float64=f)  # noqa: E731
        law()
        name = "float64" if float64 else "float32"
        show(
            f"SIX6: all 7,190,236 trajectories of a path-dependent policy, {name}",
            [seconds(law) for _ in range(3)],
            "s",
        )


if __name__ == "__main__":
    print("| what | median | range |\n|---|---|---|")
    training(Six6Config)
    training(GridConfig)
    exact_sums()
