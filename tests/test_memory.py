"""A device that runs out of memory: the message, and the batch that would fit."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import fast.runs.setup
from fast.runs.job import train
from fast.runs.memory import compiled_bytes, device_memory, fitting_batch, out_of_memory
from fast.training.compose import configure
from fast.training.config import TrainConfig
from reference import InputError

FULL = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 12345 bytes.")


def needed(batch: int) -> int:
    return 1_000 + 10 * batch


def full(*_: Any) -> Any:
    """Advances no run."""
    raise FULL


@pytest.mark.parametrize(
    ("there", "fitting"), [(10_000, 700), (2_500, 100), (1_275, 2), (1_262, None), (10**9, 32_768)]
)
def test_the_batch_that_would_fit(there: int, fitting: int | None) -> None:
    assert fitting_batch(65_536, 1, there, needed) == fitting
    if fitting is not None and there < 10**9:
        assert needed(fitting) <= 0.8 * there < needed(fitting + 1)


def test_the_batch_that_would_fit_is_one_that_the_devices_can_share() -> None:
    assert fitting_batch(65_536, 16, 10_000, needed) == 688


def test_bytes_of_a_compiled_function() -> None:
    vector = jnp.ones(1_000, jnp.float32)
    assert compiled_bytes(lambda x: x + 1, vector) == 8_000
    grown = compiled_bytes(lambda x: jnp.sort(x)[:, None] * jnp.sort(-x), vector)
    assert 4_000_000 < grown < 4_100_000


def test_the_memory_of_a_device() -> None:
    assert 2**30 < device_memory() < 2**50


def test_other_errors_are_not_explained() -> None:
    other = jax.errors.JaxRuntimeError("INTERNAL: something else")
    assert out_of_memory(other, 64, 1, needed) is None


def test_not_even_a_small_batch_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fast.runs.memory.device_memory", lambda: 1_000)
    message = out_of_memory(FULL, 64, 1, needed)
    assert message is not None
    assert "not even" in message


def test_what_ran_out_is_said_even_if_a_smaller_batch_breaks_a_rule() -> None:
    def refused(batch: int) -> int:
        raise InputError(f"batch is {batch}, but must be larger")

    message = out_of_memory(FULL, 64, 1, refused)
    assert message is not None
    assert "64 trajectories does not fit" in message
    assert "(asked for 12345 bytes at once)" in message
    assert "would fit" not in message
    assert "must be larger" not in message


@pytest.mark.long
def test_training_that_runs_out_of_memory_names_a_batch_and_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fast.runs.setup.make_trainer

    def make_trainer(config: TrainConfig, *rest: Any) -> Any:
        trainer = made(config, *rest)
        return trainer._replace(advance=full) if config.sampling.batch == 64 else trainer

    monkeypatch.setattr(fast.runs.setup, "make_trainer", make_trainer)
    config = configure("lines", length=6, batch=64, parameters=5_000, out=tmp_path / "run")
    wanted = (
        r"64 trajectories .*asked for 12345 bytes.* about --batch 32 .*checkpoint is in '.*run'"
    )
    with pytest.raises(InputError, match=wanted):
        train(config)
