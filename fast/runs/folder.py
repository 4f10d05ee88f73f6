"""Run folders: what is in them, and how one begins.

config.json      what was asked for
meta.json        versions, device, commit, seeds, parameter count, checksums of tables, own parts
                 and what was copied, and where data are from
metrics.jsonl    one record per line, by step
checkpoint.eqx   the state of training: one line of JSON, then the arrays
report.json      the final figures
law.npz          learned and target probabilities, one per terminal state
seal.json        digests of all of these, written last: it says that the run is finished
plot.png         both laws, and the curves of training; not sealed, as it can be drawn again
frozen/          copies of the samplers that the run asks: a folder depends on no other
data.csv         a copy of the user's data, of tasks that have some

Until a run is finished, the first line of checkpoint.eqx has digests of config.json, meta.json and
of the records before it; then, seal.json has those of all files but plot.png. So a file that was
changed, or is of another run, is refused by name wherever the folder is read.
"""

import platform
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax

from fast.parts import DYNAMICS, option_names
from fast.policies.policy import AnyPolicy, count_parameters
from fast.runs.files import new_folder
from fast.runs.identity import SAMPLER, check_own_parts, inputs_of, own_sources
from fast.runs.records import check_finished, check_seal, read_json, sha256, write_json
from fast.tasks import Task
from fast.tasks.options import build
from fast.training.compose import from_json, to_json
from fast.training.config import TrainConfig
from reference.errors import InputError
from reference.files import read_file, replace_file

PACKAGES = ("pdai", "jax", "jaxlib", "numpy", "equinox", "optax")


def create_run(config: TrainConfig, policy: AnyPolicy, tables: str | None = None) -> Path:
    """Makes the run folder of a configuration.

    Args:
        config: what is asked for.
        policy: what is trained, of one seed.
        tables: the checksum of a problem that is enumerated into tables.

    Raises:
        InputError: if it exists already: nothing is overwritten; or if a frozen run is not
            finished, or was changed since.
    """
    for path in config.factors.frozen:
        check_finished(path)
        check_own_parts(path, accept_changed=False)
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
        count_parameters(policy),
        "train",
        copied,
        {
            "is_markovian": bool(policy.is_markovian),
            "tables": tables,
            "own": own_sources(config),
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
        "copies": {target.as_posix(): sha256(content) for target, content in contents.items()},
        **more,
    }
    with new_folder(folder, command) as partial:
        for target, content in contents.items():
            (partial / target).parent.mkdir(parents=True, exist_ok=True)
            replace_file(partial / target, content)
        write_json(partial / "meta.json", meta)
        write_json(partial / "config.json", config)
    return folder


def load_config(folder: Path, *, accept_changed: bool = False) -> TrainConfig:
    """The configuration of a run whose sampler is to be asked or trained.

    Args:
        folder: the run folder.
        accept_changed: whether parts of the user's own may have changed since; it is said to
            stderr then.

    Raises:
        InputError: if this is not a run folder, or one of another version; or if a file of a
            finished run, or a part of the user's own, was changed since.
    """
    check_seal(folder)
    # Without it, this is no run folder.
    read_json(folder / "config.json")
    check_own_parts(folder, accept_changed)
    return stored_config(folder)


def stored_config(folder: Path) -> TrainConfig:
    """The configuration of a run that was checked before, or whose own parts are not asked.

    Raises:
        InputError: if this is not a run folder, or one of another version.
    """
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


def _copies(count: int) -> tuple[Path, ...]:
    """Paths of copied frozen samplers within a run folder."""
    return tuple(Path("frozen", str(number)) for number in range(count))


def is_markovian(folder: Path) -> bool:
    """Whether the network of a run sees the state alone, without importing what is its user's own.

    To look at somebody's run must not run their code. Runs of before it was recorded do not say it
    of a network of one's own, which counts as path-dependent here.

    Raises:
        InputError: if this is not a run folder, or one of another version.
    """
    recorded = read_json(folder / "meta.json").get("is_markovian")
    if recorded is not None:
        return bool(recorded)
    data = read_json(folder / "config.json")
    kind = DYNAMICS.get(str(data.get("dynamics")))
    if kind is None:
        return False
    options = {name: data[name] for name in option_names(kind) if name in data}
    return bool(build(kind, options, str(folder / "config.json")).is_markovian)


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
