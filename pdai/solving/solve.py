"""`pdai.solve`: the exact sampler of a problem, in a new run folder."""

import io
import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fast.measure.report import MEAN_BEST, Expectation, Figures, Report
from fast.runs.display import slow
from fast.runs.files import check_free, free_folder, new_folder
from fast.runs.identity import imported_sources
from fast.runs.records import save_law, seal_run, write_json
from fast.tasks import CustomTask, Task, task_meant
from pdai.certifying.target import Target, log_z_interval
from pdai.solving.hints import COUNTED, show_hint
from pdai.solving.solved import DRAWN, MOST_COMPARED, TOLD, Recipe, Solved, draws_of
from reference.certificates.recorded import check_drawn
from reference.contract.errors import (
    InputError,
    TooLargeError,
    build,
    check_hashable,
    check_integer,
    checked,
    no_such,
)
from reference.contract.files import memory_of_machine, read_file, replace_file, sha256
from reference.contract.text import at_most, count_text
from reference.dag import PointedDAG
from reference.fields.field import log_float
from reference.looking.inspection import inspect_problem
from reference.metrics import Estimate
from reference.problems.base import MAX_NODES
from reference.problems.closed_form import ClosedForm, Enclosure, stated_log_z
from reference.problems.enumeration import enumerate_dag, enumerate_rewards, exact_reward
from reference.rows.features import knows_means
from reference.rows.flows import Backward, ExactFlows, GraphArrays

Floats = npt.NDArray[np.float64]
Choice = Literal["auto", "listed", "closed-form"]

# Bytes of a state with its label, its children and their numbers, in Python and in arrays.
BYTES_PER_STATE = 1_500
# A user's log Z is compared with the sum of all rewards up to rounding, in nats per nat.
SAME_LOG_Z = 1e-9
# The largest error of the log Z of a closed form, in nats, as its probabilities are used.
MOST_ERROR = 1e-6
# Labels of more terminal states are not stored.
MOST_LABELS = 200_000


class Answer(NamedTuple):
    """An exact sampler before it is stored.

    Attributes:
        recipe: its problem, and the way.
        log_z: `log Z`, in nats.
        tv_bound: a proved bound of TV.
        arrays: the further content of policy.npz.
        learned: `p_T(x)` of the terminal states, or of those drawn.
        target: `R(x) / Z` of the same states.
        log_rewards: their `log R(x)`, in nats.
        labels: their texts, where these are stored.
        uniform: their probabilities under the policy that chooses uniformly, where these are known.
        terminals: the number of terminal states, where it is known.
        means: of each feature that the problem names, the expectation under the sampler and under
            the target.
    """

    recipe: Recipe
    log_z: Enclosure
    tv_bound: float
    arrays: dict[str, Any]
    learned: Floats
    target: Floats
    log_rewards: Floats
    labels: Sequence[str]
    uniform: Floats | None
    terminals: int | None
    means: dict[str, tuple[float, float]]


@checked
def solve(
    problem: Any = None,
    *,
    p_b: Backward = "uniform",
    way: Choice = "auto",
    out: str | Path | None = None,
    max_states: int = MAX_NODES,
    **options: Any,
) -> Solved:
    """The exact sampler of a problem, in a new run folder; nothing is trained, and no JAX imported.

    Where the states can be listed, one backward pass gives the flows; else samples come from the
    closed form of the problem, if it has one.

    Args:
        problem: the name of a task, such as "six6"; a task; or a problem of your own, an object or
            class, or `module:Name`.
        p_b: the backward policy: uniform, or of most entropy, by which all trajectories to a
            terminal state are equally probable.
        way: listed or closed-form to allow only this way.
        out: the run folder; by default runs/PROBLEM-solved, with a number if that exists.
        max_states: the largest number of states to list.
        options: the options of the task, by name.

    Raises:
        TooLargeError: if there are too many states, and there is no closed form.
        InputError: if the problem breaks a rule, the folder exists, or an option is unknown.
    """
    check_integer("solve", "max_states", max_states, 1, most=10**12)
    kind, own = task_meant(problem)
    known = [part.name for part in fields(kind)]
    for name in options:
        if name not in known:
            raise InputError(no_such(f"option of {kind.name}", name, known))
    task = build(kind, own | options, "")
    folder = Path(out) if out else free_folder(Path("runs") / f"{task.short_name}-solved")
    check_free(folder)
    return write_solved(_answer(task, p_b, way, max_states), folder)


