"""Texts and drawings of graphs and policies."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from reference import (
    FLOAT64,
    RATIONAL,
    BackwardPolicy,
    Forgetful,
    ForwardPolicy,
    History,
    PointedDAG,
    Symbolic,
    TooLargeError,
    lift,
    pointed_dag,
)
from reference.inspection import inspect_problem
from reference.problems import Grid
from reference.show import draw, layout, log_ticks, picture_of, svg

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


def test_what_has_more_than_400_states_has_no_picture(tmp_path: Path) -> None:
    assert CHAIN._repr_svg_() is None
    assert "<svg" not in CHAIN._repr_html_()
    with pytest.raises(TooLargeError, match=r"PointedDAG has 401 states, .*at most 400 are drawn"):
        draw(CHAIN, tmp_path / "chain.png")
    # Control: one state less is drawn.
    smaller = PointedDAG(CHAIN.labels[:400], (*CHAIN.children[:399], ()))
    assert (smaller._repr_svg_() or "").startswith("<svg")


def test_names_that_are_left_out_are_told_of() -> None:
    few, many = picture_of(inspect_problem(Grid(5, 2))), picture_of(inspect_problem(Grid(6, 2)))
    assert (len(few.names), len(many.names)) == (50, 0)
    assert "not named" not in few.title
    assert many.title.endswith("states are not named, as there are more than 60")


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
