"""The harness of the benchmarks, and their tasks without the other libraries.

The one for a GPU is run at its smallest size.
"""

import itertools
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import pdai
from benchmarks import gpu_program
from benchmarks.bare_samples import SAMPLERS, SMALL, draw, errors
from benchmarks.certify import cases
from benchmarks.harness import Spread, Table, in_turns, ratios
from benchmarks.on_device.budget import Budget, Row, facts
from benchmarks.on_device.program import Target, _instruction, cost, waits
from benchmarks.peers import minima
from benchmarks.peers.bits import AnyOrderBits
from benchmarks.peers.protocol import distance
from benchmarks.peers.tasks import IsingTask
from benchmarks.time_to_tv import (
    Kernel,
    alike,
    chain_curve,
    chains_of,
    coordinates,
    gibbs,
    metropolis,
)
from fast.environments import make_environment
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import target_law, uniform_law
from reference.contract.errors import InputError
from reference.posterior import Network, StructureLearning
from reference.problems import Cell, Grid
from tests.certificates.problems import GRID
from tests.certificates.test_adapters import ForeignGrid, foreign
from tests.project.test_layering import REFUSING

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_measures_take_turns_and_the_first_rounds_are_left_out() -> None:
    calls = list[str]()

    def measure(name: str) -> int:
        calls.append(name)
        return len(calls)

    values = in_turns({name: partial(measure, name) for name in "ab"}, rounds=2, uncounted=1)
    assert calls == [*"ababab"]
    assert values == {"a": [3, 5], "b": [4, 6]}
    assert ratios(values["a"], values["b"]).values == [3 / 4, 5 / 6]


def test_rows_are_printed_and_kept_as_markdown_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("python x.py", tmp_path / "new" / "found", {"device": "two cores"})
    table.add({"what": "a", "rate": Spread([2.0, 1.0, 4_000.0], "steps/s")})
    table.add({"what": "b", "rate": None})
    lines = "| what | rate |\n|---|---|\n| a | 2 (1 to 4,000) steps/s |\n| b |  |\n"
    assert capsys.readouterr().out == lines
    made = (tmp_path / "new" / "found.md").read_text()
    assert made == f"Made by `python x.py`: device two cores.\n\n{lines}"
    stored = json.loads((tmp_path / "new" / "found.json").read_text())
    assert stored.pop("dropped") == []
    rate = {"median": 2.0, "unit": "steps/s", "values": [2.0, 1.0, 4_000.0]}
    assert stored == {
        "device": "two cores",
        "rows": [{"what": "a", "rate": rate}, {"what": "b", "rate": None}],
    }
    table.add({"more": Spread([0.5])}, kind="other")
    assert "\n## other\n\n| more |\n|---|\n| 0.5 |\n" in (tmp_path / "new" / "found.md").read_text()


def test_samples_of_the_benchmark_of_bare_samples_have_the_laws_that_it_names() -> None:
    random = np.random.default_rng(0)
    shares = {
        name: np.bincount(draw(random, name, 100, 100_000), minlength=100) / 1_000
        for name in SAMPLERS
    }
    assert abs(shares["perfect"] - 1).max() < 0.2
    assert shares["some 52 times too often"][0] == pytest.approx(100 * 52 / 151, abs=0.5)
    assert shares["weights 1.2 and 0.8"][::2].mean() == pytest.approx(1.2, abs=0.02)
    assert shares["one in 78 missing"][0] == 0
    chain = draw(random, "correlated", 100, 100_000)
    assert np.mean(chain[1:] == chain[:-1]) == pytest.approx(0.505, abs=0.01)
    counted = Table("x", printed=False)
    errors(counted, 2)
    assert [row["sampler"] for row in counted.rows] == [name for name, *_ in SMALL]


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
    stored = json.loads(table.with_suffix(".json").read_text())
    kinds = {row["kind"] for row in stored["rows"]}
    assert kinds == {"matrices", "correctness", "training", "law"}
    assert not any("error" in row and row["kind"] != "correctness" for row in stored["rows"])
    checks = [row for row in stored["rows"] if row["kind"] == "correctness"]
    assert len(checks) == 12
    assert all(row["right"] for row in checks)
    # Controls: numbers of another policy were seen to differ.
    assert sum(row["control"] is not None for row in checks) > 10
    for row in (row for row in stored["rows"] if row["kind"] == "training"):
        assert 0 < row["share of matrix rate"] < 1
        assert row["kernels per step"] > 10
    assert stored["dropped"] == []
    assert "## correctness" in table.with_suffix(".md").read_text()


