"""Files and folders on disks that are full, of others, or named by anybody."""

import errno
import os
import re
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

import fast.runs.display
import reference.contract.files
from fast.runs.display import slow
from fast.runs.files import alone_in, new_folder
from fast.runs.job import resume
from fast.runs.records import SEAL, SEALED
from pdai.show.plotting import plot_runs
from pdai.show.progress import QUIET
from reference.contract.errors import InputError
from reference.contract.files import load_arrays, read_file, replace_file
from tests.command_lines import answer
from tests.fast.readers import unfinished


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_fills_at_the_plot_leaves_a_finished_run(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = reference.contract.files.os.fsync
    (run / "plot.png").unlink()

    def almost_full(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        full() if "plot.png" in path else written(descriptor)

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


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EFBIG, "raise the limit"),
        (errno.EROFS, "copy it to where you can write"),
        (errno.EACCES, "another place"),
        (errno.EIO, "look at what the system says"),
    ],
)
def test_errors_of_the_system_name_the_file_and_what_to_do(
    number: int, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(reference.contract.files.os, "fsync", refuse)
    with pytest.raises(
        InputError, match=rf"file' cannot be written \({os.strerror(number)}.*{advice}"
    ):
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


def test_archives_that_claim_more_than_they_hold_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def archive(shape: str, data: bytes) -> Path:
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        npy = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data
        with zipfile.ZipFile(tmp_path / "law.npz", "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("x.npy", npy)
        return tmp_path / "law.npz"

    assert load_arrays(archive("(2,)", bytes(16)), "x")[0].tolist() == [0, 0]
    for shape in ("(1_342_177_280,)", "(10**9,)", "(-2,)", "(2, 2)", "(2,", "None"):
        with pytest.raises(ValueError, match=r"EOF|malformed|multi-line|Header|not valid|negative"):
            load_arrays(archive(shape, bytes(16)), "x")
    bomb = archive("(2,)", bytes(16) + bytes(2**24))
    assert bomb.stat().st_size < 2**15
    monkeypatch.setattr(reference.contract.files, "memory_of_machine", lambda: 2**26)
    with pytest.raises(ValueError, match="'x' would have 16,777,"):
        load_arrays(bomb, "x")


def test_a_folder_named_as_what_is_half_done_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.partial").mkdir()
    (tmp_path / "y.partial").symlink_to(tmp_path)
    with alone_in(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == ["x.partial"]


def test_what_takes_long_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with slow("thinking"):
        pass
    monkeypatch.setattr(fast.runs.display, "LONG", 0.01)
    with slow("counting"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "counting ...\n"


def test_a_folder_may_have_any_name(trained: Path, tmp_path: Path) -> None:
    names = ("a$b", "$\\frac{", "_hidden", "x" * 200, "bell\a", os.fsdecode(b"\xff$"))
    copies = [Path(shutil.copytree(trained / "a", tmp_path / name)) for name in names]
    plot_runs(copies, tmp_path / "drawn.png")
