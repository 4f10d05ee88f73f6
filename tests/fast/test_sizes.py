"""Work that no machine holds is refused before it begins, or explained when memory runs out."""

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import fast.runs.job
from fast.runs.job import train
from fast.runs.sizes import check_states, device_memory, out_of_memory
from fast.training.compose import configure
from fast.training.trainer import program_memory
from reference import InputError
from tests.made_up_runs import tiny_run
from tests.refusals import refuses

test_sizes_are_refused_before_work_begins = refuses(
    lambda options: train(configure("grid", side=4, **options)),
    ({"batch": 10**12}, r"batches of 1000000000000 trajectories .* take at least .* GiB"),
    ({"batch": 10**20}, r"batch is 1000\d+, but must be below 2\^53"),
    ({"replay": "uniform", "replay_capacity": 10**12}, r"a replay buffer of .* GiB"),
    ({"seeds": 10**8}, r"for each of 100000000 seeds, take at least"),
    ({"hidden_layers": 10**6}, "hidden_layers is 1000000, but must lie from 0 to 100"),
    ({"dynamics": "gru", "latent_size": 10**7}, "100000000000000 parameters, take at least"),
    ({"parameters": 10**13}, "10000000000000 parameters, take at least"),
)


def test_states_that_memory_does_not_hold_are_not_enumerated() -> None:
    check_states(10**12, 2_000_000)
    with pytest.raises(InputError, match="which --max-states lets be enumerated, take at least"):
        check_states(10**12, 10**12)


FULL = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 12345 bytes.")


def test_the_memory_of_a_device() -> None:
    assert 2**30 < device_memory() < 2**50


def test_other_errors_are_not_explained() -> None:
    assert out_of_memory(jax.errors.JaxRuntimeError("INTERNAL: something else"), 64) is None


@pytest.mark.catches(
    "results that overwrite an argument are counted twice",
    "fast/training/trainer.py",
    "sizes.output_size_in_bytes - sizes.alias_size_in_bytes",
    "sizes.output_size_in_bytes",
)
def test_the_memory_of_a_program_is_what_it_reads_makes_and_keeps_in_between() -> None:
    x = jax.ShapeDtypeStruct((64, 64), "float32")
    for function, donated, arrays in (
        (lambda x: x @ x @ x, (), 3),
        (jnp.sin, (), 2),
        (jnp.sin, 0, 1),
    ):
        program = jax.jit(function, donate_argnums=donated).lower(x).compile()
        # A few bytes more, as places are aligned.
        assert 1 <= program_memory(program) / (arrays * 4 * 64**2) < 1.05


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (10**6, r"64 trajectories .*asked for 12345 bytes.*--batch, or"),
        (2**50, "64 trajectories take 1,048,576 GiB of memory as compiled, and there are"),
    ],
)
def test_training_that_runs_out_of_memory_says_what_to_change(
    size: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise FULL

    made = fast.runs.job.set_up

    def set_up(config: Any, **more: Any) -> Any:
        setup = made(config, **more)
        return setup._replace(trainer=setup.trainer._replace(advance=full, memory=lambda *_: size))

    monkeypatch.setattr(fast.runs.job, "set_up", set_up)
    config = tiny_run(tmp_path / "run", batch=64)
    with pytest.raises(InputError, match=message):
        train(config)
    assert not config.folder().exists()


def test_training_says_how_much_memory_it_takes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    train(tiny_run(tmp_path / "run", steps=1))
    assert re.search(r"training takes 0\.\d MB of memory, of [\d,]+", capsys.readouterr().err)
