"""A process that trains for another ends with it, however that one ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PARENT = """
import sys, time
from pathlib import Path
from pdai.distributed.engine import LocalProcesses
from tests.fast.test_orphans import linger

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


def wait_until(happened: object, seconds: float = 60) -> None:
    assert callable(happened)
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux who is alive")
@pytest.mark.parametrize("pool", ["LocalProcesses(1)", "LocalProcesses(1, pinned=True)"])
def test_a_process_that_trains_ends_with_the_one_that_is_killed(pool: str, tmp_path: Path) -> None:
    script, file = tmp_path / "parent.py", tmp_path / "pid"
    script.write_text(PARENT.format(pool=pool))
    parent = subprocess.Popen(
        [sys.executable, str(script), str(file)], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    wait_until(file.exists)
    child = int(file.read_text())
    assert is_alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not is_alive(child))
