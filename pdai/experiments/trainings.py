"""What a cell trains: one sampler, or several that are combined; or the chain that it runs.

Imports no JAX, so that the command line answers at once.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any, TypeAlias

from fast.parts import CHOICES, option_names, part_class
from fast.training.compose import FIXED, to_json
from fast.training.config import TrainConfig
from pdai.distributed.plan import Plan
from pdai.experiments.chains import Chain

Training: TypeAlias = TrainConfig | Plan | Chain

# The runs of a plan have seeds of their own, from the plan's on: fewer than this.
SPACING = 10


def placed(training: Training, seed: int, out: Path | None = None) -> Training:
    """The same with a seed, and a folder for what it makes."""
    spacing = SPACING if isinstance(training, Plan) else 1
    return _changed(training, seed=spacing * seed, out=out)


def shortened(training: Training, steps: int) -> Training:
    """The same with fewer steps, and with less measured."""
    if isinstance(training, Chain):
        training = dataclasses.replace(training, moves=min(steps, training.moves))
    config = training if isinstance(training, TrainConfig) else training.config
    fewer = min(steps, config.optimiser.steps)
    return _changed(training, steps=fewer, evaluations=2, law_samples=2**12)


def _changed(training: Training, **options: Any) -> Training:
    if not isinstance(training, TrainConfig):
        return dataclasses.replace(training, config=training.config.changed(**options))
    return training.changed(**options)


def description(training: Training, seed: int) -> dict[str, Any]:
    """What is trained, as stored: flat, and without paths, which differ between machines."""
    training = placed(training, seed)
    if not isinstance(training, TrainConfig):
        data = training.to_json()
        data |= data.pop("config")
    else:
        data = to_json(training)
    # As it is read back: tuples are lists there.
    plain = json.loads(json.dumps(data))
    return {name: Path(value).name if name == "table" else value for name, value in plain.items()}


def of_chosen_parts(stored: dict[str, Any]) -> dict[str, Any]:
    """A stored description without the options of parts that it does not choose.

    Results of before parts owned their options have those of all, and the task under "problem".
    """
    found = {name: value for name, value in stored.items() if name not in ("format", "problem")}
    found["task"] = stored.get("task", stored.get("problem"))
    kinds = [part_class(part, found[part]) for part in CHOICES]
    chosen = set().union(*map(option_names, kinds))
    every = {
        name for known in CHOICES.values() for kind in known.values() for name in option_names(kind)
    }
    return {name: value for name, value in found.items() if name in chosen or name not in every}


def defaults(training: Training) -> dict[str, Any]:
    """The default of each option, as stored."""
    config = training if isinstance(training, TrainConfig) else training.config
    owners: list[Any] = [getattr(config, part) for part in ("task", *CHOICES, *FIXED)]
    owners += [training] * (config is not training)
    values = {
        field.name: field.default
        for owner in owners
        for field in dataclasses.fields(owner)
        if field.default is not dataclasses.MISSING and field.name != "out"
    }
    found: dict[str, Any] = json.loads(json.dumps(values, default=str))
    return found


def short_name(training: Training) -> str:
    """A short name, for folders."""
    if not isinstance(training, TrainConfig):
        return f"{training.config.task.name}-{training.kind}"
    return f"{training.task.name}-{training.name_of('dynamics')}"


def total_steps(stored: dict[str, Any]) -> str:
    """The gradient steps of a stored training, of all of its runs; the states of a chain."""
    if "moves" in stored:
        return f"{stored['moves']:,} states"
    runs = {"distribute": stored.get("clients", 0) + 1, "stream": stored.get("chunks", 0)}
    kind = stored.get("kind")
    return f"{stored['steps']:,}" if kind is None else f"{runs[kind]} x {stored['steps']:,}"
