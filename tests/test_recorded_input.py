"""Recorded samples are not waited for, and a display is one, before any work."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import pdai
from reference.certificates.recorded import Record, Recorded, read_record
from reference.errors import InputError


def test_a_pipe_or_a_device_in_the_place_of_samples_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path, kind in ((tmp_path / "pipe.csv", "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(InputError, match=f"is {kind}, which is not read"):
            read_record(path)


def test_the_rewards_of_the_problem_count_not_those_that_were_recorded() -> None:
    """Off by 5e-5 of themselves, 0.02 nats, which float32 may explain."""
    problem = SimpleNamespace(children=lambda state: (), log_reward=lambda x: -460.0)
    zeros = np.zeros(9)
    columns = {"log_p_f": zeros, "log_p_b": zeros, "log_reward": zeros - 459.98}
    walks = Recorded(Record(["a"] * 9, columns), problem).draw(9)
    assert (np.abs(walks.log_reward + 460) <= walks.error).all()
    assert walks.error.max() < 1e-11


def test_a_display_of_another_kind_is_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="display"):
        pdai.train("grid", steps=1, out=tmp_path / "run", display=cast(Any, "loud"))
    assert not (tmp_path / "run").exists()
