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
from typing import Any

import jax
import numpy as np
import pytest

import fast.runs.display
import pdai
import reference.files
import reference.problems.base
from fast.runs.audit import audit
from fast.runs.checkpoints import load_checkpoint, save_checkpoint
from fast.runs.display import slow
from fast.runs.files import alone_in, new_folder
from fast.runs.folder import load_config
from fast.runs.frozen import load_policy
from fast.runs.job import resume, train
from fast.runs.loop import DivergedError, Loop
from fast.runs.records import SEAL, SEALED, read_metrics, read_report, write_json
from fast.runs.setup import set_up
from fast.runs.sizes import check_states
from fast.training.compose import configure, to_json
from fast.training.state import TrainState
from pdai.cli import main
from pdai.distributed.experiment import proceed
from pdai.distributed.plan import Distributed
from pdai.run import Run
from pdai.show.plotting import plot_runs
from pdai.show.progress import QUIET
from reference.errors import InputError
from reference.files import load_arrays, read_file, replace_file
from tests.command_lines import parameters
from tests.made_up_runs import Nothing, counted, tiny_run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs, `a` and `b`, that differ in their seeds."""
    folder = tmp_path_factory.mktemp("trained")
    for seed, name in enumerate("ab"):
        train(tiny_run(folder / name, seed=seed), display=QUIET)
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the run `a`, to be changed."""
    return Path(shutil.copytree(trained / "a", tmp_path / "run"))


def unfinished(run: Path) -> Path:
    (run / SEAL).unlink()
    return run


LOOKS: dict[str, Callable[[Path], Any]] = {
    "audit": audit,
    "certify": pdai.certify,
    "sample": lambda run: Run(run).sample(2),
    "plot": lambda run: plot_runs([run], run.parent / "drawn.png"),
    "page": lambda run: pdai.report(run, run.parent / "page.html", seconds=None),
    "load": pdai.load,
    "resume": lambda run: resume(run, display=QUIET),
}
# What a run answers that was loaded before.
ANSWERS: dict[str, Callable[[pdai.Run], Any]] = {
    "law": lambda run: run.law(),
    "report": lambda run: run.report,
    "log_prob": lambda run: run.log_prob(["q0"]),
    "metrics": lambda run: run.metrics(),
}


def turned(path: Path) -> None:
    """A small edit that leaves the file readable: laws turned around, another digit in a text."""
    if path.suffix == ".npz":
        arrays = dict(np.load(path))
        np.savez(path, **{**arrays, "learned": arrays["learned"][:, ::-1]})
    else:
        data = bytearray(path.read_bytes())
        place = max(number for number, byte in enumerate(data[:2000]) if chr(byte).isdigit())
        data[place] ^= 1
        path.write_bytes(data)


def moved_out(path: Path) -> Path:
    return path.rename(path.parent.parent / "outside")


