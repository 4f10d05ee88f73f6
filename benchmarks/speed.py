"""How fast things are: `python benchmarks/speed.py`. Prints a Markdown table.

What is compared runs in one process, interleaved in rounds, so that a busy machine disturbs both
alike; the median over rounds is shown with the smallest and the largest.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from fast.environments import make_environment
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import exact_law
from fast.training.build import make_policy
from fast.training.compose import TrainConfig, configure
from fast.training.trainer import make_trainer
from reference import FLOAT64, RATIONAL, ForwardPolicy, marginal

ROUNDS, STEPS = 5, 50


def seconds(action: Callable[[], Any]) -> float:
    """Wall time of one call, its results awaited."""
    started = time.perf_counter()
    jax.block_until_ready(action())
    return time.perf_counter() - started


def show(name: str, values: list[float], unit: str) -> None:
    """One row: median (least to largest)."""
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"| {name} | {middle:.3g} {unit} | {low:.3g} to {high:.3g} |", flush=True)


POLICIES: dict[str, dict[str, Any]] = {
    "Markovian": {"dynamics": "markov"},
    "SRWM, head as printed": {"dynamics": "srwm", "hidden_layers": 1},
    "SRWM, two hidden layers": {"dynamics": "srwm", "hidden_layers": 2},
    "GRU, two hidden layers": {"dynamics": "gru", "hidden_layers": 2},
    "minGRU, two hidden layers": {"dynamics": "mingru", "hidden_layers": 2},
}


def training(name: str, make: Callable[..., TrainConfig]) -> None:
    """Training steps per second of the Markovian policy, and of others relative to it."""
    runs: dict[str, Callable[[], Any]] = {}
    for label, options in POLICIES.items():
        config = make(**options)
        trainer = make_trainer(config, make_environment(config.problem()))
        box = [trainer.init()]

        def go(trainer: Any = trainer, box: Any = box) -> Any:
            box[0], info = trainer.advance(box[0], STEPS)
            return info

        go()
        runs[label] = go
    rates: dict[str, list[float]] = {label: [] for label in runs}
    # The first round is not counted: what runs first after compilation is slow.
    for round_ in range(ROUNDS + 1):
        for label, go in runs.items():
            rate = STEPS / seconds(go)
            if round_:
                rates[label].append(rate)
    base = rates.pop("Markovian")
    show(f"{name}: Markovian", base, "steps/s")
    for label, values in rates.items():
        ratios = [a / b for a, b in zip(values, base, strict=True)]
        show(f"{name}: {label}, over Markovian", ratios, "")


def six6(**options: Any) -> TrainConfig:
    """SIX6 without the skip connection, its default, which the printed head does not have."""
    skip = {} if options["dynamics"] == "markov" else {"skip": False}
    return configure("six6", **options, **skip)


def exact_sums() -> None:
    """Exact marginals of SIX6: by the reference, and of networks."""
    config = configure("six6")
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
    training("SIX6", six6)
    training("Syn-8", partial(configure, "syn", length=8))
    training("Syn-32", partial(configure, "syn", length=32, parameters=62_000))
    training("sets, 16 of 64", partial(configure, "sets"))
    training("16 x 16 grid", partial(configure, "grid"))
    exact_sums()
