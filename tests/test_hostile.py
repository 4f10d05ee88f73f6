"""Run folders as strangers, damage and full disks leave them: refused by name, nothing outside."""

import errno
import json
import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import fast.runs.display
import reference.files
import reference.problems.base
from fast.runs.audit import audit
from fast.runs.checkpoints import load_checkpoint, save_checkpoint
from fast.runs.display import slow
from fast.runs.files import alone_in, new_folder
from fast.runs.folder import FILES, load_config
from fast.runs.frozen import load_policy
from fast.runs.job import draw_samples, resume, train
from fast.runs.loop import DivergedError, Schedule, advance_to_end
from fast.runs.records import load_law, read_json, read_metrics, read_report, write_json
from fast.runs.setup import set_up
from fast.runs.sizes import check_states
from fast.training.compose import configure, to_json
from fast.training.config import TrainConfig
from pdai.cli import main
from pdai.distributed.experiment import proceed
from pdai.distributed.plan import Distributed
from pdai.plotting import plot_runs
from pdai.progress import QUIET
from reference import TooLargeError, enumerate_dag
from reference.errors import InputError
from reference.files import append_to_file, load_arrays, read_file, replace_file
from reference.problems import Grid


def tiny(out: Path, **options: Any) -> TrainConfig:
    small = {"length": 4, "parameters": 500, "batch": 8, "steps": 200, "evaluations": 1}
    return configure(
        "lines", dynamics="markov", checkpoint_every=100, **{**small, **options}, out=out
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs, `a` and `b`, that differ in their seeds."""
    folder = tmp_path_factory.mktemp("trained")
    for seed, name in enumerate("ab"):
        train(tiny(folder / name, seed=seed), display=QUIET)
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the run `a`, to be changed."""
    return Path(shutil.copytree(trained / "a", tmp_path / "run"))


def unfinished(run: Path) -> Path:
    (run / "report.json").unlink()
    return run


LOOKS: dict[str, Callable[[Path], Any]] = {
    "resume": lambda run: resume(unfinished(run), display=QUIET),
    "audit": audit,
    "sample": lambda run: draw_samples(run, 2, 0),
    "plot": lambda run: plot_runs([run], run.parent / "drawn.png"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_refused_at_once_and_nothing_outside_is_touched(
    name: str, kind: str, run: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes((run / name).read_bytes())
    before = outside.read_bytes()
    (run / name).unlink()
    if kind == "link":
        (run / name).symlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).mkdir()
    for look in ("audit", "sample", "plot"):
        with pytest.raises(InputError, match=rf"run/{name}' is a .*, but must be a file"):
            LOOKS[look](run)
    if name != "report.json":
        with pytest.raises(InputError, match=rf"run/{name}' is a .*, but must be a file"):
            LOOKS["resume"](run)
    assert outside.read_bytes() == before


def test_control_a_file_that_is_written_in_place_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "link").write_text("theirs")
    assert (tmp_path / "outside").read_text() == "theirs"
    # Replaced by renaming, it is not followed.
    replace_file(tmp_path / "link", b"again")
    assert (tmp_path / "outside").read_text() == "theirs"
    assert (tmp_path / "link").read_text() == "again"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("place", ["folder", "pipe"])
def test_an_output_takes_the_place_of_no_pipe_device_or_folder(place: str, tmp_path: Path) -> None:
    path = tmp_path / place
    path.mkdir() if place == "folder" else os.mkfifo(path)
    for name, end in (("link", path), ("device", os.devnull)):
        (tmp_path / name).symlink_to(end)
    for taken in (path, tmp_path / "link", tmp_path / "device"):
        mode = taken.lstat().st_mode
        for write in (replace_file, lambda path, content: append_to_file(path, str(content))):
            with pytest.raises(InputError, match="which is not written to: name a file"):
                write(taken, b"new")
        assert taken.lstat().st_mode == mode


def test_samplers_and_clients_are_in_the_folder_itself(run: Path, tmp_path: Path) -> None:
    (run / "frozen").symlink_to(tmp_path)
    with pytest.raises(InputError, match=r"run/frozen' is a symbolic link, but must be a folder"):
        audit(run)
    (run / "frozen").unlink()
    (run / "frozen").mkdir()
    (run / "frozen" / "0").symlink_to(tmp_path)
    with pytest.raises(InputError, match=r"frozen/0' is a symbolic link"):
        audit(run)
    shutil.rmtree(run / "frozen")
    config = configure("sets", loss="log_variance", parts=2, frozen=(Path("../../b"),))
    write_json(run / "config.json", to_json(config))
    with pytest.raises(InputError, match=r"asks samplers in \['\.\./\.\./b'\], but those .* own"):
        audit(run)
    plan = Distributed(configure("sets", out=tmp_path / "plan"), clients=2)
    plan.folder().mkdir()
    write_json(plan.folder() / "plan.json", plan.to_json())
    (tmp_path / "victim").mkdir()
    (plan.folder() / "client-0").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match=r"client-0' is a symbolic link, but must be a folder"):
        proceed(plan.folder(), None)  # type: ignore[arg-type]  # it does not get so far
    assert list((tmp_path / "victim").iterdir()) == []


def test_a_flipped_bit_is_refused_or_changes_nothing(run: Path) -> None:
    for name, every in (("config.json", 13), ("meta.json", 31), ("report.json", 31)):
        path = run / name
        good, meant = path.read_bytes(), read_json(path)
        refused = 0
        for bit in range(0, 8 * len(good), every):
            flipped = bytearray(good)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            try:
                assert read_json(path) == meant
            except InputError:
                refused += 1
        # White space, and the case of an escape, say nothing.
        assert refused > 0.7 * 8 * len(good) / every
        path.write_bytes(good)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", r"config.json was changed since checkpoint.eqx was written"),
        ("meta.json", r"meta.json was changed since checkpoint.eqx was written"),
        ("checkpoint.eqx", r"checkpoint.eqx is of another run than config.json and meta.json"),
        ("metrics.jsonl", r"metrics.jsonl was changed since checkpoint.eqx was written"),
    ],
)
def test_a_file_of_another_run_is_refused_by_name(
    name: str, message: str, run: Path, trained: Path
) -> None:
    # Whoever mixes two runs has two that began at one time, on one machine.
    shutil.copy(trained / "b" / name, run / name)
    with pytest.raises(InputError, match=message):
        LOOKS["resume"](run)
    looks = ["plot"] if name == "metrics.jsonl" else ["audit", "sample"]
    for look in looks:
        with pytest.raises(InputError, match=message):
            LOOKS[look](run)


