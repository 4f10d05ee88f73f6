"""The sampler of a certificate, over all strings of bits of a length."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from reference import ForwardPolicy, marginal_by_trajectories
from reference.certificates import CertifiedSampler, state_label, write_certificate
from reference.rows.exact import Bits
from verify.lib.bits import deciding_strings
from verify.lib.scopes import Scope, described
from verify.test_checker_soundness import instances

K = 3


def shares(draw: Callable[[Bits], str], length: int) -> dict[str | None, Fraction]:
    """The share of each label among all strings of bits, and of None where nothing is decided."""
    summed: dict[str | None, Fraction] = defaultdict(Fraction)
    for bits, label in deciding_strings(draw, length):
        summed[label] += Fraction(1, 2 ** len(bits))
    return summed


def law_by_paths(forward: ForwardPolicy[Fraction]) -> dict[str, Fraction]:
    """`p_T` by label, summed over the list of all trajectories."""
    labels = [state_label(forward.dag.labels[x]) for x in forward.dag.terminals]
    return dict(zip(labels, marginal_by_trajectories(forward), strict=True))


def sampler_of(
    path: Path, forward: ForwardPolicy[Fraction], rewards: tuple[Fraction, ...]
) -> CertifiedSampler:
    write_certificate(path, forward, rewards)
    return CertifiedSampler.load(path)


@pytest.mark.catches(
    "Counts the children of a row from its end.",
    "reference/certificates/table.py",
    "children[place(denominator, sums, bits)]",
    "children[-1 - place(denominator, sums, bits)]",
)
@pytest.mark.catches(
    "A child is taken while another one's share is still within reach.",
    "reference/rows/exact.py",
    "== bisect_left(sums, -(-(low + 1) * denominator >> taken))",
    "== bisect_left(sums, (low + 1) * denominator >> taken)",
)
@pytest.mark.claim("certified-sampler")
def test_shares_of_strings_enclose_the_law_and_few_decide_nothing(
    tmp_path: Path, scope: Scope
) -> None:
    for forward, rewards in scope.over(instances(every=7)):
        dag = forward.dag
        steps = max(len(tau) for tau in dag.trajectories())
        others = max(len(row) - 1 for row in dag.children)
        drawn = shares(sampler_of(tmp_path / "t", forward, rewards).draw, steps * K)
        assert sum(drawn.values()) == 1
        assert drawn[None] <= Fraction(steps * others, 2**K)
        law = law_by_paths(forward)
        assert drawn.keys() <= {*law, None}
        for label, p in law.items():
            assert drawn[label] <= p <= drawn[label] + drawn[None]
    scope(f"one in 7 of {described(scope.count * 7)}, all strings of {K} bits a step")


def draw_twice_each(sampled: CertifiedSampler, bits: Bits) -> str:
    """A draw by bits that are fair, but of which each comes twice."""
    kept: list[int] = []

    def again(_: int) -> int:
        if kept:
            return kept.pop()
        kept.append(bits(1))
        return kept[0]

    return sampled.draw(again)


@pytest.mark.control("certified-sampler")
def test_fair_bits_that_come_twice_give_another_law(tmp_path: Path) -> None:
    above = 0
    for forward, rewards in instances(every=7):
        sampled = sampler_of(tmp_path / "t", forward, rewards)
        drawn = shares(partial(draw_twice_each, sampled), 6)
        above += any(drawn[label] > p for label, p in law_by_paths(forward).items())
    assert above > 20
