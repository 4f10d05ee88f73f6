"""The tests' own compilation: a process that compiles thousands of programs goes on."""

from pathlib import Path

import pytest

from tests.command_lines import python

# Compiles programs; says how many memory maps they take, and how many remain when forgotten: if
# they take more than is allowed, and, the control, if they take less.
COUNTS = """
import jax, jax.numpy as jnp
from pathlib import Path
from verify.lib import compilation

def maps():
    return Path("/proc/self/maps").read_bytes().count(b"\\n")

jnp.ones(3).block_until_ready()
before = maps()
kept = [jax.jit(lambda x, i=i: x * i + 1) for i in range(60)]
[function(jnp.ones(3)) for function in kept]
print(maps() - before)
for above in (100.0, 0.0):
    compilation.forget_programs(above)
    print(maps() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="only Linux tells memory maps")
def test_programs_are_forgotten_where_they_take_too_much_and_kept_where_not() -> None:
    compiled, kept, left = map(int, python("-c", COUNTS).stdout.split())
    assert kept == compiled > 100
    assert left < 100