EDITS: dict[str, Callable[[Path, Path], Any]] = {
    "edited": lambda path, _: turned(path),
    "of another run": lambda path, other: shutil.copy(other / path.name, path),
    "missing": lambda path, _: path.unlink(),
    "a link": lambda path, _: path.symlink_to(moved_out(path)),
    "a pipe": lambda path, _: (path.unlink(), os.mkfifo(path)),
    "a folder": lambda path, _: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("name", SEALED)
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_any_file_of_a_finished_run_is_refused_by_name_wherever_it_is_read(
    name: str, edit: str, run: Path, trained: Path
) -> None:
    loaded = pdai.load(run)
    EDITS[edit](run / name, trained / "b")
    message = rf"run/{name}'? (was changed|is missing|is a .*, which is not read)"
    for look in LOOKS.values():
        with pytest.raises(InputError, match=message):
            look(run)
    for answer in ANSWERS.values():
        with pytest.raises(InputError, match=message):
            answer(loaded)


def test_control_a_run_that_is_not_edited_is_read(run: Path) -> None:
    for name in LOOKS.keys() - {"resume"}:
        LOOKS[name](run)
    # Its picture can be drawn again at any time, and is not sealed.
    (run / "plot.png").write_bytes(b"another")
    plot_runs([run], run / "plot.png")
    for answer in ANSWERS.values():
        answer(pdai.load(run))


@pytest.mark.parametrize("name", [*SEALED, "plot.png"])
def test_an_unfinished_run_goes_on_and_follows_no_link(name: str, run: Path) -> None:
    path, outside = unfinished(run) / name, run.parent / "outside"
    path.symlink_to(moved_out(path))
    before = outside.read_bytes()
    if name in ("law.npz", "plot.png"):
        resume(run, display=QUIET)
        assert not path.is_symlink()
    else:
        with pytest.raises(InputError, match=rf"{name}' is a symbolic link, which is not read"):
            resume(run, display=QUIET)
    assert outside.read_bytes() == before


@pytest.mark.parametrize("lost", [["plot.png"], [SEAL, "plot.png"], [SEAL, "report.json"]])
def test_what_a_kill_left_out_at_the_end_is_made_by_resuming(
    lost: list[str], run: Path, trained: Path
) -> None:
    for name in lost:
        (run / name).unlink()
    if SEAL in lost:
        with pytest.raises(InputError, match=r"not finished: continue it with `pdai train --resu"):
            read_report(run)
    _, report = resume(run, display=QUIET)
    assert report == pdai.load(trained / "a").report
    for name in ("report.json", "plot.png"):
        assert (run / name).read_bytes() == (trained / "a" / name).read_bytes()


def test_a_run_of_before_there_were_seals_is_read(tmp_path: Path, trained: Path) -> None:
    old = tmp_path / "old"
    shutil.unpack_archive(Path(__file__).parents[1] / "run_of_0_2_0.zip", old)
    for name in LOOKS.keys() - {"resume"}:
        LOOKS[name](old)
    run = pdai.load(old)
    assert run.report.learned[0].tv.mean == pytest.approx(float(audit(old).tv))
    assert [len(answer(run)) for answer in (ANSWERS["law"], ANSWERS["metrics"])] == [3, 2]
    resume(old, display=QUIET)
    assert (old / "plot.png").exists()
    # What it says of itself is still compared.
    report = json.loads((old / "report.json").read_text())
    (old / "report.json").write_text(json.dumps({**report, "log_z": 0.5}))
    with pytest.raises(InputError, match=r"report.json was changed"):
        read_report(old)
    shutil.copy(trained / "b" / "meta.json", old / "meta.json")
    with pytest.raises(InputError, match=r"meta.json was changed since checkpoint.eqx"):
        audit(old)


def test_samplers_and_clients_are_in_the_folder_itself(run: Path, tmp_path: Path) -> None:
    config = configure("sets", loss="log_variance", parts=2, frozen=(Path("../../b"),))
    write_json(unfinished(run) / "config.json", to_json(config))
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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", r"config.json was changed since checkpoint.eqx was written"),
        ("meta.json", r"meta.json was changed since checkpoint.eqx was written"),
        (
            "checkpoint.eqx",
            r"config.json was changed .*, or one of the two is of another",
        ),
        ("metrics.jsonl", r"metrics.jsonl was changed since checkpoint.eqx was written"),
    ],
)
def test_a_file_of_another_run_in_an_unfinished_one_is_refused_by_name(
    name: str, message: str, run: Path, trained: Path
) -> None:
    # Whoever mixes two runs has two that began at one time, on one machine.
    shutil.copy(trained / "b" / name, unfinished(run) / name)
    looks = ["resume"] if name == "metrics.jsonl" else ["resume", "audit", "sample"]
    for look in looks:
        with pytest.raises(InputError, match=message):
            LOOKS[look](run)


def test_lost_records_are_refused_or_said(
    run: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    unfinished(run)
    with pytest.raises(InputError, match=r"has lost some of its .* or remove it, to go on without"):
        resume(run, display=QUIET)
    path.unlink()
    resume(run, display=QUIET)
    assert "the records until step 200 are lost" in capsys.readouterr().err
    assert read_metrics(run) == []
    # The parameters are what they were.
    assert parameters(run) == parameters(trained / "a")


def spoilt(run: Path, value: float) -> None:
    """Puts a parameter that is no number into the checkpoint of a run, with a right checksum."""
    state, _ = load_checkpoint(unfinished(run), set_up(tiny_run(run)).initial)
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
    for look in [lambda run: load_policy(load_config(run)), *looks]:
        with pytest.raises(
            InputError,
            match=r"sampler in '.*run' has, at step 200, parameters that are no finite numbers",
        ):
            look(run)


def test_a_step_that_spoils_parameters_stops_the_run_before_the_checkpoint(tmp_path: Path) -> None:
    def advance(state: TrainState, steps: int) -> tuple[TrainState, Nothing]:
        step = state.step + steps
        both = np.ones((2, 100))
        return counted(step, np.where(step >= 200, [[0.0], [np.nan]], 0.0)), Nothing(both, both)

    start, config = counted(np.zeros(1, int)), tiny_run(tmp_path, steps=300, seed=7, seeds=2)
    with pytest.raises(
        DivergedError,
        match=r"of seed 8 became no finite numbers by step 200: .*the checkpoint of step 100",
    ):
        Loop(tmp_path, config, advance, start, 0.0, lambda *_: {}).run()
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
        _, report = train(tiny_run(tmp_path / "run", steps=100), display=QUIET)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {*SEALED, SEAL}
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


def test_states_that_memory_does_not_hold_are_not_enumerated() -> None:
    check_states(10**12, 2_000_000)
    with pytest.raises(InputError, match="which --max-states lets be enumerated, take at least"):
        check_states(10**12, 10**12)


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
