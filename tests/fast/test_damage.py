"""Small edits of what a run and a certificate leave behind: refused, or without effect.

`python -m tests.fast.test_damage 1000` makes so many and prints what became of them.
"""

import atexit
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from reference.contract.errors import InputError
from reference.problems import TableSequences
from tests.fast.readers import ANSWERS
from tests.made_up_runs import two_runs
from tests.nearly_right import Case, endings, table

OUTSIDE = b"somebody's own\n" * 100


@cache
def scratch() -> Path:
    """A folder for this process, with two runs, `a` and `b`."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    return two_runs(folder)


@cache
def right(name: str, original: Path) -> Any:
    """The answers of a run that is whole."""
    whole = original.with_name(f"whole-{name}")
    return ANSWERS[name](shutil.copytree(original, whole))


def bit(rng: Random, path: Path) -> None:
    """Turns one bit, mostly near the beginning."""
    data = bytearray(path.read_bytes())
    data[rng.randrange(rng.choice([min(len(data), 400), len(data)]))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def digit(rng: Random, path: Path) -> None:
    """Changes one digit."""
    data = bytearray(path.read_bytes())
    place = rng.choice([place for place, byte in enumerate(data) if byte in b"0123456789"])
    data[place] = ord("0") + (data[place] - ord("0") + rng.randint(1, 9)) % 10
    path.write_bytes(data)


def value(rng: Random, path: Path) -> None:
    """Changes a value of a JSON object, or of an array of an archive, and writes it well."""
    if path.suffix == ".npz":
        with np.load(path) as archive:
            arrays = dict(archive)
        name = rng.choice([name for name, array in arrays.items() if array.dtype.kind == "f"])
        array = arrays[name]
        arrays[name] = rng.choice(
            [array[..., ::-1], array * 1.01, np.round(array), array * np.nan, array * 1j, array[:0]]
        )
        np.savez(path, **arrays)
    elif path.suffix == ".json":
        data = json.loads(path.read_text())
        values = [None, 0, -1, 1e308, 10**400, "x", [], {}, True, "../../outside"]
        data[rng.choice([*data, "more"])] = rng.choice(values)
        path.write_text(json.dumps(data))
    else:
        digit(rng, path)


def other(rng: Random, path: Path) -> None:
    """Takes the file of another."""
    shutil.copy(path.parents[1] / "b" / path.name, path)


def cut(rng: Random, path: Path) -> None:
    """Loses the end, or all."""
    path.write_bytes(path.read_bytes()[: rng.choice([0, rng.randrange(path.stat().st_size)])])


def no_file(rng: Random, path: Path) -> None:
    """Puts something else in its place, or nothing."""
    path.unlink()
    places = [path.parents[1] / "outside", Path("/dev/zero")]
    rng.choice(
        [lambda: path.symlink_to(rng.choice(places)), lambda: os.mkfifo(path), path.mkdir, list]
    )()


DAMAGES = [bit, digit, value, other, cut, no_file]


def folders(rng: Random) -> Case:
    """A damage to one file of a run folder, and a question."""
    run, outside = scratch() / "damaged", scratch() / "outside"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(scratch() / "a", run)
    outside.write_bytes(OUTSIDE)
    path, damage = rng.choice(sorted(run.iterdir())), rng.choice(DAMAGES)
    name = rng.choice(list(ANSWERS))
    # Not where a refusal of it would count as one of the damaged run.
    expected = right(name, scratch() / "a")
    with contextlib.suppress(ValueError, IndexError):
        damage(rng, path)
    errors = io.StringIO()

    def ask() -> Any:
        with contextlib.redirect_stderr(errors):
            return ANSWERS[name](run)

    return Case(
        f"{name} after {damage.__name__} of {path.name}",
        ask,
        # What is lost for good is said, and the rest is answered.
        lambda made: (
            (made == expected or "are lost" in errors.getvalue())
            and outside.read_bytes() == OUTSIDE
        ),
    )


@pytest.mark.long
def test_an_edit_is_refused_or_without_effect() -> None:
    assert endings(folders, 30)["refused"] >= 10


@pytest.mark.long
def test_control_another_run_answers_otherwise() -> None:
    one, other = scratch() / "a", scratch() / "b"
    differing = {name for name, ask in ANSWERS.items() if ask(other) != right(name, one)}
    # A page and a picture are files; few samples of two laws near one target may be the same.
    assert differing >= ANSWERS.keys() - {"sample", "plot", "page"}


class Touch:
    """Pickled as the instruction to create a file."""

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (Path("unpickled"),)


GOOD: dict[str, Any] = {"score": np.arange(4, dtype=np.float32), "alphabet": "AC", "length": 2}
TABLES: list[tuple[dict[str, Any], str]] = [
    ({"score": np.arange(4)}, "dtype int64, but must be float32"),
    ({"score": np.arange(3, dtype=np.float32)}, r"shape \(3,\).*need \(4,\)"),
    ({"score": np.array([0, 1, np.nan, 2], np.float32)}, "number 2 is nan"),
    ({"score": np.ones(4, np.float32)}, "all 1.0"),
    ({"score": np.array([Touch()] * 4, object)}, "cannot be read .*score"),
    ({"length": "two"}, "cannot be read"),
    ({"alphabet": np.array([0, 1])}, r"cannot be read .*alphabet \(a string"),
]


def test_a_bad_or_damaged_table_is_refused_and_not_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("table.npz")
    for arrays, words in TABLES:
        np.savez(path, **{**GOOD, **arrays})
        with pytest.raises(InputError, match=words):
            TableSequences.load(path)
    np.savez(path, **GOOD)
    assert TableSequences.load(path, "append", 1).reward("CC") == 10
    good = path.read_bytes()
    for place, byte in enumerate(good):
        path.write_bytes(good[:place])
        with pytest.raises(InputError, match=r"cannot be read \(.+\): give a NumPy .npz archive"):
            TableSequences.load(path)
        path.write_bytes(good[:place] + bytes([byte ^ 0xFF]) + good[place + 1 :])
        # Some bytes, such as those of a date, change nothing.
        with contextlib.suppress(InputError):
            TableSequences.load(path)
    assert [*Path().iterdir()] == [path]


if __name__ == "__main__":
    sys.exit(table({folders: 1}, *map(int, sys.argv[1:])))
