"""Run folders: the configuration, the metrics, and checkpoints that survive a kill.

config.json      what was asked for
meta.json        versions, device, commit, seeds, parameter count
metrics.jsonl    one record per line, by step
checkpoint.eqx   the state of training: one line of JSON, then the arrays
report.json      the final figures
law.npz          learned and target probabilities, one per terminal state
plot.png         both, and the curves of training
given/           copies of the samplers that the run was given: a folder depends on no other
"""

import hashlib
import io
import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import equinox as eqx
import jax
import numpy as np

from fast.config import TrainConfig
from fast.files import new_folder, replace_file
from fast.tasks import FORMAT, from_json, to_json
from reference.errors import DAMAGED_ARCHIVE, InputError

# What of a run makes its sampler.
SAMPLER = ("config.json", "checkpoint.eqx")

PACKAGES = ("pdai", "jax", "jaxlib", "numpy", "equinox", "optax")


class Stepped(Protocol):
    """A state of training, of which one leaf counts the steps of each seed."""

    @property
    def step(self) -> Any: ...  # noqa: D102


State = TypeVar("State", bound=Stepped)


def create_run(config: TrainConfig, parameters: int) -> Path:
    """Makes the run folder of a configuration.

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
    return make_folder(config.folder(), plain, seeds, parameters, "train", copied)


def make_folder(
    folder: Path,
    config: dict[str, Any],
    seeds: range,
    parameters: int,
    command: str,
    copied: Mapping[Path, Path] = MappingProxyType({}),
) -> Path:
    """Makes a run folder.

    Args:
        folder: where.
        config: the configuration, as plain data.
        seeds: all seeds of the run.
        parameters: how many numbers are trained.
        command: the command of `pdai` that continues such a run with `--resume`.
        copied: files to be copied: where to, within the folder, and where from.

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


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a run folder.

    Raises:
        InputError: if it is missing or damaged.
    """
    if not path.is_file():
        raise InputError(
            f"{str(path.parent)!r} has no {path.name}, so it is not a run folder of pdai: give the "
            "folder that `pdai train` printed"
        )
    try:
        data = json.loads(path.read_text())
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read ({error}): train again") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a JSON object: train again")
    return data


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Writes a JSON object, all or nothing."""
    replace_file(path, (json.dumps(data, indent=2) + "\n").encode())


def save_checkpoint(folder: Path, state: Stepped, seconds: float) -> None:
    """Saves the state of training, all or nothing.

    Args:
        folder: the run folder.
        state: what the next step needs.
        seconds: training time so far.
    """
    buffer = io.BytesIO()
    eqx.tree_serialise_leaves(buffer, state)
    payload = buffer.getvalue()
    header = {
        "format": FORMAT,
        "step": int(state.step[0]),
        "seconds": seconds,
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    replace_file(folder / "checkpoint.eqx", json.dumps(header).encode() + b"\n" + payload)


def load_checkpoint(folder: Path, template: State) -> tuple[State, float]:
    """The saved state of training, and the training time until then in seconds.

    Args:
        folder: the run folder.
        template: a state of the same configuration, for its shapes.

    Raises:
        InputError: if there is none, or it is damaged or of another version or configuration.
    """
    path = folder / "checkpoint.eqx"
    if not path.is_file():
        raise InputError(
            f"{str(folder)!r} has no checkpoint.eqx: if the run ended before its first, begin it "
            f"with `pdai train --resume {folder}`; if the file was lost, train again"
        )
    first, _, payload = path.read_bytes().partition(b"\n")
    try:
        header = json.loads(first)
        found, digest = header["format"], header["sha256"]
        seconds = float(header["seconds"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a checkpoint of pdai: train again") from None
    if found != FORMAT:
        raise InputError(
            f"{path} has format {found!r}, but this version of pdai reads format {FORMAT}: use "
            "the version that wrote it, or train again"
        )
    if digest != hashlib.sha256(payload).hexdigest():
        raise InputError(
            f"{path} is damaged: its contents do not match the checksum in its first line; train "
            "again"
        )
    try:
        state: State = eqx.tree_deserialise_leaves(io.BytesIO(payload), template)
    except (RuntimeError, ValueError, EOFError) as error:
        raise InputError(
            f"{path} does not fit its config.json ({error}): it was changed by hand, or written "
            "by another version; train again"
        ) from None
    return state, seconds


def last_state(folder: Path, initial: State) -> tuple[State, float]:
    """Where a run goes on, and the training time until then in seconds.

    That is its last checkpoint; or its start, saved as the first, if it ended before there was any.
    What was recorded after that is dropped.

    Raises:
        InputError: if the checkpoint is damaged or of another version or configuration.
    """
    state, seconds = initial, 0.0
    if (folder / "checkpoint.eqx").is_file():
        state, seconds = load_checkpoint(folder, initial)
    else:
        save_checkpoint(folder, state, seconds)
    rewind_metrics(folder, int(state.step[0]))
    return state, seconds


def append_metrics(folder: Path, record: dict[str, Any]) -> None:
    """Adds one record to the metrics."""
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, up to a line that a kill cut off, or that is damaged."""
    path = folder / "metrics.jsonl"
    records: list[dict[str, Any]] = []
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else []:
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def rewind_metrics(folder: Path, step: int) -> None:
    """Drops what a run resumed at `step` will record again: what came after, and at the start all.

    The first measurement comes after the first checkpoint, so that a run which starts there makes
    it, whatever of it there is.
    """
    kept = [record for record in read_metrics(folder) if 0 < step >= record["step"]]
    replace_file(
        folder / "metrics.jsonl", "".join(json.dumps(record) + "\n" for record in kept).encode()
    )


def load_law(folder: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Learned probabilities, one row per seed, and those of the target, of a finished run.

    Raises:
        InputError: if the run is not finished.
    """
    try:
        # Opened here: of a damaged archive, NumPy would not close the file.
        with (
            (folder / "law.npz").open("rb") as file,
            np.load(file, allow_pickle=False) as archive,
        ):
            return archive["learned"], archive["target"]
    except DAMAGED_ARCHIVE as error:
        raise InputError(
            f"{str(folder)!r} has no readable law.npz ({str(error) or type(error).__name__}): "
            f"finish the run with `pdai train --resume {folder}`; if it was finished, remove its "
            "report.json before"
        ) from None


def save_law(folder: Path, learned: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    """Saves learned and target probabilities."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, learned=learned, target=target)
    replace_file(folder / "law.npz", buffer.getvalue())


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
