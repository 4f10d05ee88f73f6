"""A run folder that is not what was written: each edit of each file, and folders of others."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import pdai
from fast.runs.checkpoints import load_checkpoint, save_checkpoint
from fast.runs.folder import load_config
from fast.runs.frozen import load_policy
from fast.runs.job import resume
from fast.runs.records import (
    SEAL,
    SEALED,
    read_json,
    read_metrics,
    read_report,
    seal_run,
    write_json,
)
from fast.runs.setup import set_up
from fast.training.compose import configure, to_json
from pdai.distributed.experiment import proceed
from pdai.distributed.plan import Distributed
from pdai.show.plotting import plot_runs
from pdai.show.progress import QUIET
from reference.contract.errors import InputError
from tests.command_lines import answer, parameters
from tests.fast.readers import ANSWERS, LOADED, LOOKS, unfinished
from tests.made_up_runs import tiny_run


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
    for look in [*LOOKS.values(), lambda run: resume(run, display=QUIET)]:
        with pytest.raises(InputError, match=message):
            look(run)
    for ask in LOADED.values():
        with pytest.raises(InputError, match=message):
            ask(loaded)


def test_control_a_run_that_is_not_edited_is_read(run: Path) -> None:
    for look in LOOKS.values():
        look(run)
    # Its picture can be drawn again at any time, and is not sealed.
    (run / "plot.png").write_bytes(b"another")
    plot_runs([run], run / "plot.png")
    pdai.load(run)


@pytest.mark.parametrize("name", [*SEALED, "plot.png"])
def test_an_unfinished_run_goes_on_and_follows_no_link(name: str, run: Path) -> None:
    path, outside = unfinished(run) / name, run.parent / "outside"
    path.symlink_to(moved_out(path))
    before = outside.read_bytes()
    if name in ("law.npz", "report.json", "plot.png"):
        resume(run, display=QUIET)
        assert not path.is_symlink()
    else:
        with pytest.raises(InputError, match=rf"{name}' is a symbolic link, which is not read"):
            resume(run, display=QUIET)
    assert outside.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", r"config.json was changed since checkpoint.eqx was written"),
        ("meta.json", r"meta.json was changed since checkpoint.eqx was written"),
        ("checkpoint.eqx", r"config.json was changed .*, or one of the two is of another"),
        ("metrics.jsonl", r"metrics.jsonl was changed since checkpoint.eqx was written"),
    ],
)
def test_a_file_of_another_run_in_an_unfinished_one_is_refused_by_name(
    name: str, message: str, run: Path, trained: Path
) -> None:
    # Whoever mixes two runs has two that began at one time, on one machine.
    shutil.copy(trained / "b" / name, unfinished(run) / name)
    looks = ["resume"] if name == "metrics.jsonl" else ["resume", "certify", "sample"]
    for look in looks:
        with pytest.raises(InputError, match=message):
            ANSWERS[look](run)


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


def test_a_file_that_is_no_longer_of_its_kind_is_refused(run: Path, tmp_path: Path) -> None:
    whole = {name: (run / name).read_bytes() for name in ("config.json", "checkpoint.eqx")}
    checkpoint, config = whole["checkpoint.eqx"], read_json(run / "config.json")
    cases = [
        ("config.json", None, "has no config.json"),
        ("config.json", b'{"format": 1', "cannot be read"),
        ("config.json", b"[]", "not a JSON object"),
        ("config.json", b"[" * 100_000, r"cannot be read \(it is nested too deep"),
        (
            "config.json",
            json.dumps({**config, "format": 0}).encode(),
            "made by another version of pdai",
        ),
        ("checkpoint.eqx", None, "has no checkpoint.eqx"),
        ("checkpoint.eqx", checkpoint[:-100], "is damaged"),
        ("checkpoint.eqx", b"\x80\x04pickle", "is not a checkpoint of pdai"),
        (
            "checkpoint.eqx",
            checkpoint.replace(b'"format": 4', b'"format": 9', 1),
            "made by another version of pdai",
        ),
    ]
    unfinished(run)
    for name, content, message in cases:
        (run / name).unlink()
        if content is not None:
            (run / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            pdai.certify(run)
        (run / name).write_bytes(whole[name])
    pdai.certify(run)
    assert "is not finished" in answer("plot", "run", cwd=tmp_path, expect=2).stderr
    (tmp_path / "empty").mkdir()
    refused = answer("certify", "empty", cwd=tmp_path, expect=2).stderr
    assert refused.startswith("pdai: ")
    assert "is not a run folder" in refused


@pytest.mark.parametrize("line", [b"5", b"[]", b'{"foo": 5}', b'{"step": 1, "tv', b"[" * 100_000])
def test_records_end_where_a_line_is_none(line: bytes, trained: Path, tmp_path: Path) -> None:
    records = (trained / "a" / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "metrics.jsonl").write_bytes(b"".join([records[0], line + b"\n", *records[2:]]))
    assert read_metrics(tmp_path) == read_metrics(trained / "a")[:1]


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
    looks = [ANSWERS[name] for name in ("certify", "sample", "resume")]
    for look in [lambda run: load_policy(load_config(run)), *looks]:
        with pytest.raises(
            InputError,
            match=r"sampler in '.*run' has, at step 200, parameters that are no finite numbers",
        ):
            look(run)


def test_a_folder_of_another_command_is_told_from_what_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "plan.json").touch()
    message = r"has no config.json, as it is an experiment of `pdai distribute` or `pdai stream`, "
    for look in (pdai.certify, resume):
        with pytest.raises(InputError, match=message + "whose runs are the folders in it"):
            look(tmp_path)
    (tmp_path / "rounds.json").touch()
    (tmp_path / "plan.json").unlink()
    with pytest.raises(InputError, match="experiment of `pdai train --tv`, whose runs are the"):
        pdai.certify(tmp_path)
    (tmp_path / "posterior.json").touch()
    (tmp_path / "rounds.json").unlink()
    with pytest.raises(
        InputError, match=r"answer of `pdai posterior`, .* `pdai posterior --draws`"
    ):
        pdai.certify(tmp_path)
    with pytest.raises(InputError, match="does not exist, so it is not a run folder of `pdai dist"):
        read_json(tmp_path / "runs" / "plan.json")
    with pytest.raises(InputError, match="not a run folder of `pdai train`: give the folder"):
        resume(tmp_path / "runs")


def test_samplers_and_clients_are_in_the_folder_itself(run: Path, tmp_path: Path) -> None:
    config = configure("sets", loss="log_variance", parts=2, frozen=(Path("../../b"),))
    write_json(unfinished(run) / "config.json", to_json(config))
    with pytest.raises(InputError, match=r"asks samplers in \['\.\./\.\./b'\], but those .* own"):
        pdai.certify(run)
    plan = Distributed(configure("sets", out=tmp_path / "plan"), clients=2)
    plan.folder().mkdir()
    write_json(plan.folder() / "plan.json", plan.to_json())
    (tmp_path / "victim").mkdir()
    (plan.folder() / "client-0").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match=r"client-0' is a symbolic link, but must be a folder"):
        proceed(plan.folder(), None)  # type: ignore[arg-type]  # it does not get so far
    assert list((tmp_path / "victim").iterdir()) == []


def test_looking_at_a_run_imports_no_module_that_it_names(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    config = read_json(run / "config.json")
    own = ("length", "step", "target", "target_seed", "peaks", "encoding")
    config = {name: value for name, value in config.items() if name not in own}
    write_json(
        run / "config.json", config | {"task": "custom", "problem": "evil:P", "environment": ""}
    )
    # As its author may: a stranger can seal what he likes.
    seal_run(run)
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\nP = 1\n")
    answer("plot", "run", cwd=tmp_path)
    assert not (tmp_path / "ran").exists()
    # What needs the problem does import it.
    answer("certify", "run", cwd=tmp_path, expect=2)
    assert (tmp_path / "ran").exists()
    monkeypatch.delitem(sys.modules, "evil")
