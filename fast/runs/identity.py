"""The identity of a run: its options, data, frozen samplers and the user's parts."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fast.runs.records import read_json
from fast.tasks import CustomTask, Task
from fast.training.compose import TrainConfig, by_name, to_json
from reference.contract.errors import InputError
from reference.contract.files import read_file
from reference.contract.loading import source_of

# The files that determine a run's sampler.
SAMPLER = ("config.json", "meta.json", "checkpoint.eqx")


def check_same_run(stored: TrainConfig, config: TrainConfig) -> None:
    """Refuses a stored run with another configuration, other data or other frozen samplers."""
    run = f"the run in {str(stored.folder())!r}"
    ours, theirs = by_name(to_json(config)), by_name(to_json(stored))
    inputs = config.task.input_files.keys() & stored.task.input_files.keys()
    for name in [*ours, *(theirs.keys() - ours.keys())]:
        if name not in ("frozen", *inputs) and ours.get(name) != theirs.get(name):
            raise InputError(
                f"{run} has {name} = {theirs.get(name)}, but {ours.get(name)} is asked for: it is "
                "another run; move it away, or choose another folder with --out"
            )
    for name in inputs:
        path, copy = getattr(config.task, name), getattr(stored.task, name)
        if read_file(path) != read_file(copy):
            raise InputError(
                f"{run} has other {name} than {str(path)!r} holds now (its copy is "
                f"{str(copy)!r}): it is another run; move it away, or choose another folder with "
                "--out"
            )
    frozen, copies = config.factors.frozen, stored.factors.frozen
    if len(frozen) != len(copies) or any(
        read_file(path / name) != read_file(copy / name)
        for path, copy in zip(frozen, copies, strict=True)
        for name in SAMPLER
    ):
        raise InputError(
            f"{run} asks other samplers than {[str(path) for path in frozen]}: they were trained "
            "again since; move it away"
        )


def imported_sources(parts: Mapping[str, str], task: Task) -> dict[str, dict[str, Any]]:
    """Name and file of each part of the user's, with the file's digest, as by `source_of`.

    Raises InputError if a file was edited since this process imported it.
    """
    names = dict(parts)
    if isinstance(task, CustomTask):
        names |= {"problem": task.problem, "environment": task.environment}
    recorded = {}
    for part, name in names.items():
        if not name or (source := source_of(name)) is None:
            continue
        if source.imported != source.now:
            raise InputError(
                f"{source.file}, of the {part} {name}, was edited since this process imported it: "
                "restart Python, or call importlib.reload on its module"
            )
        recorded[part] = {"name": name, "files": {source.file: source.now}}
    return recorded


def changed_parts(folder: Path) -> list[str]:
    """The user's parts whose file changed since a run began, with the file.

    Parts of the frozen samplers that it has copies of are included.
    """
    changed = []
    for part, entry in (read_json(folder / "meta.json").get("own") or {}).items():
        name, before = entry["name"], entry["files"]
        # An object of another process cannot be looked up; any use of it is refused.
        with suppress(InputError):
            source, files = source_of(name), ", ".join(before)
            # In another process `__main__` is another script, or none; loading the part says so.
            if name.startswith("__main__:") and (source is None or source.file not in before):
                continue
            if source is None:
                where = "is not here: run from the folder that holds it"
                changed.append(f"{part} {name} ({files} {where})")
            # A module in memory may be older than its file.
            elif any(before != {source.file: digest} for digest in (source.now, source.imported)):
                changed.append(f"{part} {name} ({files})")
    for path in sorted((folder / "frozen").glob("*/meta.json")):
        changed += changed_parts(path.parent)
    return changed


def check_own_parts(folder: Path, accept_changed: bool) -> None:
    """Checks that the user's parts are the ones that a run was trained with.

    Raises InputError if the source of one has changed, unless that is accepted: then stderr says
    so.
    """
    changed = changed_parts(folder)
    if not changed:
        return
    changes = f"changed since the run {str(folder)!r} began: {'; '.join(changed)}"
    if not accept_changed:
        raise InputError(
            f"{changes}: bring back what it was, train again, or accept it with --accept-changed, "
            "which is pdai.load(folder, accept_changed=True)"
        )
    print(f"{changes}; what follows is of the code as it is now", file=sys.stderr)
