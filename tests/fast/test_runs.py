"""Runs on disk: what they leave behind, how they stop and go on, and what they say."""

import itertools
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fast.runs.job
import fast.runs.loop
import fast.runs.meter
import fast.runs.setup
import pdai
from fast.laws.samples import Samples
from fast.runs.display import SILENT
from fast.runs.files import alone_in
from fast.runs.folder import load_config
from fast.runs.job import complete, resume, train
from fast.runs.loop import DivergedError, Loop, measured_steps
from fast.runs.meter import Meter
from fast.runs.records import load_law, read_json, read_metrics
from fast.training.compose import configure
from fast.training.state import TrainState
from pdai.certifying.certify import certify
from pdai.loading import load
from pdai.run import Run
from pdai.show.progress import QUIET
from reference import InputError
from tests.command_lines import SMALL, answer, parameters
from tests.made_up_runs import Nothing, counted, tiny_run
from tests.refusals import refused


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def saved_step(folder: Path) -> int:
    header = (folder / "checkpoint.eqx").read_bytes().partition(b"\n")[0]
    return int(json.loads(header)["step"])


def test_a_run_leaves_its_folder_complete_and_nothing_overwrites_it(
    finished: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in finished.iterdir()}
    assert names_in(finished) == {
        "checkpoint.eqx", "config.json", "law.npz", "meta.json", "metrics.jsonl", "plot.png",
        "report.json", "seal.json",
    }  # fmt: skip
    meta = read_json(finished / "meta.json")
    assert meta["versions"]["jax"]
    assert meta["seeds"] == [0]
    assert [record["step"] for record in read_metrics(finished)] == [0, 100, 200, 300, 400]
    assert (finished / "plot.png").read_bytes().startswith(b"\x89PNG")
    # What is printed can be pasted, though the name has a space.
    spaced = shutil.copytree(finished, tmp_path / "a run")
    for arguments, message in (
        (SMALL, "nothing is overwritten"),
        (["--resume", str(finished)], "is finished (400 steps)"),
        (["--resume", str(spaced)], f"`pdai train --resume '{spaced}' --steps N`"),
    ):
        stderr = answer("train", *arguments, cwd=finished.parents[1], expect=2).stderr
        assert message in stderr
        assert "compiling" not in stderr
    assert {path: path.read_bytes() for path in finished.iterdir()} == before