def test_figures_and_laws_of_another_run_are_refused(run: Path, trained: Path) -> None:
    shutil.copy(trained / "b" / "report.json", run / "report.json")
    with pytest.raises(InputError, match=r"report.json is of another run than checkpoint.eqx"):
        read_report(run)
    shutil.copy(trained / "b" / "law.npz", run / "law.npz")
    with pytest.raises(InputError, match=r"no readable law.npz \(it is of another run"):
        load_law(run)


def test_lost_records_are_refused_or_said(
    run: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    (run / "report.json").unlink()
    with pytest.raises(InputError, match=r"has lost some of its .* or remove it, to go on without"):
        resume(run, display=QUIET)
    path.unlink()
    resume(run, display=QUIET)
    assert "the records until step 200 are lost" in capsys.readouterr().err
    assert read_metrics(run) == []
    # The parameters are what they were.
    first, second = (
        (folder / "checkpoint.eqx").read_bytes().partition(b"\n")[2]
        for folder in (run, trained / "a")
    )
    assert first == second


def spoilt(run: Path, value: float) -> None:
    """Puts a parameter that is no number into the checkpoint of a run, with a right checksum."""
    state, _ = load_checkpoint(run, set_up(tiny(run)).initial)
    leaves, structure = jax.tree.flatten(state.sampler)
    leaves[0] = leaves[0].at[(0,) * leaves[0].ndim].set(value)
    state = state._replace(sampler=jax.tree.unflatten(structure, leaves))
    save_checkpoint(run, state, 0.0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_parameters_that_are_no_numbers_are_refused_by_every_command(
    value: float, run: Path
) -> None:
    spoilt(run, value)
    looks: list[Callable[[Path], Any]] = [LOOKS[name] for name in ("audit", "sample", "resume")]
    for look in [lambda run: load_policy(run, load_config(run)), *looks]:
        with pytest.raises(
            InputError,
            match=r"sampler in '.*run' has, at step 200, parameters that are no finite numbers",
        ):
            look(run)


class Counted(NamedTuple):
    """A state of training that only counts, and of which one parameter goes bad."""

    step: Any
    sampler: Any = np.zeros((2, 1))


class Nothing(NamedTuple):
    """What its steps report."""

    loss: Any = np.ones((2, 100))
    log_z: Any = np.ones((2, 100))


def test_a_step_that_spoils_parameters_stops_the_run_before_the_checkpoint(tmp_path: Path) -> None:
    def advance(state: Counted, steps: int) -> tuple[Counted, Nothing]:
        step = state.step + steps
        return Counted(step, np.where(step >= 200, [[0.0], [np.nan]], 0.0)), Nothing()

    start, schedule = Counted(np.zeros(1, int)), Schedule(300, 7, 1, 100)
    with pytest.raises(DivergedError, match=r"of seed 8 became no finite numbers by step 200; the"):
        advance_to_end(tmp_path, schedule, advance, start, 0.0, lambda *_: {})
    header = json.loads((tmp_path / "checkpoint.eqx").read_bytes().partition(b"\n")[0])
    assert header["step"] == 100


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_fills_at_the_plot_leaves_a_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = reference.files.os.fsync

    def almost_full(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        full() if "plot.png" in path else written(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(reference.files.os, "fsync", almost_full)
        _, report = train(tiny(tmp_path / "run", steps=100), display=QUIET)
    assert {path.name for path in (tmp_path / "run").iterdir()} == set(FILES) - {"plot.png"}
    told = capsys.readouterr().err
    assert "training is complete, but not drawn: " in told
    assert "plot.png' cannot be written (No space left on device): free some space" in told
    again = re.search(r"draw it later with `pdai (.*)`", told)
    assert again is not None
    monkeypatch.chdir(tmp_path)
    main(again[1].split())
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert report.learned


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
    monkeypatch.setattr(reference.files.os, "fsync", refuse)
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
        reference.files.os,
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
    monkeypatch.setattr(reference.files, "memory_of_machine", lambda: 2**26)
    with pytest.raises(ValueError, match="'x' would have 16,777,"):
        load_arrays(bomb, "x")


def test_a_folder_named_as_what_is_half_done_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.partial").mkdir()
    (tmp_path / "y.partial").symlink_to(tmp_path)
    with alone_in(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == ["x.partial"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"batch": 10**12}, r"batches of 1000000000000 trajectories .* take at least .* GiB"),
        ({"batch": 10**20}, r"batch is 1000\d+, but must be below 2\^53"),
        ({"replay": "uniform", "replay_capacity": 10**12}, r"a replay buffer of .* GiB"),
        ({"seeds": 10**8}, r"for each of 100000000 seeds, take at least"),
        ({"hidden_layers": 10**6}, "hidden_layers is 1000000, but must lie from 0 to 100"),
        ({"dynamics": "gru", "latent_size": 10**7}, "100000000000000 parameters, take at least"),
        ({"parameters": 10**13}, "10000000000000 parameters, take at least"),
    ],
    ids=str,
)
def test_sizes_are_refused_before_work_begins(
    options: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        train(configure("grid", side=4, **options, out=tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []


def test_states_that_memory_does_not_hold_are_not_enumerated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_states(10**12, 2_000_000)
    with pytest.raises(InputError, match="which --max-states lets be enumerated, take at least"):
        check_states(10**12, 10**12)
    monkeypatch.setattr(reference.problems.base, "memory_of_machine", lambda: 200 * 15)
    with pytest.raises(TooLargeError, match="more than 15 states"):
        enumerate_dag(Grid(), 10**9)


def test_what_takes_long_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with slow("thinking"):
        pass
    monkeypatch.setattr(fast.runs.display, "LONG", 0.01)
    with slow("counting"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "counting ...\n"


def test_a_folder_may_have_any_name(run: Path, tmp_path: Path) -> None:
    for name in ("a$b", "$\\frac{", "_hidden", "x" * 200, "bell\a", os.fsdecode(b"\xff$")):
        other = run.rename(tmp_path / name)
        plot_runs([other, other], tmp_path / "drawn.png")
        run = other
