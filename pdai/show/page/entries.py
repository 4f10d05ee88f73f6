"""The content of a page for one run: stored results, and results computed with its sampler."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from fast.laws.exact_policy import exact_policy
from fast.laws.samples import Samples
from fast.parts import option_names
from fast.runs.frozen import arithmetic
from fast.tasks import TASKS
from fast.training.compose import unused
from fast.training.options import Factors
from pdai.loading import load
from pdai.run import Run
from pdai.show.stored import Stored
from pdai.solving.hints import exact_beside
from pdai.solving.solved import Solved
from reference.certificates.statement import Certificate
from reference.contract.errors import InputError, TooLargeError
from reference.lifted import LiftedDAG
from reference.metrics import normalize
from reference.policies import ForwardPolicy
from reference.rows.features import KnowsMeans

# The largest number of lifted states in a picture.
MAX_DRAWN = 150
SAMPLES = 12

Result = TypeVar("Result")


class Lift(NamedTuple):
    """The lifted DAG of a sampler, its exact policy, `pi(x)`, and the texts of its base states."""

    lifted: LiftedDAG[Any]
    policy: ForwardPolicy[Fraction]
    target: dict[Hashable, float]
    texts: Sequence[str]


@dataclass(frozen=True)
class Computed:
    """Results computed with the sampler of a run, or the reason why they are missing.

    The lift is for small DAGs, `offset` is log score minus log R in nats, for posteriors given
    data, and `exact` the command that is exact on the problem of a trained run, if there is one.
    """

    certificate: Certificate | str
    samples: Samples | str
    lift: Lift | str
    offset: float | None = None
    exact: str | None = None


class Entry(Stored):
    """A run on a page: what its folder says, and what its sampler gives.

    With no time to draw for its certificate nothing is computed, and no module imported that the
    folder names. Raises InputError if the run is not finished, or damaged.

    Attributes:
        name: the name of its folder, with a number if two are the same.
        number: the number of the run on the page, from 0.
        options: the options of the configuration, by name, with the facts of a user's data.
        labels: the labels of the terminal states; empty if these are not enumerated.
        computed: results computed for the page; None to show stored results alone.
    """

    def __init__(self, run: Run | Solved | Path, name: str, number: int, seconds: float | None):
        super().__init__(run if isinstance(run, Path) else run.folder)
        self.name, self.number, task = name, number, self.task
        left = () if task is None else unused(type(task), self.config)
        self.options = {name: x for name, x in self.config.items() if name not in left}
        if self.is_solved:
            self.options |= {"dynamics": "none", "loss": "none", "steps": 0}
        self.options |= self.facts
        self.labels = self.plain_labels if task is None else task.texts(self.plain_labels)
        self.computed: Computed | None = None
        if seconds is not None:
            self.computed = _computed(load(run) if isinstance(run, Path) else run, seconds)

    @property
    def problem(self) -> tuple[tuple[str, str], ...]:
        """The identity of the problem: the task, its options, and the factors of its reward."""
        task = TASKS.get(str(self.options.get("task")))
        names = [
            "task",
            *sorted(option_names(task) if task else ()),
            *sorted(option_names(Factors)),
        ]
        values = ((name, self.options.get(name)) for name in names)
        return tuple((name, str(value)) for name, value in values if value is not None)


def _computed(run: Run | Solved, seconds: float) -> Computed:
    from pdai.certifying.certify import certify

    problem, task = _or_reason(lambda: run.problem), run.task
    features = problem.quantities if isinstance(problem, KnowsMeans) else None

    def samples() -> Samples:
        drawn = run.sample(SAMPLES)
        return drawn._replace(states=task.texts(drawn.states))

    return Computed(
        certificate=_or_reason(lambda: certify(run, seconds=seconds, features=features)),
        samples=_or_reason(samples),
        lift=_or_reason(lambda: _lift(run)),
        offset=getattr(problem, "offset", None),
        exact=exact_beside(run.config) if isinstance(run, Run) else None,
    )


def _lift(run: Run | Solved) -> Lift:
    if isinstance(run, Solved):
        return _solved_lift(run)
    policy, enumeration = run.policy(), run.enumeration
    if not policy.is_summable or enumeration is None:
        raise TooLargeError("the states of this sampler are not enumerated, so none are drawn")
    with arithmetic(run.config.run.precision):
        lifted, forward = exact_policy(policy, enumeration, MAX_DRAWN)
    states = (enumeration.dag.labels[x] for x in enumeration.dag.terminals)
    shares = map(float, normalize(enumeration.rewards))
    texts = run.task.texts(lifted.base.labels)
    return Lift(lifted, forward, dict(zip(states, shares, strict=True)), texts)


def _solved_lift(run: Solved) -> Lift:
    """The graph of a solved run: its sampler sees the state, and needs no lift."""
    if len(run.flows.graph.counts) > MAX_DRAWN:
        raise TooLargeError(f"it has more than {MAX_DRAWN} states")
    law, made = run.law(), run.exact
    target = dict(zip(law.labels, law.target.tolist(), strict=True))
    return Lift(made.lifted, made.forward, target, run.task.texts(run.dag.labels))


def _or_reason(compute: Callable[[], Result]) -> Result | str:
    try:
        return compute()
    except InputError as error:
        return str(error)
