"""The tests' own compilation: a process that compiles thousands of programs goes on."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Compiles programs; says how many memory maps they take, and how many remain when forgotten.
COUNTS = """
import sys
import jax, jax.numpy as jnp
from pathlib import Path
from verify.lib import compilation

def maps():
    return Path("/proc/self/maps").read_bytes().count(b"\\n")

jnp.ones(3).block_until_ready()
before = maps()
kept = [jax.jit(lambda x, i=i: x * i + 1) for i in range(60)]
[function(jnp.ones(3)) for function in kept]
compiled = maps() - before
compilation.forget_programs(float(sys.argv[1]))
print(compiled, maps() - before)
"""


def counts(above: float) -> tuple[int, int]:
    command = [sys.executable, "-c", COUNTS, str(above)]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    compiled, left = map(int, found.split())
    return compiled, left


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="only Linux tells memory maps")
def test_programs_are_forgotten_where_they_take_too_much() -> None:
    compiled, left = counts(0.0)
    assert compiled > 100
    assert left < 100


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="only Linux tells memory maps")
def test_control_few_programs_are_kept() -> None:
    compiled, left = counts(100.0)
    assert left == compiled > 100