@pytest.mark.catches(
    "A run without a report lists its states all the same.",
    "fast/runs/job.py",
    "with _begun(config, measured=False) as (folder, setup):",
    "with _begun(config, measured=True) as (folder, setup):",
)
def test_a_run_without_a_report_gets_that_of_any_other_later(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("states are listed, or laws summed")

    config = load_config(finished)
    with monkeypatch.context() as patched:
        for module in (fast.runs.setup, fast.runs.meter):
            for name in ("enumerate_environment", "law_of"):
                patched.setattr(module, name, never, raising=False)
        run = pdai.train(config.changed(out=tmp_path / "run"), report=False, display=QUIET)
        assert [figures["step"] for figures in run.metrics()] == [100, 200, 300, 400]
        assert run.sample(2).states
        refused("is not finished", lambda: run.report)
        goal = config.changed(out=tmp_path / "goal", tv=0.1)
        refused("tv is 0.1 and there is to be no", lambda: pdai.train(goal, report=False))
        refused("environment", lambda: pdai.train(config, environment="nowhere:E"))
    resume(run.folder)
    figures, whole = (read_json(x / "report.json") for x in (run.folder, finished))
    assert {**figures, "seconds": 0} == {**whole, "seconds": 0}


def test_a_run_is_certified_and_corrected_by_rejection(finished: Path) -> None:
    exact = certify(finished)
    assert exact.regime == "E"
    assert exact.tv is not None
    report = read_json(finished / "report.json")
    # One is a rational, the other a float64 sum over the same float64 network.
    assert float(exact.tv) == pytest.approx(report["learned"][0]["tv"]["mean"], abs=1e-12)
    with np.load(finished / "law.npz") as law:
        tv = np.abs(law["learned"][0] - law["target"]).sum() / 2
        assert tv == pytest.approx(float(exact.tv), abs=1e-12)
        assert law["labels"].tolist() == [f"q{i}" for i in range(7)]
    assert report["kinds"]["tv"] == "float64"
    made = certify(finished, regime="Z", samples=4_096)
    # Each end of `lines` has several trajectories, whose TV is at least that of the ends.
    assert exact.tv <= made.interval.high
    assert made.interval.low <= made.interval.high < 0.5
    sampled = answer("sample", str(finished), "--exact", "--count", "30", cwd=finished)
    assert re.fullmatch(r"(q[0-6]\t-?\d+\.\d{6}\n){30}", sampled.stdout)
    assert "of all trajectories are kept" in sampled.stderr
    with pytest.raises(InputError, match="of is 7, but the run"):
        certify(finished, of=7)
    with pytest.raises(InputError, match="has a problem and rows of its own"):
        certify(finished, "reference.problems:Grid.minimal")


def test_samples_are_states_with_their_rewards(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sampled() -> str:
        return answer("sample", str(finished), "--count", "50", cwd=finished).stdout

    lines = sampled()
    assert re.fullmatch(r"(q[0-6]\t-?\d+\.\d{6}\n){50}", lines)
    assert sampled() == lines
    for seed in (-1, 2**31, 2**64):
        with pytest.raises(InputError, match=f"seed is {seed} .* must be at least 0 and below"):
            Run(finished).sample(1, seed=seed)
    # One line of two columns, whatever the state.
    states = ["a\tb", "c\nd", "e\\tf", "π g"]
    monkeypatch.setattr(Run, "sample", lambda *_, **__: Samples(states, *[np.full(4, 0.5)] * 3))
    rows = [line.split("\t") for line in sampled().split("\n")[:-1]]
    assert rows == [[x, "0.500000"] for x in (r"a\tb", r"c\nd", r"e\\tf", "π g")]


def test_plots_are_redrawn_from_saved_runs(finished: Path, tmp_path: Path) -> None:
    answer("plot", str(finished), str(finished), "--out", "both.pdf", cwd=tmp_path)
    assert (tmp_path / "both.pdf").read_bytes().startswith(b"%PDF")


def killed(*_: Any) -> Any:
    raise SystemExit


def test_looking_at_an_unfinished_run_says_where_it_stands(
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut, measured = tmp_path / "cut", Meter.now

    def until(meter: Meter, state: Any, step: int) -> Any:
        return killed() if step == 200 else measured(meter, state, step)

    with monkeypatch.context() as patched:
        patched.setattr(Meter, "now", until)
        with pytest.raises(SystemExit):
            train(tiny_run(cut))
    capsys.readouterr()
    for run, said in ((finished, ""), (cut, "step 100 of 200, unfinished")):
        assert (f"the run is at {said}" in certify(run).notes) == bool(said)
        Run(run).sample(1)
        shown = capsys.readouterr().err
        assert shown.startswith(f"the run {str(run)!r} is at {said}\n") or not said
        assert said or "unfinished" not in shown


@pytest.mark.parametrize("again", ["resume", "complete"])
def test_a_run_killed_before_its_first_checkpoint_begins_again(
    again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_run(tmp_path / "run", steps=100)
    with monkeypatch.context() as patched:
        patched.setattr(fast.runs.job, "last_state", killed)
        with pytest.raises(SystemExit):
            train(config)
    assert names_in(config.folder()) == {"config.json", "meta.json"}
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
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    with alone_in(trained / "a"):
        assert len(load_law(trained / "a")) == 2


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
        assert read_metrics(folder)[-1]["step"] == saved_step(folder)
        return saved_step(folder)

    # The last of three rounds saves in any case, and a Ctrl-C after its question counts as well.
    assert [stopped(n) for n in range(4)] == [100, 200, 300, 300]


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
    assert saved_step(tmp_path) == 100


def test_a_run_that_diverges_at_once_says_where_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(
        DivergedError,
        match=r"the loss of seed 0 became (nan|inf) at step \d+: train again with a smaller --lear",
    ):
        train(tiny_run(tmp_path / "run", learning_rate=1e38))
    assert names_in(tmp_path) == set()


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
    assert names_in(tmp_path) == left
    assert complete(config).learned


@pytest.mark.parametrize(
    ("steps", "evaluations", "spacing", "measured"),
    [
        (2_000, 4, "even", [500, 1_000, 1_500, 2_000]),
        (150, 1, "even", [150]),
        (20_000, 8, "log", [100, 300, 500, 1_000, 2_100, 4_500, 9_400, 20_000]),
        (300, 10, "log", [100, 200, 300]),
        (150, 1, "log", [150]),
    ],
)
def test_steps_at_which_a_run_is_measured(
    steps: int, evaluations: int, spacing: str, measured: list[int]
) -> None:
    config = configure("sets", steps=steps, evaluations=evaluations, spacing=spacing)
    assert sorted(measured_steps(config.run, config.optimiser.steps)) == measured


def test_a_finished_run_is_trained_on_to_more_steps(run: Path, tmp_path: Path) -> None:
    further = load(run).train(100, out=str(tmp_path / "python"), display=SILENT)
    answered = answer("train", "--resume", "run", "--steps", "300", cwd=tmp_path)
    assert "learning rate begins anew at 0.01" in answered.stderr
    shown = answered.stdout
    assert "run folder: run-2" in shown
    assert parameters(further.folder) == parameters(tmp_path / "run-2")
    few = answer("train", "--resume", "run", "--steps", "200", cwd=tmp_path, expect=2)
    assert "must be more than the 200 steps that the run" in few.stderr
    for words, options in {
        "seeds is 3, but further": {"seeds": 3},
        "tv is 0.5, but further": {"tv": 0.5},
        "needs_flow is True, but further": {"loss": "db"},
        "task is .*, but further": {"target_seed": 9},
    }.items():
        refused(words, partial(load(run).train, 1, **options))
    (run / "seal.json").unlink()
    assert load(run).steps_until(300) == 100


@pytest.mark.long
@pytest.mark.parametrize(
    ("problem", "shown", "refused"),
    [
        (
            "sets --items 7 --size 3 --max-states 20",
            ["TV to the target (of trajectories)", "true log Z"],
            "no list of states",
        ),
        (
            "grid --law-samples 8192",
            [
                "TV to the target (estimated)",
                "backward trajectories for each terminal",
                "is off by about",
            ],
            "the lift has more than 100,000 states",
        ),
    ],
)
def test_a_law_that_is_too_large_to_sum_is_estimated_and_not_certified_exactly(
    problem: str, shown: list[str], refused: str, tmp_path: Path
) -> None:
    options = "--dynamics gru --steps 1 --evaluations 1 --batch 8 --parameters 8000 --out run"
    trained = answer("train", *problem.split(), *options.split(), cwd=tmp_path).stdout
    assert [words for words in shown if words not in trained] == []
    assert refused in answer("certify", "run", "--regime", "E", cwd=tmp_path, expect=2).stderr
    assert answer("sample", "run", "--count", "3", cwd=tmp_path).stdout.count("\n") == 3
