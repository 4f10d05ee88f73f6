"""PROMISE.md, 4: a run folder is yours: damage is refused by name, and what was cut off goes on."""

import contextlib
import errno
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import Mock

import jax
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pdai
import reference.contract.files
from fast.runs.checkpoints import load_checkpoint, save_checkpoint
from fast.runs.files import alone_in, new_folder
from fast.runs.folder import load_config
from fast.runs.frozen import load_policy
from fast.runs.job import resume, train
from fast.runs.records import SEAL, SEALED, read_json, read_metrics, read_report, write_json
from fast.runs.setup import set_up
from fast.training.compose import FORMAT, configure
from pdai.distributed.experiment import proceed
from pdai.distributed.plan import Distributed
from pdai.run import Run
from pdai.show.plotting import plot_runs
from pdai.show.progress import QUIET
from reference.contract.errors import InputError
from reference.contract.files import read_file, replace_file
from reference.problems import TableSequences
from tests.command_lines import answer, ended
from tests.made_up_runs import tiny_run

# What a run answers that was loaded before, and what its folder is asked.
LOADED: dict[str, Callable[[pdai.Run], Any]] = {
    "law": lambda run: run.law(),
    "report": lambda run: run.report,
    "log_prob": lambda run: run.log_prob(["q0"]),
    "metrics": lambda run: run.metrics(),
    "drawn": lambda run: run.plot(),
}
LOOKS: dict[str, Callable[[Path], Any]] = {
    "certify": pdai.certify,
    "sample": lambda run: Run(run).sample(20),
    "plot": lambda run: plot_runs([run], run.parent / "drawn.png"),
    "page": lambda run: pdai.report(run, run.parent / "page.html", seconds=None),
    "load": pdai.load,
    "resume": lambda run: resume(run, display=QUIET),
}
# What is the same when a run was killed and went on.
RESULTS = ("checkpoint.eqx", "law.npz", "report.json", "metrics.jsonl")


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 1 << place % 8
    path.write_bytes(data)


def replace(path: Path, put: Callable[[Path], Any]) -> None:
    put(path.rename(path.parent.parent / "outside"))


EDITS: dict[str, Callable[[Path, int], Any]] = {
    "a bit": flip,
    "cut": lambda path, place: path.write_bytes(path.read_bytes()[: place % path.stat().st_size]),
    "of another run": lambda path, _: shutil.copy(path.parent.parent / "b" / path.name, path),
    "missing": lambda path, _: path.unlink(),
    "a link": lambda path, _: replace(path, path.symlink_to),
    "a pipe": lambda path, _: replace(path, lambda _: os.mkfifo(path)),
    "a folder": lambda path, _: replace(path, lambda _: path.mkdir()),
}
edits = st.tuples(st.sampled_from(SEALED), st.sampled_from([*EDITS]), st.integers(0, 10**5))


@contextlib.contextmanager
def copied(trained: Path) -> Iterator[Path]:
    """A copy of a finished run, which is removed at the end, with another beside it."""
    with TemporaryDirectory() as folder:
        for name, run in (("run", "a"), ("b", "b")):
            shutil.copytree(trained / run, Path(folder, name))
        yield Path(folder, "run")


def unfinished(run: Path) -> Path:
    (run / SEAL).unlink()
    return run


@pytest.mark.catches(
    "The digests of a finished run are not compared.",
    "fast/runs/records.py",
    "if sha256(read_file(path)) != digests.get(name):",
    "if not read_file(path):",
)
@pytest.mark.catches(
    "A link in a run folder is followed.",
    "reference/contract/files.py",
    '    "a symbolic link": stat.S_ISLNK,\n',
    "",
)
@settings(max_examples=80, deadline=None)
@given(edit=edits)
def test_an_edit_of_any_file_of_a_finished_run_is_refused_by_name_wherever_it_is_read(
    edit: tuple[str, str, int], trained: Path
) -> None:
    name, kind, place = edit
    with copied(trained) as run:
        loaded = pdai.load(run)
        EDITS[kind](run / name, place)
        message = rf"run/{name}'? (was changed|is missing|is a .*, which is not read)"
        asks = [lambda ask=ask: ask(loaded) for ask in LOADED.values()]
        for ask in [*asks, *(lambda look=look: look(run) for look in LOOKS.values())]:
            with pytest.raises(InputError, match=message):
                ask()


