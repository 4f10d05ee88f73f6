"""The benchmark that runs wherever a GPU is at hand: at its smallest size, and what it counts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from benchmarks.on_device.budget import Budget, Record, Row
from benchmarks.on_device.program import cost
from tests.project.test_layering import REFUSING

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# What a machine with a GPU does not have.
ABSENT = ("tyro", "rich", "matplotlib", "flint", "sympy", "pytest", "hypothesis", "distributed")
RUN = f"""
sys.argv = ["device.py", *OPTIONS]
runpy.run_path({str(BENCHMARKS / "device.py")!r}, run_name="__main__")
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("device") / "found"
    options = ["--smallest", "--device", "cpu", "--minutes", "30", "--out", str(out)]
    code = REFUSING.format(module="runpy") + RUN.replace("OPTIONS", repr(options))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code, *ABSENT],
        cwd=out.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cores of" in done.stdout.splitlines()[0]
    return out


@pytest.mark.long
def test_the_smallest_run_finds_a_row_of_each_kind_and_nothing_wrong(table: Path) -> None:
    found = json.loads(table.with_suffix(".json").read_text())
    kinds = {row["kind"] for row in found["rows"]}
    assert kinds == {"matrices", "correctness", "training", "law"}
    assert not any("error" in row and row["kind"] != "correctness" for row in found["rows"])
    checks = [row for row in found["rows"] if row["kind"] == "correctness"]
    assert len(checks) > 12
    assert all(row["right"] for row in checks)
    # Controls: numbers of another policy were seen to differ.
    assert sum(row["control"] is not None for row in checks) > 10
    for row in (row for row in found["rows"] if row["kind"] == "training"):
        assert 0 < row["share of matrix rate"] < 1
        assert row["kernels per step"] > 10
    assert found["dropped"] == []
    assert "## correctness" in table.with_suffix(".md").read_text()


def test_what_does_not_fit_into_the_time_is_dropped_by_name(tmp_path: Path) -> None:
    done = []

    def broken(_: None) -> list[dict[str, object]]:
        raise ValueError("no such kernel")

    rows = [
        Row("slow", "least", 3, lambda: None, lambda _: [{}]),
        Row("quick", "broken", 2, lambda: None, broken),
        Row("quick", "first", 1, lambda: done.append(1), lambda _: [{"right": True}]),
    ]
    record = Record(tmp_path / "found", {})
    budget = Budget(10, ahead=0)
    budget._taken = {"slow": 1e9, "quick": 0.0}
    budget.spend(rows, record)
    assert done == [1]
    assert record.dropped == ["least"]
    assert [row["name"] for row in record.rows] == ["first", "broken"]
    assert record.rows[1]["error"] == "ValueError: no such kernel"
    assert record.failed
    assert json.loads((tmp_path / "found.json").read_text())["dropped"] == ["least"]
    for name in ("grid, GRU, batch 32", "law of bits", "grid, GRU, batch 4,096"):
        record.dropped.append(name)
    record.write()
    written = (tmp_path / "found.md").read_text()
    assert written.endswith("4 rows.\n\n- least\n- grid, GRU: batch 32; 4,096\n- law of bits\n")


def test_a_loop_counts_as_often_as_it_runs() -> None:
    def loop(rounds: int) -> str:
        def move(x: jax.Array, _: None) -> tuple[jax.Array, None]:
            return jnp.sort(x) @ jnp.ones((64, 64)), None

        program = jax.jit(lambda x: lax.scan(move, x, None, length=rounds)[0])
        return program.lower(jnp.ones((64, 64))).compile().as_text()

    small, large = cost(loop(10)), cost(loop(20))
    assert small.unknown == large.unknown == 0
    # Sort and product in every round, and little besides.
    assert large.kernels - small.kernels == pytest.approx(small.kernels, rel=0.3)
    assert large.bytes - small.bytes >= 10 * 4 * 64 * 64 * 4
    assert large.bytes == pytest.approx(2 * small.bytes, rel=0.2)


def test_without_loops_the_bytes_are_those_that_xla_counts() -> None:
    compiled = jax.jit(lambda x: jnp.sort(x @ x)).lower(jnp.ones((64, 64))).compile()
    analysis = compiled.cost_analysis()
    assert isinstance(analysis, dict)
    assert cost(compiled.as_text()).bytes == pytest.approx(analysis["bytes accessed"], rel=0.3)
