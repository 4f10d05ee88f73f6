"""Tables of certificates: written from an exact forward policy and rewards, and drawn from."""

import math
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from reference.certificates.check import RefusedError, Walk, check_rows
from reference.certificates.format import (
    Claim,
    Header,
    Inner,
    Relation,
    Row,
    Terminal,
    open_certificate,
    write_rows,
)
from reference.certificates.problem import state_label
from reference.contract.errors import InputError, check_integer, check_list, check_value, checked
from reference.dag import PointedDAG
from reference.fields.field import RATIONAL
from reference.lifted import LiftedDAG
from reference.policies import ForwardPolicy
from reference.rows.exact import Bits, place

# Exact masses are too long to compute with if the least common denominator of all rows has more.
MAX_DENOMINATOR_BITS = 100_000


def write_certificate(
    path: Path | str,
    forward: ForwardPolicy[Fraction],
    rewards: Sequence[Fraction],
    *,
    states: Sequence[Hashable] | None = None,
    problem: str = "unnamed",
    claim: Relation | Claim = "=",
    digits: int = 12,
    scale: int | None = None,
) -> Claim:
    """Writes a certificate of `TV(p_T, R / Z)`, or of a bound on it, and returns the claim.

    The nodes are renumbered depth-first, so that few nodes of a tree are open at a time. `p_F`
    lives on the DAG or on a lift of it. Exact arithmetic is fast if the denominators are powers of
    two, as those of `fast.laws.exact_policy` are.

    Args:
        path: the file, which replaces an old one.
        forward: the rows.
        rewards: `R(x) >= 0` of each terminal.
        states: the state of each node, such as `lifted_states`; by default its label.
        problem: its name, for readers.
        claim: `=` for TV itself, or `<=` or `>=` for the bound that `scale` gives; or a `Claim`,
            with its number.
        digits: the decimals to which a bound is rounded outward.
        scale: masses are rounded outward to multiples of `1 / scale`, and only bounds can be
            claimed: for rows with unrelated denominators, such as 10^40.

    Raises:
        InputError: if the claim is false (or not decided at this scale), the rewards have no sum,
            or a number is too long for exact arithmetic or for the file.
    """
    relation, value = claim if isinstance(claim, Claim) else (claim, None)
    check_value("write_certificate", "claim", relation, Relation)
    check_integer("write_certificate", "digits", digits, 0, most=1_000)
    if scale is not None:
        check_integer("write_certificate", "scale", scale, 1, most=10**1_000)
    table = _Table(forward, rewards, states)
    established = _claim(relation, value, digits, *table.total_variation(scale))
    numbers = established.value.numerator, established.value.denominator
    fields = len(table.labels), scale, table.total, table.common, relation
    write_rows(path, Header(problem, *fields, *numbers), table.rows())
    return established


