"""The checks of a user's own environment, and how it is found."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pdai
from examples.renyi import Renyi
from examples.subsets import Subsets, SubsetsProblem
from fast.checking.environment import check_environment, check_trajectories
from fast.environments import (
    GridEnvironment,
    LinesEnvironment,
    TabularEnvironment,
    load_environment,
    make_environment,
)
from reference.contract.errors import InputError
from reference.problems import Grid, Lines
from tests.refusals import refused, refuses

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


def broken(**methods: Any) -> LinesEnvironment:
    """The environment of the problem with other methods."""
    return type("Broken", (LinesEnvironment,), methods).from_problem(PROBLEM)  # type: ignore[attr-defined, no-any-return]


def test_states_that_look_alike_are_counted_and_allowed() -> None:
    seen = broken(observe=lambda _, state: (state.position > 2).astype(jnp.float32)[None])
    rows = check_environment(PROBLEM, seen).rows()
    assert rows["inner states told apart by their features"] == "2 of 6"


USUAL = LinesEnvironment
LEGAL = "must give a backward action that is legal"
REDONE = "redo.. must give the action that undo"
GRADED = "is_graded is True, but not every trajectory has 6 steps"
CALLS: list[int] = []


def goes_on(self: Any, state: Any, action: Any) -> Any:
    following = USUAL.step(self, state._replace(stopped=jnp.bool_(False)), action)
    return following._replace(stopped=state.stopped | following.stopped)


def remembers(self: Any, state: Any) -> Any:
    """Counts its calls, which a compiled function makes once."""
    CALLS.append(1)
    return USUAL.observe(self, state) + len(CALLS)


def steps_in_floats(self: Any, state: Any, action: Any) -> Any:
    following = USUAL.step(self, state, action)
    return following._replace(position=following.position * 1.0)


def forbids(self: Any, x: Any) -> Any:
    """Forbids an action where a trajectory has ended."""
    return USUAL.mask(self, x) & ~(x.stopped & (jnp.arange(self.actions) == 1))


def as_int64(self: Any, label: str) -> Any:
    return USUAL.encode(self, label)._replace(position=np.int64(label[1:]))


test_control_a_broken_rule_is_named = refuses(
    lambda name, method: check_environment(PROBLEM, broken(**{name: method})),
    ("mask", lambda self, x: USUAL.mask(self, x) & (x.position != 3), "no action .* from 'p3'"),
    ("mask", forbids, "mask.. must allow .* not at 'q0', action 1"),
    ("step", goes_on, "step.. must stay .* not at 'q0', action 1"),
    ("undo", lambda self, x, action: action - 1, f"undo.. {LEGAL}"),
    ("undo", lambda self, x, action: jnp.where(action == 0, 1, action), f"undo.. {LEGAL}"),
    ("backward_step", lambda self, x, parent: USUAL.backward_step(self, x, 2 * parent),
     "backward_step.. must go back to the parent"),
    ("redo", lambda self, x, parent: jnp.maximum(parent, 1), REDONE),
    ("observe", lambda self, x: 1 / (4 - x.position[None].astype(jnp.float32)),
     "observe.. must give finite .* at 'p4', feature 0"),
    ("observe", remembers, "a step of the program is .*, and asked again"),
    ("encode", as_int64, r"encode\('p0'\) gives .*int64"),
    ("decode", lambda self, x: f"p{int(x.position)}", "'q0', encoded and decoded, is 'p0'"),
    ("step", steps_in_floats, "step.. gives .*float32"),
    ("mask", lambda self, x: USUAL.mask(self, x) if x.stopped else jnp.ones(3, bool),
     "mask.. raises TypeError, it reads a traced array"),
    ("mask", lambda self, x: USUAL.mask(self, x).astype(jnp.float32),
     r"mask.. gives float32\[3\], but must give an array of shape \(3,\)"),
    ("observe", lambda self, x: USUAL.observe(self, x)[None],
     r"observe.. gives float32\[1, 6\], but must give a vector"),
    ("undo", lambda self, x, action: None, "undo.. gives None"),
    ("is_graded", True, GRADED),
    ("random_terminal", lambda self, key: self.initial(), "gives 'p0', which is no terminal state"),
    ("random_terminal", lambda self, key: self.step(self.initial(), jnp.int32(0)),
     "random_terminal.. never gives 'q1' in 4,096 draws"),
)  # fmt: skip


def test_control_a_field_that_is_no_array_is_named() -> None:
    named = broken(__annotations__={"name": str}, name="lines")
    refused("a field holds 'lines', which is no array", check_environment, PROBLEM, named)


test_control_a_wrong_number_is_named = refuses(
    lambda number: check_environment(
        PROBLEM, dataclasses.replace(make_environment(PROBLEM), **number)
    ),
    ({"horizon": 7}, "horizon is 7, but the longest trajectory has 6 steps"),
    ({"horizon": 6.0}, "horizon is 6.0, but must be an integer"),
    ({"parents": 0}, "parents is 0, but must be an integer of at least 1"),
    ({"actions": 4}, "action 3 .* leads to a state that is not"),
)


def twice(self: Any, x: Any) -> Any:
    """The backward actions that are legal, each of them twice."""
    back = jnp.arange(self.parents) % 3
    return jnp.where(x.stopped, back == 0, (back > 0) & (back <= x.position))


DOUBLED = {
    "step": lambda self, x, action: USUAL.step(self, x, action % 3),
    "backward_step": lambda self, x, parent: USUAL.backward_step(self, x, parent % 3),
    "mask": lambda self, x: x.stopped | (x.position + jnp.arange(self.actions) % 3 <= self.length),
    "parent_mask": twice,
}


def test_along_trajectories_an_environment_that_breaks_no_rule_passes() -> None:
    for problem in (PROBLEM, None):
        check_trajectories(problem, make_environment(PROBLEM))


def may_leave(at: Any) -> dict[str, Any]:
    """Backward actions that are allowed too often."""
    return {"parent_mask": lambda self, x: USUAL.parent_mask(self, x) | at(x.position)}


test_control_along_trajectories_a_broken_rule_is_named = refuses(
    lambda methods, fields, problem=None: check_trajectories(
        problem, dataclasses.replace(broken(**methods), **fields)
    ),
    ({}, {"horizon": 3}, "horizon is 3, but a random trajectory has not ended"),
    ({"is_graded": True}, {}, GRADED),
    ({"decode": lambda self, x: f"p{int(x.position)}"}, {}, "a state, decoded and encoded"),
    ({"decode": lambda self, x: f"p{5 - x.position}"}, {}, "'p5', encoded and decoded"),
    (may_leave(lambda at: at == 0), {}, "parent_mask.. must be False at the initial state"),
    ({"undo": lambda self, x, action: action - 1}, {}, f"undo.. {LEGAL}"),
    ({"redo": lambda self, x, parent: jnp.maximum(parent, 1)}, {}, REDONE),
    (may_leave(lambda at: at > 0), {},
     r"allows the backward action \d at .*, but the action that redo.. gives does not lead"),
    (DOUBLED, {"actions": 6, "parents": 6}, "lists the child 'q0' twice"),
    ({"log_reward": lambda self, x: -USUAL.log_reward(self, x)}, {}, PROBLEM, "fix log_reward"),
    ({"log_reward": lambda self, x: USUAL.log_reward(self, x) + np.random.randn()}, {},
     "asked again"),
    ({}, {}, Lines.laplaces(5, 3, seed=1), r"leads from 'p0' to \['q0', 'p1', 'p2'\], and the"),
)  # fmt: skip


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
    environment = load_environment("fast.environments:GridEnvironment", Grid(4, 2))
    assert isinstance(environment, GridEnvironment)
    assert environment.side == 4
    with pytest.raises(InputError, match="gives 3, but must give an AbstractEnvironment"):
        load_environment("my_lines:Unfinished", PROBLEM)


test_what_names_no_environment_is_refused = refuses(
    lambda spec: load_environment(spec, PROBLEM),
    ("", "does not name an environment"),
    ("no_such_module:Name", "No module named 'no_such_module'"),
    ("fast.environments:NoSuchName", "NoSuchName"),
    ("fast.environments:make_environment", "must give an AbstractEnvironment"),
    ("fast.environments:GridEnvironment", "does not make an environment of the problem Lines"),
    ("fast.environments:AbstractEnvironment", "must give an AbstractEnvironment"),
)


def test_an_environment_is_checked_in_float64_as_well() -> None:
    rows = pdai.check(Subsets, SubsetsProblem, precision="float64").rows()
    assert rows["terminals"] == "16"
    with pytest.raises(InputError, match="no problem is given"):
        pdai.check(Subsets)
    for name, value in {"precision": "float64", "problem": SubsetsProblem}.items():
        with pytest.raises(InputError, match=f"{name} is .* not used .* alone have a precision"):
            pdai.check(Renyi, **{name: value})
    with pytest.raises(InputError, match="precision is 'float16', but must be one of"):
        check_environment(Steep(), steep(0.0, "float32"), "float16")  # type: ignore[arg-type]


class Rough(Subsets):
    """The control: its rewards are right to float32 alone."""

    def log_reward(self, state: Any) -> Any:
        return super().log_reward(state) + 1e-6


def test_control_an_error_of_float32_is_seen_in_float64() -> None:
    assert pdai.check(Rough, SubsetsProblem).rows()
    with pytest.raises(InputError, match="reward"):
        pdai.check(Rough, SubsetsProblem, precision="float64")
