"""Run folders damaged at random, mixed with others, and filled with what is no file."""

import contextlib
import io
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fast.runs.audit import audit
from fast.runs.folder import FILES
from fast.runs.job import draw_samples, resume, train
from fast.runs.records import load_law, read_report
from fast.training.compose import configure
from fast.training.config import TrainConfig
from pdai.plotting import figure_of
from pdai.progress import QUIET
from tests.attack.outcome import Outcome, attempted

# More than one line, also of the configuration.
OUTSIDE = b"somebody's own\n" * 100


def tiny(out: Path, seed: int = 0) -> TrainConfig:
    """A run of two blocks of steps."""
    small = {"length": 4, "parameters": 500, "batch": 8, "steps": 200, "evaluations": 1}
    return configure("lines", dynamics="markov", checkpoint_every=100, seed=seed, **small, out=out)


def _drawn(run: Path) -> Any:
    """What a plot shows: all numbers of its lines and bars."""
    figure = figure_of([run])
    return [
        [line.get_xydata().tolist() for line in axis.get_lines()]  # type: ignore[union-attr]
        + [bar.get_height() for bar in axis.patches]  # type: ignore[attr-defined]
        for axis in figure.axes
    ]


def _resumed(run: Path) -> Any:
    """The parameters and figures at the end, from wherever the run stands."""
    if (run / "report.json").is_file():
        (run / "report.json").unlink()
    _, report = resume(run, display=QUIET)
    parameters = (run / "checkpoint.eqx").read_bytes().partition(b"\n")[2]
    return parameters, report, load_law(run)[0].tolist()


# What each command answers, as data that can be compared.
COMMANDS: dict[str, Callable[[Path], Any]] = {
    "audit": audit,
    "sample": lambda run: [list(part) for part in draw_samples(run, 20, 0)],
    "plot": _drawn,
    "report": lambda run: {k: v for k, v in read_report(run).items() if k != "seconds"},
    "resume": _resumed,
}


class Folders:
    """Two finished runs, of which copies are attacked.

    Args:
        scratch: an empty folder.
    """

    def __init__(self, scratch: Path):
        self.scratch = scratch
        self.runs = [scratch / "a", scratch / "b"]
        for seed, run in enumerate(self.runs):
            train(tiny(run, seed), display=QUIET)
        self.right = {name: command(self._copy()) for name, command in COMMANDS.items()}

    def _copy(self) -> Path:
        copy = self.scratch / "attacked"
        shutil.rmtree(copy, ignore_errors=True)
        return Path(shutil.copytree(self.runs[0], copy))

    def attacks(self, rng: random.Random) -> Iterator[Outcome]:
        """Attacks without end."""
        while True:
            yield self.attack(rng)

    def attack(self, rng: random.Random) -> Outcome:
        """One damage to one file, and one command on the folder."""
        run, outside = self._copy(), self.scratch / "outside"
        outside.write_bytes(OUTSIDE)
        path = run / rng.choice(FILES)
        damage = rng.choice(DAMAGES)
        damage(rng, path, self.runs[1], outside)
        name = rng.choice(list(COMMANDS))
        story = f"{name} after {damage.__name__.strip('_')} of {path.name}"
        told = io.StringIO()

        def is_right(answer: Any) -> bool:
            # What is lost for good is said, and the rest is answered.
            return bool(answer == self.right[name]) or "are lost" in told.getvalue()

        with contextlib.redirect_stderr(told):
            found = attempted(story, lambda: COMMANDS[name](run), is_right, 60.0)
        if outside.read_bytes() != OUTSIDE:
            return Outcome("wrong in silence", f"{story}: it wrote outside of the folder")
        return found


Damage = Callable[[random.Random, Path, Path, Path], None]


def _flipped_bit(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _flipped_bit_of_the_head(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(min(len(data), 400))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _truncation(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def _garbage(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    path.write_bytes(rng.randbytes(rng.randrange(5_000)))


def _garbage_in_the_middle(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    data = path.read_bytes()
    place = rng.randrange(len(data))
    path.write_bytes(data[:place] + rng.randbytes(rng.randrange(1, 50)) + data[place:])


def _nesting(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    path.write_bytes(b'{"a":' * 100_000)


def _other_values(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    """Changes a value of a JSON object by hand."""
    if path.suffix != ".json":
        return _flipped_bit(rng, path, other, outside)
    data = json.loads(path.read_text())
    values = [None, 0, -1, 1e308, 10**400, "x", [], {}, True, "../../outside"]
    data[rng.choice([*data, "more"])] = rng.choice(values)
    return path.write_text(json.dumps(data)) and None


def _loss(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    path.unlink()


def _another_runs(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    shutil.copy(other / path.name, path)


def _link_out(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(rng.choice([outside, other / path.name, path.parent, "/dev/zero"]))


def _pipe(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    path.unlink()
    path.mkdir()


def _sparse_file(rng: random.Random, path: Path, other: Path, outside: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(10**11)


DAMAGES: tuple[Damage, ...] = (
    _flipped_bit,
    _flipped_bit_of_the_head,
    _truncation,
    _garbage,
    _garbage_in_the_middle,
    _nesting,
    _other_values,
    _loss,
    _another_runs,
    _link_out,
    _pipe,
    _folder,
    _sparse_file,
)