def _answer(task: Task, p_b: Backward, way: Choice, max_states: int) -> Answer:
    """The sampler by the first way that is possible and allowed."""
    problem = task.make_problem()
    if problem is None:
        raise InputError("an environment alone cannot be solved: name its --problem")
    too_large = "a closed form is asked for"
    if way != "closed-form":
        try:
            dag, rewards = _listed(task, problem, max_states)
        except TooLargeError as error:
            if way == "listed" or not isinstance(problem, ClosedForm):
                raise _no_way(task, str(error)) from None
            too_large = str(error)
        else:
            return _by_flows(task, problem, p_b, dag, rewards)
    if not isinstance(problem, ClosedForm):
        raise InputError(f"{task.short_name} has no closed form: leave --way out")
    try:
        return _by_closed_form(task, problem, p_b, too_large)
    except TooLargeError as error:
        raise _no_way(task, f"{too_large}; its closed form: {error}") from None


def _no_way(task: Task, why: str) -> TooLargeError:
    own = "" if not isinstance(task, CustomTask) else f" --problem {task.problem}"
    return TooLargeError(f"{why}; to approximate it: `pdai train {task.name}{own}`")


def _listed(
    task: Task, problem: Any, max_states: int
) -> tuple[PointedDAG[Any], tuple[Fraction, ...]]:
    """All states with rewards; too many are refused, at once where the task bounds their number."""
    states = task.states()
    if states > max_states:
        raise TooLargeError(
            f"{task.short_name} has up to {count_text(states)} states, and at most "
            f"{max_states:,} are listed (--max-states)"
        )
    if states * BYTES_PER_STATE > memory_of_machine() // 2:
        raise TooLargeError(
            f"{task.short_name} has up to {states:,} states, which take "
            f"{states * BYTES_PER_STATE // 2**30} GiB, more than half of this machine's memory"
        )
    with slow(f"enumerating {task.short_name}"):
        if isinstance(task, CustomTask):
            with suppress(TooLargeError):
                seen = inspect_problem(problem, min(COUNTED, max_states))
                show_hint(seen.hint)
                return seen.dag, seen.rewards
        dag = enumerate_dag(problem, max_states)
        return dag, enumerate_rewards(problem, dag)


def _by_flows(
    task: Task, problem: Any, p_b: Backward, dag: PointedDAG[Any], rewards: Sequence[Fraction]
) -> Answer:
    graph = GraphArrays.of(dag)
    flows = ExactFlows.of(graph, rewards, p_b)
    ends, log_rewards = graph.terminals, np.array([log_float(reward) for reward in rewards])
    target = np.exp(log_rewards - flows.log_z.value)
    labels = [dag.labels[x] for x in dag.terminals]
    stored = len(ends) <= MOST_LABELS
    learned = graph.law(flows.rows)[ends]
    small = np.int32 if len(graph.children) < 2**31 else np.int64
    return Answer(
        recipe=Recipe(task, p_b, "listed", f"all {len(dag.labels):,} states can be listed"),
        log_z=flows.log_z,
        tv_bound=flows.tv_bound,
        arrays={
            "offsets": graph.offsets,
            "children": graph.children.astype(small),
            "rows": flows.rows,
            "log_rewards": log_rewards,
        },
        learned=learned,
        target=target,
        log_rewards=log_rewards,
        labels=[*map(str, labels)] if stored else (),
        uniform=graph.law(1 / np.repeat(graph.counts, graph.counts))[ends],
        terminals=len(ends),
        means=_means(problem, labels, learned) if stored else {},
    )


