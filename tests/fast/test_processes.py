"""One training over two processes: the numbers of one process with as many devices."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from fast.runs.records import load_law
from fast.training.processes import join
from pdai.commands.train import Where
from reference import InputError

ROOT = Path(__file__).parents[2]
COUNT = "--xla_force_host_platform_device_count"
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
    found = {**OPTIONS, **changes}
    return (
        *PROBLEM,
        *(word for name, value in found.items() for word in (f"--{name}", str(value))),
    )


def free_port() -> int:
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        port: int = there.getsockname()[1]
        return port


def start(folder: Path, devices: int, *arguments: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XLA_FLAGS": " ".join((os.environ.get("XLA_FLAGS", ""), f"{COUNT}={devices}")),
    }
    command = [sys.executable, "-m", "pdai", "train", "--device", "cpu", *arguments]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(*processes: subprocess.Popen[str]) -> list[tuple[int, str]]:
    """Exit codes and what was written to stderr; none is left behind."""
    try:
        found = [process.communicate(timeout=LONGEST)[1] for process in processes]
        return [(process.returncode, text) for process, text in zip(processes, found, strict=True)]
    finally:
        for process in processes:
            process.kill()


def together(folder: Path, first: tuple[str, ...], second: tuple[str, ...]) -> list[Any]:
    """Two processes of one device each."""
    where = ("--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2", "--process")
    return ended(*(start(folder, 1, *where, str(i), *x) for i, x in enumerate((first, second))))


def losses(folder: Path) -> Any:
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return np.array([record["loss"] for record in records if "loss" in record])


@pytest.mark.long
def test_two_processes_have_the_numbers_of_one(tmp_path: Path) -> None:
    ((code, text),) = ended(start(tmp_path, 2, *options(out="one")))
    assert code == 0, text
    both = options(out="two")
    for code, text in together(tmp_path, both, both):
        assert code == 0, text
    assert "process 1 of 2" in text
    one, two = (losses(tmp_path / name) for name in ("one", "two"))
    assert two.shape == (2, 1)
    # Sums over devices are made by another library: up to rounding, which Adam makes larger.
    assert two == pytest.approx(one, rel=1e-8)
    laws = [load_law(tmp_path / name)[0] for name in ("one", "two")]
    assert laws[1] == pytest.approx(laws[0], rel=1e-6)
    # Control: of other steps they are others.
    assert two[::-1] != pytest.approx(one, rel=1e-2)


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
