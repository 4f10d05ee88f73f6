"""Runs on disk: killed, resumed, damaged, foreign; and the command line end to end."""

import errno
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fast.runs.job
import fast.runs.loop
from fast.laws.samples import Samples
from fast.runs.audit import audit
from fast.runs.display import SILENT
from fast.runs.files import alone_in
from fast.runs.job import complete, resume, train
from fast.runs.loop import Loop
from fast.runs.meter import Meter
from fast.runs.records import load_law, read_json, read_metrics, seal_run, write_json
from fast.training.state import TrainState
from pdai import cli as pdai_cli
from pdai.certifying.certify import certify
from pdai.cli import main
from pdai.commands.look import Inspect
from pdai.loading import load
from pdai.run import Run
from pdai.show.tables import audit_table
from reference import InputError
from tests.command_lines import answer, command, environment, parameters
from tests.made_up_runs import Nothing, counted, tiny_run

SMALL = ["lines", "--length", "6", "--dynamics", "gru", "--parameters", "5000", "--batch", "32"]
SMALL += ["--steps", "400", "--checkpoint-every", "100", "--evaluations", "2"]


def pdai(*arguments: str, cwd: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(
        command(*arguments), cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )
    assert result.returncode == expect, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run, `runs/lines-gru-0`."""
    folder = tmp_path_factory.mktemp("finished")
    result = pdai("train", *SMALL, cwd=folder)
    assert "TV to the target (exact)" in result.stdout
    assert "untrained (uniform)" in result.stdout
    # Between two measurements the last is shown with the step it is of.
    assert re.search(r"step 300 .* TV 0\.\d{4} \(step 200\)", result.stderr)
    assert re.search(r"step 400 .* TV 0\.\d{4}  \d+ s", result.stderr)
    return folder


def test_a_run_leaves_its_folder_complete(finished: Path) -> None:
    run = finished / "runs" / "lines-gru-0"
    names = {path.name for path in run.iterdir()}
    assert names == {
        "checkpoint.eqx", "config.json", "law.npz", "meta.json", "metrics.jsonl", "plot.png",
        "report.json", "seal.json",
    }  # fmt: skip
    meta = json.loads((run / "meta.json").read_text())
    assert meta["versions"]["jax"]
    assert meta["seeds"] == [0]
    steps = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert steps == [0, 100, 200, 300, 400]
    assert (run / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_the_audit_agrees_with_the_table_of_the_run(finished: Path) -> None:
    run = finished / "runs" / "lines-gru-0"
    output = answer("audit", str(run), cwd=finished).stdout
    assert "exact rationals" in output
    found = re.search(r"TV\(p_T, target\)\D+([0-9.]+) \(exact\)", output)
    assert found is not None
    report = json.loads((run / "report.json").read_text())
    # One is a rational, the other a float64 sum over the same float64 network.
    assert float(found[1]) == pytest.approx(report["learned"][0]["tv"]["mean"], abs=1e-9)
    with np.load(run / "law.npz") as law:
        assert np.abs(law["learned"][0] - law["target"]).sum() / 2 == pytest.approx(float(found[1]))
        assert law["labels"].tolist() == [f"q{i}" for i in range(7)]
    assert report["kinds"]["tv"] == "float64"
    assert re.search(r"KL\(p_T \|\| target\), nats\D+[0-9.e-]+ \(float64\)", output)
    assert re.search(r"sum of p_T\D+1 ", output)
    assert "1 to 1" in output


def test_a_run_is_certified_and_corrected_by_rejection(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finished / "runs" / "lines-gru-0"
    exact = certify(run)
    assert exact.regime == "E"
    assert exact.tv is not None
    assert float(exact.tv) == pytest.approx(float(audit(run).tv), abs=1e-12)
    found = certify(run, regime="Z", samples=4_096)
    # Each end of `lines` has several trajectories, whose TV is at least that of the ends.
    assert exact.tv <= found.interval.high
    assert found.interval.low <= found.interval.high < 0.5
    main(["sample", str(run), "--exact", "--count", "30"])
    printed = capsys.readouterr()
    assert all(re.fullmatch(r"q[0-6]\t-?\d+\.\d{6}", line) for line in printed.out.splitlines())
    assert len(printed.out.splitlines()) == 30
    assert "of all trajectories are kept" in printed.err
    with pytest.raises(InputError, match="of is 7, but the run"):
        certify(run, of=7)
    with pytest.raises(InputError, match="has a problem of its own"):
        certify(run, "reference.problems:Grid.minimal")


def test_samples_are_states_with_their_rewards(finished: Path) -> None:
    run = str(finished / "runs" / "lines-gru-0")
    lines = answer("sample", run, "--count", "50", cwd=finished).stdout.splitlines()
    assert len(lines) == 50
    assert all(re.fullmatch(r"q[0-6]\t-?\d+\.\d{6}", line) for line in lines)
    assert answer("sample", run, "--count", "50", cwd=finished).stdout.splitlines() == lines
    for seed in (-1, 2**31, 2**64):
        with pytest.raises(InputError, match=f"seed is {seed} .* must be at least 0 and below"):
            Run(Path(run)).sample(1, seed=seed)


def test_a_sample_is_one_line_of_two_columns_whatever_its_state(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    states = ["a\tb", "c\nd", "e\\tf", "π g"]
    monkeypatch.setattr(Run, "sample", lambda *_, **__: Samples(states, *[np.full(4, 0.5)] * 3))
    main(["sample", str(finished / "runs" / "lines-gru-0")])
    rows = [line.split("\t") for line in capsys.readouterr().out.split("\n")[:-1]]
    assert rows == [[x, "0.500000"] for x in (r"a\tb", r"c\nd", r"e\\tf", "π g")]


def test_looking_at_an_unfinished_run_says_where_it_stands(
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole, cut = finished / "runs" / "lines-gru-0", tmp_path / "cut"
    measured = Meter.now

    def until(meter: Meter, state: Any, step: int) -> Any:
        return killed() if step == 200 else measured(meter, state, step)

    with monkeypatch.context() as patched:
        patched.setattr(Meter, "now", until)
        with pytest.raises(SystemExit):
            train(tiny_run(cut))
    capsys.readouterr()
    for run, said in ((whole, ""), (cut, "step 100 of 200, unfinished")):
        found = audit(run)
        assert found.unfinished == said
        assert str(audit_table(found).title).endswith(said or "exact rationals")
        Run(run).sample(1)
        assert capsys.readouterr().err == (said and f"the run {str(run)!r} is at {said}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_device_is_told_in_one_line(finished: Path) -> None:
    run = str(finished / "runs" / "lines-gru-0")
    for arguments in (["inspect", "reference.problems:Grid"], ["sample", run, "--count", "2000"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                command(*arguments),
                env=environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert done.returncode == 1
        assert re.fullmatch(
            r"pdai: 'stdout' cannot be written \(No space left on device\): .*\n", done.stderr
        )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.EIO, "bad"), "'stdout' cannot be written (bad): look at what"),
        (OSError(errno.ENOSPC, "full", "runs/a"), "'runs/a' cannot be used (full): free some"),
        (OSError(errno.ENAMETOOLONG, "long", "x" * 999), "(long): choose a shorter name"),
        (OSError(errno.EFBIG, "large", "a"), "(large): files may be no larger: raise the limit"),
    ],
    ids=str,
)
def test_errors_of_the_system_are_told_in_one_line(
    error: OSError,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_: Inspect) -> None:
        raise error

    monkeypatch.setattr(Inspect, "run", fail)
    monkeypatch.setattr(pdai_cli, "_abandon_stdout", lambda: None)
    with pytest.raises(SystemExit) as ended:
        main(["inspect", "reference.problems:Grid"])
    assert ended.value.code == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert told in lines[0]
    assert len(lines[0]) < 500


def test_ctrl_c_ends_a_command_also_where_python_swallows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Swallowing:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def swallow(_: Inspect) -> None:
        Swallowing()

    monkeypatch.setattr(Inspect, "run", swallow)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        main(["inspect", "reference.problems:Grid"])
    assert ended.value.code == 130


def test_ctrl_c_while_modules_load_ends_without_a_traceback() -> None:
    interrupted = """
import sys, signal
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from pdai import cli as pdai_cli
from pdai.cli import main
main(["inspect", "reference.problems:Grid.minimal"])
"""
    for module in ("reference", "fast.training", "tyro", "pdai.commands.look"):
        done = subprocess.run(
            [sys.executable, "-c", interrupted, module],
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_programs_are_kept_where_there_is_a_place_for_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for given, folder in (
        (str(tmp_path / "cache"), tmp_path / "cache" / "pdai"),
        ("", tmp_path / ".cache" / "pdai"),
        ("relative", tmp_path / ".cache" / "pdai"),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert pdai_cli.cache_folder() == folder
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert pdai_cli.cache_folder() is None

    def warn(_: Inspect) -> None:
        for name in ("jit_f", "jit_g"):
            warnings.warn(f"Error reading persistent compilation cache entry {name}", stacklevel=1)

    monkeypatch.setattr(Inspect, "run", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        main(["inspect", "reference.problems:Grid"])
    assert capsys.readouterr().err.count("cannot be read or written") == 1


def test_a_working_directory_that_was_removed_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = (
        f"import os; os.chdir({str(tmp_path / 'gone')!r}); os.rmdir(os.getcwd()); "
        "from pdai.cli import main; main(['inspect', 'reference.problems:Grid.minimal'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "pdai: the working directory was removed: change to a folder that exists\n"
    )


def test_plots_are_redrawn_from_saved_runs(finished: Path) -> None:
    run = str(finished / "runs" / "lines-gru-0")
    answer("plot", run, run, "--out", "both.pdf", cwd=finished)
    assert (finished / "both.pdf").read_bytes().startswith(b"%PDF")


def test_a_second_run_overwrites_nothing(finished: Path) -> None:
    run = finished / "runs" / "lines-gru-0"
    before = {path: path.read_bytes() for path in run.iterdir()}
    result = answer("train", *SMALL, cwd=finished, expect=2)
    assert "nothing is overwritten" in result.stderr
    assert (
        "is finished (400 steps)"
        in answer("train", "--resume", str(run), cwd=finished, expect=2).stderr
    )
    assert {path: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGKILL, id="kill -9"),
        pytest.param(signal.SIGINT, id="Ctrl-C", marks=pytest.mark.long),
    ],
)
def test_a_killed_run_resumes_to_bit_identical_parameters(
    finished: Path, tmp_path: Path, how: signal.Signals
) -> None:
    run = tmp_path / "runs" / "lines-gru-0"
    with subprocess.Popen(
        command("train", *SMALL), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        metrics = run / "metrics.jsonl"
        deadline = time.monotonic() + 120
        while not (metrics.is_file() and '"step": 200' in metrics.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(how)
        _, errors = process.communicate()
    assert process.returncode == (-9 if how == signal.SIGKILL else 130)
    if how == signal.SIGINT:
        assert "stopping when this block of steps is done" in errors
        assert "continue with: pdai train --resume" in errors
    assert not (run / "seal.json").exists()
    header = json.loads((run / "checkpoint.eqx").read_bytes().partition(b"\n")[0])
    assert 100 <= header["step"] < 400
    answer("train", "--resume", str(run), cwd=tmp_path)
    uninterrupted = finished / "runs" / "lines-gru-0"
    assert parameters(run) == parameters(uninterrupted)

    def records(folder: Path) -> list[dict[str, object]]:
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        # Wall time differs; everything else is the same, in the same order.
        return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]

    assert records(run) == records(uninterrupted)


def test_damaged_and_foreign_run_folders_are_refused(finished: Path, tmp_path: Path) -> None:
    original = finished / "runs" / "lines-gru-0"

    def broken(name: str, content: bytes | None) -> str:
        copy = tmp_path / f"copy-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(original, copy)
        (copy / "seal.json").unlink()
        (copy / name).unlink()
        if content is not None:
            (copy / name).write_bytes(content)
        return str(copy)

    checkpoint = (original / "checkpoint.eqx").read_bytes()
    header, _, payload = checkpoint.partition(b"\n")
    config = read_json(original / "config.json")
    future = header.replace(b'"format": 4', b'"format": 9') + b"\n" + payload

    cases = [
        (str(tmp_path), "is not a run folder"),
        (broken("config.json", None), "has no config.json"),
        (broken("config.json", b'{"format": 1'), "cannot be read"),
        (broken("config.json", b"[]"), "not a JSON object"),
        (broken("config.json", b"[" * 100_000), r"cannot be read \(it is nested too deep"),
        (broken("config.json", json.dumps({**config, "format": 0}).encode()), "has format 0"),
        (broken("checkpoint.eqx", None), "has no checkpoint.eqx"),
        (broken("checkpoint.eqx", checkpoint[:-100]), "is damaged"),
        (broken("checkpoint.eqx", b"\x80\x04pickle"), "is not a checkpoint of pdai"),
        (broken("checkpoint.eqx", future), "has format 9"),
    ]
    for folder, message in cases:
        with pytest.raises(InputError, match=message):
            audit(Path(folder))
    result = answer("audit", cases[0][0], cwd=tmp_path, expect=2)
    assert result.stderr.startswith("pdai: ")
    assert "is not finished" in answer("plot", cases[-1][0], cwd=tmp_path, expect=2).stderr


def killed(*_: Any) -> Any:
    raise SystemExit


@pytest.mark.parametrize("again", ["resume", "complete"])
def test_a_run_killed_before_its_first_checkpoint_begins_again(
    again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_run(tmp_path / "run", steps=100)
    with monkeypatch.context() as patched:
        patched.setattr(fast.runs.job, "last_state", killed)
        with pytest.raises(SystemExit):
            train(config)
    assert {path.name for path in config.folder().iterdir()} == {"config.json", "meta.json"}
    report = complete(config) if again == "complete" else resume(config.folder())[1]
    steps = [record["step"] for record in read_metrics(config.folder())]
    assert steps == [0, 100]
    assert complete(config) == report


def test_a_measurement_is_kept_whole_or_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probe(*_: Any) -> dict[str, Any]:
        return {"probed": True}

    config = tiny_run(tmp_path / "run", steps=100)
    with monkeypatch.context() as patched:
        patched.setattr(Meter, "now", killed)
        with pytest.raises(SystemExit):
            train(config, probe)
    assert read_metrics(config.folder()) == []
    # As it was left when what was probed was recorded by itself.
    half = json.dumps({"step": 0, "probe": {"probed": True}}) + "\n"
    (config.folder() / "metrics.jsonl").write_text(half)
    resume(config.folder(), probe)
    records = read_metrics(config.folder())
    assert [record["step"] for record in records] == [0, 100]
    assert records[0].keys() == {"step", "tv", "probe"}
    assert records[1].keys() == records[0].keys() | {"loss", "log_z", "seconds"}


def test_a_run_that_another_process_trains_is_left_alone(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast.runs.files, "PATIENCE", 0.0)
    config, refusals = tiny_run(tmp_path / "run"), list[InputError]()

    def meanwhile(*_: Any, **__: Any) -> Any:
        for second in (lambda: resume(config.folder()), lambda: complete(config)):
            with pytest.raises(InputError, match=r"another process is training .*run") as refusal:
                second()
            refusals.append(refusal.value)
        raise SystemExit

    monkeypatch.setattr(fast.runs.job, "Loop", meanwhile)
    for first in (train, complete):
        with pytest.raises(SystemExit):
            first(config)
    assert len(refusals) == 4
    # A finished run may be looked at by anybody.
    run = finished / "runs" / "lines-gru-0"
    with alone_in(run):
        assert len(load_law(run)) == 2


def test_ctrl_c_stops_with_a_checkpoint_of_the_last_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advance(state: TrainState, steps: int) -> tuple[TrainState, Nothing]:
        return counted(state.step + steps), Nothing()

    def stopped(asked_before: int) -> int:
        """The step of the checkpoint, where Ctrl-C comes after so many questions."""
        questions = itertools.count()

        @contextmanager
        def interrupts() -> Iterator[Any]:
            yield lambda: next(questions) >= asked_before

        monkeypatch.setattr(fast.runs.loop, "deferred_interrupts", interrupts)
        folder = tmp_path / str(asked_before)
        folder.mkdir()
        config = tiny_run(folder, steps=300, checkpoint_every=500)
        with pytest.raises(KeyboardInterrupt):
            Loop(folder, config, advance, counted(np.zeros(1, int)), 0.0, lambda *_: {}).run()
        step = json.loads((folder / "checkpoint.eqx").read_bytes().partition(b"\n")[0])["step"]
        assert read_metrics(folder)[-1]["step"] == step
        return int(step)

    # The last of three rounds saves in any case, and a Ctrl-C after its question counts as well.
    assert [stopped(n) for n in range(4)] == [100, 200, 300, 300]


@pytest.mark.parametrize("line", [b"5", b"[]", b'{"foo": 5}', b'{"step": 1, "tv', b"[" * 100_000])
def test_records_end_where_a_line_is_none(line: bytes, finished: Path, tmp_path: Path) -> None:
    original = finished / "runs" / "lines-gru-0"
    metrics = (original / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "metrics.jsonl").write_bytes(b"".join([*metrics[:3], line + b"\n", *metrics[4:]]))
    assert read_metrics(tmp_path) == read_metrics(original)[:3]


def test_a_folder_of_another_command_is_told_from_what_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "plan.json").touch()
    message = r"has no config.json, as it is an experiment of `pdai distribute` or `pdai stream`, "
    for look in (audit, resume):
        with pytest.raises(InputError, match=message + "whose runs are the folders in it"):
            look(tmp_path)
    with pytest.raises(InputError, match=r"no plan\.json, so it is not a run folder of `pdai dist"):
        read_json(tmp_path / "runs" / "plan.json")
    with pytest.raises(InputError, match="not a run folder of `pdai train`: give the folder"):
        resume(tmp_path / "runs")


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (
            ["train", "six7"],
            ["no problem 'six7': did you mean six6? There are bits, graphs, grid,"],
        ),
        (["trian"], ["there is no command 'trian': did you mean train?"]),
        (["reproduce", "tab:set"], ["no label of an experiment 'tab:set': did you mean tab:sets?"]),
        (["inspect", "reference.problems:Gird"], ["has no attribute 'Gird': did you mean Grid?"]),
        (["train", "lines", "--loss", "tbb"], ["loss is 'tbb'", "did you mean tb?"]),
        (["inspect", ".:."], ["'.:.' does not name a problem"]),
        (["check", "..:x"], ["'..:x' does not name a part"]),
        (["inspect", "builtins:int"], ["'builtins:int' cannot be called without arguments"]),
        (
            ["train", "six6", "--dynamics", "lstn"],
            ["'lstn'", "did you mean lstm?", "'mingru', 'rnn', 'self-referential'"],
        ),
        (["train", "six6", "--dynamics", "gcn"], ["graph networks read graphs"]),
        (
            ["train", "lines", "--heads", "2"],
            [
                "heads with dynamics markov, which has no such option",
                "--dynamics self-referential or srwm",
            ],
        ),
        (["train", "custom", "--problem", "nowhere:It"], ["'nowhere' cannot be imported"]),
        (
            ["train", "ising", "--dynamics", "gru", "--p-b", "lifted"],
            ["its mass bends the target", "--max-states"],
        ),
        (
            ["check", "a:b", "--problem", "reference.problems:Grid.minimal"],
            ["the module 'a' cannot be imported"],
        ),
        (["train", "six6", "--dynamic", "srwm"], ["--dynamic", "Perhaps you meant", "--dynamics"]),
        (["train", "--resume", "nowhere"], ["'nowhere' has no config.json"]),
        (["train", "--resume", "nowhere", "lines"], ["--resume continues a run with the options"]),
        (["plot"], ["no run folder given"]),
    ],
    ids=" ".join,
)
def test_bad_commands_exit_with_two_and_one_clear_message(
    arguments: list[str], messages: list[str], tmp_path: Path
) -> None:
    result = answer(*arguments, cwd=tmp_path, expect=2)
    for message in messages:
        assert message in result.stdout + result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("of", [[], ["train"], ["train", "grid"], ["audit"], ["plot"], ["verify"]])
def test_help_is_there(of: list[str], tmp_path: Path) -> None:
    assert "usage: pdai" in answer(*of, "--help", cwd=tmp_path).stdout


def test_help_says_what_a_kill_loses_and_what_a_table_holds(tmp_path: Path) -> None:
    shown = " ".join(
        answer("train", "pho4", "--help-all", cwd=tmp_path).stdout.replace("│", " ").split()
    )
    assert "Steps between checkpoints, rounded up to hundreds" in shown
    assert re.search(r"archive with `?score`?.* `?alphabet`?.* and `?length`?", shown)


def test_a_run_that_diverges_at_once_says_where_and_leaves_no_folder(tmp_path: Path) -> None:
    result = answer("train", *SMALL, "--learning-rate", "1e38", cwd=tmp_path, expect=2)
    assert re.search(
        r"the loss of seed 0 became (nan|inf) at step \d+: train again with a smaller --learning",
        result.stderr,
    )
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize(("step", "left"), [(0, set()), (100, {"run"})])
def test_a_training_that_fails_leaves_a_folder_if_a_step_was_saved(
    step: int, left: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Meter.now

    def fail(meter: Meter, state: Any, at: int) -> Any:
        if at > step:
            raise RuntimeError("of the user's network")
        return measured(meter, state, at)

    config = tiny_run(tmp_path / "run", evaluations=2)
    with monkeypatch.context() as patched:
        patched.setattr(Meter, "now", fail)
        with pytest.raises(RuntimeError, match="of the user's"):
            train(config)
    assert {path.name for path in tmp_path.iterdir()} == left
    assert complete(config).learned


def test_a_finished_run_is_trained_on_to_more_steps(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished / "runs" / "lines-gru-0", tmp_path / "run"))
    further = load(run).train(100, out=tmp_path / "python", display=SILENT)
    told = answer("train", "--resume", "run", "--steps", "500", cwd=tmp_path).stdout
    assert "run folder: run-2" in told
    assert parameters(further.folder) == parameters(tmp_path / "run-2")
    for arguments, why in (
        (["--resume", "run", "--steps", "400"], "must be more than the 400 steps that the run"),
        (["--steps", "400"], "name the problem first"),
    ):
        assert why in answer("train", *arguments, cwd=tmp_path, expect=2).stderr
    (run / "seal.json").unlink()
    assert load(run).steps_until(500) == 100


@pytest.mark.long
def test_a_problem_too_large_to_enumerate_is_measured_by_trajectories(tmp_path: Path) -> None:
    options = ["--steps", "1", "--evaluations", "1", "--batch", "8", "--parameters", "8000"]
    small = ["--items", "7", "--size", "3", "--max-states", "20", "--dynamics", "gru"]
    result = answer("train", "sets", *small, *options, cwd=tmp_path)
    assert "TV to the target (of trajectories)" in result.stdout
    assert "true log Z" in result.stdout
    refused = answer("audit", "runs/sets-gru-0", cwd=tmp_path, expect=2)
    assert "more states than --max-states" in refused.stderr
    lines = answer("sample", "runs/sets-gru-0", "--count", "3", cwd=tmp_path).stdout.splitlines()
    assert len(lines) == 3


def test_an_environment_is_checked_from_the_command_line(tmp_path: Path) -> None:
    names = ["fast.environments:GridEnvironment", "--problem", "reference.problems:Grid.minimal"]
    output = answer("check", *names, cwd=tmp_path).stdout
    assert "edges, all followed, undone and redone" in output


@pytest.mark.long
def test_a_path_dependent_run_too_large_to_sum_is_estimated_beside_its_error(
    tmp_path: Path,
) -> None:
    options = ["--dynamics", "gru", "--steps", "1", "--evaluations", "1", "--batch", "8"]
    options += ["--parameters", "8000", "--law-samples", "8192"]
    result = answer("train", "grid", *options, cwd=tmp_path)
    assert "TV to the target (estimated)" in result.stdout
    assert "backward trajectories for each terminal" in result.stdout
    assert "is off by about" in result.stdout
    refused = answer("audit", "runs/grid-gru-0", cwd=tmp_path, expect=2)
    assert "too many to sum" in refused.stderr


def test_looking_at_a_run_imports_no_module_that_it_names(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "foreign"
    shutil.copytree(finished / "runs" / "lines-gru-0", run)
    config = read_json(run / "config.json")
    own = ("length", "step", "target", "target_seed", "peaks", "encoding")
    config = {name: value for name, value in config.items() if name not in own}
    config |= {"task": "custom", "problem": "evil:P", "environment": ""}
    write_json(run / "config.json", config)
    # As its author may: a stranger can seal what he likes.
    seal_run(run)
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\nP = 1\n")
    pdai("plot", str(run), cwd=tmp_path)
    assert not (tmp_path / "ran").exists()
    # What needs the problem does import it.
    pdai("audit", str(run), cwd=tmp_path, expect=2)
    assert (tmp_path / "ran").exists()
