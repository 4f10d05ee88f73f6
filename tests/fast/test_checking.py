"""The checks of a user's own environment, and how it is found."""

import dataclasses
import math
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.checking.environment import check_environment
from fast.environments import (
    GridEnvironment,
    LinesEnvironment,
    TabularEnvironment,
    load_environment,
    make_environment,
)
from reference.errors import InputError
from reference.problems import Grid, Lines

PROBLEM = Lines.laplaces(5, 2, seed=1)


def test_the_report_counts_what_was_checked() -> None:
    environment = make_environment(PROBLEM)
    report = check_environment(PROBLEM, environment)
    assert (report.environment, report.problem) == ("LinesEnvironment", "Lines")
    assert (report.states, report.edges, report.terminals) == (12, 15, 6)
    assert (report.horizon, report.actions, report.parents, report.features) == (6, 3, 3, 6)
    rows = report.rows()
    assert rows["edges, all followed, undone and redone"] == "15"
    assert rows["inner states told apart by their features"] == "6 of 6"
    assert report.log_reward_error < 1e-6
    assert rows["largest error of log R, nats"].endswith("(rounding: up to 4.7e-05)")


class Steep:
    """Rewards of 1, and of e^28 as closely as a float has it."""

    initial = "o"

    def children(self, state: str) -> tuple[str, ...]:
        return ("x", "y") if state == "o" else ()

    def reward(self, terminal: str) -> float:
        return 1.0 if terminal == "x" else math.exp(28)


def steep(error: float, precision: str) -> TabularEnvironment:
    """Its tables in that precision, with a wrong log R(y)."""
    with jax.enable_x64(precision == "float64"):
        log_rewards = jnp.array([0, 0, 28 + error], precision)
        return eqx.tree_at(
            lambda made: made.log_rewards, TabularEnvironment.from_problem(Steep()), log_rewards
        )


@pytest.mark.parametrize(("error", "precision"), [(5e-5, "float32"), (0.0, "float64")])
def test_log_r_may_be_rounded(error: float, precision: Any) -> None:
    report = check_environment(Steep(), steep(error, precision), precision)
    assert report.log_reward_error <= report.log_reward_tolerance


@pytest.mark.parametrize(("error", "precision"), [(1e-3, "float32"), (1e-9, "float64")])
def test_control_what_rounding_does_not_explain_is_refused(error: float, precision: Any) -> None:
    with pytest.raises(InputError, match=f"which rounding to {precision} does not explain"):
        check_environment(Steep(), steep(error, precision), precision)
    # The same is let through in float32 if it is less than float32 can tell.
    if precision == "float64":
        check_environment(Steep(), steep(error, precision))


def test_control_a_precision_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="precision is 'float16', but must be one of"):
        check_environment(Steep(), steep(0.0, "float32"), "float16")  # type: ignore[arg-type]


class _AliasesStates(LinesEnvironment):
    def observe(self, state: Any) -> Any:
        return (state.position > 2).astype(jnp.float32)[None]


def test_states_that_look_alike_are_counted_and_allowed() -> None:
    report = check_environment(PROBLEM, _AliasesStates.from_problem(PROBLEM))
    assert report.rows()["inner states told apart by their features"] == "2 of 6"


class _ForbidsEverything(LinesEnvironment):
    def mask(self, state: Any) -> Any:
        return super().mask(state) & (state.position != 3)


class _ForbidsActionsAtTheEnd(LinesEnvironment):
    def mask(self, state: Any) -> Any:
        return super().mask(state) & ~(state.stopped & (jnp.arange(self.actions) == 1))


class _GoesOn(LinesEnvironment):
    def step(self, state: Any, action: Any) -> Any:
        following = super().step(state._replace(stopped=jnp.bool_(False)), action)
        return following._replace(stopped=state.stopped | following.stopped)


class _UndoesOutside(LinesEnvironment):
    def undo(self, state: Any, action: Any) -> Any:
        return action - 1


class _UndoesIllegally(LinesEnvironment):
    def undo(self, state: Any, action: Any) -> Any:
        return jnp.where(action == 0, 1, action)


class _StepsBackTooFar(LinesEnvironment):
    def backward_step(self, state: Any, parent: Any) -> Any:
        return super().backward_step(state, 2 * parent)


class _RedoesAnotherAction(LinesEnvironment):
    def redo(self, state: Any, parent: Any) -> Any:
        return jnp.maximum(parent, 1)


class _SeesInfinity(LinesEnvironment):
    def observe(self, state: Any) -> Any:
        return 1 / (4 - state.position[None].astype(jnp.float32))


class _Remembers(LinesEnvironment):
    """Counts its calls, which a compiled function makes once."""

    calls: ClassVar[list[int]] = []

    def observe(self, state: Any) -> Any:
        self.calls.append(1)
        return super().observe(state) + len(self.calls)


class _EncodesLongIntegers(LinesEnvironment):
    def encode(self, label: str) -> Any:
        return super().encode(label)._replace(position=np.int64(label[1:]))


