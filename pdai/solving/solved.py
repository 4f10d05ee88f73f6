"""A solved run: an exact sampler in its folder, which is read like that of a training."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fast.laws.samples import MAX_SAMPLES, Law, Samples
from fast.measure.report import Report
from fast.runs.display import slow
from fast.runs.identity import check_own_parts
from fast.runs.records import BRING_BACK, check_finished, read_json, read_report
from fast.tasks import TASKS, Task
from fast.tasks.custom import CustomTask
from reference.contract.errors import (
    InputError,
    TooLargeError,
    build,
    check_integer,
    check_seed,
    checked,
    shown,
)
from reference.contract.files import InFolder, load_arrays
from reference.contract.text import at_most
from reference.contract.user_code import called
from reference.dag import PointedDAG
from reference.fields.field import log_float
from reference.problems.closed_form import Enclosure, stated_log_z
from reference.problems.enumeration import AskedProblem, enumerate_dag, exact_reward
from reference.rows.exact import ExactSampler
from reference.rows.flows import Backward, Drawn, ExactFlows, GraphArrays
from reference.rows.functions import WaysBack, parents_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Way = Literal["listed", "closed-form"]

# The version of the layout.
FORMAT = 1
# Trajectories drawn at a time, so that their steps need little memory.
BLOCK = 4_096
# Trajectories that show whether the problem lists its states as it did, however few are drawn.
SHOWING = 64
# Draws of a closed form whose probabilities are stored.
DRAWN = 4_096
# A closed form is compared with all states up to so many.
MOST_COMPARED = 20_000
# Rewards are compared with those of the problem as it is now, in nats per nat.
SAME_REWARD = 1e-12


def draws_of(problem: Any, count: int, seed: int) -> list[Any]:
    """The draws of a closed form; raises InputError unless there are as many as asked for.

    Args:
        problem: the problem, whose `sample` is asked.
        count: the number of draws.
        seed: their random seed.
    """
    name = type(problem).__name__
    drawn = list(called(name, "sample", problem.sample, count, seed))
    if len(drawn) != count:
        raise InputError(
            f"{name}: sample({count}, {seed}) gives {len(drawn):,} states: give as many as are "
            "asked for"
        )
    return drawn


TOLD = "TV is 0 if the problem's log_z() and sample are right, which is not proved"


@dataclass(frozen=True)
class Recipe:
    """A solved run's config.json: the problem, `p_B`, and the way in which it is exact, and why."""

    task: Task
    p_b: Backward
    way: Way
    why: str

    @property
    def is_told(self) -> bool:
        """True for a closed form of a user's own, which nothing proves."""
        return isinstance(self.task, CustomTask) and self.way == "closed-form"

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the options of the task by name."""
        options = {part.name: getattr(self.task, part.name) for part in fields(self.task)}
        texts = {name: str(x) if isinstance(x, Path) else x for name, x in options.items()}
        own = {"p_b": self.p_b, "solved": self.way, "why": self.why}
        return {"solved_format": FORMAT, "task": self.task.name, **texts, **own}

    @classmethod
    def read(cls, folder: Path) -> "Recipe":
        """The recipe in a folder, with its copies of the user's files.

        Raises InputError if it is of another version, or an option breaks a rule.
        """
        path = folder / "config.json"
        data = read_json(path)
        if data.pop("solved_format", None) != FORMAT or data.get("task") not in TASKS:
            raise InputError(
                f"{path} is of another version of `pdai solve` than this one: solve again"
            )
        kind = TASKS[data.pop("task")]
        own = [data.pop(name) for name in ("p_b", "solved", "why")]
        return cls(build(kind, data, str(path)).with_copies(folder), *own)


class Solved(InFolder):
    """An exact sampler in its folder.

    Args:
        folder: the run folder.
        accept_changed: whether the user's problem may have changed since it was solved.

    Raises:
        InputError: if a file of it, or the problem, was changed.
    """

    def __init__(self, folder: Path, *, accept_changed: bool = False):
        super().__init__(folder)
        self.accept_changed = accept_changed
        check_finished(folder)
        check_own_parts(folder, accept_changed)
        self.recipe = Recipe.read(folder)

    def __repr__(self) -> str:
        tv = f", TV at most {at_most(self.tv_bound)}" if self.recipe.way == "listed" else ""
        log_z = f"log Z = {self.log_z.value:.6g}"
        return f"Solved({str(self.folder)!r}, {self.recipe.way}, {log_z}{tv})"

    @property
    def task(self) -> Task:
        """The problem with its options."""
        return self.recipe.task

    @cached_property
    def problem(self) -> Any:
        """The problem; raises InputError if its closed form is another than when it was solved."""
        problem = self.task.make_problem()
        if self.recipe.is_told:
            labels, learned = load_arrays(self.folder / "law.npz", "labels", "learned")
            states = [*dict.fromkeys(draws_of(problem, DRAWN, 0))]
            log_z = stated_log_z(problem).value
            own = np.array([log_float(exact_reward(problem, x)) for x in states]) - log_z
            same_draws = [*map(str, states)] == labels.tolist() and log_z == self.log_z.value
            if not (same_draws and np.allclose(np.exp(own), learned[0], 1e-9, 0)):
                raise InputError(
                    f"the problem of {str(self.folder)!r} has another log_z(), sample or rewards "
                    "than when it was solved: is it another object of this name? Solve it again"
                )
        return problem

    @cached_property
    def dag(self) -> PointedDAG[Any]:
        """The enumerated graph of the problem, which the stored rows belong to.

        Raises InputError if the problem has other states or rewards now, or was never listed.
        """
        with slow(f"enumerating {self.task.short_name}"):
            dag = enumerate_dag(self.problem, len(self.flows.graph.counts))
        made, stored = GraphArrays.of(dag), self.flows.graph
        if not (
            np.array_equal(made.offsets, stored.offsets)
            and np.array_equal(made.children, stored.children)
        ):
            raise self._other("states")
        self._confirm(ends := np.array(dag.terminals), [dag.labels[x] for x in ends.tolist()])
        return dag

    @cached_property
    def flows(self) -> ExactFlows:
        """The exact sampler; raises InputError if the problem was not listed."""
        if self.recipe.way != "listed":
            raise InputError(
                f"{str(self.folder)!r} draws from a closed form, without a graph: solve a smaller "
                "instance with --way listed"
            )
        offsets, children, rows = self._arrays("offsets", "children", "rows")
        graph = GraphArrays(offsets.astype(np.int64), children.astype(np.int64))
        return ExactFlows(graph, rows, self.recipe.p_b, self.log_z, self.tv_bound)

    @cached_property
    def log_z(self) -> Enclosure:
        """`log Z`, in nats, with a proved error."""
        return Enclosure(*self._arrays("log_z")[0].tolist())

    @cached_property
    def tv_bound(self) -> float:
        """A proved bound of TV between terminal states; 0 of a closed form."""
        return float(self._arrays("tv_bound")[0])

    @cached_property
    def report(self) -> Report:
        """The figures of the sampler, of the uniform policy and of the target."""
        return Report.from_json(read_report(self.folder))

    @cached_property
    def exact(self) -> ExactSampler:
        """The rows in exact rationals on the graph, which is its own lift."""
        return self.flows.exact(self.dag)

    @checked
    def sample(self, count: int, *, seed: int = 0) -> Samples:
        """Independent terminal states.

        Args:
            count: the number of samples.
            seed: the seed of the draw.

        Raises:
            InputError: if a number is out of range, or the problem lists other states now.
        """
        check_integer("sample", "count", count, 1, most=MAX_SAMPLES)
        check_seed("sample", seed)
        if self.recipe.way == "closed-form":
            drawn = draws_of(self.problem, count, seed)
            log_reward = self._log_rewards(drawn)
            return Samples(drawn, log_reward, log_reward - self.log_z.value, np.zeros(count))
        rng, states, nodes = np.random.default_rng(seed), dict[int, Any](), dict[Any, int]()
        self._named(self.flows.draw(SHOWING, np.random.default_rng(0)), states, nodes)
        blocks = [
            self._named(self.flows.draw(min(BLOCK, count - done), rng), states, nodes)
            for done in range(0, count, BLOCK)
        ]
        ends, log_p_f, log_p_b = map(np.concatenate, zip(*blocks, strict=True))
        places = np.unique(ends)
        own = self._confirm(places, [states[end] for end in places.tolist()])
        logs = dict(zip(places.tolist(), own.tolist(), strict=True))
        log_reward = np.array([logs[end] for end in ends.tolist()])
        return Samples([states[end] for end in ends.tolist()], log_reward, log_p_f, log_p_b)

    def _named(
        self, drawn: Drawn, states: dict[int, Any], nodes: dict[Any, int]
    ) -> tuple[Any, Floats, Floats]:
        """The ends and probabilities of trajectories; adds the states on the way to new ends.

        Raises InputError if two nodes have one state, one has two, or other numbers of children.
        """
        children, graph = AskedProblem[Hashable](self.problem).children, self.flows.graph
        ends, first = np.unique(drawn.ends, return_index=True)
        for end, steps in zip(ends.tolist(), drawn.steps[first].tolist(), strict=True):
            if end in states:
                continue
            state, node = self.problem.initial, 0
            for step in (*(step for step in steps if step >= 0), None):
                row = children(state)
                if len(row) != graph.counts[node]:
                    raise self._other("states")
                if step is None:
                    break
                state, node = row[step], int(graph.children[graph.offsets[node] + step])
                if states.setdefault(node, state) != state or nodes.setdefault(state, node) != node:
                    raise self._other("states")
        return drawn.ends, drawn.log_p_f, drawn.log_p_b

    @checked
    def log_prob(self, terminals: Sequence[Hashable]) -> Floats:
        """`log p_T(x)` of terminal states, in nats, up to the rounding that `tv_bound` is of.

        Raises InputError if one is no terminal state of the problem.
        """
        listed = None if self.recipe.way == "closed-form" else self.dag
        children = AskedProblem[Hashable](self.problem).children
        for label in terminals:
            is_state = self._is_reached(label) if listed is None else label in listed.index
            if not is_state or children(label):
                raise InputError(f"{shown(label)} is no terminal state of {self.task.short_name}")
        return self._log_rewards(terminals) - self.log_z.value

    def law(self) -> Law:
        """The law of the sampler and the target, by label.

        Raises InputError if the problem was not listed.
        """
        learned, target = load_arrays(self.folder / "law.npz", "learned", "target")
        return Law(tuple(self.dag.labels[x] for x in self.dag.terminals), learned, target)

    def plot(self) -> "Figure":
        """The law against the target, as a Matplotlib figure."""
        from pdai.show.plotting import figure_of

        return figure_of([self.folder])

    def _is_reached(self, state: Hashable) -> bool:
        """Follows a state back by first parents, or looks it up where states are few."""
        if parents_of(self.problem) is None:
            return state in self._few
        with suppress(InputError):
            self._ways.check(state, self.task.short_name)
            return True
        return False

    @cached_property
    def _ways(self) -> WaysBack:
        return WaysBack(self.problem)

    @cached_property
    def _few(self) -> Mapping[Any, int]:
        """The states of a problem without `parents`; raises InputError if they are too many."""
        try:
            return enumerate_dag(self.problem, MOST_COMPARED).index
        except TooLargeError:
            raise InputError(
                f"{type(self.problem).__name__} has more than {MOST_COMPARED:,} states, "
                "and no parents(state), by which it is seen whether one is reached: give it that "
                "method"
            ) from None

    def _log_rewards(self, states: Sequence[Hashable]) -> Floats:
        return np.array([log_float(exact_reward(self.problem, x)) for x in states])

    def _confirm(self, places: npt.NDArray[np.int64], states: Sequence[Hashable]) -> Floats:
        """`log R(x)` of terminal states at these places; raises if they had others when solved."""
        stored = np.zeros(len(self.flows.graph.counts))
        (stored[self.flows.graph.terminals],) = self._arrays("log_rewards")
        log_rewards = self._log_rewards(states)
        if (abs(log_rewards - stored[places]) > SAME_REWARD * (1 + abs(log_rewards))).any():
            raise self._other("states or rewards")
        return log_rewards

    def _arrays(self, *names: str) -> list[Any]:
        path = self.folder / "policy.npz"
        try:
            return load_arrays(path, *names)
        except ValueError as error:
            raise InputError(f"{path} cannot be read ({error}): {BRING_BACK}") from None

    def _other(self, what: str) -> InputError:
        return InputError(
            f"the problem of {str(self.folder)!r} has other {what} than when it was solved: "
            "children(state) must list the same states in the same order in every process; "
            "solve again"
        )
