"""Tasks in processes: what one that dies leaves alone, and what is said meanwhile."""

import os
import threading
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from fast.runs.records import append_metrics
from pdai.distributed import engine
from pdai.distributed.engine import LocalProcesses, Task, bring_to_end, dask_executor
from reference import InputError


def test_a_process_that_dies_takes_no_other_along() -> None:
    with LocalProcesses(2) as executor:
        other = executor.submit(time.sleep, 1)
        assert isinstance(executor.submit(os._exit, 1).exception(), BrokenExecutor)
        assert other.exception() is None


@pytest.mark.parametrize(
    ("address", "message"),
    [("nowhere.json", "there is no scheduler file"), ("nope://x", "'nope://x' does not answer")],
)
def test_a_dask_scheduler_that_is_not_there_is_said_to_be_missing(
    address: str, message: str
) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    with pytest.raises(InputError, match=message), dask_executor(address):
        pass


def test_how_far_tasks_are_is_said_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "INTERVAL", 0.01)
    append_metrics(tmp_path, {"step": 300})
    heard, said = threading.Event(), list[str]()

    def say(line: str) -> None:
        said.append(line)
        heard.set()

    tasks = {
        "first": Task(heard.wait, 60, {tmp_path: 600, tmp_path / "none": 900}),
        "second": Task(abs, -1, {tmp_path / "none": 600}),
        "third": Task(abs, -2, {}, after=("second",)),
    }
    with ThreadPoolExecutor(1) as executor:
        ended = list(bring_to_end(tasks, executor, say))
    assert said[0] == "first 300/1,500  1 to begin"
    assert sorted((end.name, end.result) for end in ended) == [
        ("first", True), ("second", 1), ("third", 2)
    ]  # fmt: skip
