"""What a run folder records: JSON objects, metrics by step, and laws."""

import hashlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reference.errors import InputError
from reference.files import (
    append_to_file,
    kind_of,
    load_arrays,
    parsed_json,
    read_file,
    replace_file,
)

# Which commands make a folder with such a file.
PLANNED = "`pdai distribute` or `pdai stream`"

# No JSON object of ours comes near; a report of a thousand seeds has a megabyte.
MOST_JSON = 2**26

COLUMNS = ("tv", "loss")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a run folder.

    Args:
        path: the file.

    Raises:
        InputError: if it is missing or damaged, or was changed.
    """
    if not kind_of(path):
        folder, planned = path.parent, path.with_name("plan.json")
        if kind_of(planned):
            raise InputError(
                f"{str(folder)!r} has no {path.name}, as it is an experiment of {PLANNED}, whose "
                "runs are the folders in it: give one of these"
            )
        made_by = PLANNED if path == planned else "`pdai train`"
        raise InputError(
            f"{str(folder)!r} has no {path.name}, so it is not a run folder of {made_by}: give the "
            "folder that the command printed"
        )
    content = read_file(path, MOST_JSON)
    try:
        data = parsed_json(content)
    except ValueError as error:
        raise InputError(f"{path} cannot be read ({error}): train again") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a JSON object: train again")
    found = data.pop("sha256", None)
    if found is None:
        raise InputError(
            f"{path} has no checksum: it is of an older version of pdai, or was changed by hand; "
            "use the version that wrote it, or train again"
        )
    if found != _digest(data):
        raise InputError(
            f"{path} was changed or is damaged: what it says does not match its checksum; bring "
            "back what it was, or train again"
        )
    return data


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Writes a JSON object with a checksum of itself, all or nothing."""
    sealed = {**data, "sha256": _digest(data)}
    replace_file(path, (json.dumps(sealed, indent=2) + "\n").encode())


def _digest(data: dict[str, Any]) -> str:
    """Of what an object says, however it is written."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def append_metrics(folder: Path, record: dict[str, Any]) -> None:
    """Adds one record to the metrics."""
    append_to_file(folder / "metrics.jsonl", json.dumps(record) + "\n")


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, up to a line that a kill cut off, or that is damaged or no record."""
    return parsed_records(metrics_bytes(folder))


def parsed_records(content: bytes) -> list[dict[str, Any]]:
    """The records that lines hold, up to one that is none."""
    records: list[dict[str, Any]] = []
    for line in content.decode(errors="replace").splitlines():
        try:
            record = parsed_json(line)
        except ValueError:
            break
        if not _is_record(record, records):
            break
        records.append(record)
    return records


def metrics_bytes(folder: Path) -> bytes:
    """What metrics.jsonl holds; nothing if it is not there."""
    path = folder / "metrics.jsonl"
    return read_file(path) if kind_of(path) else b""


def _is_record(data: Any, before: list[dict[str, Any]]) -> bool:
    """Whether this has a step, and finite numbers, one per seed, where it has a TV or a loss.

    Columns are as long as those before.
    """
    if not isinstance(data, dict) or not _is_step(data.get("step")):
        return False
    columns = [data[name] for name in COLUMNS if name in data]
    seeds = next((len(r[name]) for r in before for name in COLUMNS if name in r), None)
    return all(
        isinstance(column, list)
        and len(column) == (len(column) if seeds is None else seeds) > 0
        and all(_is_number(value) for value in column)
        for column in columns
    )


def _is_step(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: Any) -> bool:
    # An integer may be too large for any float.
    return isinstance(value, int | float) and -sys.float_info.max <= value <= sys.float_info.max


def load_law(folder: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Learned probabilities, one row per seed, and those of the target, of a finished run.

    Raises:
        InputError: if the run is not finished, or its laws are damaged.
    """
    try:
        learned, target, of = load_arrays(folder / "law.npz", "learned", "target", "checkpoint")
        if not _are_laws(learned, target):
            raise ValueError("its arrays are no laws of the same states")
        if kind_of(folder / "checkpoint.eqx") and str(of) != checkpoint_digest(folder):
            raise ValueError("it is of another run, or checkpoint.eqx is")
    except ValueError as error:
        raise InputError(
            f"{str(folder)!r} has no readable law.npz ({error}): "
            f"finish the run with `pdai train --resume {folder}`; if it was finished, remove its "
            "report.json before"
        ) from None
    return learned, target


def _are_laws(learned: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> bool:
    """Whether these are the law of the target and, one row per seed, of what learned it."""
    if learned.dtype.kind != "f" or target.dtype.kind != "f":
        return False
    if not (learned.ndim == 2 and len(learned) and learned.shape[1:] == target.shape):
        return False
    # A comparison with a NaN is false.
    return all(
        law.size and law.min() >= 0 and abs(law.sum() - 1) < 1e-3 for law in (*learned, target)
    )


def save_law(
    folder: Path,
    learned: np.ndarray[Any, Any],
    target: np.ndarray[Any, Any],
    labels: Sequence[str] = (),
) -> None:
    """Saves learned and target probabilities, and the digest of the checkpoint they are of.

    Args:
        folder: the run folder.
        learned: one row per seed.
        target: as many as a row.
        labels: of the terminal states, where they are enumerated.
    """
    buffer = io.BytesIO()
    of = np.array(checkpoint_digest(folder))
    named: dict[str, Any] = {"labels": np.array(labels)} if labels else {}
    np.savez_compressed(buffer, learned=learned, target=target, checkpoint=of, **named)
    replace_file(folder / "law.npz", buffer.getvalue())


def read_report(folder: Path) -> dict[str, Any]:
    """The final figures of a run, as plain data.

    Raises:
        InputError: if the run is not finished, or its report is damaged or of another run.
    """
    data = read_json(folder / "report.json")
    of = data.pop("of", None)
    if kind_of(folder / "checkpoint.eqx") and of != checkpoint_digest(folder):
        raise InputError(
            f"{folder / 'report.json'} is of another run than checkpoint.eqx beside it: bring back "
            f"what was there, or remove the report, and make it again with --resume {folder}"
        )
    return data


def write_report(folder: Path, data: dict[str, Any]) -> None:
    """Writes the final figures of a run; that they are there says that it is finished."""
    write_json(folder / "report.json", {**data, "of": checkpoint_digest(folder)})


def checkpoint_digest(folder: Path) -> str:
    """The digest of the checkpoint of a run, by which others are told from it; "" without one."""
    path = folder / "checkpoint.eqx"
    if not kind_of(path):
        return ""
    return hashlib.sha256(read_file(path)).hexdigest()
