"""Plots of runs: no legend covers a point, and no place is left empty."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterSciNotation

from fast.balance.losses import PENALTIES, UNITS
from fast.measure.report import Expectation
from pdai.experiments.figures import legend
from pdai.experiments.frames import Results
from pdai.show import plotting
from pdai.show.posterior_plots import draw_posterior
from pdai.show.stored import loss_label
from reference.metrics import Estimate
from tests import made_up_runs


def covered(axis: Any) -> int:
    """The number of points of an axis below its legend."""
    axis.figure.canvas.draw()
    box = axis.get_legend().get_window_extent()
    points = [axis.transData.transform(line.get_xydata()) for line in axis.lines]
    return int(sum(box.contains(*place) for line in points for place in line))


def law_axis(learned: Any, target: Any) -> Any:
    axis = Figure(figsize=(4.2, 3.8), layout="constrained").subplots()
    plotting._draw_law(axis, learned, target, ("Markovian", "#0072B2"))
    axis.figure.canvas.draw()
    return axis


def test_the_legend_of_a_law_covers_no_point() -> None:
    rng = np.random.default_rng(0)
    # Nearly flat bars.
    target, learned = (rng.dirichlet(np.full(40, 1000.0)) for _ in range(2))
    axis = law_axis(learned, target)
    assert covered(axis) == 0
    # Control: without the room above the highest point.
    axis.set_ylim(top=max(target.max(), learned.max()))
    assert covered(axis) > 0


def test_the_ticks_of_a_law_do_not_lie_on_each_other() -> None:
    """The picture of a law within two decades, whose every part of a decade would have a label."""
    law = np.geomspace(4e-6, 5e-5, 100)
    axis = law_axis(law, law)
    assert overlaps(axis.xaxis) == 0
    # 5e-6, 1e-5, 2e-5 and 5e-5: each has its label.
    assert all(label.get_text() for label in axis.xaxis.get_majorticklabels()[1:-1])
    # Control: the usual labels.
    axis.xaxis.set_minor_formatter(LogFormatterSciNotation(minor_thresholds=(2, 2)))
    assert overlaps(axis.xaxis) > 0


@pytest.mark.parametrize(("states", "density"), [(5_000, False), (5_001, True)])
def test_many_states_are_a_density_in_a_frame_of_their_own(states: int, density: bool) -> None:
    target, learned = np.random.default_rng(0).dirichlet(np.ones(states), 2)
    axis = law_axis(learned, target)
    counts = [cells.get_array() for cells in axis.collections]
    assert [int(count.sum()) for count in counts] == [states] * density
    assert len(axis.lines) == 2 - density
    # No room is left for what is not drawn.
    assert axis.get_legend() is None
    assert axis.get_ylim()[1] < 3 * max(target.max(), learned.max())


@pytest.mark.parametrize(
    ("values", "scale"), [([0.4, 0.17], "linear"), ([0.4, 0.04], "log"), ([], "log")]
)
def test_tv_is_drawn_from_zero_where_it_falls_by_less_than_a_decade(
    values: list[float], scale: str
) -> None:
    axis = Figure().subplots()
    axis.plot(range(len(values)), values)
    plotting._scale_tv(axis)
    assert axis.get_yscale() == scale
    assert (axis.get_ylim()[0] == 0) == (scale == "linear")


def test_small_ticks_are_not_all_zero() -> None:
    axis = Figure().subplots()
    axis.plot([1e-11, 1e-2])
    axis.set_yscale("log")
    plotting.decimal(axis.yaxis)
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert "1e-08" in names
    assert len({*names}) == len(names)


def test_the_axis_of_losses_follows_the_penalties() -> None:
    square = {"loss": "log_variance"}
    assert loss_label([square]) == "log_variance loss, nats²"
    assert loss_label([{"loss": "tb"}, {"loss": "db", "penalty": "square"}]) == (
        "tb loss or db loss, nats²"
    )
    huber = {"loss": "fm", "penalty": "huber", "seeds": 3}
    both = "log_variance loss or fm loss, nats² or nats², linear beyond 1 nat"
    assert loss_label([square, huber]) == both
    # One of the user's own does not say its unit.
    assert loss_label([{"loss": "my_module:MyLoss"}]) == "MyLoss loss"
    assert set(UNITS) == set(PENALTIES)


def test_the_rows_of_a_legend_are_as_full_as_each_other() -> None:
    """Six names where five fit are three and three, not one below the first of five."""
    runs = [made_up_runs.run(model, 0, 0.1) for model in made_up_runs.MODELS]
    figure = Figure(figsize=(10, 3))
    legend(figure, Results(made_up_runs.tiny(), runs), {name: Line2D([], []) for name in "abcd"})
    assert [len(column.get_children()) for column in columns_of(figure)] == [2, 2, 2]
    # Control: as many columns as fit.
    figure.legend([Line2D([], [])] * 6, list("abcdef"), ncols=5)
    assert [len(column.get_children()) for column in columns_of(figure)] == [2, 1, 1, 1, 1]


def columns_of(figure: Figure) -> list[Any]:
    """The columns of the last legend."""
    _, handles = figure.legends[-1]._legend_box.get_children()
    return list(handles.get_children())


def overlaps(scale: Any) -> int:
    """The number of labels of a horizontal scale that begin before the one to their left ends."""
    scale.figure.canvas.draw()
    labels = [*scale.get_majorticklabels(), *scale.get_minorticklabels()]
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    ends = sorted((box.x0, box.x1) for box in boxes)
    return sum(right[0] < left[1] for left, right in pairwise(ends))


def test_expectations_fill_their_row() -> None:
    # A dollar begins no formula, and a long name is cut.
    expectation = Expectation("price in $ and " + 30 * "x", Estimate(0.5, 0.1), weighted=0.4)
    figure = Figure(figsize=(12.6, 7.6))
    axes = figure.subplots(2, 3)
    report = SimpleNamespace(expectations=(expectation,))
    run: Any = SimpleNamespace(report=report, has_networks=False)
    draw_posterior(run, axes[1:], "#0072B2")
    *above, below = figure.axes
    assert len(above) == 3
    assert below.get_position().width > 2.5 * above[0].get_position().width
    assert below.get_xlabel() == "mean"
    (name,) = below.get_yticklabels()
    assert name.get_text() == "price in $ and xxxxxxxxxxxx…"
    assert name.get_rotation() == 0
    assert not name.get_parse_math()