def test_a_gpu_has_its_own_name_beside_that_of_its_host() -> None:
    card = facts(SimpleNamespace(platform="gpu", device_kind="NVIDIA H100 80GB HBM3"))
    here = facts(jax.devices("cpu")[0])
    assert card["device"] == "NVIDIA H100 80GB HBM3"
    assert card["host"] == here["device"]
    assert "host" not in here


def test_what_does_not_fit_into_the_time_is_dropped_by_name(tmp_path: Path) -> None:
    done = []

    def broken(_: None) -> list[dict[str, object]]:
        raise ValueError("no such kernel")

    rows = [
        Row("slow", "least", 3, lambda: None, lambda _: [{}]),
        Row("quick", "broken", 2, lambda: None, broken),
        Row("quick", "first", 1, lambda: done.append(1), lambda _: [{"right": True}]),
    ]
    table = Table("python x.py", tmp_path / "found", printed=False)
    budget = Budget(10, together=1)
    budget._taken = {"slow": 1e9, "quick": 0.0}
    budget.spend(rows, table)
    assert done == [1]
    assert table.dropped == ["least"]
    assert [row["name"] for row in table.rows] == ["first", "broken"]
    assert table.rows[1]["error"] == "ValueError: no such kernel"
    assert budget.failed
    assert json.loads((tmp_path / "found.json").read_text())["dropped"] == ["least"]
    table.dropped += ["law of bits"]
    table.write()
    assert (tmp_path / "found.md").read_text().endswith("2 rows.\n\n- least\n- law of bits\n")


def test_nothing_is_prepared_while_a_row_is_measured(tmp_path: Path) -> None:
    events = list[str]()

    def prepare() -> None:
        time.sleep(0.01)
        events.append("prepared")

    def measure(_: None) -> list[dict[str, object]]:
        events.append("measured")
        return [{}]

    rows = [Row("kind", f"row {n}", n, prepare, measure) for n in range(5)]
    table = Table("python x.py", tmp_path / "rows", printed=False)
    Budget(60, together=3).spend(rows, table)
    assert events == ["prepared"] * 3 + ["measured"] * 3 + ["prepared"] * 2 + ["measured"] * 2
    assert [row["name"] for row in table.rows] == [row.name for row in rows]


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
    assert large.operations == 2 * small.operations == 20 * 2 * 64**3


@pytest.mark.parametrize(
    ("asks", "waiting"),
    [
        (lambda x: lax.scan(lambda x, _: (jnp.sin(x), None), x, None, length=9)[0], []),
        (lambda x: lax.cond(x[0] > 0, jnp.sort, jnp.sin, x), ["1 conditionals"]),
        (
            lambda x: lax.while_loop(lambda x: x[0] < 9, lambda x: x + 1, x),
            ["1 loops of unknown length"],
        ),
        (lambda x: jax.pure_callback(np.sin, x, x), ["1 calls of the host"]),
    ],
    ids=["a known loop", "a branch", "a loop", "a callback"],
)
def test_programs_that_wait_for_a_host_are_told_apart(asks: Any, waiting: list[str]) -> None:
    assert waits(jax.jit(asks).lower(jnp.ones(64)).compile().as_text()) == waiting


def test_of_arrays_that_a_loop_reads_and_writes_by_rows_it_moves_the_rows() -> None:
    rows, row = 200, 4 * 64
    move = jax.jit(lambda x: lax.scan(lambda _, row: (row, jnp.sin(row)), x[0], x))
    text = move.lower(jnp.ones((rows, 64))).compile().as_text()
    # A row read and one written in each round, and again for the carry; whole arrays are 400 rows.
    assert 2 * rows * row < cost(text).bytes < 8 * rows * row


def test_a_comment_that_counts_operands_is_none() -> None:
    line = _instruction("(f32[8]{0}, f32[8]{0}) tuple(%x.0, /*index=1*/%x.1), metadata={}")
    assert (line.opcode, line.operands) == ("tuple", ["x.0", "x.1"])


