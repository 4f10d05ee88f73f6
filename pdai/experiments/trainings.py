"""Trainings of cells: one sampler, or several that are combined.

Imports no JAX, so that the command line answers at once.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from fast.training.compose import TrainConfig, by_name, to_json
from pdai.distributed.plan import Plan

Training: TypeAlias = TrainConfig | Plan

# A plan has fewer runs than this, whose seeds follow its own.
SPACING = 10


def config_of(training: Training) -> TrainConfig:
    """The configuration of a training, or the one that its runs share."""
    return training if isinstance(training, TrainConfig) else training.config


def own_seed(training: Training, seed: int) -> int:
    """The seed of a training, by the number of its seed; a plan has several from there on."""
    return seed * (SPACING if isinstance(training, Plan) else 1)


def description(training: Training, seed: int) -> dict[str, Any]:
    """The options of a training, as stored: flat, and without paths, which differ by machine.

    Who adds an option writes it into the stored ones, with what they did without it.
    """
    return {**_first_description(training), "seed": own_seed(training, seed)}


@cache
def _first_description(training: Training) -> dict[str, Any]:
    """That of seed 0."""
    config = config_of(training).changed(seed=0, out=None)
    # The resolved score of generated data, and not the requested one.
    data = {**by_name(to_json(config)), **config.task.facts()}
    if not isinstance(training, TrainConfig):
        data = {**training.to_json(), **data}
        del data["config"]
    # As JSON is read back, with lists for tuples.
    plain = json.loads(json.dumps(data, default=str))
    return {name: Path(value).name if name == "table" else value for name, value in plain.items()}


def total_steps(stored: dict[str, Any]) -> str:
    """The gradient steps of all runs of a stored training; the states of a Markov chain."""
    if "moves" in stored:
        return f"{stored['moves']:,} states"
    runs = {"distribute": stored.get("clients", 0) + 1, "stream": stored.get("chunks", 0)}
    kind = stored.get("kind")
    return f"{stored['steps']:,}" if kind is None else f"{runs[kind]} x {stored['steps']:,}"
