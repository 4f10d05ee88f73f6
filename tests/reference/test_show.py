"""Texts and drawings of graphs and policies, and `pdai inspect`."""

import math
import re
import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from pdai.cli import main
from reference import (
    FLOAT64,
    RATIONAL,
    BackwardPolicy,
    Forgetful,
    ForwardPolicy,
    History,
    PointedDAG,
    Symbolic,
    enumerate_dag,
    lift,
    pointed_dag,
)
from reference.looking.inspection import inspect_problem
from reference.looking.networks import from_networkx, to_networkx
from reference.looking.show import draw, figure_of, layout, log_ticks, picture_of, svg
from reference.problems import Grid, Lines
from reference.problems.enumeration import exponential
from reference.problems.members import as_problem
from tests.refusals import refused

KITE = pointed_dag(
    {"o": ["a", "b"], "a": ["c", "x"], "b": ["c"], "c": ["x", "y"], "x": [], "y": []}
)
P_F = ForwardPolicy.from_weights(KITE, RATIONAL, [1, 2, 3, 4, 1, 1, 1])
CHAIN = PointedDAG(tuple(range(401)), tuple((v + 1,) if v < 400 else () for v in range(401)))
EVERY = [KITE, lift(KITE, History()), P_F, BackwardPolicy.uniform(KITE, FLOAT64)]


def texts(picture: str | None) -> list[str]:
    """The text in an SVG."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture or "")


def test_one_line_says_what_it_is() -> None:
    assert repr(KITE) == "PointedDAG(6 states, 7 edges, 2 terminals)"
    assert repr(P_F) == "ForwardPolicy(rational, on 6 states, 7 edges, 2 terminals)"
    assert repr(EVERY[1]) == (
        "LiftedDAG(7 states, 9 edges, 2 terminals, over 6 states, 7 edges, 2 terminals)"
    )
    assert repr(PointedDAG((0, 1), ((1,), ()))) == "PointedDAG(2 states, 1 edge, 1 terminal)"


def plain(html: str) -> str:
    """Cells of tables without their style."""
    return re.sub(r"<(t[hd]) style=[^>]*>", r"<\1>", html)


def test_a_notebook_is_given_the_figures_and_the_rows_of_a_policy() -> None:
    # Notebooks set cells to the right, which a sentence is not read in.
    assert '<td style="text-align: left">5</td>' in P_F._repr_html_()
    shown = plain(P_F._repr_html_())
    for cells in (
        "<th>complete trajectories</th><td>5</td>",
        "<th>depth (longest trajectory, in edges)</th><td>3</td>",
        "<th>0: o</th><td>a: 1/3, b: 2/3</td>",
        "<th>1: a</th><td>c: 3/7, x: 4/7</td>",
    ):
        assert cells in shown
    backward = plain(BackwardPolicy.uniform(KITE, RATIONAL)._repr_html_())
    assert "<th>3: c</th><td>a: 1/2, b: 1/2</td>" in backward
    assert "0: o" not in backward
    escaped = pointed_dag({"<o>": ["x"], "x": []})
    assert "<o>" not in BackwardPolicy.uniform(escaped, RATIONAL)._repr_html_()


def test_a_table_holds_twenty_rows_and_counts_of_any_length() -> None:
    policy = ForwardPolicy.uniform(CHAIN, RATIONAL)
    assert policy._repr_html_().count("<tr>") == 5 + 20
    # Two states per layer, and both edges from each: 2^20,001 trajectories.
    rows = ((1, 2), *((v + 2, v + 3) if v % 2 else (v + 1, v + 2) for v in range(1, 40_001)))
    doubling = PointedDAG(tuple(range(40_003)), (*rows, (), ()))
    assert "about 10^6020.90" in doubling._repr_html_()


def test_a_picture_of_a_policy_carries_its_probabilities() -> None:
    assert sorted({"1/3", "2/3", "3/7", "4/7"} - set(texts(P_F._repr_svg_()))) == []
    field = Symbolic("p")
    (p,) = field.symbols
    fork = pointed_dag({"o": ["x", "y"], "x": [], "y": []})
    generic = ForwardPolicy(fork, field, [p, 1 - p])
    assert {"p", "-p + 1"} <= set(texts(generic._repr_svg_()))
    # Numbers paint the states by the probability of a visit; functions cannot.
    assert picture_of(P_F).values[3] == pytest.approx(float(Fraction(1, 7) + Fraction(2, 3)))
    assert picture_of(generic).values == ()


def test_a_picture_of_a_lift_carries_the_paths_that_a_latent_tells_apart() -> None:
    assert {"o→a→c", "o→b→c"} <= set(texts(lift(KITE, History())._repr_svg_()))
    # Control: without memory there are none.
    without = texts(lift(KITE, Forgetful())._repr_svg_())
    assert "c" in without
    assert not any("→" in text for text in without)


def test_a_long_edge_passes_no_state() -> None:
    nodes, passed = layout(KITE)
    assert len(set(nodes)) == len(nodes)
    assert [len(places) for places in passed] == [0, 0, 0, 1, 0, 0, 0]
    assert not {place for places in passed for place in places} & set(nodes)


@pytest.mark.parametrize("drawable", EVERY, ids=repr)
def test_everything_is_drawn_the_same_each_time(drawable: Any, tmp_path: Path) -> None:
    assert svg(drawable) == drawable._repr_svg_()
    draw(drawable, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"


def test_colours_of_a_problem() -> None:
    inspection = inspect_problem(Grid(3, 2))
    reward, flow = (picture_of(inspection, colour) for colour in ("reward", "flow"))
    painted = [value is not None for value in reward.values]
    assert painted == [not row for row in inspection.dag.children]
    assert flow.values[0] == pytest.approx(float(inspection.z))


def test_of_more_than_60_states_the_numbers_by_depth_are_drawn() -> None:
    (axes,) = figure_of(inspect_problem(Grid(6, 2))).axes
    inner, both = (list(steps.get_data().values) for steps in axes.patches)
    assert inner == [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
    assert both == [1, 3, 5, 7, 9, 11, 11, 9, 7, 5, 3, 1]
    # Control: of less, each state is named.
    assert len(figure_of(inspect_problem(Grid(5, 2))).axes[0].texts) == 50


def covered(figure: Figure) -> list[tuple[str, str]]:
    """The pairs of texts of a picture that lie on each other."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    shown = [text for text in figure.axes[0].texts if text.get_text()]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in shown]
    return [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]


