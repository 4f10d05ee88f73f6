"""`pdai inspect`: a problem in numbers and as a picture; graphs from and to networkx."""

import math
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest

from pdai.cli import main
from reference import History, InputError, enumerate_dag, lift
from reference.inspection import inspect_problem
from reference.loading import as_problem
from reference.networks import from_networkx, to_networkx
from reference.problems import Grid, Lines
from reference.problems.base import exponential
from reference.show import draw

ROOT = Path(__file__).parents[2]

# What users write, by the name of the module.
MODULES = {
    "broken": """
class Cyclic:
    initial = 0
    def children(self, state): return ((state + 1) % 3,)
    def reward(self, terminal): return 1

class Unrewarding:
    initial = "o"
    def children(self, state): return ("x",) if state == "o" else ()
    def reward(self, terminal): return 0

class NoChildren:
    initial = 0

class Neither:
    initial, children = Unrewarding.initial, Unrewarding.children

class Both(Unrewarding):
    def log_reward(self, terminal): return 0.0

class NeedsArguments:
    def __init__(self, size): pass

class Raising(Unrewarding):
    def __init__(self): len(3)

number = 3
""",
    "prices": "PRICE = 3",
    "shop": """
class Shop:
    initial = "o"
    def children(self, state): return ("x",) if state == "o" else ()
    def reward(self, terminal):
        from prices import PRICE
        return PRICE

class Log:
    initial, children = Shop.initial, Shop.children
    def log_reward(self, terminal): return -1.5
""",
    "syntax": "def f(:",
    "zero": "x = 1\ny = 1 / 0",
    "leaving": "import sys\nsys.exit(3)",
    "endless": "def f(): return f()\nf()",
    "itself": "from itself import Later",
}


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with these modules, where `pdai` is started."""
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text + "\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_the_figures_of_a_small_grid_are_those_counted_otherwise() -> None:
    problem = Grid(4, 2)
    inspection = inspect_problem(problem)
    dag = enumerate_dag(problem)
    lifted = lift(dag, History())
    assert inspection.history_states == len(lifted.dag.labels)
    assert inspection.depth == max(map(len, dag.trajectories()))
    assert inspection.z == sum(problem.reward(dag.labels[x]) for x in dag.terminals)
    law = [float(r / inspection.z) for r in inspection.rewards]
    assert inspection.entropy == pytest.approx(-sum(p * math.log(p) for p in law))
    assert inspection.flow()[0] == pytest.approx(float(inspection.z))


def test_inspect_prints_exact_figures_and_writes_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "picture.png"
    main(["inspect", "reference.problems:Lines.sparse", "--draw", str(picture)])
    assert picture.read_bytes()[:4] == b"\x89PNG"
    printed = capsys.readouterr().out
    # 26 + 26 states; M = 2 gives Fibonacci many paths.
    assert "317,810" in printed
    assert "breaks no rule" in printed
    # By the name of a task, as in `pdai train`.
    main(["inspect", "lines"])
    assert "4,180" in capsys.readouterr().out


def test_neither_inspecting_nor_exact_posteriors_import_jax(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_text("a,b\nx,p\ny,q\nx,q\ny,p\n")
    code = (
        "import sys; from pdai.cli import main; main(['inspect', 'reference.problems:Grid']);"
        "main(['posterior', sys.argv[1], '--out', sys.argv[2]]); sys.exit('jax' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "my.csv"), str(tmp_path / "answer")]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("users")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("broken:Cyclic", "has the cycle 2 -> 0 -> 1 -> 2"),
        ("broken:Unrewarding", "the reward of 'x' is 0"),
        ("broken:NoChildren", "has no member 'children'"),
        ("broken:Neither", "of type Neither, has no member 'reward': .* or log_reward"),
        ("broken:Both", "of type Both, has both reward and log_reward, .* keep one"),
        ("broken:NeedsArguments", "called without arguments .missing a required argument: 'size'"),
        ("broken:Raising", r"broken:Raising\(\) raises TypeError, .*has no len.*line 25"),
        ("broken:number", "of type int, has no member 'initial'"),
        ("broken:Missing", "no attribute 'Missing'"),
        ("missing_module:Name", r"'missing_module' cannot be imported \([^;]* named '.*'\): run"),
        ("broken.py:Both", "does not name a problem"),
        ("broken", "does not name a problem"),
        ("syntax:It", r"'syntax' cannot be imported \(SyntaxError: invalid syntax"),
        ("zero:It", r"imported \(ZeroDivisionError: division by zero; .*zero.py, line 2"),
        ("leaving:It", r"cannot be imported \(SystemExit: 3; .*leaving.py, line 2"),
        ("endless:It", r"cannot be imported \(RecursionError: .*endless.py, line 1"),
        ("itself:It", r"cannot be imported \(ImportError: cannot import name 'Later'"),
        ("reference.problems:Problem", "reference.problems:Problem"),
        ("builtins:print", "builtins:print"),
        ("typing:Any", "typing:Any"),
    ],
)
def test_inspect_names_the_rule_that_is_broken(
    spec: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["inspect", spec])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert re.search(words, error), error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("users")
def test_problems_are_loaded_by_dotted_names_and_may_import_their_neighbours_late() -> None:
    assert as_problem("reference.problems:Lines.sparse") == Lines.sparse()
    assert inspect_problem(as_problem("shop:Shop")).rewards == (3,)
    assert inspect_problem(as_problem("shop:Log")).z == exponential(Fraction(-3, 2))


def test_pictures_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    small = inspect_problem(Grid(2, 2))
    for path in (tmp_path / "grid.nonsense", tmp_path / "no" / "folder.png", tmp_path / "grid"):
        with pytest.raises(InputError, match="cannot be written"):
            draw(small, path)
    draw(small, tmp_path / "grid.PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["grid.PNG"]


@pytest.mark.parametrize(
    "arguments", [["inspect", "nowhere:It", "--draw"], ["plot", "nowhere", "--out"]]
)
def test_a_picture_without_a_format_is_refused_before_anything_is_read(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("p", ".", ".png", "p.nonsense"):
        with pytest.raises(SystemExit) as stopped:
            main([*arguments, name])
        assert stopped.value.code == 2
        assert f"the picture cannot be written to '{name}'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_graphs_go_to_networkx_and_come_back() -> None:
    dag = enumerate_dag(Grid(3, 2))
    graph = to_networkx(dag)
    assert nx.is_directed_acyclic_graph(graph)
    assert sum(terminal for _, terminal in graph.nodes(data="terminal")) == len(dag.terminals)
    back = from_networkx(graph)
    assert back.labels == dag.labels
    assert back.children == dag.children
    # An independent count of trajectories.
    counts = sum(
        len(list(nx.all_simple_paths(graph, dag.labels[0], dag.labels[x]))) for x in dag.terminals
    )
    assert counts == dag.trajectory_count


def test_rewards_beyond_float_range_keep_their_logarithm() -> None:
    children = lambda state: ("x", "y") if state == "o" else ()  # noqa: E731
    huge: Any = SimpleNamespace(initial="o", children=children, reward=lambda _: 10**400)
    inspection = inspect_problem(huge)
    assert inspection.entropy == pytest.approx(math.log(2))
    assert "exp(921.7" in inspection.rows()["Z, the sum of the rewards"]


def test_an_inspection_shows_its_figures_and_its_picture() -> None:
    assert "Grid: states 8, edges 8" in repr(inspect_problem(Grid(2, 2)))
    shown = inspect_problem(Grid(2, 2))._repr_html_()
    assert ">states of the lift by the full history</th>" in shown
    assert "<svg" in shown
    assert "<svg" not in inspect_problem(Grid(20, 2))._repr_html_()
