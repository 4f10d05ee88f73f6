"""`pdai stochastic`: a run from start to end, interrupted and resumed, and what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import fast.runs.files
import fast.stochastic.job
from fast.environments import make_environment
from fast.runs.records import read_metrics, read_report
from fast.stochastic.config import (
    TASKS,
    StochasticGrid,
    StochasticLines,
    StochasticRings,
    from_json,
    to_json,
)
from fast.stochastic.densities import Normal
from fast.stochastic.job import complete_stochastic, resume_stochastic, train_stochastic
from fast.stochastic.policy import StochasticPolicy
from fast.stochastic.training import make_stochastic_trainer
from fast.training import compose
from reference import InputError

ROOT = Path(__file__).parent.parent
SMALL = ["lines", "--length", "4", "--width", "8", "--batch", "16", "--latent-size", "2"]
SMALL += ["--checkpoint-every", "100", "--evaluations", "1", "--seeds", "2"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pdai", "stochastic", *arguments]


def pdai(*arguments: str, cwd: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1"}
    result = subprocess.run(
        command(*arguments), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == expect, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result


def test_a_run_that_is_killed_and_resumed_ends_like_one_that_is_not(tmp_path: Path) -> None:
    whole = pdai(*SMALL, "--steps", "300", "--out", "whole", cwd=tmp_path)
    assert "TV to the target" in whole.stdout
    assert "step 300" in whole.stderr
    arguments = command(*SMALL, "--steps", "300", "--out", "cut")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen(
        arguments, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    metrics, deadline = tmp_path / "cut" / "metrics.jsonl", time.monotonic() + 300
    while not (metrics.is_file() and '"step": 100' in metrics.read_text()):
        assert started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    started.communicate()
    # Killed too late, there is nothing to resume: that the run was cut is part of the test.
    assert not (tmp_path / "cut" / "report.json").exists()
    pdai("--resume", "cut", cwd=tmp_path)
    first, second = (read_report(tmp_path / name) for name in ("whole", "cut"))
    assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert {path.name for path in (tmp_path / "whole").iterdir()} == {
        "checkpoint.eqx", "config.json", "meta.json", "metrics.jsonl", "report.json",
    }  # fmt: skip
    finished = pdai("--resume", "whole", cwd=tmp_path, expect=2)
    assert "is finished (300 steps)" in finished.stderr
    again = pdai(*SMALL, "--out", "whole", cwd=tmp_path, expect=2)
    assert "continue it with `pdai stochastic --resume whole`" in again.stderr
    both = pdai("--resume", "whole", "grid", cwd=tmp_path, expect=2)
    assert "leave the problem and its options away" in both.stderr


@pytest.mark.parametrize(
    "config",
    [
        StochasticGrid(side=5, landscape="sparse", steps=4, batch=8, seeds=2),
        StochasticGrid(side=4, steps=4, batch=8, latent_size=2, covariance=(2.0, 1.0)),
        StochasticRings(radius=2, walk_steps=4, steps=4, batch=8),
        StochasticLines(length=4, target="sparse", peaks=(1,), steps=4, batch=8, epsilon=0.0,
                        gradient="reparameterised"),
        StochasticLines(length=4, steps=4, batch=8, latent="deterministic", sigma=0.5),
    ],
    ids=lambda c: f"{c.problem_name}-{c.latent}-{c.gradient}",
)  # fmt: skip
def test_every_problem_trains_and_its_options_survive(config: Any) -> None:
    trainer = make_stochastic_trainer(config, make_environment(config.problem()))
    start = trainer.init()
    before = [np.asarray(leaf) for leaf in jax.tree.leaves(start.sampler)]
    state, info = trainer.advance(start, config.steps)
    assert info.loss.shape == (config.seeds, config.steps)
    after = [np.asarray(leaf) for leaf in jax.tree.leaves(state.sampler)]
    assert all(np.isfinite(leaf).all() for leaf in after)
    moved = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
    # Of a deterministic latent, the densities are not trained, but for the decay of weights.
    assert all(moved) if config.is_stochastic else any(moved)
    assert from_json(json.loads(json.dumps(to_json(config))), "config.json") == config


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    config = StochasticLines(length=2, width=4, batch=4, steps=100, learning_rate=1e30, out=out)
    with pytest.raises(InputError, match=r"the loss of seed 0 became \w+ at step"):
        train_stochastic(config)
    assert (out / "checkpoint.eqx").is_file()


@pytest.mark.parametrize("again", ["resume", "complete"])
def test_a_run_killed_before_its_first_checkpoint_begins_again(
    again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> Any:
        raise SystemExit

    def meanwhile(*_: Any) -> Any:
        for second in (lambda: resume_stochastic(out), lambda: complete_stochastic(config)):
            with pytest.raises(InputError, match="another process is training"):
                second()
        raise SystemExit

    out = tmp_path / "run"
    config = StochasticLines(length=2, width=4, batch=4, steps=100, evaluations=1, out=out)
    with monkeypatch.context() as patched:
        patched.setattr(fast.stochastic.job, "last_state", killed)
        with pytest.raises(SystemExit):
            train_stochastic(config)
    assert {path.name for path in out.iterdir()} == {"config.json", "meta.json"}
    monkeypatch.setattr(fast.runs.files, "PATIENCE", 0.0)
    # The figures at the end take long, and are another test's.
    monkeypatch.setattr(fast.stochastic.job, "final_report", meanwhile)
    with pytest.raises(SystemExit):
        complete_stochastic(config) if again == "complete" else resume_stochastic(out)
    assert [record["step"] for record in read_metrics(out)] == [0, 100, 100]


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan")])
def test_a_scale_that_is_not_positive_is_refused(sigma: float) -> None:
    with pytest.raises(InputError, match=r"sigma is .* without noise the latent has no density"):
        StochasticLines(sigma=sigma)
    with pytest.raises(InputError, match=r"sigma is .* without noise the latent has no density"):
        StochasticPolicy(3, 2, 1, sigma=sigma, key=jax.random.key(0))


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ((1.0, 2.0, 2.0, 1.0), "not positive definite, its smallest eigenvalue being -1"),
        ((1.0, 0.0), "not positive definite, its smallest eigenvalue being 0"),
        ((1.0, 0.5, 0.4, 1.0), "must be finite and symmetric"),
        ((1.0, float("inf")), "must be finite and symmetric"),
        ((1.0, 1.0, 1.0), "Lambda has 3 entries, but must have 2 (its diagonal) or 4"),
    ],
)
def test_a_covariance_that_is_none_is_refused(covariance: Any, message: str) -> None:
    for make in (
        lambda: StochasticLines(latent_size=2, covariance=covariance),
        lambda: Normal.of((), covariance, 2),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": (1.0,)}, "mu is (1.0,), but must be 8 finite numbers"),
        ({"gradient": "reparameterised"}, "it needs --latent gaussian and --epsilon 0"),
        (
            {"gradient": "reparameterised", "latent": "deterministic", "epsilon": 0.0},
            "it needs --latent gaussian and --epsilon 0",
        ),
        ({"batch": 0}, "batch is 0, but must be at least 1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0, but must be positive"),
        ({"epsilon": 1.5}, "epsilon is 1.5, but must lie between 0 and 1"),
        ({"epsilon_until": 0.0}, "epsilon_until is 0.0, but must lie in (0, 1]"),
        ({"target": "sparse"}, "the peak 20 lies outside 0..16"),
        ({"seed": -1}, "seed is -1 and seeds is 1, but all seeds must be at least 0 and below"),
        ({"seed": 2**31 - 1, "seeds": 2}, "seed is 2147483647 and seeds is 2"),
        ({"schedule": "linear"}, "schedule is 'linear', but must be one of 'cosine', 'constant'"),
        ({"latent": "normal"}, "latent is 'normal', but must be one of"),
        ({"width": 64.0}, "width is 64.0, but must be an integer"),
        ({"latent_size": 1, "mu": (True,)}, "mu[0] is True, but must be a number"),
        (
            {"latent": "deterministic", "components": 3},
            "components is 3 with latent deterministic, which does not read it",
        ),
        ({"latent": "deterministic", "mu": (0.5,) * 8}, "with latent deterministic, which does"),
        ({"latent": "deterministic", "covariance": (2.0,) * 8}, "leave covariance at ()"),
        ({"peaks": (3, 5)}, "peaks is (3, 5) with target laplaces, which does not read it"),
    ],
)
def test_bad_options_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        StochasticLines(**options)


def test_a_configuration_of_another_kind_or_version_is_refused() -> None:
    data = to_json(StochasticLines())
    for wrong, message in (
        ({**data, "problem": "six6"}, "is not of a run with a random latent"),
        ({"format": 3, "task": "lines"}, "is not of a run with a random latent"),
        ({**data, "stochastic_format": 9}, "has format 9"),
        ({**data, "gain": 1.0}, "has format 1 and the fields"),
        ({**data, "problem": ["lines"]}, "is not of a run with a random latent"),
        ({**data, "steps": "100"}, "config.json: StochasticLines: steps is '100', but must be an"),
        ({**data, "mu": None}, "config.json: StochasticLines: mu is None, but must be a tuple"),
    ):
        with pytest.raises(InputError, match=message):
            from_json(wrong, "config.json")
    assert set(TASKS) == {"lines", "grid", "rings"}


def test_commands_for_other_runs_say_what_this_one_is() -> None:
    with pytest.raises(InputError, match="a run with a random latent, which `pdai stochastic`"):
        compose.from_json(to_json(StochasticLines()), "config.json")
