"""Samplers of other libraries, by stand-ins that keep their conventions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pdai
from pdai.adapters import gflownet, torchgfn
from pdai.adapters.stepping import UNIFORM, Logits, SteppedSampler, WayBack
from reference import InputError
from reference.problems.grid import Cell
from tests.certificates.problems import GRID
from tests.refusals import refused, refuses

SIDE = 3
RANDOM = np.random.default_rng(1)
WEIGHTS = np.random.default_rng(0).normal(size=(SIDE, SIDE, 3)).astype(np.float32)


class ForeignGrid:
    """A hypergrid as torchgfn has it: two increments and the exit, which is the last action."""

    def __init__(self, shift: float = 0.0):
        self.shift = shift

    def start(self, count: int) -> Any:
        return np.zeros((count, 2), int)

    def forward(self, states: Any) -> Logits:
        mask = np.concatenate([states < SIDE - 1, np.ones((len(states), 1), bool)], 1)
        return Logits(WEIGHTS[states[:, 0], states[:, 1]], mask)

    def move(self, states: Any, actions: Any, active: Any) -> tuple[Any, Any, WayBack]:
        going = (actions < 2) & active
        following = states.copy()
        following[np.flatnonzero(going), actions[going]] += 1
        mask = following > 0
        back = WayBack(Logits(np.zeros(mask.shape), mask), np.minimum(actions, 1), going)
        return following, actions >= 2, back

    def take(self, states: Any, which: Any) -> Any:
        return states[which]

    def keys(self, states: Any) -> list[Any]:
        return list(map(tuple, states.tolist()))

    def ends(self, states: Any) -> tuple[list[Any], Any]:
        labels = [tuple(row) for row in states.tolist()]
        logs = [math.log(GRID.reward(cell(x))) + self.shift for x in labels]
        return labels, np.array(logs, np.float32).astype(float)


class Doubled(ForeignGrid):
    """One that has its exit twice, each time with half of the probability."""

    def forward(self, states: Any) -> Logits:
        logits = super().forward(states)
        values, mask = (np.concatenate([x, x[:, 2:]], 1) for x in logits)
        return Logits(values - [0, 0, math.log(2), math.log(2)], mask)


def cell(x: tuple[int, ...], stopped: bool = True) -> Cell:
    return Cell(x, stopped=stopped)


def foreign(shift: float = 0.0) -> SteppedSampler:
    return SteppedSampler(ForeignGrid(shift), GRID, cell)


def same(state: Any) -> list[float]:
    """The same sampler as logits of this project: the exit comes first."""
    x, y = state.coordinates
    up = [WEIGHTS[x, y, i] for i in range(2) if state.coordinates[i] < SIDE - 1]
    return [float(WEIGHTS[x, y, 2]), *map(float, up)]


def test_a_foreign_sampler_has_the_interval_of_the_same_one_here() -> None:
    asked: dict[str, Any] = {"regime": "Z", "samples": 8_192, "width": 0.0}
    result = pdai.certify(foreign(), GRID, **asked)
    own = pdai.certify(same, GRID, gives="logits", **asked).interval
    exact = pdai.certify(same, GRID, gives="logits")
    assert result.regime == "Z"
    low, high = result.interval
    assert max(low, own.low) < min(high, own.high)
    assert exact.tv <= high < low + 0.05
    assert any("with which the library's agree" in note for note in result.notes)


@pytest.mark.catches(
    "Of two actions of a library to the same state, the last alone counts.",
    "pdai/adapters/stepping.py",
    "row.get(child, Fraction(0)) + exact[i][action]",
    "exact[i][action]",
    by="refusal",
)
def test_a_library_whose_states_can_be_listed_is_certified_exactly() -> None:
    few = pdai.certify(foreign(), GRID, max_states=18)
    own = pdai.certify(same, GRID, gives="logits")
    twice = pdai.certify(SteppedSampler(Doubled(), GRID, cell), GRID)
    assert (few.regime, twice.tv) == ("E", pytest.approx(few.tv, abs=2**-20))
    # Both are exact for their rows, whose soft-max is summed in another order.
    assert abs(few.tv - own.tv) < Fraction(1, 2**40)
    assert sum(p for _, p, _ in few.table) == 1
    assert any("agree at every end" in note for note in few.notes)
    assert pdai.certify(foreign(), GRID, max_states=17, samples=100).regime == "Z"


class Dropout(ForeignGrid):
    """A network in training mode: each call leaves out other weights."""

    def forward(self, states: Any) -> Logits:
        values, mask = super().forward(states)
        return Logits(values * RANDOM.integers(0, 2, values.shape), mask)


class Centred(ForeignGrid):
    """A network whose rows depend on those beside them, as in batch normalisation."""

    def forward(self, states: Any) -> Logits:
        values, mask = super().forward(states)
        return Logits(values - values.mean(0), mask)


class Swapped(ForeignGrid):
    """A library whose backward actions have another order than those forward."""

    def move(self, states: Any, actions: Any, active: Any) -> tuple[Any, Any, WayBack]:
        following, ended, back = super().move(states, actions, active)
        return following, ended, back._replace(taken=1 - back.taken)


class Slips(ForeignGrid):
    """A library whose steps are random: one that is meant to go up may go to the right."""

    def move(self, states: Any, actions: Any, active: Any) -> tuple[Any, Any, WayBack]:
        slips = (actions < 2) & (states < SIDE - 1).all(1) & (RANDOM.random(len(states)) < 0.3)
        return super().move(states, np.where(slips, 1 - actions, actions), active)


test_a_library_that_breaks_its_conventions_is_refused = refuses(
    lambda steps, end, regime: pdai.certify(SteppedSampler(steps, GRID, end), GRID, regime=regime),
    # Rows change with the call or the batch.
    *(
        (steps, cell, regime, "library: the row of .* and asked again")
        for steps in (Dropout(), Centred())
        for regime in ("E", "Z")
    ),
    *(
        (Slips(), cell, regime, r"library: action \d in \(.* is .* and asked again")
        for regime in ("E", "Z")
    ),
    (Swapped(), cell, "Z", "backward mask forbids a step that was taken"),
    (ForeignGrid(), lambda x: cell(x, False), None, "is not terminal: it has the children"),
    # Two ends would share a reward that log Z counts once.
    (ForeignGrid(), lambda x: cell((max(x), min(x))), "Z", "label gives .* for the ends .* and"),
)


@pytest.mark.parametrize("learned", [True, False])
def test_the_gflownets_own_p_b_is_taken_and_a_uniform_one_is_named(learned: bool) -> None:
    class GFlowNet:
        pf, pb = "p_F", "p_B" if learned else None

    made = torchgfn.sampler(None, GFlowNet())
    assert (made.steps.pf, made.steps.pb) == ("p_F", GFlowNet.pb)
    assert (UNIFORM in made.findings()) is not learned
    assert torchgfn.sampler(None, "p_F", "other").steps.pb == "other"


@pytest.mark.catches(
    "The upper bound of a mean is made from numbers that the values may exceed.",
    "reference/certificates/betting.py",
    "np.nextafter(1 - high, 0.0)",
    "np.nextafter(1 - low, 0.0)",
)
def test_rewards_of_the_library_alone_widen_the_interval() -> None:
    result = pdai.certify(SteppedSampler(ForeignGrid()), log_z=math.log(GRID.z()), samples=8_192)
    exact = pdai.certify(foreign(), GRID, regime="Z", samples=8_192)
    assert result.interval.low < exact.interval.low
    assert exact.interval.high < result.interval.high < exact.interval.high + 1e-3


@pytest.mark.catches(
    "The reward of another library is not compared with that of the problem.",
    "reference/rows/walks.py",
    "if not abs(own.value - given) <= tolerance:",
    "if False:",
)
def test_control_a_reward_that_disagrees_is_refused() -> None:
    with pytest.raises(InputError, match="certify against the reward that was trained on"):
        pdai.certify(foreign(0.01), GRID)
    refused("not drawn backwards", lambda: pdai.certify(foreign(), GRID, regime="S"))


class Environment:
    """A hypergrid as alexhernandezgarcia/gflownet has it: one state at a time, masks of invalid."""

    action_space = ((1, 0), (0, 1), (0, 0))
    continuous = False

    def __init__(self) -> None:
        self.reset()

    def copy(self) -> "Environment":
        return Environment()

    def reset(self) -> None:
        self.set_state([0, 0], False)

    def set_state(self, state: list[int], done: bool) -> None:
        self.state, self.done = state.copy(), done

    def get_mask_invalid_actions_forward(self, state: list[int], done: bool) -> list[bool]:
        return [done or x == SIDE - 1 for x in state] + [done]

    def get_mask_invalid_actions_backward(self, state: list[int], done: bool) -> list[bool]:
        return [done or x == 0 for x in state] + [not done]

    def step(self, action: tuple[int, int]) -> Any:
        if action == (0, 0):
            self.done = True
        else:
            self.state = [x + dx for x, dx in zip(self.state, action, strict=True)]
        return self.state, action, True

    def action2index(self, action: tuple[int, int]) -> int:
        return self.action_space.index(action)

    def states2policy(self, states: Any) -> Any:
        return np.array(states)

    states2proxy = states2policy


class Answer:
    """An array with the methods of a tensor."""

    def __init__(self, values: Any):
        self.values = values

    def detach(self) -> "Answer":
        return self

    cpu = double = detach

    def numpy(self) -> Any:
        return np.asarray(self.values, float)


class Agent:
    env = Environment()

    class proxy:  # noqa: N801  # an object of the library
        @staticmethod
        def rewards(states: Any, log: bool) -> Answer:
            assert log
            return Answer([math.log(GRID.reward(cell(tuple(x)))) for x in states.tolist()])

    @staticmethod
    def forward_policy(states: Any) -> Answer:
        return Answer(WEIGHTS[states[:, 0], states[:, 1]])

    @staticmethod
    def backward_policy(states: Any) -> Answer:
        return Answer(np.zeros((len(states), 3)))


@pytest.mark.catches(
    "The end of a trajectory of gflownet counts as a choice of p_B.",
    "pdai/adapters/gflownet.py",
    "np.asarray(active) & ~ended",
    "np.asarray(active) & ended",
)
def test_a_sampler_of_gflownet_is_that_of_the_same_rows() -> None:
    made = gflownet.sampler(Agent, GRID, cell)
    few, own = pdai.certify(made, GRID), pdai.certify(same, GRID, gives="logits")
    assert abs(few.tv - own.tv) < Fraction(1, 2**40)
    ways = [gflownet.sampler(Agent, GRID, cell).draw(500), foreign().draw(500)]
    assert ways[0].terminals == ways[1].terminals
    assert ways[0].log_weight == pytest.approx(ways[1].log_weight, abs=1e-6)


def test_a_continuous_environment_of_gflownet_is_refused() -> None:
    class Cube:
        continuous = True

    class Other:
        env = Cube()

    refused("Cube is continuous", lambda: gflownet.sampler(Other()))
