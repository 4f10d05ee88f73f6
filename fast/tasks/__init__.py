"""The tasks of `pdai train`: one configuration per problem, with its defaults.

Imports no JAX, so that the command line answers at once.
"""

import dataclasses
from pathlib import Path
from typing import Any

from fast.tasks.choices import GraphsConfig, IsingConfig, PreferenceConfig, SetsConfig
from fast.tasks.custom import CustomConfig
from fast.tasks.sequences import BitsConfig, Pho4Config, Six6Config, SynConfig
from fast.tasks.walks import GridConfig, LinesConfig, RandomWalkConfig
from fast.training.config import TrainConfig
from fast.training.options import build
from reference.errors import InputError

FORMAT = 2

# Written only where they say something: a run without them is as it was before there were factors.
OPTIONAL = ("parts", "factors", "given", "warm")

TASKS: dict[str, type[TrainConfig]] = {
    task.problem_name: task
    for task in (
        Six6Config, Pho4Config, SynConfig, BitsConfig, LinesConfig, GridConfig, SetsConfig,
        PreferenceConfig, RandomWalkConfig, IsingConfig, GraphsConfig, CustomConfig,
    )
}  # fmt: skip


def to_json(config: TrainConfig) -> dict[str, Any]:
    """A configuration as plain data, without the folder it is stored in."""
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    fields = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in dataclasses.asdict(config).items()
        if name not in OPTIONAL or value != defaults[name]
    }
    del fields["out"]
    if "given" in fields:
        fields["given"] = [str(path) for path in config.given]
    return {"format": FORMAT, "problem": config.problem_name, **fields}


def from_json(data: dict[str, Any], source: str) -> TrainConfig:
    """The configuration that `to_json` wrote.

    Raises:
        InputError: if it is of another format, or its fields are not those of its problem, or of
            other types, or of no meaning.
    """
    values = dict(data)
    if "stochastic_format" in values:
        raise InputError(
            f"{source} is of a run with a random latent, which `pdai stochastic` continues and "
            "reports, and no other command reads"
        )
    version, name = values.pop("format", None), values.pop("problem", None)
    if version != FORMAT:
        raise InputError(
            f"{source} has format {version!r}, but this version of pdai reads format {FORMAT}: "
            "use the version that wrote it, or train again"
        )
    if not isinstance(name, str) or name not in TASKS:
        raise InputError(f"{source} has the problem {name!r}, but known are {sorted(TASKS)}")
    kind = TASKS[name]
    known = {field.name for field in dataclasses.fields(kind)} - {"out"}
    missing = known - set(values) - set(OPTIONAL)
    if missing or not set(values) <= known:
        raise InputError(
            f"{source} has the wrong fields: missing {sorted(missing)}, unknown "
            f"{sorted(set(values) - known)}; use the version that wrote it, or train again"
        )
    return build(kind, values, source)


__all__ = [
    "FORMAT",
    "TASKS",
    "BitsConfig",
    "CustomConfig",
    "GraphsConfig",
    "GridConfig",
    "IsingConfig",
    "LinesConfig",
    "Pho4Config",
    "PreferenceConfig",
    "RandomWalkConfig",
    "SetsConfig",
    "Six6Config",
    "SynConfig",
    "from_json",
    "to_json",
]
