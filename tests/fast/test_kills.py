"""Processes that are killed: a run goes on as if it had not been, and no process is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command_lines import SMALL, answer, command, ended, environment, start, wait_until

RESULTS = ("config.json", "checkpoint.eqx", "law.npz", "report.json", "metrics.jsonl")
BEGIN = {
    "train": f"train {' '.join(SMALL)} --out out",
    "random latent": (
        "train lines --dynamics gaussian --length 4 --latent-size 2 --parameters 600 --batch 16 "
        "--rule muon --steps 300 --checkpoint-every 100 --evaluations 1 --seeds 2 "
        "--law-samples 4096 --out out"
    ),
}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        pytest.param("train", signal.SIGKILL, id="kill -9"),
        pytest.param("train", signal.SIGINT, id="Ctrl-C", marks=pytest.mark.long),
        pytest.param("random latent", signal.SIGKILL, id="random latent", marks=pytest.mark.long),
    ],
)
def test_a_killed_run_resumes_to_bit_identical_parameters(
    name: str, how: signal.Signals, finished: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "out"
    process = start(BEGIN[name].split(), tmp_path)
    metrics = cut / "metrics.jsonl"
    wait_until(lambda: metrics.is_file() and '"step": 200' in metrics.read_text())
    process.send_signal(how)
    _, errors = process.communicate()
    assert process.returncode == (-9 if how == signal.SIGKILL else 130)
    if how == signal.SIGINT:
        assert "stopping when this block of steps is done" in errors
        assert "continue with: pdai train --resume" in errors
    # Killed too late, there is nothing to resume: that the run was cut is part of the test.
    assert not (cut / "seal.json").exists()
    header = json.loads((cut / "checkpoint.eqx").read_bytes().partition(b"\n")[0])
    assert 100 <= header["step"] < 400
    answer("train", "--resume", "out", cwd=tmp_path)
    whole = finished
    if name != "train":
        whole = tmp_path / "whole" / "out"
        whole.parent.mkdir()
        subprocess.run(
            command(*BEGIN[name].split()), cwd=whole.parent, env=environment(), check=True
        )
    assert ended(cut, RESULTS) == ended(whole, RESULTS)


PARENT = """
import sys, time
from pathlib import Path
from pdai.distributed.engine import LocalProcesses
from tests.fast.test_kills import linger

if __name__ == "__main__":
    with {pool} as pool:
        pool.submit(linger, Path(sys.argv[1])).result()
"""


def linger(file: Path) -> None:
    """Says which process this is, and does not end by itself."""
    partial = file.with_suffix(".partial")
    partial.write_text(str(os.getpid()))
    partial.rename(file)
    time.sleep(600)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        # What has ended, and nobody asks how, is a zombie.
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux who is alive")
@pytest.mark.parametrize("pool", ["LocalProcesses(1)", "LocalProcesses(1, pinned=True)"])
def test_a_process_that_trains_ends_with_the_one_that_is_killed(pool: str, tmp_path: Path) -> None:
    script, file = tmp_path / "parent.py", tmp_path / "pid"
    script.write_text(PARENT.format(pool=pool))
    parent = subprocess.Popen([sys.executable, str(script), str(file)], env=environment())
    wait_until(file.exists)
    child = int(file.read_text())
    assert is_alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not is_alive(child))