def _by_closed_form(task: Task, problem: ClosedForm[Any], p_b: Backward, too_large: str) -> Answer:
    name = type(problem).__name__
    log_z = stated_log_z(problem, MOST_ERROR)
    drawn = draws_of(problem, DRAWN, 0)
    check_hashable(f"a sample of {name}", drawn[0])
    states = dict.fromkeys(drawn)
    logs = np.array([log_float(exact_reward(problem, x)) for x in states])  # type: ignore[arg-type]
    probabilities = np.exp(logs - log_z.value)
    by_state = dict(zip(states, (logs - log_z.value).tolist(), strict=True))
    check_drawn(drawn, by_state, "R / Z", f"make reward, log_z() and sample of {name} agree")
    if isinstance(task, CustomTask):
        own, stated = Target(problem, MOST_COMPARED, 0.0), f"{name}.log_z()"
        own.check_log_z(log_z_interval(log_z, stated), stated, SAME_LOG_Z)
        own.check_terminals(f"sample of {name}", [*states])
    why = f"{too_large}; {name} draws exact samples without listing states"
    return Answer(
        recipe=Recipe(task, p_b, "closed-form", why),
        log_z=log_z,
        tv_bound=0.0,
        arrays={},
        learned=probabilities,
        target=probabilities,
        log_rewards=logs,
        labels=[str(x) for x in states],
        uniform=None,
        terminals=None,
        means=_means(problem, (), None),
    )


def _means(
    problem: Any, labels: Sequence[Any], learned: Floats | None
) -> dict[str, tuple[float, float]]:
    """The expectations of the problem's features under the sampler and the target, if it has some.

    Without probabilities of the terminal states, those of the target are taken.
    """
    if not knows_means(problem):
        return {}
    right = {name: float(mean) for name, mean in problem.quantity_means().items()}
    if learned is None:
        return {name: (mean, mean) for name, mean in right.items()}
    every = map(problem.quantities, labels)
    values = np.array([[given[name] for name in right] for given in every])
    return {name: (float(m), right[name]) for name, m in zip(right, learned @ values, strict=True)}


def write_solved(answer: Answer, folder: Path) -> Solved:
    """Writes an exact sampler into a new run folder.

    Raises InputError if the folder exists, or the user's module was edited since it was imported.
    """
    task = answer.recipe.task
    inputs, stored = task.input_files, replace(answer.recipe, task=task.with_copies(Path()))
    copies = {task.inputs[option]: read_file(path) for option, path in inputs.items()}
    meta = {
        "versions": {"python": platform.python_version(), "pdai": version("pdai")},
        "device": platform.machine(),
        "parameters": 0,
        "seeds": [0],
        "is_markovian": True,
        "own": imported_sources({}, task),
        "inputs": {option: str(path) for option, path in inputs.items()},
        "copies": {name: sha256(content) for name, content in copies.items()},
    }
    buffer, arrays = io.BytesIO(), answer.arrays
    np.savez(buffer, log_z=np.array(answer.log_z), tv_bound=np.array(answer.tv_bound), **arrays)
    with new_folder(folder) as partial:
        for name, content in copies.items():
            replace_file(partial / name, content)
        write_json(partial / "config.json", stored.to_json())
        write_json(partial / "meta.json", meta)
        # No figure is learned or estimated.
        write_json(partial / "report.json", _report(answer).to_json() | {"kinds": {}})
        replace_file(partial / "policy.npz", buffer.getvalue())
        save_law(partial, answer.learned[None], answer.target, answer.labels)
        seal_run(partial)
    return Solved(folder)


def _report(answer: Answer) -> Report:
    best = float(np.sort(answer.log_rewards)[-MEAN_BEST:].mean())
    target, bound = answer.target, f"TV at most {at_most(answer.tv_bound)}, proved"
    is_given = answer.recipe.is_told
    if is_given:
        bound = TOLD

    def figures(law: Floats | None) -> Figures:
        tv = kl = None
        if law is not None and not is_given:
            some = target > 0
            with np.errstate(divide="ignore"):
                terms = target[some] * (np.log(target[some]) - np.log(law[some]))
            kl = max(float(terms.sum()), 0.0)
            tv = Estimate(float(abs(law - target).sum() / 2), 0.0)
        return Figures(tv, None, kl, Estimate(answer.log_z.value, 0.0), best)

    listed = answer.recipe.way == "listed"
    return Report(
        learned=(figures(answer.learned),),
        uniform=figures(answer.uniform),
        exact=figures(target),
        method="dynamic programming over all states" if listed else "the problem's closed form",
        tv_kind="unknown" if is_given else "float64",
        log_z=answer.log_z.value,
        log_z_is_learned=False,
        drawn=DRAWN if is_given else 0,
        terminals=answer.terminals,
        notes=(bound, answer.recipe.why),
        expectations=tuple(
            Expectation(name, Estimate(mean, 0.0), target=right)
            for name, (mean, right) in answer.means.items()
        ),
    )
