"""A device that runs out of memory is explained."""

from pathlib import Path
from typing import Any

import jax
import pytest

import fast.runs.job
from fast.runs.job import train
from fast.runs.sizes import device_memory, out_of_memory
from fast.training.compose import configure
from reference import InputError

FULL = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 12345 bytes.")


def test_the_memory_of_a_device() -> None:
    assert 2**30 < device_memory() < 2**50


def test_other_errors_are_not_explained() -> None:
    assert out_of_memory(jax.errors.JaxRuntimeError("INTERNAL: something else"), 64) is None


def test_training_that_runs_out_of_memory_says_what_to_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise FULL

    made = fast.runs.job.set_up

    def set_up(config: Any) -> Any:
        setup = made(config)
        return setup._replace(trainer=setup.trainer._replace(advance=full))

    monkeypatch.setattr(fast.runs.job, "set_up", set_up)
    config = configure("lines", length=3, batch=64, parameters=5_000, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"64 trajectories .*asked for 12345 bytes.*--batch, or"):
        train(config)
    assert not config.folder().exists()
