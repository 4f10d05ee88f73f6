"""Regime E: the exact law of a sampler beside its target."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from reference.certificates.betting import Interval
from reference.certificates.statement import FLOAT_INPUT, Kind, Line
from reference.contract.text import small
from reference.contract.user_code import are_rational
from reference.metrics import kl_divergence, normalize, total_variation
from reference.rows.functions import FLOATS

# Terminal states that a note names.
NAMED = 3


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
