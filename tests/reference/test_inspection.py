"""`pdai inspect`: a problem in numbers and as a picture; graphs from and to networkx."""

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest

from pdai.cli import main
from reference import History, InputError, TooLargeError, enumerate_dag, lift
from reference.inspection import inspect_problem
from reference.loading import as_problem
from reference.networks import from_networkx, to_networkx
from reference.problems import Grid, Lines
from reference.show import draw

ROOT = Path(__file__).parents[2]

BROKEN = """
from fractions import Fraction

class Cyclic:
    initial = 0
    def children(self, state): return ((state + 1) % 3,)
    def reward(self, terminal): return Fraction(1)

class Unrewarding:
    initial = "o"
    def children(self, state): return ("x",) if state == "o" else ()
    def reward(self, terminal): return Fraction(0)

class NoChildren:
    initial = 0

class NeedsArguments:
    def __init__(self, size): pass

number = 3
"""


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
    for colour in ("reward", "flow"):
        picture = tmp_path / f"{colour}.png"
        main(["inspect", "reference.problems:Lines.sparse", "--draw", str(picture)])
        assert picture.read_bytes()[:4] == b"\x89PNG"
    printed = capsys.readouterr().out
    # 26 + 26 states; M = 2 gives Fibonacci many paths.
    assert "317,810" in printed
    assert "breaks no rule" in printed


def test_inspecting_does_not_import_jax() -> None:
    code = (
        "import sys; from pdai.cli import main; "
        "main(['inspect', 'reference.problems:Grid']); sys.exit('jax' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("broken:Cyclic", "has the cycle 2 -> 0 -> 1 -> 2"),
        ("broken:Unrewarding", "the reward of 'x' is 0"),
        ("broken:NoChildren", "without the member 'children'"),
        ("broken:NeedsArguments", "cannot be called without arguments"),
        ("broken:number", "a int without the member 'initial'"),
        ("broken:Missing", "no attribute 'Missing'"),
        ("missing_module:Name", "cannot be imported"),
        ("broken", "does not name a problem"),
    ],
)
def test_inspect_names_the_rule_that_is_broken(
    spec: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    with pytest.raises(SystemExit) as stopped:
        main(["inspect", spec])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_pictures_that_would_be_unreadable_or_unwritable_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="at most 400 are drawn"):
        draw(inspect_problem(Grid(16, 2)), tmp_path / "grid.png")
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


def test_problems_are_loaded_by_dotted_names() -> None:
    assert as_problem("reference.problems:Lines.sparse") == Lines.sparse()


def test_a_users_problem_may_import_its_neighbours_late_and_fail_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.py").write_text("PRICE = 3\n")
    (tmp_path / "shop.py").write_text(
        "class Shop:\n"
        "    initial = 'o'\n"
        "    def children(self, state):\n"
        "        return ('x',) if state == 'o' else ()\n"
        "    def reward(self, terminal):\n"
        "        from prices import PRICE\n"
        "        return PRICE\n"
        "class Broken(Shop):\n"
        "    def __init__(self):\n"
        "        len(3)\n"
        "class Greedy(Shop):\n"
        "    def __init__(self, size):\n"
        "        pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert inspect_problem(as_problem("shop:Shop")).rewards == (3,)
    with pytest.raises(
        InputError, match=r"shop:Broken\(\) raises TypeError, .*has no len.*line 10"
    ):
        as_problem("shop:Broken")
    with pytest.raises(InputError, match=r"without arguments .missing a required argument: 'size'"):
        as_problem("shop:Greedy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax"),
        ("x = 1\ny = 1 / 0\n", "ZeroDivisionError: division by zero; .*bad.py, line 2"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3; .*bad.py, line 2"),
        ("def f(): return f()\nf()\n", "RecursionError: .*bad.py, line 1"),
        ("from bad import Later\n", "ImportError: cannot import name 'Later'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_error(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "bad", raising=False)
    with pytest.raises(InputError, match=rf"the module 'bad' cannot be imported \({words}"):
        as_problem("bad:It")


@pytest.mark.parametrize("spec", ["reference.problems:Problem", "builtins:print", "typing:Any"])
def test_what_is_no_problem_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match=spec):
        as_problem(spec)


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


def test_networkx_graphs_that_are_no_pointed_dags_are_refused() -> None:
    with pytest.raises(InputError, match="cycle"):
        from_networkx(nx.DiGraph([(0, 1), (1, 0)]))
    for graph in (nx.Graph([(0, 1)]), nx.MultiDiGraph([(0, 1), (0, 1)]), {0: [1]}):
        with pytest.raises(InputError, match="simple directed graph"):
            from_networkx(graph)


def test_rewards_beyond_float_range_keep_their_logarithm() -> None:
    class Huge:
        initial = "o"

        def children(self, state: str) -> tuple[str, ...]:
            return ("x", "y") if state == "o" else ()

        def reward(self, terminal: str) -> Fraction:
            return Fraction(10) ** 400

    inspection = inspect_problem(Huge())
    assert inspection.entropy == pytest.approx(math.log(2))
    assert "exp(921.7" in inspection.rows()["Z, the sum of the rewards"]


def test_an_inspection_shows_its_figures_and_its_picture() -> None:
    shown = inspect_problem(Grid(2, 2))._repr_html_()
    assert ">states of the lift by the full history</th>" in shown
    assert "<svg" in shown
    assert "<svg" not in inspect_problem(Grid(20, 2))._repr_html_()
