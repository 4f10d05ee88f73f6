"""Recorded samples are not waited for, and a display is one, before any work."""

import os
from pathlib import Path
from typing import Any, cast

import pytest

import pdai
from reference.certificates.recorded import read_record
from reference.errors import InputError


def test_a_pipe_or_a_device_in_the_place_of_samples_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path, kind in ((tmp_path / "pipe.csv", "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(InputError, match=f"is {kind}, which is not read"):
            read_record(path)


def test_a_display_of_another_kind_is_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="display"):
        pdai.train("grid", steps=1, out=tmp_path / "run", display=cast(Any, "loud"))
    assert not (tmp_path / "run").exists()