def test_without_loops_the_bytes_are_those_that_xla_counts() -> None:
    compiled = jax.jit(lambda x: jnp.sort(x @ x)).lower(jnp.ones((64, 64))).compile()
    analysis = compiled.cost_analysis()
    assert isinstance(analysis, dict)
    assert cost(compiled.as_text()).bytes == pytest.approx(analysis["bytes accessed"], rel=0.3)


def test_a_program_over_its_budget_or_that_waits_is_wrong() -> None:
    for kernels, waiting, foreseen, right in (
        (10, "", 9.1, True),
        (11, "", 10, False),
        (10, "float64", 10, False),
        (10, "", 8.9, False),
        (10, "", 11.1, False),
    ):
        values = {"kernels": kernels, "waits": waiting, "foreseen MB": foreseen, "peak MB": 10}
        assert gpu_program.checked(values, 10)["right"] == right


def test_without_the_compiler_nothing_is_said_to_be_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(_: Target) -> None:
        raise RuntimeError("no plugin for cuda")

    monkeypatch.setattr(Target, "sharding", absent)
    monkeypatch.setattr(sys, "argv", ["gpu_program.py"])
    assert gpu_program.main() == gpu_program.NO_WHEEL
    assert capsys.readouterr().out.startswith("NOT COMPILED: programs for a GPU")


MODES = ((0, 1, 1, 0), (1, 1, 1, 1))


class TwoWords:
    """Strings of two words of two bits, -1 where empty; reward 2^-d."""

    initial = (-1, -1)

    def children(self, state: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            (*state[:i], word, *state[i + 1 :])
            for i, token in enumerate(state)
            if token < 0
            for word in range(4)
        )

    def reward(self, terminal: tuple[int, ...]) -> Fraction:
        bits = [word >> place & 1 for word in terminal for place in (1, 0)]
        return Fraction(1, 2 ** min(sum(map(int.__ne__, bits, mode)) for mode in MODES))


def environment(modes: tuple[tuple[int, ...], ...] = MODES) -> AnyOrderBits:
    return AnyOrderBits.from_modes(2, 2, modes, 4 * float(np.log(2)))


def test_the_environment_is_the_problem() -> None:
    enumeration = enumerate_environment(TwoWords(), environment())
    assert len(enumeration.dag.labels) == 5**2
    assert len(enumeration.dag.terminals) == 4**2


def test_backward_actions_undo_forward_ones() -> None:
    bits = environment()
    state = bits.encode((-1, 2))
    for action in range(4):
        child = bits.step(state, jnp.int32(action))
        parent = bits.undo(state, jnp.int32(action))
        assert bits.decode(bits.backward_step(child, parent)) == (-1, 2)
        assert int(bits.redo(child, parent)) == action


def test_control_other_modes_are_told_apart() -> None:
    with pytest.raises(InputError, match="fix log_reward"):
        enumerate_environment(TwoWords(), environment(MODES[:1]))


def trajectory_balance(loss: str, example: Any, sampler: Any, paths: Any) -> tuple[float, float]:
    """The loss that a library would give; its slopes are zero with it."""
    squares = []
    for path in paths:
        gap = sampler.log_z - math.log(example.rewards[example.edges[path[-1]][1]])
        for edge in path:
            gap += sampler.log_p_f[edge]
            gap -= math.log(example.p_b(edge)) if loss == "TB" else 0
        squares.append(gap**2)
    return sum(squares) / len(squares), sum(squares)


def test_minima_of_a_right_library_are_those_of_the_counterexamples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ways = ("soft-rl-without-correction-pcl-sql-several-ways",)
    library = {"versions": "right 1.0", "right": ("TB",), "without p_B": ways}
    minima.main(library, trajectory_balance)
    assert "TB without p_B" in capsys.readouterr().out
    # Control: a library whose loss leaves out p_B.
    with pytest.raises(SystemExit, match="a minimum differs"):
        minima.main(library | {"right": ("TB without p_B",)}, trajectory_balance)


def energies(task: Any) -> Any:
    """`log R` of all states of spins, from the coupling matrix."""
    spins = np.array(list(itertools.product((-1.0, 1.0), repeat=task.side**2)))
    return np.einsum("ni,ij,nj->n", spins, np.array(task.matrix), spins)


