"""Several devices, or processes, share a batch: the numbers are those of one."""

import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from fast.runs.job import train
from fast.runs.records import load_law, read_json, read_metrics
from fast.training.compose import configure
from fast.training.processes import join
from pdai.commands.train import Where
from pdai.goal import LOG
from reference import InputError
from tests.command_lines import python, start

# Seconds after which a process that waits for another is ended.
LONGEST = 600
PROBLEM = ("sets", "--items", "5", "--size", "3")
OPTIONS = {
    "dynamics": "markov",
    "parameters": 2000,
    "batch": 8,
    "steps": 200,
    "evaluations": 2,
    "precision": "float64",
    "devices": 2,
}


def options(**changes: object) -> tuple[str, ...]:
    """The problem with options, as on the command line."""
    together = {**OPTIONS, **changes}
    return (
        *PROBLEM,
        *(word for name, value in together.items() for word in (f"--{name}", str(value))),
    )


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def machine(devices: int) -> dict[str, str]:
    """The variables of a process that has so many devices."""
    count = f"--xla_force_host_platform_device_count={devices}"
    flags = " ".join((os.environ.get("XLA_FLAGS", ""), count))
    return {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}


def training(folder: Path, devices: int, *arguments: str) -> subprocess.Popen[str]:
    return start(("train", "--device", "cpu", *arguments), folder, **machine(devices))


def ended(*processes: subprocess.Popen[str]) -> list[tuple[int, str]]:
    """Exit codes and what was written to stderr; none is left behind."""
    try:
        errors = [process.communicate(timeout=LONGEST)[1] for process in processes]
        return [(process.returncode, text) for process, text in zip(processes, errors, strict=True)]
    finally:
        for process in processes:
            process.kill()


def together(folder: Path, first: tuple[str, ...], second: tuple[str, ...]) -> list[Any]:
    """Two processes of one device each."""
    where = ("--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2", "--process")
    return ended(*(training(folder, 1, *where, str(i), *x) for i, x in enumerate((first, second))))


def assert_same_losses(one: Path, two: Path) -> None:
    first, second = (
        np.array([record["loss"] for record in read_metrics(folder) if "loss" in record])
        for folder in (one, two)
    )
    assert second.shape == (2, 1)
    # After two hundred steps of float64: rounding, of sums by another library between processes,
    # which Adam's division makes larger.
    assert second == pytest.approx(first, rel=1e-8)
    # Control: of other steps they are others.
    assert second[::-1] != pytest.approx(first, rel=1e-2)


# A client, on one device and on two, and an aggregate of it and another; replay on one device and
# on four, at a stretch and killed in between; rounds towards a distance on one device and on two.
RUNS = """
from pathlib import Path
from fast.runs.job import complete, resume, train
from fast.training.compose import configure
from pdai.goal import train_until
from pdai.show.progress import QUIET

config = configure(
    "sets", items=5, size=3, parameters=2000, latent_size=4, batch=8, steps=200, evaluations=2,
    precision="float64", dynamics="gru", table_rows=16,
)
for name, change in {
    "a": dict(parts=2, factors=(0,)),
    "a-two": dict(parts=2, factors=(0,), devices=2),
    "b": dict(parts=2, factors=(1,), dynamics="markov", devices=2),
    "one": dict(parts=2, frozen=(Path("a"), Path("b")), loss="log_variance"),
    "two": dict(parts=2, frozen=(Path("a"), Path("b")), loss="log_variance", devices=2),
    "replay": dict(replay="annealed", anneal=0.6, batch=32, replay_share=0.25),
    "replay-four": dict(
        replay="annealed", anneal=0.6, batch=32, replay_share=0.25, devices=4
    ),
}.items():
    complete(config.changed(out=Path(name), **change))


def kill(setup, state):
    if state.step[0] == 200:
        raise SystemExit


cut = config.changed(out=Path("replay-cut"), checkpoint_every=100, **change)
try:
    train(cut, kill)
except SystemExit:
    resume(cut.folder())

for devices in (1, 2):
    goal = config.changed(dynamics="markov", tv=1e-5, devices=devices, out=Path(f"goal-{devices}"))
    train_until(goal, QUIET)
"""