def test_no_text_of_a_policy_of_twenty_states_lies_on_another() -> None:
    dag = enumerate_dag(Grid(3, 2))
    lifted = lift(dag, History()).dag
    for graph in (dag, lifted):
        assert covered(figure_of(ForwardPolicy.uniform(graph, RATIONAL))) == []
    # Control: longer texts than there is place for are seen.
    figure = figure_of(ForwardPolicy.uniform(dag, RATIONAL))
    for text in figure.axes[0].texts:
        text.set_text(text.get_text() * 9)
    assert covered(figure) != []


@pytest.mark.parametrize("most", [3, 5, 9])
@pytest.mark.parametrize("ends", [(0.07, 0.8), (1e-3, 2.0), (1.0, 10.5), (3e-30, 7e12)])
def test_a_colour_bar_has_few_round_ticks(ends: tuple[float, float], most: int) -> None:
    ticks = log_ticks(*ends, most)
    assert 1 <= len(ticks) <= most
    assert all(ends[0] <= tick <= ends[1] and f"{tick:.0e}"[0] in "1235" for tick in ticks)
    assert ticks == sorted(set(ticks))


def test_control_the_usual_ticks_of_a_colour_bar_are_many() -> None:
    figure = Figure()
    bar = figure.colorbar(ScalarMappable(LogNorm(0.07, 0.8)), ax=figure.add_subplot())
    assert len(bar.ax.yaxis.get_minorticklocs()) > len(log_ticks(0.07, 0.8, 5))


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


@pytest.mark.usefixtures("users")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("broken:Cyclic", "has the cycle 2 -> 0 -> 1 -> 2"),
        ("broken:Unrewarding", "the reward of 'x' is 0"),
        ("broken:NoChildren", "has no member 'children'"),
        ("broken:Neither", "of type Neither has no member 'reward': .* or log_reward"),
        ("broken:Both", "of type Both has both reward and log_reward, .* keep one"),
        ("broken:NeedsArguments", "called without arguments .missing a required argument: 'size'"),
        ("broken:Raising", r"broken:Raising\(\) raises TypeError, .*has no len.*line 25"),
        ("broken:number", "of type int has no member 'initial'"),
        ("broken:Missing", "no attribute 'Missing'"),
        ("missing_module:Name", r"'missing_module' cannot be imported \([^;]* named '.*'\): run"),
        ("broken.py:Both", "does not name a problem"),
        ("broken", "there is no problem 'broken'"),
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
        refused("cannot be written", draw, small, path)
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
    ways = [nx.all_simple_paths(graph, dag.labels[0], dag.labels[x]) for x in dag.terminals]
    assert sum(len(list(way)) for way in ways) == dag.trajectory_count


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
