"""Run folders: what is in them, and how one begins.

config.json      what was asked for
meta.json        versions, device, commit, seeds, parameter count, checksums of tables, own parts
                 and what was copied, and where data are from
metrics.jsonl    one record per line, by step
checkpoint.eqx   the state of training: one line of JSON, then the arrays
report.json      the final figures
law.npz          learned and target probabilities, one per terminal state
plot.png         both, and the curves of training
frozen/          copies of the samplers that the run asks: a folder depends on no other
data.csv         a copy of the user's data, of tasks that have some

Each JSON object has a checksum of itself; the first line of checkpoint.eqx has those of
config.json, meta.json and the records before it; law.npz and report.json have that of the
checkpoint. So a file that was changed, or is of another run, is refused by name.
"""

import hashlib
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax

from fast.dynamics.options import DYNAMICS
from fast.runs.files import check_kinds, new_folder
from fast.runs.identity import SAMPLER, digests_of, inputs_of
from fast.runs.records import read_json, write_json
from fast.tasks import Task
from fast.tasks.options import build
from fast.training.compose import from_json, to_json
from fast.training.config import TrainConfig
from fast.training.parts import CHOICES, option_names
from reference.errors import InputError
from reference.files import kind_of, read_file, replace_file

FILES = (*SAMPLER, "metrics.jsonl", "report.json", "law.npz", "plot.png")

PACKAGES = ("pdai", "jax", "jaxlib", "numpy", "equinox", "optax")


def create_run(config: TrainConfig, parameters: int, tables: str | None = None) -> Path:
    """Makes the run folder of a configuration.

    Args:
        config: what is asked for.
        parameters: how many numbers are trained.
        tables: the checksum of a problem that is enumerated into tables.

    Raises:
        InputError: if it exists already: nothing is overwritten; or if a frozen run is not
            finished.
    """
    for path in config.factors.frozen:
        if not (path / "report.json").is_file():
            raise InputError(
                f"the frozen run {str(path)!r} is not finished: continue it with `pdai train "
                f"--resume {path}`"
            )
    copies = _copies(len(config.factors.frozen))
    copied = {
        copy / name: path / name
        for path, copy in zip(config.factors.frozen, copies, strict=True)
        for name in SAMPLER
    }
    given = inputs_of(config)
    copied |= {Path(config.task.inputs[option]): path for option, path in given.items()}
    seeds = range(config.run.seed, config.run.seed + config.run.seeds)
    own = {option: Path(config.task.inputs[option]) for option in given}
    plain = to_json(_with_frozen(replace(config, task=replace(config.task, **own)), copies))
    return make_folder(
        config.folder(),
        plain,
        seeds,
        parameters,
        "train",
        copied,
        {
            "tables": tables,
            "own": digests_of(config),
            "inputs": {option: str(path) for option, path in given.items()},
        },
    )


def make_folder(
    folder: Path,
    config: dict[str, Any],
    seeds: range,
    parameters: int,
    command: str,
    copied: Mapping[Path, Path] = MappingProxyType({}),
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Makes a run folder.

    Args:
        folder: where.
        config: the configuration, as plain data.
        seeds: all seeds of the run.
        parameters: how many numbers are trained.
        command: the command of `pdai` that continues such a run with `--resume`.
        copied: files to be copied: where to, within the folder, and where from.
        more: what else is recorded in meta.json.

    Raises:
        InputError: if it exists already: nothing is overwritten.
    """
    contents = {target: read_file(source) for target, source in copied.items()}
    meta = {
        "versions": {"python": platform.python_version(), **_versions()},
        "device": str(jax.devices()[0].device_kind),
        "backend": jax.default_backend(),
        "commit": _commit(),
        "parameters": parameters,
        "seeds": list(seeds),
        "copies": {
            target.as_posix(): hashlib.sha256(content).hexdigest()
            for target, content in contents.items()
        },
        **more,
    }
    with new_folder(folder, command) as partial:
        for target, content in contents.items():
            (partial / target).parent.mkdir(parents=True, exist_ok=True)
            replace_file(partial / target, content)
        write_json(partial / "meta.json", meta)
        write_json(partial / "config.json", config)
    return folder


def load_config(folder: Path) -> TrainConfig:
    """The configuration of a run.

    Raises:
        InputError: if this is not a run folder, or one of another version.
    """
    check_folder(folder)
    config = from_json(read_json(folder / "config.json"), str(folder / "config.json"))
    placed = replace(config, run=replace(config.run, out=folder), task=_with_copies(folder, config))
    frozen = config.factors.frozen
    if frozen != _copies(len(frozen)):
        raise InputError(
            f"{folder / 'config.json'} asks samplers in {[str(path) for path in frozen]}, but "
            "those that a run asks are in its own folder, frozen/0 and so on: train again"
        )
    return _with_frozen(placed, tuple(folder / path for path in frozen))


def _with_copies(folder: Path, config: TrainConfig) -> Task:
    """The task of a run with the copies in its folder; of older runs, which have none, as it is."""
    given = inputs_of(config)
    copies = read_json(folder / "meta.json").get("copies", {}) if given else {}
    names = {option: config.task.inputs[option] for option in given}
    return replace(
        config.task, **{option: folder / name for option, name in names.items() if name in copies}
    )


def row_of_seed(folder: Path, config: TrainConfig, seed: int | None, name: str) -> int:
    """The place of a seed among those of a run; of its first one if none is asked for.

    Args:
        folder: the run folder.
        config: its configuration.
        seed: which is asked for.
        name: of the argument that asks.

    Raises:
        InputError: if the run has no such seed.
    """
    first, seeds = config.run.seed, config.run.seeds
    row = 0 if seed is None else seed - first
    if not 0 <= row < seeds:
        raise InputError(
            f"{name} is {seed}, but the run {str(folder)!r} has the seeds {first} to "
            f"{first + seeds - 1}"
        )
    return row


def check_folder(folder: Path) -> None:
    """Checks that what a run folder has of ours are files and folders, and no links out of it.

    Raises:
        InputError: if one is a link, a pipe or a device.
    """
    check_kinds(folder, FILES, ["frozen"])
    frozen = folder / "frozen"
    for copy in sorted(path.name for path in frozen.iterdir()) if kind_of(frozen) else ():
        check_kinds(frozen, [], [copy])
        check_kinds(frozen / copy, SAMPLER)


def _copies(count: int) -> tuple[Path, ...]:
    """Where the samplers are that a run asks, within its folder."""
    return tuple(Path("frozen", str(number)) for number in range(count))


def is_markovian(folder: Path) -> bool:
    """Whether the network of a run sees the state alone, without importing what is its user's own.

    To look at somebody's run must not run their code: a network of one's own counts as
    path-dependent here.

    Raises:
        InputError: if this is not a run folder, or one of another version.
    """
    check_folder(folder)
    data = read_json(folder / "config.json")
    if not any(":" in str(data.get(part, "")) for part in CHOICES):
        return load_config(folder).dynamics.is_markovian
    kind = DYNAMICS.get(str(data.get("dynamics")))
    if kind is None:
        return False
    options = {name: data[name] for name in option_names(kind) if name in data}
    return build(kind, options, str(folder / "config.json")).is_markovian


def _with_frozen(config: TrainConfig, folders: tuple[Path, ...]) -> TrainConfig:
    return replace(config, factors=replace(config.factors, frozen=folders))


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
