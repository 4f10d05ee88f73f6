"""Reports, plots, hints and advice: where numbers are infinite, small or bent by `p_B`."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterSciNotation
from rich.console import Console

from fast.balance.losses import PENALTIES, UNITS
from fast.environments import GridEnvironment, LinesEnvironment, TabularEnvironment
from fast.environments.grid import GridState
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import target_law
from fast.measure.report import Expectation, Figures, Report
from fast.runs.meter import hints
from fast.training.compose import configure
from pdai.certifying import trained as advice
from pdai.experiments.figures import _legend
from pdai.experiments.frames import Results
from pdai.show import panels, plotting
from pdai.show.panels import edge_panel
from pdai.show.posterior_plots import draw_posterior
from pdai.show.progress import Bar
from pdai.show.stored import loss_label
from pdai.show.tables import expectations_table, report_table
from reference import pointed_dag
from reference.certificates.regimes import ExactLaw, law_beside_target
from reference.contract.errors import TooLargeError
from reference.dag import PointedDAG
from reference.looking.inspection import inspect_problem
from reference.metrics import Estimate
from reference.posterior import StructureLearning
from reference.problems import Grid, Lines, enumerate_dag
from tests import made_up_runs
from verify.lib.presets import MINIMAL


def printed(table: Any) -> str:
    console = Console(width=200)
    with console.capture() as shown:
        console.print(table)
    return shown.get()


def expectation(name: str, sampler: float, target: float | None) -> Expectation:
    return Expectation(name, Estimate(sampler, 0.0), target=target)


@pytest.mark.parametrize(
    ("every", "names", "caption"),
    [
        (
            [("a", 0.5, 0.51), ("[b] -> c", 1e-3, 2e-2), ("d", 0.03, 0.04), ("e", 0.3, 0.1)],
            ["e", "[b] -> c", "a", "d"],
            "1 of the 2 with a target of at most 0.05 are off by a factor above 2, most [b] -> c: "
            "0.001 for 0.02",
        ),
        (
            [("a", 0.0, 1e-4), ("b", 0.9, 0.95)],
            ["b", "a"],
            "1 of the 1 with a target of at most 0.05 are off by a factor above 2, most a: 0 for "
            "0.0001",
        ),
        # Near in proportion, large, unknown, or no probability.
        ([("a", 0.03, 0.04), ("b", 0.2, 0.6), ("c", 7.0, 0.01)], ["c", "b", "a"], ""),
        ([("a", 0.2, None), ("b", 0.3, None)], ["a", "b"], ""),
    ],
)
def test_features_are_in_order_of_their_error_and_small_ones_are_judged_by_ratio(
    every: list[tuple[str, float, float | None]], names: list[str], caption: str
) -> None:
    report: Any = SimpleNamespace(expectations=[expectation(*one) for one in every])
    table = expectations_table(report)
    assert str(table.caption) == caption
    lines = [line.split("│")[1].strip() for line in printed(table).splitlines() if "│" in line]
    assert lines == names
    # Of many, so many.
    few = expectations_table(report, 1)
    assert few.row_count == 1
    assert str(few.caption).startswith("the first 1; all of them: report.json")


def test_a_table_of_seeds_shows_an_infinite_divergence() -> None:
    estimate = Estimate(0.5, 0.01)

    def figures(kl: float) -> Figures:
        return Figures(estimate, estimate, kl, estimate, 1.0)

    report = Report(
        learned=(figures(math.inf), figures(0.25), figures(math.inf)),
        uniform=figures(1.0),
        exact=None,
        method="262,144 samples",
        tv_kind="sampled",
        log_z=None,
        log_z_is_learned=False,
        drawn=1_000,
    )
    shown = printed(report_table(report))
    assert "infinite in 2 of 3" in shown
    assert "best 20 in 1,000 samples (right: as exact sampling, not higher)" in shown
    assert "FCS" in shown
    # Beside an exact TV, nothing stands in for it.
    exact = printed(report_table(replace(report, tv_kind="float64")))
    assert "FCS" not in exact
    assert "best" not in exact
    assert Report.from_json(report.to_json()) == report
    # What is said of the arithmetic of each figure.
    assert report.kinds["log_z"] == "estimate"
    assert replace(report, log_z_is_learned=True).kinds["log_z"] == "learned"


def test_the_name_of_a_run_is_no_markup_beside_its_bar() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=120)
    with Bar("[/b]\x1b[35m", 2, console) as bar:
        bar.say("[a]")
    text = console.file.getvalue()
    assert r"[/b]\x1b[35m" in text
    assert "[a]" in text


@pytest.mark.parametrize("scale", [Fraction(10) ** 400, Fraction(1, 10**400)])
def test_targets_of_rewards_beyond_the_range_of_floats_are_laws(scale: Fraction) -> None:
    problem: Any = SimpleNamespace(
        initial="o",
        children=lambda state: ("x", "y") if state == "o" else (),
        reward=lambda terminal: {"x": 1, "y": 3}[terminal] * scale,
    )
    enumeration = enumerate_environment(problem, TabularEnvironment.from_problem(problem))
    assert target_law(enumeration).tolist() == [0.25, 0.75]


def test_long_lines_keep_rewards_that_are_0_in_float32() -> None:
    problem = Lines.laplaces(400, 1)
    assert min(map(float, problem.rewards)) < 1e-45
    environment = LinesEnvironment.from_problem(problem)
    assert np.isfinite(environment.log_rewards).all()


def _halved(state: GridState, unit: float = 0.5) -> Any:
    return state._replace(coordinates=state.coordinates * jnp.float32(unit))


def _whole(state: Any) -> GridState:
    return GridState((2 * jnp.abs(state.coordinates)).astype(jnp.int32), state.stopped)


def _of_whole(name: str) -> Any:
    method = getattr(GridEnvironment, name)
    return lambda self, state: method(self, _whole(state))


class _InHalves(GridEnvironment):
    """A grid whose coordinates are halves, as floats, and whose first zeros are negative."""

    def initial(self) -> Any:
        return _halved(super().initial(), -0.5)

    def encode(self, label: Any) -> Any:
        return _halved(super().encode(label))

    def step(self, state: Any, action: Any) -> Any:
        return _halved(super().step(_whole(state), action))

    observe, mask, parent_mask, log_reward = map(
        _of_whole, ("observe", "mask", "parent_mask", "log_reward")
    )


def test_a_problem_whose_states_are_made_of_floats_is_enumerated() -> None:
    problem = Grid(4, 2)
    halves, whole = (
        enumerate_environment(problem, kind.from_problem(problem)).child
        for kind in (_InHalves, GridEnvironment)
    )
    assert np.array_equal(halves, whole)


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
    # A report has lines for levels, and a plot none: both have one kind of axis for a run.
    for levels in ([0.9], []):
        panels.scale_tv(axis, levels)
        assert axis.get_yscale() == scale
        assert axis.get_xlim()[0] == 0
        assert scale == "log" or axis.get_ylim()[1] >= max(values + levels)
    assert (axis.get_ylim()[0] == 0) == (scale == "linear")


def test_small_ticks_are_not_all_zero() -> None:
    axis = Figure().subplots()
    axis.plot([1e-11, 1e-2])
    axis.set_yscale("log")
    panels.decimal(axis.yaxis)
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert "1e-08" in names
    assert len({*names}) == len(names)


def test_the_axis_of_losses_follows_the_penalties() -> None:
    square = {"loss": "log_variance"}
    assert loss_label([square]) == "log_variance loss, nats²"
    two = [{"loss": "tb"}, {"loss": "db", "penalty": "square"}]
    assert loss_label(two) == "tb loss or db loss, nats²"
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
    _legend(figure, Results(made_up_runs.tiny(), runs), {name: Line2D([], []) for name in "abcd"})
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


@pytest.mark.parametrize("most", [None, 0.02])
@pytest.mark.parametrize("nodes", [7, 9, 12])
def test_numbers_of_edges_do_not_overlap(nodes: int, most: float | None) -> None:
    figure, value = Figure(figsize=(12.6, 3.8), layout="constrained"), -0.012 if most else 0.37
    axis = figure.subplots(1, 3)[2]
    edge_panel(axis, "edges", np.full((nodes, nodes), value), ["x"] * nodes, most)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axis.texts]
    rows = pairwise(boxes)
    assert all(right.x0 >= left.x1 for left, right in rows if right.y0 == left.y0)


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


what_now = partial(
    advice.what_now, texts=lambda states: [f"the state {x}" for x in states], folder=Path("my runs")
)
DAG = pointed_dag({"o": ["a", "b"], "a": ["x"], "b": ["y", "z"], "x": [], "y": [], "z": []})


def law(*p_t: float | Fraction) -> ExactLaw:
    return law_beside_target(list(map(Fraction, p_t)), ["x", "y", "z"], [Fraction(1)] * 3, "")


def enumeration(*seen: int) -> Any:
    """The lines on o, a, b and the terminal states."""
    return SimpleNamespace(dag=DAG, observations=np.array(seen, np.float32)[:, None])


def curve(*tv: float) -> list[dict[str, Any]]:
    return [{"step": 100 * i, "tv": [0.9, value]} for i, value in enumerate((0.8, *tv))]


LARGE = law(1 / 2, 1 / 2, 0)
SEEN = enumeration(0, 1, 2, 0, 0, 0)


def test_the_missing_mass_is_named_with_its_share() -> None:
    (missing, *_) = what_now(LARGE, SEEN, [], 1)
    assert "1 of 3 terminal states have too little" in missing
    assert "the state z (0 for 0.333333), lack 100.00% of all that is missing" in missing
    (missing, *_) = what_now(law(1, 0, 0), SEEN, [], 1)
    assert "2 of 3" in missing


@pytest.mark.parametrize(
    ("tv", "said"),
    [
        ((), "was not recorded"),
        ((0.4,), "was not recorded"),
        (
            (0.5, 0.4, 0.3, 0.2),
            "from 0.4000 at step 200 to 0.2000 at step 400: more steps help (pdai train --resume "
            "'my runs' --steps 800, in all)",
        ),
        ((0.5, 0.2, 0.2, 0.19), "from 0.2000 at step 200 to 0.1900 at step 400: more steps alone"),
        ((0.5, 0.2, 0.2, 0.3), "to 0.3000 at step 400: more steps alone are unlikely to help"),
    ],
)
def test_the_slope_is_that_of_the_second_half(tv: tuple[float, ...], said: str) -> None:
    assert said in what_now(LARGE, SEEN, curve(*tv), 1)[1]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ((0, 1, 2, 0, 0, 0), "least TV: 0"),
        ((0, 1, 1, 0, 2, 3), "of 3 states the network can tell 2"),
    ],
)
def test_the_least_tv_is_zero_only_where_inner_states_are_told_apart(
    seen: tuple[int, ...], said: str
) -> None:
    assert said in what_now(LARGE, enumeration(*seen), [], 1)[2]


def test_control_a_small_tv_calls_for_nothing() -> None:
    assert what_now(law(*[Fraction(1, 3)] * 3), SEEN, [], 1) == []


FIGURES = Figures(None, None, None, Estimate(0.0, 0.0), best=-2.0)
REPORT = Report((FIGURES,), FIGURES, None, "sampled", "sampled", 0.0, False, 10, terminals=9)


@dataclass(frozen=True)
class Subsets:
    """Subsets of items, added in increasing order or any; those that lack none are answers."""

    items: int
    is_ordered: bool
    initial: tuple[Any, ...] = ()
    reward: Callable[[Any], int] = lambda x: 1 + sum(i for i in x if i in range(9)) ** 2
    end: Any = None

    def children(self, state: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
        if self.end in state:
            return ()
        first = max(state, default=-1) + 1 if self.is_ordered else 0
        new = (i for i in range(first, self.items) if i not in state)
        ends = () if self.end is None else ((*state, self.end),)
        return (*(tuple(sorted((*state, i))) for i in new), *ends)


class Multisets:
    """Up to two items of two kinds each, and a mark of the end, which the reward reads."""

    initial = (0, 0, False)

    def children(self, state: tuple[int, int, bool]) -> list[tuple[int, int, bool]]:
        a, b, is_over = state
        more = [(a + 1, b, False)] * (a < 2) + [(a, b + 1, False)] * (b < 2)
        return [] if is_over else [*more, (a, b, True)]

    def reward(self, state: tuple[int, int, bool]) -> int:
        return 1 + sum(state)


FAR = replace(FIGURES, best=-20_000.0)


@pytest.mark.parametrize(
    ("dynamics", "precision", "changes", "words"),
    [
        ("markov", "float32", {}, ()),
        ("markov", "float32", {"terminals": 1}, ("stop action",)),
        # Histories that cannot be summed, and that need not be.
        ("gru", "float32", {}, ("--dynamics markov",)),
        ("gru", "float32", {"tv_kind": "float64"}, ()),
        ("gaussian", "float32", {}, ()),
        # A log-reward that float32 does not resolve, and float64 does.
        ("markov", "float32", {"learned": (FAR,)}, ("float64", "20,000")),
        ("markov", "float64", {"learned": (FAR,)}, ()),
    ],
)
def test_a_hint_is_given_where_it_holds_and_not_elsewhere(
    dynamics: str, precision: Any, changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    options = configure("grid", dynamics=dynamics).dynamics
    law = {"tv_kind": "float64"} if options.is_markovian else {}
    sentences = hints(replace(REPORT, **law, **changes), options, precision, is_listed=True)
    assert len(sentences) == bool(words)
    assert all(word in sentences[0] for word in words)


@pytest.mark.parametrize(
    ("names", "targets", "needs"),
    [
        (("gru", "Markovian"), ([0.5, 0.5], [0.5, 0.5]), False),
        (("gru", "gru"), ([0.5, 0.5], [0.5, 0.5]), True),
        # Otherwise a picture of two problems says nothing of them.
        (("gru", "Markovian"), ([0.5, 0.5], [0.4, 0.6]), True),
        (("gru", "Markovian"), ([0.5, 0.5], [1.0]), True),
    ],
)
def test_a_picture_names_folders_where_networks_do_not_tell_runs_apart(
    names: tuple[str, ...], targets: tuple[list[float], ...], needs: bool
) -> None:
    runs: list[Any] = [SimpleNamespace(target=np.array(target)) for target in targets]
    assert plotting.need_folders(runs, names) is needs


@pytest.mark.catches(
    "A child that goes on in the same way, with an equal reward, is taken for a stop.",
    "reference/looking/inspection.py",
    "(rewards[x] == own and not Counter(before) < Counter(after))",
    "rewards[x] == own",
)
@pytest.mark.parametrize(
    ("problem", "hint"),
    [
        (lambda: Subsets(2, False), "stop action"),
        (lambda: Subsets(4, True), "8 of 16 states are never answers"),
        (lambda: Subsets(4, True, reward=lambda x: 1), "8 of 16 states are never answers"),
        *((lambda end=end: Subsets(3, True, end=end), "") for end in ("stop", -1)),
        *((lambda end=end: Subsets(3, True, (), lambda x: 1, end), "") for end in ("stop", -1)),
        # The reward reads the mark of the end, too.
        *((lambda end=end: Subsets(3, True, (), len, end), "") for end in ("stop", -1)),
        (Multisets, ""),
        *((make, "") for make in MINIMAL.values()),
    ],
)
def test_a_problem_that_overlooks_states_is_told_and_no_built_in_one_does(
    problem: Callable[[], Any], hint: str
) -> None:
    answer = inspect_problem(problem()).hint
    assert hint in answer
    assert bool(answer) == bool(hint)


def test_what_is_too_large_to_enumerate_names_environments_and_certify() -> None:
    with pytest.raises(TooLargeError, match=r"--environment MODULE:NAME.*pdai certify") as refusal:
        enumerate_dag(StructureLearning.uniform(5), 1_000)
    assert "\n" not in str(refusal.value)
    # Control: what is small enough is enumerated.
    assert isinstance(enumerate_dag(StructureLearning.minimal()), PointedDAG)