@pytest.mark.parametrize(("side", "coupling"), [(2, 0.3), (3, 0.2), (4, -0.1)])
def test_log_z_of_a_torus_is_that_of_all_its_states(side: int, coupling: float) -> None:
    task = IsingTask(side, coupling)
    exact = np.logaddexp.reduce(energies(task))
    assert cases.log_z_of_torus(task) == pytest.approx(exact, abs=1e-12)
    assert np.sum(task.matrix) == pytest.approx(2 * side**2 * coupling)
    # Control: without the couplings it would be the logarithm of the number of states.
    assert abs(exact - side**2 * math.log(2)) > 0.01


def test_every_case_knows_log_z_and_names_its_terminals() -> None:
    for case in cases.CASES.values():
        assert (case.problem is None) != (case.log_z is None)
    assert cases.cell((3, 0)) == Cell((3, 0), stopped=True)
    assert cases.string((0, 15, 2, 8, 1, 0, 0, 7)) == "00001111001010000001000000000111"
    assert cases.BITS.distance(cases.string((0,) * 8)) <= 8


def test_the_table_of_six6_is_in_the_order_of_its_strings() -> None:
    case = cases.CASES["SIX6, left to right"]
    task, six6 = case.task, case.problem
    assert (task.letters**task.length, six6.length) == (len(task.log_rewards), task.length)
    for digits in ((0,) * 8, (0, 1, 2, 3, 3, 2, 1, 0), (3,) * 7 + (1,)):
        place = sum(x * 4**power for power, x in enumerate(reversed(digits)))
        assert task.log_rewards[place] == math.log(six6.reward(cases.letters(digits)))
    # Control: read from the right, it would be another table.
    assert task.log_rewards[1] != task.log_rewards[4**7]


@pytest.mark.parametrize("rule", [gibbs, metropolis])
def test_chains_move_as_their_law_says_and_keep_the_target(
    rule: Callable[[Any, Any], Kernel],
) -> None:
    problem = Grid(3, 2)
    cells = [Cell(tuple(cell), True) for cell in np.indices((3, 3)).reshape(2, -1).T.tolist()]
    target = np.array([float(problem.reward(cell) / problem.z()) for cell in cells])
    points = np.array([coordinates(cell) for cell in cells])
    for i in range(2):
        kernel = rule(alike(points, i), np.log(target))
        np.testing.assert_allclose(kernel.law(target), target, rtol=1e-12)
        # Control: chains of other rewards leave the target.
        assert abs(rule(alike(points, i), 2 * np.log(target)).law(target) - target).sum() > 1e-3
        uniforms = (np.arange(100_000) + 0.5) / 100_000
        for start in range(9):
            law = kernel.law(np.eye(9)[start])
            assert all(points[x][1 - i] == points[start][1 - i] for x in np.flatnonzero(law))
            ends = np.bincount(kernel.move(np.full(100_000, start), uniforms), minlength=9)
            np.testing.assert_allclose(ends / 100_000, law, atol=2e-5)
    graph = Network((0, 1, 0), stopped=True)
    assert coordinates(graph) == (2, 0, 0)


@pytest.mark.parametrize(
    "problem", [Grid(3, 2), StructureLearning.minimal()], ids=["grid", "graphs"]
)
def test_every_chain_comes_to_the_target(problem: Any) -> None:
    enumeration = enumerate_environment(problem, make_environment(problem))
    target = target_law(enumeration)
    chains = chains_of(enumeration, problem)
    assert len(chains) == (5 if isinstance(problem, StructureLearning) else 3)
    for make in chains.values():
        kernels, law, read = make()
        assert list(chain_curve(make, target))[-1][1] < 0.01
        for kernel in kernels * 300:
            law = kernel.law(law)
        np.testing.assert_allclose(read(law), target, atol=1e-9)
    # Control: what they begin with is another law.
    assert abs(uniform_law(enumeration).probabilities - target).sum() > 0.1


def test_distance_by_a_library_s_steps_is_the_exact_one() -> None:
    exact = pdai.certify(foreign(), GRID, max_states=18).tv
    assert exact is not None
    # Rewards of a library are in float32.
    assert distance(ForeignGrid()) == pytest.approx(float(exact), rel=1e-6)
