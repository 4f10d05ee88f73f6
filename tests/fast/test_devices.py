"""Several devices share a batch: the numbers are those of one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fast.runs.job import train
from fast.training.compose import configure
from reference import InputError

ROOT = Path(__file__).parents[2]
DEVICES = "--xla_force_host_platform_device_count=2"
# A client, on one device and on two, and an aggregate of it and another.
RUNS = """
from pathlib import Path
from fast.runs.job import complete
from fast.training.compose import configure

config = configure(
    "sets", items=5, size=3, parameters=2000, latent_size=4, batch=8, steps=200, evaluations=2,
    precision="float64", dynamics="gru",
)
for name, change in {
    "a": dict(parts=2, factors=(0,)),
    "a-two": dict(parts=2, factors=(0,), devices=2),
    "b": dict(parts=2, factors=(1,), dynamics="markov", devices=2),
    "one": dict(parts=2, frozen=(Path("a"), Path("b")), loss="log_variance"),
    "two": dict(parts=2, frozen=(Path("a"), Path("b")), loss="log_variance", devices=2),
}.items():
    complete(config.changed(out=Path(name), **change))
"""


def losses(folder: Path) -> Any:
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return np.array([record["loss"] for record in records if "loss" in record])


@pytest.mark.long
def test_two_devices_train_and_aggregate_like_one(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XLA_FLAGS": " ".join((os.environ.get("XLA_FLAGS", ""), DEVICES)),
        "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, "-c", RUNS]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for one, two in (("one", "two"), ("a", "a-two")):
        found = losses(tmp_path / two)
        # After two hundred steps of float64: rounding, which Adam's division makes larger.
        assert found == pytest.approx(losses(tmp_path / one), rel=1e-8)
        # Control: of other steps they are others.
        assert found[::-1] != pytest.approx(losses(tmp_path / one), rel=1e-2)


def test_more_devices_than_there_are_is_refused(tmp_path: Path) -> None:
    config = configure("sets", items=5, size=3, batch=128, devices=64, out=tmp_path / "run")
    with pytest.raises(InputError, match="devices is 64, but this machine has 1"):
        train(config)
    assert not (tmp_path / "run").exists()
