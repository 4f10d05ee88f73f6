"""Run folders: what is in them, and how one begins.

config.json      what was asked for
meta.json        versions, device, commit, seeds, parameter count, checksum of tables
metrics.jsonl    one record per line, by step
checkpoint.eqx   the state of training: one line of JSON, then the arrays
report.json      the final figures
law.npz          learned and target probabilities, one per terminal state
plot.png         both, and the curves of training
given/           copies of the samplers that the run was given: a folder depends on no other
"""

import platform
import subprocess
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax

from fast.training.config import TrainConfig
from fast.runs.files import new_folder, replace_file
from fast.runs.records import read_json, write_json
from fast.tasks import from_json, to_json
from reference.errors import InputError

# What of a run makes its sampler.
SAMPLER = ("config.json", "meta.json", "checkpoint.eqx")

PACKAGES = ("pdai", "jax", "jaxlib", "numpy", "equinox", "optax")


def create_run(config: TrainConfig, parameters: int, tables: str | None = None) -> Path:
    """Makes the run folder of a configuration.

    Args:
        config: what is asked for.
        parameters: how many numbers are trained.
        tables: the checksum of a problem that is enumerated into tables.

    Raises:
        InputError: if it exists already: nothing is overwritten; or if a given run is not finished.
    """
    for path in config.given:
        if not (path / "report.json").is_file():
            raise InputError(
                f"the given run {str(path)!r} is not finished: continue it with `pdai train "
                f"--resume {path}`"
            )
    copies = tuple(Path("given", str(number)) for number in range(len(config.given)))
    copied = {
        copy / name: path / name
        for path, copy in zip(config.given, copies, strict=True)
        for name in SAMPLER
    }
    seeds = range(config.seed, config.seed + config.seeds)
    plain = to_json(replace(config, given=copies))
    return make_folder(config.folder(), plain, seeds, parameters, "train", copied, tables)


def make_folder(
    folder: Path,
    config: dict[str, Any],
    seeds: range,
    parameters: int,
    command: str,
    copied: Mapping[Path, Path] = MappingProxyType({}),
    tables: str | None = None,
) -> Path:
    """Makes a run folder.

    Args:
        folder: where.
        config: the configuration, as plain data.
        seeds: all seeds of the run.
        parameters: how many numbers are trained.
        command: the command of `pdai` that continues such a run with `--resume`.
        copied: files to be copied: where to, within the folder, and where from.
        tables: the checksum of a problem that is enumerated into tables.

    Raises:
        InputError: if it exists already: nothing is overwritten.
    """
    meta = {
        "versions": {"python": platform.python_version(), **_versions()},
        "device": str(jax.devices()[0].device_kind),
        "backend": jax.default_backend(),
        "commit": _commit(),
        "parameters": parameters,
        "seeds": list(seeds),
        "tables": tables,
    }
    with new_folder(folder, command) as partial:
        for target, source in copied.items():
            (partial / target).parent.mkdir(parents=True, exist_ok=True)
            replace_file(partial / target, source.read_bytes())
        write_json(partial / "meta.json", meta)
        write_json(partial / "config.json", config)
    return folder


def load_config(folder: Path) -> TrainConfig:
    """The configuration of a run.

    Raises:
        InputError: if this is not a run folder, or one of another version.
    """
    config = from_json(read_json(folder / "config.json"), str(folder / "config.json"))
    return replace(config, given=tuple(folder / path for path in config.given), out=folder)


def check_same_run(folder: Path, config: TrainConfig) -> None:
    """Checks that a run folder is of this configuration, and given the very same samplers.

    Raises:
        InputError: if it is not.
    """
    found = load_config(folder)
    for field in fields(config):
        ours, theirs = getattr(config, field.name), getattr(found, field.name)
        if field.name not in ("given", "out") and ours != theirs:
            raise InputError(
                f"the run in {str(folder)!r} has {field.name} = {theirs}, but {ours} is asked for: "
                "it is another run; move it away, or choose another folder with --out"
            )
    same = len(config.given) == len(found.given) and all(
        (path / name).read_bytes() == (copy / name).read_bytes()
        for path, copy in zip(config.given, found.given, strict=True)
        for name in SAMPLER
    )
    if not same:
        raise InputError(
            f"the run in {str(folder)!r} was given other samplers than "
            f"{[str(path) for path in config.given]}: they were trained again since; move it away"
        )


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _commit() -> str:
    """The commit of the source tree, if it is one."""
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return result.stdout.strip()
