"""Cases of losses, and how each is judged: by a search for zeros, or by following its gradient."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from itertools import product
from pkgutil import iter_modules
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.special import softmax

import examples.losses
from examples.losses.graphs import GRAPHS
from fast.balance.loss import Loss, TrajectoryLoss
from fast.balance.steps import Steps, evaluate
from fast.checking.counterexamples import Counterexample, at_rows, counterexample
from fast.checking.expected_loss import batch_loss, take
from fast.checking.instances import Instance
from fast.checking.landscape import HASTE, STATIONARY, Landscape
from fast.checking.loss import BALANCED
from fast.checking.search import SPURIOUS, clearest, search
from fast.checking.tabular_policy import BackwardKind

Outcome = Literal["right", "other law", "wrong", "undecided"]
Verdict = Literal[
    "right", "right on policy", "right under a condition", "right for another law", "wrong"
]
# Where trajectories come from: "any" for losses that are zero where they are least, which are
# searched; the gradient of the others is followed, from trajectories of the policy or uniform ones.
Draws = Literal["any", "policy", "uniform"]
Floats = Any

STARTS = 4
# The descent's length of a step, its most steps, and the gradient at which it has ended.
RATE, STEPS, FLAT = 0.2, 20_000, 1e-8
# Two laws are the same, where a descent has ended, up to this.
SAME = 1e-6
DENOMINATORS = (12, 100, 1_000)


@dataclass(frozen=True)
class Case:
    """A loss on a graph, with the outcome that is declared for it.

    Attributes:
        loss: the loss.
        graph: the graph.
        outcome: the declared outcome.
        when: the condition, in words; a column of the matrix for the common ones.
        draws: the trajectories that the gradient is from.
        backward: the kind of `p_B`.
        law: weights of the declared law, one per terminal of the graph; None for `R`.
    """

    loss: Loss
    graph: Instance
    outcome: Outcome
    when: str
    draws: Draws = "any"
    backward: BackwardKind = "uniform"
    law: Callable[[Instance], tuple[Fraction, ...]] | None = None


@dataclass(frozen=True)
class Judged:
    """A published loss with its verdict.

    Attributes:
        name: the name under which it is known.
        source: its authors, title and year.
        formula: the loss, in one line.
        verdict: the declared verdict.
        condition: when it is right, or which law it has, in words; "" if it is right.
        loss: the loss as published.
        cases: further conditions.
        outcomes: the declared outcome in each column of the matrix that applies to it.
        graphs: the graph of each column.
        draws: as in `Case`.
        backward: as in `Case`.
        law: as in `Case`.
    """

    name: str
    source: str
    formula: str
    verdict: Verdict
    loss: Loss
    condition: str = ""
    cases: tuple[Case, ...] = ()
    outcomes: Mapping[str, Outcome] = field(default_factory=lambda: dict.fromkeys(GRAPHS, "right"))
    graphs: Mapping[str, Instance] = field(default_factory=lambda: GRAPHS)
    draws: Draws = "any"
    backward: BackwardKind = "uniform"
    law: Callable[[Instance], tuple[Fraction, ...]] | None = None

    @cached_property
    def every(self) -> tuple[Case, ...]:
        """The cases of the matrix, and the further ones."""
        common = (
            Case(
                self.loss, self.graphs[column], outcome, column, self.draws, self.backward, self.law
            )
            for column, outcome in self.outcomes.items()
        )
        return (*common, *self.cases)

    @property
    def needs(self) -> str:
        """The demands of the loss on a network and on a batch, in words."""
        wants = {
            "log Z": self.loss.learns_log_z,
            "a flow": self.loss.needs_flow,
            "p_B": self.loss.reads_backward,
            "a Markovian policy": self.loss.needs_markovian,
            "pairs": self.loss.least_batch > 1,
        }
        return ", ".join(name for name, holds in wants.items() if holds) or "nothing"

    def allows(self, outcomes: Mapping[str, Outcome]) -> bool:
        """True if the verdict fits the outcomes, given by condition."""
        common = [outcomes[column] for column in self.outcomes]
        further = [outcomes[case.when] for case in self.cases]
        if self.verdict == "right on policy" and self.draws != "policy":
            return False
        return {
            "right": {*common, *further} == {"right"},
            "right on policy": {*common} == {"right"} and "wrong" in further,
            "right under a condition": "right" in common and "wrong" in {*common, *further},
            "right for another law": "other law" in common and "wrong" not in common,
            "wrong": {*common} == {"wrong"},
        }[self.verdict]


@dataclass(frozen=True)
class Finding:
    """The outcome of a case.

    Attributes:
        outcome: the outcome.
        distance: the largest total variation from the law asked for, of all ends.
        example: a counterexample, if it is wrong.
    """

    outcome: Outcome
    distance: float
    example: Counterexample | None = None


@dataclass(frozen=True)
class Parts(TrajectoryLoss):
    """No loss, with the parts of one: rows, flows and log Z for a descent of its gradient."""

    needs_flow: bool
    learns_log_z: bool

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return jnp.zeros(())


def collected() -> dict[str, Judged]:
    """Every judged loss by its name, file by file."""
    names = sorted(module.name for module in iter_modules(examples.losses.__path__))
    modules = (import_module(f"examples.losses.{name}") for name in names if name[0] != "_")
    return {each.name: each for module in modules for each in getattr(module, "JUDGED", ())}


def judged(case: Case, *, explain: bool = True) -> Finding:
    """The outcome of a case, and a counterexample if it is wrong.

    Args:
        case: the case.
        explain: whether a counterexample is made.
    """
    graph = case.graph if case.law is None else replace(case.graph, rewards=case.law(case.graph))
    with jax.enable_x64(True):
        if case.draws == "any":
            finding = _by_search(Landscape(case.loss, graph, case.backward), explain)
        else:
            parts = Parts(case.loss.needs_flow, case.loss.learns_log_z)
            finding = _by_descent(Landscape(parts, graph, case.backward), case)
    if finding.outcome == "right" and case.law is not None and graph.target != case.graph.target:
        return replace(finding, outcome="other law")
    return finding


def _by_search(landscape: Landscape, explain: bool) -> Finding:
    """Wrong if a minimum has another law; undecided if none is balanced, or few are reached."""
    minima = search(landscape, STARTS, seed=0)
    worst = max((each.distance for each in minima if each.has_no_loss), default=float("inf"))
    clear = clearest(landscape, minima)
    if clear is not None:
        return Finding("wrong", worst, counterexample(landscape, clear) if explain else None)
    # A law may be had by other trajectories than those of a uniform p_B, with a lower loss.
    least = landscape.floor + min(0.0, *(each.loss for each in minima))
    balanced = least <= BALANCED or landscape.slope <= STATIONARY
    reached = 2 * sum(each.has_no_loss for each in minima) >= len(minima)
    right = balanced and reached and not any(each.is_stuck for each in minima)
    return Finding("right" if right else "undecided", worst)


def _by_descent(landscape: Landscape, case: Case) -> Finding:
    """Right if every descent ends at the law; wrong if one ends elsewhere."""
    rng = np.random.default_rng(0)
    size = len(landscape.balanced)
    starts = np.stack([landscape.balanced, *rng.normal(size=(2, size))])
    vectors, flat = _ends(landscape, case, starts)
    distances = [landscape.distance(vector) for vector in vectors]
    worst = int(np.argmax(distances))
    if distances[worst] > SPURIOUS:
        return Finding("wrong", distances[worst], _rational(landscape, vectors[worst]))
    right = distances[worst] < SAME and bool(flat.all())
    return Finding("right" if right else "undecided", distances[worst])


def _ends(landscape: Landscape, case: Case, starts: Floats) -> tuple[Floats, Floats]:
    """The end of the gradient's path from each start, and true if it has vanished there.

    No minimum: on policy the weights of trajectories move with it, and are not differentiated.
    """
    graph, loss = landscape.instance, case.loss
    everything = landscape.everything
    count = len(everything.active)
    rows = jnp.asarray(list(product(range(count), repeat=loss.least_batch)))
    key = jax.random.key(0)

    def weights(vector: Any) -> Any:
        policy = landscape.sampler(vector).policy
        own = jnp.exp(evaluate(policy, graph.environment, everything).log_p_f.sum(-1))
        law = own if case.draws == "policy" else jnp.full(count, 1 / count)
        return law[rows].prod(1)

    def expected(vector: Any, weight: Any) -> Any:
        sampler = landscape.sampler(vector)
        batches = jax.vmap(
            lambda row: batch_loss(loss, graph.environment, sampler, take(everything, row), key)
        )
        return jnp.sum(weight * batches(rows))

    def gradient(vector: Any) -> Any:
        return jax.grad(expected)(vector, weights(vector))

    def goes_on(state: Any) -> Any:
        return (state[2] < STEPS) & (jnp.abs(state[1]).max() > FLAT)

    def step(state: Any) -> Any:
        slope = gradient(state[0])
        return state[0] - RATE * slope, slope, state[2] + 1

    def end(start: Any) -> Any:
        state = (start, jnp.full_like(start, jnp.inf), 0)
        vector, slope, _ = lax.while_loop(goes_on, step, state)
        return vector, jnp.abs(slope).max() <= FLAT

    vectors, flat = jax.jit(jax.vmap(end), compiler_options=HASTE)(jnp.asarray(starts))
    return np.asarray(vectors), np.asarray(flat)


def _rational(landscape: Landscape, vector: Floats) -> Counterexample:
    """The rows where a descent ended, as the simplest fractions near them."""
    rows = [_fractions(softmax(vector[row.places])) for row in landscape.rows]
    return at_rows(landscape, rows, loss=0.0, level=0.0)


def _fractions(row: Floats) -> tuple[Fraction, ...]:
    for most in DENOMINATORS:
        parts = [Fraction(float(share)).limit_denominator(most) for share in row[:-1]]
        parts.append(1 - sum(parts, start=Fraction(0)))
        if all(abs(float(share) - part) < SAME for share, part in zip(row, parts, strict=True)):
            break
    return tuple(parts)
