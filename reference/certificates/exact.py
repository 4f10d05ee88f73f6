"""Regime E: a sampler in exact rationals on the enumerated graph."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from reference.certificates.betting import Interval
from reference.certificates.statement import FLOAT_INPUT, Kind, Line
from reference.contract.text import small
from reference.contract.user_code import are_rational
from reference.dag import PointedDAG
from reference.fields.field import RATIONAL
from reference.lifted import Forgetful, History, LiftedDAG, lift
from reference.metrics import kl_divergence, normalize, total_variation
from reference.policies import ForwardPolicy
from reference.problems.enumeration import met_again
from reference.rows.functions import FLOATS, ForwardRows

# States or histories per call, and terminal states that a note names.
BATCH, NAMED = 4_096, 3


class ExactSampler(NamedTuple):
    """The exact rows of a sampler on the enumerated graph, or on its lift by the history."""

    lifted: LiftedDAG[Any]
    forward: ForwardPolicy[Fraction]


class ExactLaw(NamedTuple):
    """The distribution of a sampler, with its target, and TV on terminal states.

    The table has `x`, `p_T(x)`, `pi(x)` of every terminal state; notes are on those never reached,
    and on the floats that were read, of which `kind` tells too.
    """

    tv: Fraction
    table: list[tuple[Any, Fraction, Fraction]]
    lines: list[Line]
    notes: list[str]
    kind: Kind

    @property
    def interval(self) -> Interval:
        """The nearest floats below and above TV, or TV itself."""
        nearest = float(self.tv)
        low = nearest if nearest <= self.tv else math.nextafter(nearest, 0.0)
        return Interval(low, nearest if nearest >= self.tv else math.nextafter(nearest, 1.0))


def exact_sampler(rows: ForwardRows, dag: PointedDAG[Any], max_nodes: int) -> ExactSampler:
    """The rows of a sampler on every state, or on every history if it is path-dependent.

    Raises TooLargeError if there are more than `max_nodes` of these, InputError if a row is no row
    of probabilities, or equal states have other rows.
    """
    lifted = lift(dag, Forgetful() if rows.is_markovian else History(), max_nodes)
    inner = [node for node, row in enumerate(lifted.dag.children) if row]
    values = [Fraction(0)] * len(lifted.dag.edges)
    for start in range(0, len(inner), BATCH):
        nodes = inner[start : start + BATCH]
        if rows.is_markovian:
            histories = [(dag.labels[lifted.projection[node]],) for node in nodes]
        else:
            histories = [(dag.labels[0], *lifted.dag.labels[node][1]) for node in nodes]
        for node, row in zip(nodes, rows.rows(histories), strict=True):
            # Made once, as closing a row of floats takes all of its numbers.
            exact = dict(zip(row.others, row.exact, strict=True))
            for edge in lifted.dag.out_edges[node]:
                child = dag.labels[lifted.projection[lifted.dag.edges[edge][1]]]
                values[edge] = exact[child]
    rows.ask_again()
    if rows.is_markovian:
        for node, other in met_again(rows.graph, dag):
            if dag.children[node]:
                rows.check_equal(dag.labels[node], other)
    return ExactSampler(lifted, ForwardPolicy(lifted.dag, RATIONAL, values))


def law_beside_target(
    p_t: Sequence[Fraction], labels: Sequence[Any], rewards: Sequence[Fraction], floats: str
) -> ExactLaw:
    """The exact distribution of a sampler, with its target: `p_T(x)` and `R(x)` per terminal.

    `floats` are those of which `p_T` was computed, in words; "" if there are none.
    """
    if not are_rational(rewards):
        floats += f"{'; ' * bool(floats)}rewards"
    kind: Kind = FLOAT_INPUT if floats else "exact"
    target = normalize(rewards)
    missed = [i for i, p in enumerate(p_t) if p == 0]
    lines = [
        Line("KL(target || p_T), nats", kl_divergence(target, p_t), "float64"),
        Line("KL(p_T || target), nats", kl_divergence(p_t, target), "float64"),
        Line("sum of p_T", sum(p_t, start=Fraction(0)), kind),
        Line("terminal states", Fraction(len(labels)), "exact"),
    ]
    notes = []
    if missed:
        named = ", ".join(repr(labels[i]) for i in missed[:NAMED])
        mass = sum((target[i] for i in missed), start=Fraction(0))
        more = f" and {len(missed) - NAMED:,} more" if len(missed) > NAMED else ""
        notes.append(
            f"the sampler never reaches {named}{more}: TV is at least their mass, "
            f"{small(mass, down=True)}"
        )
        lines.append(Line("mass of terminals that are never reached", mass, kind))
    if floats:
        notes.append(FLOATS.format(floats))
    tv = total_variation(p_t, target)
    return ExactLaw(tv, list(zip(labels, p_t, target, strict=True)), lines, notes, kind)
