"""Run folders: their files, and how one begins.

::

    config.json      the configuration
    meta.json        versions, device, commit, seeds, parameter count, checksums of tables, the
                     user's parts and copied files, and where data are from
    metrics.jsonl    one record per line, by step
    checkpoint.eqx   the state of training: one line of JSON, then the arrays
    report.json      the final figures
    law.npz          learned and target probabilities, one per terminal state
    seal.json        digests of all of these, written last: it says that the run is finished
    plot.png         both laws, and the curves of training; not sealed, as it can be drawn again
    frozen/          copies of the frozen samplers of the run: a folder depends on no other
    data.csv         a copy of the user's data, for tasks that read some

Until a run is finished, the first line of checkpoint.eqx has digests of config.json, meta.json and
the records before it; then seal.json has those of all files but plot.png. So a file that was
changed, or belongs to another run, is refused by name wherever the folder is read.
"""

import platform
import subprocess
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import jax

from fast.policies.policy import AnyPolicy, count_parameters
from fast.runs.files import new_folder
from fast.runs.identity import SAMPLER, check_own_parts, imported_sources
from fast.runs.records import check_finished, check_seal, read_json, write_json
from fast.training.compose import TrainConfig, from_json, to_json
from fast.training.options import RunOptions
from reference.contract.errors import InputError
from reference.contract.files import read_file, replace_file, sha256

PACKAGES = ("pdai", "jax", "jaxlib", "numpy", "equinox", "optax")


def create_run(config: TrainConfig, policy: AnyPolicy, tables: str | None = None) -> Path:
    """Makes the run folder of a configuration, with copies of the files that it reads.

    Raises InputError if it exists already: nothing is overwritten; or if a frozen run is not
    finished, or was changed since; or if a part of the user's own was edited since it was imported.

    Args:
        config: the configuration.
        policy: the policy of one seed.
        tables: the checksum of an enumerated problem; None without one.
    """
    frozen, run, task = config.factors.frozen, config.run, config.task
    copies = _copies(len(frozen))
    contents: dict[Path, bytes] = {}
    for path, copy in zip(frozen, copies, strict=True):
        check_finished(path)
        check_own_parts(path, accept_changed=False)
        contents |= {copy / name: read_file(path / name) for name in SAMPLER}
    own_files = imported_sources(config.own_parts(), task)
    contents |= {Path(task.inputs[o]): read_file(path) for o, path in task.input_files.items()}
    meta = {
        "versions": {"python": platform.python_version(), **_versions()},
        "device": str(jax.devices()[0].device_kind),
        "backend": jax.default_backend(),
        "commit": _commit(),
        "parameters": count_parameters(policy),
        "seeds": list(range(run.seed, run.seed + run.seeds)),
        "copies": {path.as_posix(): sha256(content) for path, content in contents.items()},
        "is_markovian": bool(policy.is_markovian),
        "tables": tables,
        "own": own_files,
        "inputs": {option: str(path) for option, path in task.input_files.items()},
    }
    stored = replace(config, task=task.with_copies(Path())).with_factors(frozen=copies)
    with new_folder(config.folder(), "train") as partial:
        for path, content in contents.items():
            (partial / path).parent.mkdir(parents=True, exist_ok=True)
            replace_file(partial / path, content)
        write_json(partial / "meta.json", meta)
        write_json(partial / "config.json", to_json(stored))
    return config.folder()


def load_config(folder: Path, *, accept_changed: bool = False) -> TrainConfig:
    """The configuration of a run whose sampler is used or trained further.

    If the user's parts may have changed since, stderr says so. Raises InputError if this is not a
    run folder, or one of another version; or if a file of a finished run, or a part of the user's
    own, was changed since.
    """
    check_seal(folder)
    # Without it, this is no run folder.
    read_json(folder / "config.json")
    check_own_parts(folder, accept_changed)
    return stored_config(folder)


def stored_config(folder: Path) -> TrainConfig:
    """The configuration of a run that was checked before, or whose own parts are not used.

    Raises InputError if this is not a run folder, or one of another version.
    """
    config = from_json(read_json(folder / "config.json"), str(folder / "config.json"))
    task = config.task.with_copies(folder)
    placed = replace(config, run=replace(config.run, out=folder), task=task)
    frozen = config.factors.frozen
    if frozen != _copies(len(frozen)):
        raise InputError(
            f"{folder / 'config.json'} asks samplers in {[str(path) for path in frozen]}, but "
            "those that a run asks are in its own folder, frozen/0 and so on: train again"
        )
    return placed.with_factors(frozen=tuple(folder / path for path in frozen))


def row_of_seed(folder: Path, run: RunOptions, seed: int | None) -> int:
    """The place of a seed among the seeds of a run; by default that of the first.

    Raises InputError, of the argument `of`, if the run has no such seed.

    Args:
        folder: the run folder, for the message.
        run: the options with the seeds of the run.
        seed: the seed; None for the first.
    """
    row = 0 if seed is None else seed - run.seed
    if not 0 <= row < run.seeds:
        raise InputError(
            f"of is {seed}, but the run {str(folder)!r} has the seeds {run.seed} to "
            f"{run.seed + run.seeds - 1}"
        )
    return row


def is_markovian(folder: Path) -> bool:
    """True if the network of a run sees the state alone; imports no modules of the user.

    Looking at a run must not execute its author's code. Raises InputError if this is not a run
    folder.
    """
    return bool(read_json(folder / "meta.json").get("is_markovian"))


def _copies(count: int) -> tuple[Path, ...]:
    """Paths of copied frozen samplers within a run folder."""
    return tuple(Path("frozen", str(number)) for number in range(count))


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _commit() -> str:
    """The commit of the source tree, if it is one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return result.stdout.strip()
