"""The end of a run, where numbers are infinite, beyond floats or bent by `p_B`."""

import math
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from fast.environments import GridEnvironment, LinesEnvironment, TabularEnvironment
from fast.environments.grid import GridState
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import target_law
from fast.measure.report import Expectation, Figures, Report
from fast.runs.audit import Audit
from pdai.show.progress import Bar
from pdai.show.tables import audit_table, expectations_table, report_table
from reference.metrics import Estimate
from reference.problems import Grid, Lines


def test_a_certificate_counts_the_masses_of_p_b() -> None:
    # residual-tv-bound: with masses 2 and 1 no residual is left and TV is 1/6.
    facts: dict[str, Any] = {
        "arithmetic": "float64", "states": 4, "trajectories": 3, "total": 1.0, "tv": 1 / 6,
        "kl_forward": 0.1, "kl_reverse": 0.1, "largest_residual": 0.0, "oscillation": 0.0,
    }  # fmt: skip
    bent = Audit(**facts, backward_mass=(1.0, 2.0))
    assert 1 / 6 <= bent.certificate == math.tanh(math.log(2) / 4)
    # 0.1715728..., rounded up.
    assert "0.171573 (float64)" in printed(audit_table(bent))
    assert Audit(**facts, backward_mass=(Fraction(1), Fraction(1))).certificate == 0


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
    exact = printed(report_table(replace(report, tv_kind="exact")))
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
