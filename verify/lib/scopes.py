"""The instances of the claims: every small lift, with random rational policies and rewards.

With `--exhaustive`, also the lifts of one labelling of each DAG with six states: one in ten, but
all for the claims that the others rest on, and for these also the lifts without memory and with
full memory of one in twenty DAGs with seven states.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice, product
from typing import Any, NamedTuple, TypeVar

from reference.dag import PointedDAG
from reference.fields.field import RATIONAL, Field, T
from reference.lifted import Forgetful, History, LiftedDAG, lift
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.solve import forward_from_law
from verify.lib.small_scope import isomorphism_classes, lifts, pointed_dags, pointed_dags_up_to

Case = TypeVar("Case")

MAX_NODES = 5
EXHAUSTIVE_NODES = 6

# Of the DAGs with up to five states and with six; `test_small_scope.py` counts them.
SMALL_LIFTS, SIX_STATE_LIFTS = 784, 438_805

# Of the 615,195 labelled DAGs with seven states one in so many, with two lifts each.
SEVEN_STATES, ONE_IN = 7, 20
SEVEN_STATE_LIFTS = 61_520

_exhaustive = False


def set_exhaustive(exhaustive: bool) -> None:
    """Chooses the scope of the session: called once, before any test runs."""
    global _exhaustive
    _exhaustive = exhaustive


class Draw(NamedTuple):
    """A lift with random positive rewards, one per terminal, and the source of more randomness."""

    lifted: LiftedDAG[int]
    rewards: tuple[Any, ...]
    rng: random.Random
    field: Field[Any] = RATIONAL

    def backward(self, dag: PointedDAG[Any]) -> BackwardPolicy[Any]:
        """A random positive backward policy."""
        return BackwardPolicy.from_weights(dag, self.field, self.weights(len(dag.edges)))

    def sparse_backward(self, dag: PointedDAG[Any]) -> BackwardPolicy[Any]:
        """A random backward policy in which about half of what may be zero is zero."""
        weights = self.weights(len(dag.edges))
        for _, row in BackwardPolicy.rows(dag):
            kept = self.rng.choice(row)
            for edge in row:
                if edge != kept and self.rng.random() < 0.5:
                    weights[edge] = 0
        return BackwardPolicy.from_weights(dag, self.field, weights)

    def forward(self, dag: PointedDAG[Any]) -> ForwardPolicy[Any]:
        """A random positive forward policy."""
        return ForwardPolicy.from_weights(dag, self.field, self.weights(len(dag.edges)))

    def weights(self, count: int) -> list[int]:
        """Random integers from 1 to 9."""
        return self.rng.choices(range(1, 10), k=count)


def crossed(names: Iterable[str], options: Sequence[str]) -> list[tuple[str, str]]:
    """Each name with one of the options, in turn; if exhaustive, with every one."""
    if _exhaustive:
        return list(product(names, options))
    return list(zip(names, cycle(options), strict=False))


def all_small_dags() -> Iterator[PointedDAG[int]]:
    """Every labelled pointed DAG up to five states; if exhaustive, each DAG with six states too."""
    yield from pointed_dags_up_to(MAX_NODES)
    if _exhaustive:
        for dag, _ in isomorphism_classes(EXHAUSTIVE_NODES):
            yield dag


def all_small_lifts(one_in: int = 10, larger: Field[Any] = RATIONAL) -> Iterator[Draw]:
    """Every lift of every labelled pointed DAG up to five states, each with random rewards.

    If exhaustive, one in so many lifts of the DAGs with six states comes as well; if that is every
    one, also the trivial and the history lifts of DAGs with seven. `larger` has their rationals.
    """
    rng = random.Random(0)

    def draws(lifted_dags: Iterable[LiftedDAG[int]], field: Field[Any]) -> Iterator[Draw]:
        for lifted in lifted_dags:
            rewards = tuple(field.convert(rng.randint(1, 9)) for _ in lifted.base.terminals)
            yield Draw(lifted, rewards, rng, field)

    for dag in pointed_dags_up_to(MAX_NODES):
        yield from draws(lifts(dag), RATIONAL)
    if _exhaustive:
        for dag, _ in isomorphism_classes(EXHAUSTIVE_NODES):
            yield from draws(lifts(dag, one_in), larger)
    if _exhaustive and one_in == 1:
        for dag in islice(pointed_dags(SEVEN_STATES), 0, None, ONE_IN):
            yield from draws((lift(dag, Forgetful()), lift(dag, History())), larger)


def balanced_with(
    kernel: BackwardKernel[T], rewards: tuple[T, ...], elsewhere: ForwardPolicy[T] | None = None
) -> ForwardPolicy[T]:
    """The policy whose trajectory law is `R(x) p_B(tau|x) / Z`, from the law alone."""
    dag, field = kernel.dag, kernel.field
    reward, z = dict(zip(dag.terminals, rewards, strict=True)), field.sum(rewards)
    return forward_from_law(
        elsewhere or ForwardPolicy.uniform(dag, field),
        lambda tau: reward[dag.end(tau)] * kernel.along(tau) / z,
    )


def described(draws: int) -> str:
    """The scope of a test over `all_small_lifts`, for the ledger."""
    if draws == SMALL_LIFTS + SIX_STATE_LIFTS + SEVEN_STATE_LIFTS:
        return (
            f"all {SMALL_LIFTS + SIX_STATE_LIFTS:,} lifts of DAGs up to {EXHAUSTIVE_NODES} states, "
            f"{SEVEN_STATE_LIFTS:,} with {SEVEN_STATES}"
        )
    six = f", {draws - SMALL_LIFTS:,} with {EXHAUSTIVE_NODES}" if draws > SMALL_LIFTS else ""
    return f"all {min(draws, SMALL_LIFTS):,} lifts of DAGs up to {MAX_NODES} states{six}"


class Scope:
    """The record of what a test looked at, for the ledger: `scope("548 lifts")` keeps a text.

    `count` says how many cases of its last walk the test is done with.
    """

    def __init__(self, record: Callable[[str], None]) -> None:
        self.record, self.count = record, 0

    def __call__(self, what: str) -> None:
        """Keeps a text."""
        self.record(what)

    def over(self, cases: Iterable[Case], what: str = "") -> Iterator[Case]:
        """A walk over cases, which are counted; at its end, a text with their number is kept."""
        self.count = 0
        for case in cases:
            yield case
            self.count += 1
        if what:
            self(what.format(self.count))

    def lifts(
        self, what: str = "{}", one_in: int = 10, larger: Field[Any] = RATIONAL
    ) -> Iterator[Draw]:
        """A walk over `all_small_lifts`; at its end, a text with their description is kept."""
        yield from self.over(all_small_lifts(one_in, larger))
        self(what.format(self.walked))

    @property
    def walked(self) -> str:
        """The description of its last walk, which was over `all_small_lifts`."""
        return described(self.count)
