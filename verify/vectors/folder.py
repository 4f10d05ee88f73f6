"""The folder of test vectors: made in memory, the same bytes each time, then written."""

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any

from reference.errors import InputError
from verify.vectors.combined import combination_cases
from verify.vectors.drawn import preset_cases, small_lift_cases
from verify.vectors.encoding import Json
from verify.vectors.kinds import KINDS
from verify.vectors.named import counterexamples, graph_cases
from verify.vectors.refusals import refusal_cases

FORMAT = 1
TITLE = "test vectors for samplers on pointed DAGs"
MANIFEST = "manifest.json"
HERE = Path(__file__).parent


def write_vectors(folder: Path) -> Json:
    """Writes the vectors into a new or empty folder, or over older ones; returns the manifest.

    Raises:
        InputError: if the folder holds anything else, or cannot be written.
    """
    try:
        _check_free(folder)
        folder.mkdir(parents=True, exist_ok=True)
        files = make_files()
        for path in folder.iterdir():
            if path.name not in files:
                path.unlink()
        # The manifest first: what an interrupted run leaves is recognised, and replaced.
        for name in sorted(files, key=lambda name: name != MANIFEST):
            (folder / name).write_bytes(files[name])
    except OSError as error:
        raise InputError(
            f"the vectors cannot be written into {str(folder)!r} ({error.strerror}): name another "
            "folder"
        ) from None
    manifest: Json = json.loads(files[MANIFEST])
    return manifest


def make_files() -> dict[str, bytes]:
    """Name and content of every file, the manifest last."""
    suites: dict[str, tuple[str, Iterator[Any]]] = {
        "graphs.json": ("sampler", graph_cases()),
        "presets.json": ("sampler", preset_cases()),
        "lifts.json": ("sampler", small_lift_cases()),
        "counterexamples.json": ("sampler", counterexamples()),
        "combinations.json": ("combination", combination_cases()),
        "refusals.json": ("refusal", refusal_cases()),
    }
    files: dict[str, bytes] = {}
    entries: list[Json] = []
    for name, (kind, cases) in suites.items():
        encoded = [case.encode() for case in cases]
        files[name] = _lines(kind, encoded)
        entries.append(_entry(name, files[name]) | {"kind": kind, "cases": len(encoded)})
    files["check.py"] = (HERE / "consumer.py").read_bytes()
    files["README.md"] = _readme(entries, files["check.py"].decode()).encode()
    entries += [
        _entry(name, files[name]) | {"kind": None, "cases": 0} for name in ("check.py", "README.md")
    ]
    manifest = {
        "title": TITLE,
        "format": FORMAT,
        "generator": {"name": "pdai", "version": _version()},
        "cases": sum(entry["cases"] for entry in entries),
        "files": entries,
        "kinds": KINDS,
    }
    return files | {MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode()}


def _lines(kind: str, cases: list[Json]) -> bytes:
    rows = ",\n".join(json.dumps(case, separators=(",", ":"), allow_nan=False) for case in cases)
    return f'{{"kind":"{kind}","cases":[\n{rows}\n]}}\n'.encode()


def _entry(name: str, content: bytes) -> Json:
    return {"path": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _readme(entries: list[Json], consumer: str) -> str:
    parts = {
        "version": _version(),
        "format": str(FORMAT),
        "cases": f"{sum(entry['cases'] for entry in entries):,}",
        "bytes": f"{sum(entry['bytes'] for entry in entries) // 1000:,}",
        "files": "\n".join(f"| {e['path']} | {e['kind']} | {e['cases']} |" for e in entries),
        "kinds": "\n".join(chain.from_iterable(map(_section, KINDS))).rstrip(),
        "consumer": consumer,
    }
    text = (HERE / "format.md").read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _section(kind: str) -> Iterator[str]:
    fields = dict(KINDS[kind])
    yield f"## Kind `{kind}`\n\n{fields.pop('about')}\n"
    for name, meaning in fields.items():
        yield f"- `{name}`: {meaning}"
    yield ""


def _check_free(folder: Path) -> None:
    """Checks that nothing but vectors would be written over."""
    if not folder.exists():
        return
    found = sorted(path.name for path in folder.iterdir())
    written = _written_before(folder / MANIFEST) if MANIFEST in found else set()
    for name in found:
        if name not in written:
            raise InputError(
                f"the folder {str(folder)!r} holds {name!r}, which is not one of our vectors, and "
                "nothing else is written over: name a new or an empty folder"
            )


def _written_before(manifest: Path) -> set[str]:
    """The files that a manifest of ours lists, with itself; none if it is not one."""
    try:
        data = json.loads(manifest.read_bytes())
        if data["title"] == TITLE:
            return {MANIFEST, *(entry["path"] for entry in data["files"])}
    except (ValueError, KeyError, TypeError):
        pass
    return set()


def _version() -> str:
    try:
        return version("pdai")
    except PackageNotFoundError:
        return "not installed"
