"""Checkpoints: the state of training, from which a run that was cut off goes on."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any, Protocol, TypeVar

import equinox as eqx

from fast.runs.files import replace_file
from fast.runs.records import rewind_metrics
from fast.training.compose import FORMAT
from reference.errors import InputError


class Stepped(Protocol):
    """A state of training, of which one leaf counts the steps of each seed."""

    @property
    def step(self) -> Any: ...  # noqa: D102


State = TypeVar("State", bound=Stepped)


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
