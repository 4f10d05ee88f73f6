"""Records of a run folder: JSON objects, metrics by step, and laws; sealed at its end."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reference.contract.errors import InputError
from reference.contract.files import (
    append_to_file,
    kind_of,
    load_arrays,
    parsed_json,
    read_file,
    replace_file,
    sha256,
)

BRING_BACK = "bring back what it was, or train again"

# The commands that make a folder with a plan.json.
PLANNED = "`pdai distribute` or `pdai stream`"
LOGS = {"plan.json": PLANNED, "rounds.json": "`pdai train --tv`"}

# A limit far above any JSON file of a run; a report of a thousand seeds has a megabyte.
MOST_JSON = 2**26

SEAL = "seal.json"
# The files of every finished run; its picture can be drawn again at any time, and is not sealed.
SEALED = (
    "config.json", "meta.json", "metrics.jsonl", "checkpoint.eqx", "law.npz", "report.json"
)  # fmt: skip
# Those of a solved run.
SOLVED = ("config.json", "meta.json", "policy.npz", "law.npz", "report.json")

Array = np.ndarray[Any, Any]


def read_json(path: Path, *, checksum: bool = False) -> dict[str, Any]:
    """A JSON object from a run folder, if asked one that must have its checksum.

    Raises InputError if it is missing or damaged, or was changed.
    """
    if not kind_of(path):
        folder = path.parent
        for log, made_by in LOGS.items():
            if kind_of(path.with_name(log)):
                raise InputError(
                    f"{str(folder)!r} has no {path.name}, as it is an experiment of {made_by}, "
                    "whose runs are the folders in it: give one of these"
                )
        if kind_of(path.with_name("posterior.json")):
            raise InputError(
                f"{str(folder)!r} is an answer of `pdai posterior`, exact and complete: nothing is "
                "left to be certified, and draws come from `pdai posterior --draws`"
            )
        made_by = PLANNED if path.name == "plan.json" else "`pdai train`"
        why = f"has no {path.name}" if kind_of(folder) else "does not exist"
        raise InputError(
            f"{str(folder)!r} {why}, so it is not a run folder of {made_by}: give the folder that "
            "the command printed"
        )
    try:
        data = parsed_json(read_file(path, MOST_JSON))
    except ValueError as error:
        raise InputError(f"{path} cannot be read ({error}): train again") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a JSON object: train again")
    if checksum and data.pop("sha256", None) != _checksum(data):
        raise InputError(f"{path} was changed: {BRING_BACK}")
    return data


def write_json(path: Path, data: dict[str, Any], *, checksum: bool = False) -> None:
    """Writes a JSON object, all or nothing.

    Args:
        path: the file.
        data: the object.
        checksum: whether it gets a checksum, which `read_json` compares.
    """
    data = {**data, "sha256": _checksum(data)} if checksum else data
    replace_file(path, (json.dumps(data, indent=2) + "\n").encode())


def _checksum(data: dict[str, Any]) -> str:
    return sha256(json.dumps(data, sort_keys=True).encode())


def seal_run(folder: Path) -> None:
    """Writes the digests of all files of a run, which marks it as finished."""
    names = (*_sealed(folder), *read_json(folder / "meta.json").get("copies", {}))
    write_json(folder / SEAL, {name: sha256(read_file(folder / name)) for name in names})


def is_solved(folder: Path) -> bool:
    """True if a folder is of `pdai solve`: it has the rows of a policy, and no network."""
    return bool(kind_of(folder / "policy.npz"))


def _sealed(folder: Path) -> tuple[str, ...]:
    """The files that every finished run of its kind has."""
    return SOLVED if is_solved(folder) else SEALED


def check_seal(folder: Path) -> None:
    """Checks that every file of a finished run is unchanged since the run ended.

    Runs that are not finished have none. Raises InputError if one was changed or is missing.
    """
    if not kind_of(folder / SEAL):
        return
    digests = read_json(folder / SEAL)
    for name in dict.fromkeys((*_sealed(folder), *digests)):
        path = folder / name
        if not kind_of(path):
            raise InputError(f"{path} is missing, which {SEAL} names: {BRING_BACK}")
        if sha256(read_file(path)) != digests.get(name):
            raise InputError(
                f"{path} was changed since the run was finished, or is of another run: {BRING_BACK}"
            )


def is_finished(folder: Path) -> bool:
    """True if a run has a seal."""
    return bool(kind_of(folder / SEAL))


def check_finished(folder: Path) -> None:
    """Refuses a run that is not finished, or not as it was when it ended, and what is no run."""
    if not is_finished(folder):
        read_json(folder / "config.json")
        raise InputError(
            f"the run {str(folder)!r} is not finished: continue it with `pdai train --resume "
            f"{folder}`"
        )
    check_seal(folder)


def append_metrics(folder: Path, record: dict[str, Any]) -> None:
    """Adds one record to the metrics."""
    append_to_file(folder / "metrics.jsonl", json.dumps(record) + "\n")


def metrics_bytes(folder: Path) -> bytes:
    """The content of metrics.jsonl; empty if there is no such file."""
    path = folder / "metrics.jsonl"
    return read_file(path) if kind_of(path) else b""


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, up to a line that a kill cut off, or that is damaged."""
    return parsed_records(metrics_bytes(folder))


def parsed_records(content: bytes) -> list[dict[str, Any]]:
    """Parses records, one per line, until the first invalid line."""
    records: list[dict[str, Any]] = []
    for line in content.decode(errors="replace").splitlines():
        try:
            record = parsed_json(line)
        except ValueError:
            break
        if not isinstance(record, dict) or "step" not in record:
            break
        records.append(record)
    return records


def save_law(folder: Path, learned: Array, target: Array, labels: Sequence[str] = ()) -> None:
    """Saves the learned law and the target.

    Args:
        folder: the run folder.
        learned: `p_T`, of shape (seeds, terminals).
        target: `pi`, of shape (terminals,).
        labels: the labels of the terminals, if they are enumerated.
    """
    buffer = io.BytesIO()
    named: dict[str, Any] = {"labels": np.array(labels)} if labels else {}
    np.savez_compressed(buffer, learned=learned, target=target, **named)
    replace_file(folder / "law.npz", buffer.getvalue())


def load_law(folder: Path) -> tuple[Array, Array]:
    """Learned probabilities, one row per seed, and those of the target, of a finished run.

    Raises InputError if the run is not finished, or was changed since.
    """
    check_finished(folder)
    try:
        learned, target = load_arrays(folder / "law.npz", "learned", "target")
    except ValueError as error:
        raise InputError(f"{folder / 'law.npz'} cannot be read ({error}): {BRING_BACK}") from None
    return learned, target


def read_report(folder: Path) -> dict[str, Any]:
    """The final figures of a run, as plain data.

    Raises InputError if the run is not finished, or was changed since.
    """
    check_finished(folder)
    return read_json(folder / "report.json")