def test_control_a_run_that_is_not_edited_is_read(run: Path) -> None:
    for name in LOOKS.keys() - {"resume"}:
        LOOKS[name](run)
    for ask in LOADED.values():
        ask(pdai.load(run))
    # Its picture can be drawn again at any time, and is not sealed.
    (run / "plot.png").write_bytes(b"another")
    plot_runs([run], run / "plot.png")
    pdai.load(run)


@pytest.mark.catches(
    "A configuration that was changed since the checkpoint is believed.",
    "fast/runs/checkpoints.py",
    "if digest != header.get(name)]",
    "if not digest]",
)
@pytest.mark.catches(
    "A checkpoint is not compared with its checksum.",
    "fast/runs/checkpoints.py",
    "if digest != _seal(header, payload):",
    "if not digest:",
)
@settings(max_examples=25, deadline=None)
@given(edit=edits)
@example(edit=("checkpoint.eqx", "a bit", 5_000))
@example(edit=("config.json", "of another run", 0))
def test_an_edit_of_an_unfinished_run_is_refused_or_without_effect(
    edit: tuple[str, str, int], trained: Path
) -> None:
    name, kind, place = edit
    with copied(trained) as run:
        EDITS[kind](unfinished(run) / name, place)
        outside = run.parent / "outside"
        before = outside.read_bytes() if outside.exists() else None
        is_read = name not in ("law.npz", "report.json")
        for look in ("certify", "sample") if is_read and name != "metrics.jsonl" else ():
            with pytest.raises(InputError):
                LOOKS[look](run)
        message, said = "", io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                LOOKS["resume"](run)
        except InputError as refusal:
            message = str(refusal)
        if message:
            assert is_read or kind in ("a pipe", "a folder")
            assert name in message or name == "config.json"
        else:
            # A run without a checkpoint begins again; one without records has none until there.
            results = RESULTS[:-1] if "are lost" in said.getvalue() else RESULTS
            assert ended(run, results) == ended(trained / "a", results)
            assert not (run / name).is_symlink()
        assert before is None or outside.read_bytes() == before


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folder of a run as a kill leaves it at each file that it writes, with half a file."""
    folder, left, written = tmp_path_factory.mktemp("moments"), list[Path](), os.fsync

    def watched(descriptor: int) -> None:
        written(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.suffix == ".partial" and path.parent.name == "whole":
            left.append(folder / str(len(left)))
            shutil.copytree(folder / "whole", left[-1])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reference.contract.files.os, "fsync", watched)
        train(tiny_run(folder / "whole"), display=QUIET)
    return left


@pytest.mark.catches(
    "A run that goes on keeps the records after its checkpoint.",
    "fast/runs/checkpoints.py",
    "kept = _checked_records(folder)",
    "kept = metrics_bytes(folder)",
)
@pytest.mark.catches(
    "A run that has taken no step, whose log Z is not yet a number, cannot go on.",
    "fast/runs/checkpoints.py",
    "if int(state.step[0]) and seeds_gone_bad(state.sampler):",
    "if seeds_gone_bad(state.sampler):",
    by="refusal",
)
def test_a_run_that_was_killed_at_any_write_goes_on_bit_for_bit(moments: list[Path]) -> None:
    # Records, three checkpoints, law, report, seal and picture.
    assert len(moments) == 8
    for run in moments:
        if not (run / SEAL).exists():
            with pytest.raises(InputError, match="not finished: continue it with `pdai train --r"):
                read_report(run)
        resume(run, display=QUIET)
        assert ended(run, RESULTS) == ended(run.with_name("whole"), RESULTS)
        assert {path.name for path in run.iterdir()} == {*SEALED, SEAL, "plot.png"}


@pytest.mark.catches(
    "A folder of another version is read.",
    "fast/runs/checkpoints.py",
    "if version != FORMAT:",
    "if not version:",
)
def test_a_file_that_is_no_longer_of_its_kind_is_refused(run: Path, tmp_path: Path) -> None:
    checkpoint, config = (run / "checkpoint.eqx").read_bytes(), read_json(run / "config.json")
    older = json.dumps({**config, "format": 0}).encode()
    newer = checkpoint.replace(b'"format": %d' % FORMAT, b'"format": 99', 1)
    unfinished(run)
    for name, content, message in (
        ("config.json", b"[]", "not a JSON object"),
        ("config.json", older, "made by another version of pdai"),
        ("checkpoint.eqx", b"\x80\x04pickle", "is not a checkpoint of pdai"),
        ("checkpoint.eqx", newer, "made by another version of pdai"),
    ):
        whole = (run / name).read_bytes()
        (run / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            pdai.certify(run)
        (run / name).write_bytes(whole)
    pdai.certify(run)
    assert "is not finished" in answer("plot", "run", cwd=tmp_path, expect=2).stderr
    (tmp_path / "empty").mkdir()
    refused = answer("certify", "empty", cwd=tmp_path, expect=2).stderr
    assert re.match("pdai: .*is not a run folder", refused)


@pytest.mark.parametrize("line", [b"5", b"[]", b'{"foo": 5}', b'{"step": 1, "tv', b"[" * 100_000])
def test_records_end_where_a_line_is_none(line: bytes, trained: Path, tmp_path: Path) -> None:
    records = (trained / "a" / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "metrics.jsonl").write_bytes(b"".join([records[0], line + b"\n", *records[2:]]))
    assert read_metrics(tmp_path) == read_metrics(trained / "a")[:1]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_parameters_that_are_no_numbers_are_refused_by_every_command(
    value: float, run: Path
) -> None:
    state, _ = load_checkpoint(unfinished(run), set_up(tiny_run(run)).initial)
    leaves, structure = jax.tree.flatten(state.sampler)
    leaves[0] = leaves[0].at[(0,) * leaves[0].ndim].set(value)
    state = state._replace(sampler=jax.tree.unflatten(structure, leaves))
    # With a right checksum.
    save_checkpoint(run, state, 0.0)
    message = "run' has, at step 200, parameters that are no finite numbers"
    looks = [LOOKS[name] for name in ("certify", "sample", "resume")]
    for look in [lambda run: load_policy(load_config(run)), *looks]:
        with pytest.raises(InputError, match=message):
            look(run)


def test_a_folder_of_another_command_is_told_from_what_is_asked_for(tmp_path: Path) -> None:
    whose = "whose runs are the folders in it"
    for file, looks, message in (
        ("plan.json", [pdai.certify, resume], f"`pdai distribute` or `pdai stream`, {whose}"),
        ("rounds.json", [pdai.certify, resume], f"experiment of `pdai train --tv`, {whose}"),
        ("posterior.json", [pdai.certify], r"answer of `pdai posterior`, .* `pdai posterior --d"),
    ):
        (tmp_path / file).touch()
        for look in looks:
            with pytest.raises(InputError, match=message):
                look(tmp_path)
        (tmp_path / file).unlink()
    with pytest.raises(InputError, match="does not exist, so it is not a run folder of `pdai dist"):
        read_json(tmp_path / "runs" / "plan.json")
    with pytest.raises(InputError, match="not a run folder of `pdai train`: give the folder"):
        resume(tmp_path / "runs")


def test_the_folder_of_a_client_is_no_link(tmp_path: Path) -> None:
    plan = Distributed(configure("sets", out=tmp_path / "plan"), clients=2)
    plan.folder().mkdir()
    write_json(plan.folder() / "plan.json", plan.to_json())
    (tmp_path / "victim").mkdir()
    (plan.folder() / "client-0").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match=r"client-0' is a symbolic link, but must be a folder"):
        proceed(plan.folder(), None)  # type: ignore[arg-type]  # it does not get so far
    assert list((tmp_path / "victim").iterdir()) == []


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


@pytest.mark.catches(
    "An array of objects is unpickled.",
    "reference/contract/files.py",
    "read_array(member, allow_pickle=False)",
    "read_array(member, allow_pickle=True)",
)
def test_a_bad_or_damaged_table_is_refused_and_not_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("table.npz")
    for arrays, words in TABLES:
        np.savez(path, **{**GOOD, **arrays})
        with pytest.raises(InputError, match=words):
            TableSequences.load(path)
        assert [*Path().iterdir()] == [path]
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


def test_a_disk_that_fills_at_the_plot_leaves_a_finished_run(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = reference.contract.files.os.fsync
    (run / "plot.png").unlink()

    def almost_full(descriptor: int) -> None:
        if "plot.png" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        written(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(reference.contract.files.os, "fsync", almost_full)
        _, report = resume(unfinished(run), display=QUIET)
    assert report.learned
    assert {path.name for path in run.iterdir()} == {*SEALED, SEAL}
    shown = capsys.readouterr().err
    assert "training is complete, but not drawn: " in shown
    assert "plot.png' cannot be written (No space left on device): free some space" in shown
    again = re.search(r"draw it later with `pdai (.*)`", shown)
    assert again is not None
    answer(*again[1].split(), cwd=run.parent)
    assert (run.parent / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.catches(
    "A file is written in its place.",
    "reference/contract/files.py",
    "    partial = partial_of(path)\n    with _naming",
    "    partial = path\n    with _naming",
)
def test_errors_of_the_system_name_the_file_and_leave_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"old")
    for number, advice in (
        (errno.ENOSPC, "free some space"),
        (errno.EFBIG, "raise the limit"),
        (errno.EROFS, "copy it to where you can write"),
        (errno.EACCES, "another place"),
        (errno.EIO, "look at what the system says"),
    ):
        refuse = Mock(side_effect=OSError(number, os.strerror(number)))
        monkeypatch.setattr(reference.contract.files.os, "fsync", refuse)
        message = rf"file' cannot be written \({os.strerror(number)}.*{advice}"
        with pytest.raises(InputError, match=message):
            replace_file(tmp_path / "file", b"new")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


def test_a_folder_is_written_down_after_a_file_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        reference.contract.files.os,
        "fsync",
        lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")),
    )
    replace_file(tmp_path / "file", b"new")
    assert [Path(path).name.partition(".")[0] for path in synced] == ["file", tmp_path.name]
    with new_folder(tmp_path / "made", "train"):
        pass
    assert synced[-1] == str(tmp_path)


def test_files_that_are_too_large_or_no_files_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(100 * 2**30)
    with pytest.raises(InputError, match="sparse' has 107,374,182,400 bytes, but at most"):
        read_file(tmp_path / "sparse")
    for path, what in ((Path("/dev/zero"), "a device"), (tmp_path, "a folder")):
        for follow in (False, True):
            with pytest.raises(InputError, match=f"is {what}, which is not read"):
                read_file(path, follow=follow)
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(InputError, match=r"cannot be used \(.*choose a(nother| shorter) name"):
            read_file(tmp_path / name)


def test_a_folder_named_as_what_is_half_done_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.partial").mkdir()
    (tmp_path / "y.partial").symlink_to(tmp_path)
    with alone_in(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == ["x.partial"]


def test_a_folder_may_have_any_name(trained: Path, tmp_path: Path) -> None:
    names = ("a$b", "$\\frac{", "_hidden", "x" * 200, "bell\a", os.fsdecode(b"\xff$"))
    copies = [Path(shutil.copytree(trained / "a", tmp_path / name)) for name in names]
    plot_runs(copies, tmp_path / "drawn.png")
