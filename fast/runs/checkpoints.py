"""Checkpoints: the state of training, from which an interrupted run resumes."""

import io
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from fast.runs.identity import changed_parts
from fast.runs.records import (
    BRING_BACK,
    check_seal,
    metrics_bytes,
    parsed_records,
    read_json,
    read_metrics,
)
from fast.training.compose import FORMAT, another_version
from fast.training.state import TrainState
from reference.contract.errors import InputError
from reference.contract.files import (
    append_to_file,
    kind_of,
    parsed_json,
    read_file,
    replace_file,
    sha256,
)

# The files that identify a run, apart from its progress.
TIED = ("config.json", "meta.json")


def save_checkpoint(folder: Path, state: TrainState, seconds: float) -> None:
    """Saves the state of training, all or nothing, with digests of configuration and records.

    Args:
        folder: the run folder.
        state: the state of training.
        seconds: the training time until then, seconds.
    """
    buffer = io.BytesIO()
    eqx.tree_serialise_leaves(buffer, state)
    payload = buffer.getvalue()
    # Written to disk before the checkpoint that relies on it.
    append_to_file(folder / "metrics.jsonl", "", last=True)
    records = metrics_bytes(folder)
    header = {
        "format": FORMAT,
        "step": int(np.asarray(state.step)[0]),
        "seconds": seconds,
        **_tied(folder),
        "recorded": len(records),
        "metrics.jsonl": sha256(records),
    }
    sealed = {**header, "sha256": _seal(header, payload)}
    replace_file(folder / "checkpoint.eqx", json.dumps(sealed).encode() + b"\n" + payload)


def load_checkpoint(folder: Path, template: TrainState) -> tuple[TrainState, float]:
    """The saved state of training, and the training time until then in seconds.

    The template is a state of the same configuration, for its shapes. Raises InputError if there is
    no checkpoint, or it is damaged, or of another version or configuration, or its parameters are
    no finite numbers.
    """
    path = folder / "checkpoint.eqx"
    if not kind_of(path):
        named = shlex.quote(str(folder))
        raise InputError(
            f"{str(folder)!r} has no checkpoint.eqx: if the run ended before its first, begin it "
            f"with `pdai train --resume {named}`; if the file was lost, train again"
        )
    header, payload = _read(path)
    _check_tied(folder, header)
    # The length is checked before the array headers are read, as these may be damaged.
    held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(template))
    try:
        if len(payload) < held:
            raise ValueError(f"it has {len(payload):,} bytes, and needs {held:,}")
        state: TrainState = eqx.tree_deserialise_leaves(io.BytesIO(payload), template)
    except (RuntimeError, ValueError, TypeError, EOFError) as error:
        changed = "; ".join(changed_parts(folder)) or "one of the two, or the version of pdai"
        raise InputError(
            f"{path} does not fit its config.json ({error}): changed was {changed}; {BRING_BACK}"
        ) from None
    # Before the first step log Z is NaN.
    if int(state.step[0]) and seeds_gone_bad(state.sampler):
        raise InputError(
            f"the sampler in {str(folder)!r} has, at step {int(state.step[0]):,}, parameters that "
            "are no finite numbers, and there is no other checkpoint: train it again, with a "
            "smaller --learning-rate"
        )
    return state, header["seconds"]


def seeds_gone_bad(sampler: Any) -> list[int]:
    """The rows, one per seed, in which a parameter of a sampler is no finite number."""
    leaves = jax.tree.leaves(eqx.filter(sampler, eqx.is_inexact_array))
    rows = [np.isfinite(np.asarray(leaf)).reshape(len(leaf), -1).all(1) for leaf in leaves]
    return [int(row) for row in np.flatnonzero(~np.all(rows, 0))]


def saved_step(folder: Path) -> int:
    """The step of the last checkpoint; 0 without one."""
    path = folder / "checkpoint.eqx"
    return int(_read(path)[0]["step"]) if kind_of(path) else 0


def run_records(folder: Path) -> list[dict[str, Any]]:
    """The records of a run until its last checkpoint, unchanged since then.

    Raises InputError if they, or another file of a finished run, were changed.
    """
    check_seal(folder)
    if not kind_of(folder / "checkpoint.eqx"):
        return read_metrics(folder)
    return parsed_records(_checked_records(folder))


def last_state(folder: Path, initial: TrainState) -> tuple[TrainState, float]:
    """The state from which a run resumes, and the training time until then in seconds.

    This is its last checkpoint, or its start, saved as the first checkpoint, if it has none. Later
    records are dropped. Raises InputError if the checkpoint is damaged or of another version or
    configuration.
    """
    state, seconds, kept = initial, 0.0, b""
    if kind_of(folder / "checkpoint.eqx"):
        state, seconds = load_checkpoint(folder, initial)
        kept = _checked_records(folder)
    replace_file(folder / "metrics.jsonl", kept)
    if not kept:
        # An old checkpoint whose records are lost is written again, as one without records.
        save_checkpoint(folder, state, seconds)
    return state, seconds


def _tied(folder: Path) -> dict[str, str]:
    """Digests of the files that identify a run."""
    paths = (folder / name for name in TIED)
    return {path.name: sha256(read_file(path)) if kind_of(path) else "" for path in paths}


def _seal(header: dict[str, Any], payload: bytes) -> str:
    return sha256(json.dumps(header, sort_keys=True).encode() + b"\n" + payload)


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """The first line of a checkpoint, and its arrays; refused if damaged, or of another version."""
    first, _, payload = read_file(path).partition(b"\n")
    try:
        header = parsed_json(first)
        version, digest = header["format"], header.pop("sha256")
        header["seconds"] = float(header["seconds"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise InputError(f"{path} is not a checkpoint of pdai: train again") from None
    if version != FORMAT:
        raise another_version(path)
    if digest != _seal(header, payload):
        raise InputError(
            f"{path} is damaged: its contents do not match the checksum in its first line; train "
            "again"
        )
    return header, payload


def _check_tied(folder: Path, header: dict[str, Any]) -> None:
    """Refuses files of a run that were changed since its checkpoint was written."""
    changed = [name for name, digest in _tied(folder).items() if digest != header.get(name)]
    # A sampler that is itself a copy has no copies of its own frozen samplers.
    changed += [
        name
        for name, digest in read_json(folder / "meta.json").get("copies", {}).items()
        if kind_of(folder / name) and sha256(read_file(folder / name)) != digest
    ]
    if changed:
        raise InputError(
            f"{folder / changed[0]} was changed since checkpoint.eqx was written beside it, or one "
            f"of the two is of another run: {BRING_BACK}"
        )


def _checked_records(folder: Path) -> bytes:
    """The records up to a checkpoint, as they were when it was written.

    If they are lost, the run resumes without them, with a warning on stderr. Raises InputError if
    they were changed, or some are missing; or if the checkpoint is damaged.
    """
    path = folder / "metrics.jsonl"
    header, _ = _read(folder / "checkpoint.eqx")
    size, records = header["recorded"], metrics_bytes(folder)
    if size and not records:
        print(
            f"{path} is missing or empty: the records until step {header['step']:,} are lost",
            file=sys.stderr,
        )
        return b""
    kept = records[:size]
    if len(kept) != size or sha256(kept) != header["metrics.jsonl"]:
        raise InputError(
            f"{path} was changed since checkpoint.eqx was written, or has lost some of its "
            f"{size:,} bytes: bring back what it was, or remove it, to go on without the records "
            f"until step {header['step']:,}"
        )
    return kept
