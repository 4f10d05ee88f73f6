"""Processor seconds of the main operations: `python benchmarks/speed.py [--out FILES]`.

Prints a table. What is compared runs in one process, in turns.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from benchmarks.harness import Spread, Table, in_turns, machine, parser, processor_seconds, ratios
from fast.environments import make_environment
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import exact_law
from fast.training.build import make_policy
from fast.training.compose import TrainConfig, configure
from fast.training.trainer import make_trainer
from reference import FLOAT64, RATIONAL, ForwardPolicy, marginal

ROUNDS, STEPS = 5, 50


POLICIES: dict[str, dict[str, Any]] = {
    "Markovian": {"dynamics": "markov"},
    "SRWM, head as printed": {"dynamics": "srwm", "hidden_layers": 1},
    "SRWM, two hidden layers": {"dynamics": "srwm", "hidden_layers": 2},
    "GRU, two hidden layers": {"dynamics": "gru", "hidden_layers": 2},
    "minGRU, two hidden layers": {"dynamics": "mingru", "hidden_layers": 2},
}


def training(table: Table, name: str, make: Callable[..., TrainConfig]) -> None:
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
    clocks = {label: partial(processor_seconds, go) for label, go in runs.items()}
    rates = {
        label: [STEPS / seconds for seconds in times]
        for label, times in in_turns(clocks, ROUNDS, uncounted=1).items()
    }
    base = rates.pop("Markovian")
    table.show(f"{name}: Markovian", Spread(base, "steps/s"))
    for label, values in rates.items():
        table.show(f"{name}: {label}, over Markovian", ratios(values, base))


# Networks without the table that is the default, as in earlier rows.
ALONE = {"table_rows": 0, "parameters": 40_000, "batch": 128}


def six6(**options: Any) -> TrainConfig:
    """SIX6 without the skip connection, its default, which the printed head does not have."""
    skip = {} if options["dynamics"] == "markov" else {"skip": False}
    return configure("six6", **ALONE, **options, **skip)


def exact_sums(table: Table) -> None:
    """Exact marginals of SIX6: by the reference, and of networks."""
    config = six6(**POLICIES["GRU, two hidden layers"])
    problem = config.problem()
    environment = make_environment(problem)

    def calls(name: str, action: Callable[[], Any]) -> None:
        table.show(name, Spread([processor_seconds(action) for _ in range(3)], "s"))

    calls(
        "SIX6: enumeration and check of the environment",
        lambda: enumerate_environment(problem, environment),
    )
    enumeration = enumerate_environment(problem, environment)
    weights = np.random.default_rng(0).integers(1, 2**20, len(enumeration.dag.edges)).tolist()
    for field in (FLOAT64, RATIONAL):
        policy = ForwardPolicy.from_weights(enumeration.dag, field, weights)  # type: ignore[misc]
        calls(f"SIX6: reference marginal, {field.name}", partial(marginal, policy))
    policy_ = make_policy(config, environment, key=jax.random.key(0))
    for float64 in (False, True):
        law = partial(exact_law, policy_, enumeration, float64=float64)
        law()
        name = "float64" if float64 else "float32"
        calls(f"SIX6: all 7,190,236 trajectories of a path-dependent policy, {name}", law)


if __name__ == "__main__":
    table = Table("python benchmarks/speed.py", parser(__doc__).parse_args().out, machine("jax"))
    training(table, "SIX6", six6)
    training(table, "Syn-8", partial(configure, "syn", length=8))
    training(table, "Syn-32", partial(configure, "syn", length=32, parameters=62_000))
    training(table, "sets, 16 of 64", partial(configure, "sets"))
    training(table, "16 x 16 grid", partial(configure, "grid"))
    exact_sums(table)
