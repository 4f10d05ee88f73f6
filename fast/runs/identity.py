"""Whether a run is the one that is meant: its options, data, samplers, and parts of the user's."""

import hashlib
from pathlib import Path

from fast.runs.records import read_json
from fast.training.compose import to_flat
from fast.training.config import TrainConfig
from fast.training.parts import own_parts, source_of
from reference.errors import InputError
from reference.files import read_file

# What of a run makes its sampler.
SAMPLER = ("config.json", "meta.json", "checkpoint.eqx")


def inputs_of(config: TrainConfig) -> dict[str, Path]:
    """The files of the user's that a task reads, by option."""
    found = {option: getattr(config.task, option) for option in config.task.inputs}
    return {option: path for option, path in found.items() if path is not None}


def check_same_run(found: TrainConfig, config: TrainConfig) -> None:
    """Checks that a run is of this configuration, reads the same data and asks the same samplers.

    Args:
        found: that of its folder.
        config: what is asked for.

    Raises:
        InputError: if it is not.
    """
    folder = found.folder()
    ours, theirs = to_flat(config), to_flat(found)
    inputs = inputs_of(config).keys() & inputs_of(found).keys()
    for name in [*ours, *(theirs.keys() - ours.keys())]:
        if name not in ("frozen", "out", *inputs) and ours.get(name) != theirs.get(name):
            raise InputError(
                f"the run in {str(folder)!r} has {name} = {theirs.get(name)}, but {ours.get(name)} "
                "is asked for: it is another run; move it away, or choose another folder with --out"
            )
    for name in inputs:
        path, copy = getattr(config.task, name), getattr(found.task, name)
        if read_file(path) != read_file(copy):
            raise InputError(
                f"the run in {str(folder)!r} has other {name} than {str(path)!r} holds now (its "
                f"copy is {str(copy)!r}): it is another run; move it away, or choose another "
                "folder with --out"
            )
    pairs = list(zip(config.factors.frozen, found.factors.frozen, strict=False))
    same = len(config.factors.frozen) == len(found.factors.frozen) and all(
        read_file(path / name) == read_file(copy / name) for path, copy in pairs for name in SAMPLER
    )
    if not same:
        raise InputError(
            f"the run in {str(folder)!r} asks other samplers than "
            f"{[str(path) for path in config.factors.frozen]}: they were trained again since; move "
            "it away"
        )


def digests_of(config: TrainConfig) -> dict[str, dict[str, str]]:
    """Name and checksum of the source of every part that is the user's own."""
    return {
        part: {
            "name": config.name_of(part),
            "sha256": hashlib.sha256((source_of(own) or "").encode()).hexdigest(),
        }
        for part, own in own_parts(config).items()
    }


def check_own_parts(folder: Path, config: TrainConfig) -> None:
    """Checks that the parts of the user's own are, to the letter, what a run began with.

    Raises:
        InputError: if the source of one has changed.
    """
    before = read_json(folder / "meta.json").get("own") or {}
    for part, found in digests_of(config).items():
        if part in before and before[part] != found:
            raise InputError(
                f"the run {str(folder)!r} began with another source of {part} {found['name']}: "
                "bring it back to go on, or train again"
            )
