"""Certificates written from a forward policy in exact rationals, and rewards."""

import math
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from reference.certificates.check import Walk
from reference.certificates.format import (
    Claim,
    Header,
    Inner,
    Relation,
    Row,
    Terminal,
    write_rows,
)
from reference.certificates.problem import state_label
from reference.dag import PointedDAG
from reference.errors import InputError, check_integer, check_list, check_type
from reference.fields.field import RATIONAL
from reference.lifted import LiftedDAG
from reference.policies import ForwardPolicy


def write_certificate(
    path: Path | str,
    forward: ForwardPolicy[Fraction],
    rewards: Sequence[Fraction],
    *,
    states: Sequence[Hashable] | None = None,
    problem: str = "unnamed",
    relation: Relation = "=",
    value: Fraction | None = None,
    digits: int = 12,
    scale: int | None = None,
) -> Claim:
    """Writes a certificate of what `TV(p_T, R / Z)` is, or of a bound on it.

    The nodes are renumbered depth-first, so that of a tree of histories few are open at a time.

    Args:
        path: of the file; an old one is replaced.
        forward: `p_F`, on the DAG or on a lift of it. Exact arithmetic is fast if the denominators
            are powers of two, as `fast.measure.enumeration.exact_policy` gives them.
        rewards: `R(x) >= 0`, one per `forward.dag.terminals`.
        states: for each node, the state that names it; `lifted_states` for a lift. By default the
            labels of the DAG.
        problem: its name, for readers of the file.
        relation: `=` for TV itself, `<=` or `>=` for a bound.
        value: the number that is claimed. By default TV itself, or the bound that `scale` gives,
            rounded outward to `digits` decimals.
        digits: see `value`.
        scale: if given, masses are rounded outward to multiples of `1 / scale`: for rows with
            unrelated denominators, of which TV itself may have a million digits; 10^40 is enough
            for most. Then only bounds can be claimed.

    Returns:
        The claim.

    Raises:
        InputError: if the claim is false (or not decided at this scale), the rewards have no sum,
            or a number is too long to be read again.
    """
    dag, field = forward.dag, forward.field
    if field is not RATIONAL:
        raise InputError(f"write_certificate: a policy in {field.name}: give one in RATIONAL")
    check_integer("write_certificate", "digits", digits, 0, most=1_000)
    if scale is not None:
        check_integer("write_certificate", "scale", scale, 1, most=10**1_000)
    labels = [*map(state_label, dag.labels if states is None else states)]
    given = check_list("write_certificate", "rewards", rewards)
    if len(labels) != len(dag.labels) or len(given) != len(dag.terminals):
        raise InputError(
            f"write_certificate: {len(labels)} states and {len(given)} rewards for a DAG of "
            f"{len(dag.labels)} nodes and {len(dag.terminals)} terminals: give one each"
        )
    RATIONAL.check(given, "write_certificate: reward")
    common = math.lcm(*(reward.denominator for reward in given))
    numerators = [reward.numerator * (common // reward.denominator) for reward in given]
    total = sum(numerators)
    if total <= 0 or min(numerators) < 0:
        raise InputError("write_certificate: rewards must be >= 0, and one of them positive")

    def rows() -> Iterator[Row]:
        return _rows(forward, labels, dict(zip(dag.terminals, numerators, strict=True)))

    walk = Walk(len(labels), total, scale)
    for row in rows():
        walk.step(row)
    claim = _claim(relation, value, digits, *walk.total_variation())
    write_rows(
        path,
        Header(
            problem,
            len(labels),
            scale,
            total,
            common,
            relation,
            claim.value.numerator,
            claim.value.denominator,
        ),
        rows(),
    )
    return claim


def lifted_states(lifted: LiftedDAG[Any]) -> list[Any]:
    """For each node of a lift, the state below it: what `write_certificate` labels it with."""
    check_type("lifted_states", "lifted", lifted, LiftedDAG)
    return [lifted.base.labels[node] for node in lifted.projection]


def _claim(
    relation: Relation, value: Fraction | None, digits: int, low: Fraction, high: Fraction
) -> Claim:
    """The claim that is asked for, or the best one.

    Raises:
        InputError: if it does not hold of every number from `low` to `high`.
    """
    unit = 10**digits
    if value is None:
        best = {
            "=": low,
            "<=": Fraction(math.ceil(high * unit), unit),
            ">=": Fraction(math.floor(low * unit), unit),
        }
        value = best[relation]
    claim = Claim(relation, Fraction(value))
    if not claim.holds(low, high):
        found = f"TV is {float(low)!r}" if low == high else "another number may be the right one"
        raise InputError(
            f"write_certificate: {relation} {float(value)!r} cannot be claimed, as {found} "
            f"(it lies between {float(low)!r} and {float(high)!r}): leave `value` out, give a "
            "larger `scale`, or claim '<='"
        )
    return claim


def _rows(
    forward: ForwardPolicy[Fraction], labels: Sequence[str], rewards: dict[int, int]
) -> Iterator[Row]:
    dag = forward.dag
    order = depth_first(dag)
    number = [0] * len(order)
    for place, node in enumerate(order):
        number[node] = place
    for node in order:
        values = [forward.values[edge] for edge in dag.out_edges[node]]
        if not values:
            yield Terminal(labels[node], rewards[node])
            continue
        common = math.lcm(*(value.denominator for value in values))
        steps = sorted(
            (number[child], value.numerator * (common // value.denominator))
            for child, value in zip(dag.children[node], values, strict=True)
        )
        yield Inner(labels[node], common, tuple(steps))


def depth_first(dag: PointedDAG[Any]) -> list[int]:
    """The nodes, each after its parents, and below its last parent at once."""
    waiting = [len(row) for row in dag.in_edges]
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        for child in reversed(dag.children[node]):
            waiting[child] -= 1
            if not waiting[child]:
                stack.append(child)
    return order