class _DecodesAll(LinesEnvironment):
    def decode(self, state: Any) -> str:
        return f"p{int(state.position)}"


class _StepsInFloats(LinesEnvironment):
    def step(self, state: Any, action: Any) -> Any:
        following = super().step(state, action)
        return following._replace(position=following.position * 1.0)


class _Branches(LinesEnvironment):
    def mask(self, state: Any) -> Any:
        return super().mask(state) if state.stopped else jnp.ones(self.actions, bool)


class _MasksByNumbers(LinesEnvironment):
    def mask(self, state: Any) -> Any:
        return super().mask(state).astype(jnp.float32)


class _HasAMatrixOfFeatures(LinesEnvironment):
    def observe(self, state: Any) -> Any:
        return super().observe(state)[None]


class _UndoesByNothing(LinesEnvironment):
    def undo(self, state: Any, action: Any) -> Any:
        return None


class _HoldsAName(LinesEnvironment):
    name: str = "lines"


class _IsNotGraded(LinesEnvironment):
    is_graded = True


class _EndsNowhere(LinesEnvironment):
    def random_terminal(self, key: Any) -> Any:
        return self.initial()


class _EndsAtOnePlace(LinesEnvironment):
    def random_terminal(self, key: Any) -> Any:
        return self.step(self.initial(), jnp.int32(0))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (_ForbidsEverything, "no action of the environment leads from 'p3'"),
        (_ForbidsActionsAtTheEnd, "mask.. must allow .* not at 'q0', action 1"),
        (_GoesOn, "step.. must stay .* not at 'q0', action 1"),
        (_UndoesOutside, "undo.. must give a backward action that is legal"),
        (_UndoesIllegally, "undo.. must give a backward action that is legal"),
        (_StepsBackTooFar, "backward_step.. must go back to the parent"),
        (_RedoesAnotherAction, "redo.. must give the action that undo"),
        (_SeesInfinity, "observe.. must give finite .* at 'p4', feature 0"),
        (_Remembers, "a step of the program is .*, and asked again"),
        (_EncodesLongIntegers, r"encode\('p0'\) gives .*int64"),
        (_DecodesAll, "'q0', encoded and decoded, is 'p0'"),
        (_StepsInFloats, "step.. gives .*float32"),
        (_Branches, "mask.. raises TypeError, it reads a traced array"),
        (_MasksByNumbers, r"mask.. gives float32\[3\], but must give an array of shape \(3,\)"),
        (_HasAMatrixOfFeatures, r"observe.. gives float32\[1, 6\], but must give a vector"),
        (_UndoesByNothing, "undo.. gives None"),
        (_HoldsAName, "a field holds 'lines', which is no array"),
        (_IsNotGraded, "is_graded is True, but not every trajectory has 6 steps"),
        (_EndsNowhere, "random_terminal.. gives 'p0', which is no terminal state"),
        (_EndsAtOnePlace, "random_terminal.. never gives 'q1' in 4,096 draws"),
    ],
)
def test_control_a_broken_rule_is_named(broken: type[LinesEnvironment], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_environment(PROBLEM, broken.from_problem(PROBLEM))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("horizon", 7, "horizon is 7, but the longest trajectory has 6 steps"),
        ("horizon", 6.0, "horizon is 6.0, but must be an integer"),
        ("parents", 0, "parents is 0, but must be an integer of at least 1"),
        ("actions", 4, "action 3 .* leads to a state that is not"),
    ],
)
def test_control_a_wrong_number_is_named(field: str, value: Any, message: str) -> None:
    environment = dataclasses.replace(make_environment(PROBLEM), **{field: value})
    with pytest.raises(InputError, match=message):
        check_environment(PROBLEM, environment)


def test_environments_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_lines.py").write_text(
        "from fast.environments import LinesEnvironment\n"
        "from reference.problems import Lines\n"
        "instance = LinesEnvironment.from_problem(Lines.minimal())\n"
        "class Unfinished(LinesEnvironment):\n"
        "    @classmethod\n"
        "    def from_problem(cls, problem):\n"
        "        return 3\n"
    )
    monkeypatch.chdir(tmp_path)
    assert isinstance(load_environment("my_lines:instance", PROBLEM), LinesEnvironment)
    found = load_environment("fast.environments:GridEnvironment", Grid(4, 2))
    assert isinstance(found, GridEnvironment)
    assert found.side == 4
    with pytest.raises(InputError, match="gives 3, but must give an AbstractEnvironment"):
        load_environment("my_lines:Unfinished", PROBLEM)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "does not name an environment"),
        ("no_such_module:Name", "No module named 'no_such_module'"),
        ("fast.environments:NoSuchName", "NoSuchName"),
        ("fast.environments:make_environment", "must give an AbstractEnvironment"),
        ("fast.environments:GridEnvironment", "does not make an environment of the problem Lines"),
        ("fast.environments:AbstractEnvironment", "must give an AbstractEnvironment"),
    ],
)
def test_what_names_no_environment_is_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_environment(spec, PROBLEM)