class _Table:
    """The content of a certificate; raises InputError if it cannot be certified."""

    def __init__(
        self,
        forward: ForwardPolicy[Fraction],
        rewards: Sequence[Fraction],
        states: Sequence[Hashable] | None,
    ) -> None:
        dag, field = forward.dag, forward.field
        if field is not RATIONAL:
            raise InputError(f"write_certificate: a policy in {field.name}: give one in RATIONAL")
        self.labels = [*map(state_label, dag.labels if states is None else states)]
        listed = check_list("write_certificate", "rewards", rewards)
        values = RATIONAL.numbers(listed, "write_certificate: reward")
        if len(self.labels) != len(dag.labels) or len(values) != len(dag.terminals):
            raise InputError(
                f"write_certificate: {len(self.labels)} states and {len(values)} rewards for a DAG "
                f"of {len(dag.labels)} nodes and {len(dag.terminals)} terminals: give one each"
            )
        self.common = math.lcm(*(reward.denominator for reward in values))
        numerators = [reward.numerator * (self.common // reward.denominator) for reward in values]
        self.total = sum(numerators)
        if self.total <= 0 or min(numerators) < 0:
            raise InputError("write_certificate: rewards must be >= 0, and one of them positive")
        self._rewards = dict(zip(dag.terminals, numerators, strict=True))
        self._forward = forward

    def total_variation(self, scale: int | None) -> tuple[Fraction, Fraction]:
        """The bounds of TV, which are equal in exact arithmetic."""
        walk, denominator = Walk(len(self.labels), self.total, scale), 1
        for row in self.rows():
            if scale is None and isinstance(row, Inner):
                denominator = math.lcm(denominator, row.denominator)
                if denominator.bit_length() > MAX_DENOMINATOR_BITS:
                    raise InputError(
                        "write_certificate: the least common denominator of the rows has more than "
                        f"{MAX_DENOMINATOR_BITS:,} bits, too many to compute TV exactly: give a "
                        "`scale`, such as 10**40, and claim '<=', or round the rows to a power of "
                        "two"
                    )
            walk.step(row)
        return walk.total_variation()

    def rows(self) -> Iterator[Row]:
        """The rows, depth-first."""
        forward, dag = self._forward, self._forward.dag
        order = depth_first(dag)
        number = {node: place for place, node in enumerate(order)}
        for node in order:
            values = [forward.values[edge] for edge in dag.out_edges[node]]
            if not values:
                yield Terminal(self.labels[node], self._rewards[node])
                continue
            common = math.lcm(*(value.denominator for value in values))
            steps = sorted(
                (number[child], value.numerator * (common // value.denominator))
                for child, value in zip(dag.children[node], values, strict=True)
            )
            yield Inner(self.labels[node], common, tuple(steps))


@checked
def lifted_states(lifted: LiftedDAG[Any]) -> list[Any]:
    """The state below each node of a lift, by which `write_certificate` labels it."""
    return [lifted.base.labels[node] for node in lifted.projection]


def _claim(
    relation: Relation, value: Fraction | None, digits: int, low: Fraction, high: Fraction
) -> Claim:
    """The claim of a value, or the best one; raises InputError if it may be false."""
    unit = 10**digits
    if value is None:
        up, down = math.ceil(high * unit), math.floor(low * unit)
        value = {"=": low, "<=": Fraction(up, unit), ">=": Fraction(down, unit)}[relation]
    claim = Claim(relation, Fraction(value))
    if not claim.holds(low, high):
        why = f"TV is {float(low)!r}" if low == high else "another number may be the right one"
        raise InputError(
            f"write_certificate: {relation} {float(value)!r} cannot be claimed, as {why} "
            f"(it lies between {float(low)!r} and {float(high)!r}): claim the relation alone, give "
            "a larger `scale`, or claim '<='"
        )
    return claim


def depth_first(dag: PointedDAG[Any]) -> list[int]:
    """The nodes in depth-first order: each follows its last parent as soon as possible."""
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


class CertifiedSampler:
    """Draws from `p_F` of a certificate, by integers only.

    For each step, bits halve [0, 1) until what is left lies within one child's share of the row
    (Han and Hoshi, 1997). So `P(child) = numerator / denominator` exactly, if the bits are
    independent and uniform. `pdai-check --sample`, which is proved, draws the same from the same
    bits.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.labels = tuple(row.label for row in rows)
        self._rows = [
            (
                row.denominator,
                list(accumulate(numerator for _, numerator in row.steps)),
                [child for child, _ in row.steps],
            )
            if isinstance(row, Inner)
            else None
            for row in rows
        ]

    @classmethod
    def load(cls, path: Path | str) -> "CertifiedSampler":
        """The sampler of a certificate, checked in Python; raises InputError if it is refused."""
        try:
            with open_certificate(path) as (header, lines):
                rows = [*lines]
                check_rows(header, rows)
        except RefusedError as error:
            raise InputError(
                f"the certificate {str(path)!r} is refused ({error}), so its table is not "
                "sampled: write it again"
            ) from None
        return cls(rows)

    def path(self, bits: Bits) -> list[int]:
        """The nodes of a trajectory, from `s_o` to a terminal node."""
        nodes = [0]
        while (row := self._rows[nodes[-1]]) is not None:
            denominator, sums, children = row
            nodes.append(children[place(denominator, sums, bits)])
        return nodes

    def draw(self, bits: Bits) -> str:
        """The label of a terminal state, drawn from the certified distribution."""
        return self.labels[self.path(bits)[-1]]


def numpy_bits(generator: np.random.Generator) -> Bits:
    """The bits of a NumPy generator, as `CertifiedSampler` takes them."""

    def bits(length: int) -> int:
        octets = (length + 7) // 8
        return int.from_bytes(generator.bytes(octets), "little") >> (8 * octets - length)

    return bits
