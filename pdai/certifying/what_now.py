"""Advice about a large TV: where mass is missing, whether more steps help, the least TV.

docs/what_now.md has advice for each answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fast.laws.enumeration import Enumeration
from reference.certificates.regimes import ExactLaw
from reference.contract.errors import plain
from reference.contract.text import small

# The TV above which advice is given, and the number of terminal states that it names.
LARGE, NAMED = 0.02, 3
# A curve that lost less of its TV than this in its second half has levelled off.
LEVEL = 0.1


def what_now(
    law: ExactLaw,
    enumeration: Enumeration,
    records: Sequence[Mapping[str, Any]] | None,
    row: int,
    texts: Callable[[Iterable[Any]], Sequence[str]],
) -> list[str]:
    """Three lines of advice about a run whose TV is above `LARGE`; none below.

    `records` are those of its training, of the seed at place `row`; None if they are not of this
    target alone. `texts` writes states as people read them.
    """
    if law.tv <= LARGE:
        return []
    slope = [] if records is None else [_slope(records, row)]
    return [_missing(law, texts), *slope, _least(enumeration)]


def _missing(law: ExactLaw, texts: Callable[[Iterable[Any]], Sequence[str]]) -> str:
    short = sorted((p - target, i) for i, (_, p, target) in enumerate(law.table) if p < target)
    rows = [law.table[i] for _, i in short[:NAMED]]
    named = ", ".join(
        f"{plain(text)} ({small(p)} for {small(target)})"
        for text, (_, p, target) in zip(texts([x for x, *_ in rows]), rows, strict=True)
    )
    share = -sum((gap for gap, _ in short[:NAMED]), start=Fraction(0)) / law.tv
    return (
        f"missing mass: {len(short):,} of {len(law.table):,} terminal states have too little; the "
        f"farthest below, {named}, lack {float(share):.2%} of all that is missing"
    )


def _slope(records: Sequence[Mapping[str, Any]], row: int) -> str:
    curve = [(record["step"], record["tv"][row]) for record in records if record.get("tv")]
    # Training has not begun at step 0, so that a difference from there is no slope.
    before = [point for point in curve if 0 < point[0] <= curve[-1][0] / 2]
    if not before:
        return "slope: TV was not recorded along the training (--evaluations)"
    (start, high), (end, low) = before[-1], curve[-1]
    verdict = "more steps alone are unlikely to help"
    if low < (1 - LEVEL) * high:
        verdict = "more steps help (pdai train --resume RUN --steps N)"
    return (
        f"slope: TV went from {high:.4f} at step {start:,} to {low:.4f} at step {end:,}: {verdict}"
    )


def _least(enumeration: Enumeration) -> str:
    inner = [node for node, row in enumerate(enumeration.dag.children) if row]
    distinct = len(np.unique(enumeration.observations[inner], axis=0))
    if distinct == len(inner):
        return (
            "least TV: 0, as the network is shown the whole state (claim markov-projection); "
            "whether it is large enough is not known (what to try: docs/what_now.md)"
        )
    return (
        f"least TV: of {len(inner):,} states the network can tell {distinct:,} apart, so that a "
        "policy without memory may not reach 0: try --dynamics gru, or show it more"
    )
