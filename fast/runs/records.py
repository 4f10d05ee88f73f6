"""What a run folder records: JSON objects, metrics by step, and laws."""

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fast.runs.files import replace_file
from reference.errors import DAMAGED_ARCHIVE, InputError

# Which commands make a folder with such a file.
PLANNED = "`pdai distribute` or `pdai stream`"


def read_json(path: Path, made_by: str = "`pdai train`") -> dict[str, Any]:
    """A JSON object from a run folder.

    Args:
        path: the file.
        made_by: the command that makes such folders; those with a plan.json are of `PLANNED`.

    Raises:
        InputError: if it is missing or damaged.
    """
    if not path.is_file():
        folder, planned = path.parent, path.with_name("plan.json")
        if planned.is_file():
            raise InputError(
                f"{str(folder)!r} has no {path.name}, as it is an experiment of {PLANNED}, whose "
                "runs are the folders in it: give one of these"
            )
        made_by = PLANNED if path == planned else made_by
        raise InputError(
            f"{str(folder)!r} has no {path.name}, so it is not a run folder of {made_by}: give the "
            "folder that the command printed"
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


def append_metrics(folder: Path, record: dict[str, Any]) -> None:
    """Adds one record to the metrics."""
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, up to a line that a kill cut off, or that is damaged or no record."""
    path = folder / "metrics.jsonl"
    records: list[dict[str, Any]] = []
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else []:
        try:
            record = json.loads(line)
        except ValueError:
            break
        if not _is_record(record):
            break
        records.append(record)
    return records


def _is_record(data: Any) -> bool:
    """Whether this has a step, and numbers, one per seed, where it has a TV or a loss."""
    if not isinstance(data, dict) or not isinstance(data.get("step"), int):
        return False
    columns = [data[name] for name in ("tv", "loss") if name in data]
    return all(
        isinstance(column, list) and all(isinstance(value, int | float) for value in column)
        for column in columns
    )


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
        InputError: if the run is not finished, or its laws are damaged.
    """
    try:
        # Opened here: of a damaged archive, NumPy would not close the file.
        with (
            (folder / "law.npz").open("rb") as file,
            np.load(file, allow_pickle=False) as archive,
        ):
            learned, target = archive["learned"], archive["target"]
        if not _are_laws(learned, target):
            raise ValueError("its arrays are no laws of the same states")
    except DAMAGED_ARCHIVE as error:
        raise InputError(
            f"{str(folder)!r} has no readable law.npz ({str(error) or type(error).__name__}): "
            f"finish the run with `pdai train --resume {folder}`; if it was finished, remove its "
            "report.json before"
        ) from None
    return learned, target


def _are_laws(learned: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> bool:
    """Whether these are weights of the target and, one row per seed, of what learned it."""
    if not (learned.ndim == 2 and len(learned) and learned.shape[1:] == target.shape):
        return False
    # A comparison with a NaN is false.
    return all(law.min() >= 0 and 0 < law.sum() < math.inf for law in (*learned, target))


def save_law(
    folder: Path,
    learned: np.ndarray[Any, Any],
    target: np.ndarray[Any, Any],
    labels: Sequence[str] = (),
) -> None:
    """Saves learned and target probabilities.

    Args:
        folder: the run folder.
        learned: one row per seed.
        target: as many as a row.
        labels: of the terminal states, where they are enumerated.
    """
    buffer = io.BytesIO()
    named: dict[str, Any] = {"labels": np.array(labels)} if labels else {}
    np.savez_compressed(buffer, learned=learned, target=target, **named)
    replace_file(folder / "law.npz", buffer.getvalue())