@pytest.mark.long
def test_two_processes_have_the_numbers_of_one(tmp_path: Path) -> None:
    ((code, text),) = ended(training(tmp_path, 2, *options(out="one")))
    assert code == 0, text
    both = options(out="two")
    for code, text in together(tmp_path, both, both):
        assert code == 0, text
    assert "process 1 of 2" in text
    assert_same_losses(tmp_path / "one", tmp_path / "two")
    laws = [load_law(tmp_path / name)[0] for name in ("one", "two")]
    assert laws[1] == pytest.approx(laws[0], rel=1e-6)


@pytest.mark.long
def test_processes_with_other_options_are_all_refused(tmp_path: Path) -> None:
    for code, text in together(tmp_path, options(out="run"), options(out="run", seed=7)):
        assert code == 2, text
        assert "processes [1] were started with other options" in text


def test_what_has_no_meaning_is_refused_before_anything_waits() -> None:
    with pytest.raises(InputError, match="process is 2 of 2"):
        join("localhost:8476", 2, 2)
    with pytest.raises(InputError, match="coordinator is 'localhost'"):
        join("localhost", 2, 0)
    with pytest.raises(InputError, match="without a coordinator"):
        Where(processes=2).begin()
    with pytest.raises(InputError, match="device is gpu, but JAX finds only cpu"):
        Where("gpu").begin()


def test_what_has_a_meaning_reaches_the_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    met = []
    monkeypatch.setattr(jax.config, "update", lambda *_: None)
    monkeypatch.setattr(jax.distributed, "initialize", lambda *a, **b: met.append((a, b)))
    join("node1:8476", 2, 1, seconds=7)
    assert met == [(("node1:8476", 2, 1), {"initialization_timeout": 7})]


@pytest.mark.catches(
    "each device remembers the ends of its own trajectories alone",
    "fast/training/networks.py",
    "add(state.buffer, *gathered((forward.final, forward.log_reward), axis), beta)",
    "add(state.buffer, forward.final, forward.log_reward, beta)",
)
@pytest.mark.long
def test_two_devices_train_and_aggregate_like_one(tmp_path: Path) -> None:
    done = python("-c", RUNS, cwd=tmp_path, **machine(4))
    assert done.returncode == 0, done.stderr
    for one, two in (("one", "two"), ("a", "a-two"), ("replay", "replay-four")):
        assert_same_losses(tmp_path / one, tmp_path / two)
    whole, cut = (load_law(tmp_path / name)[0] for name in ("replay-four", "replay-cut"))
    assert cut.tobytes() == whole.tobytes()
    one, two = (read_json(tmp_path / f"goal-{n}" / LOG, checksum=True)["rounds"] for n in (1, 2))
    assert any(record["start"] for record in one)
    assert [x["high"] for x in two] == pytest.approx([x["high"] for x in one], rel=1e-6)


@pytest.mark.long
def test_each_core_is_a_device_of_the_command(tmp_path: Path) -> None:
    cores = min(os.cpu_count() or 1, 2)
    words = ("train", "lines", "--steps", "100", "--devices", str(cores))
    process = start(words, tmp_path, JAX_PLATFORMS="cpu", XLA_FLAGS="")
    [(code, errors)] = ended(process)
    assert code == 0, errors


def test_more_devices_than_there_are_is_refused(tmp_path: Path) -> None:
    config = configure("sets", items=5, size=3, batch=128, devices=64, out=tmp_path / "run")
    message = f"devices is 64, but this machine has {len(jax.devices())} "
    with pytest.raises(InputError, match=message):
        train(config)
    assert not (tmp_path / "run").exists()
