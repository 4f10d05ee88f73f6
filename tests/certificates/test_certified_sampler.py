"""Samples drawn from a certificate have the law that it certifies, to the last bit."""

import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from reference import RATIONAL, ForwardPolicy, enumerate_dag, marginal
from reference.certificates import (
    CertifiedSampler,
    MalformedError,
    numpy_bits,
    state_label,
    write_certificate,
)
from reference.certificates.rows import place
from reference.errors import InputError
from tests.certificates.corruptions import GOOD, HISTORIES, Small

T = TypeVar("T")


class Script:
    """Bits from a fixed string; counts those that were taken."""

    def __init__(self, string: str) -> None:
        self.left, self.taken = string, 0

    def __call__(self, length: int) -> int:
        if length > len(self.left):
            raise EOFError
        word, self.left = self.left[:length], self.left[length:]
        self.taken += length
        return int(word, 2)


def of_all_bits(length: int, draw: Callable[[Script], T]) -> Counter[T]:
    """How often each value is drawn over all strings of bits that are long enough for it."""
    counts: Counter[T] = Counter()
    for string in map("".join, itertools.product("01", repeat=length)):
        with contextlib.suppress(EOFError):
            counts[draw(Script(string))] += 1
    return counts


@pytest.mark.catches(
    "A child is taken while another one's share is still within reach.",
    "reference/certificates/rows.py",
    "last = bisect_left(sums, -(-(low + 1) * denominator >> taken))",
    "last = bisect_left(sums, (low + 1) * denominator >> taken)",
)
@pytest.mark.parametrize("row", [(1,), (1, 1), (1, 2), (3, 0, 1), (0, 1, 4), (2, 1, 1, 3), (7, 1)])
def test_shares_of_all_strings_enclose_the_row(row: tuple[int, ...]) -> None:
    # Each end of a share that lies within leaves one string open.
    length, total, sums = 6, sum(row), list(itertools.accumulate(row))
    counts = of_all_bits(length, lambda script: place(total, sums, script))
    open_strings = 2**length - counts.total()
    assert open_strings <= len([w for w in row if w]) - 1
    for child, weight in enumerate(row):
        low, p = Fraction(counts[child], 2**length), Fraction(weight, total)
        assert low <= p <= low + Fraction(open_strings, 2**length)
        assert low == p or open_strings


def test_the_law_of_the_sampler_is_the_certified_one(path: Path) -> None:
    # Powers of two reject nothing: over all strings of five bits, frequencies are the law.
    forward = ForwardPolicy.from_weights(enumerate_dag(Small()), RATIONAL, [3, 1, 5, 3, 1, 7])
    write_certificate(path, forward, [Fraction(1)] * 3)
    drawn = of_all_bits(5, CertifiedSampler.load(path).draw)
    p_t = dict(zip(map(state_label, "xyz"), marginal(forward), strict=True))
    assert p_t == {label: Fraction(count, 2**5) for label, count in drawn.items()}


def test_the_law_of_thirds_is_enclosed(path: Path) -> None:
    # Steps by the bits 00 or 01 leave 6 of 8 bits for the thirds, and the step by 1 leaves 7.
    path.write_text(HISTORIES.replace("i 8 5 1 6 7", "i 3 5 1 6 2").replace("= 5 96", "= 0 1"))
    ended = of_all_bits(8, CertifiedSampler.load(path).draw)
    assert ended == {"'x'": 21 + 21 + 42, "'y'": 42 + 42 + 85}


@pytest.mark.parametrize("generator", ["numpy", "python"])
def test_frequencies_follow_the_certified_law(path: Path, generator: str) -> None:
    path.write_text(GOOD)
    sources = {
        "numpy": numpy_bits(np.random.default_rng(0)),
        "python": random.Random(0).getrandbits,
    }
    sampled = CertifiedSampler.load(path)
    n = 8_000
    drawn = Counter(sampled.draw(sources[generator]) for _ in range(n))
    assert set(drawn) == {"'x'", "'y'", "'z'"}
    # Control: the law of a sampler with the same TV is told apart.
    right, other = (
        sum(
            (drawn[x] - n * p) ** 2 / (n * p)
            for x, p in zip(("'x'", "'y'", "'z'"), law, strict=True)
        )
        for law in ((1 / 8, 3 / 8, 1 / 2), (3 / 8, 1 / 8, 1 / 2))
    )
    # 2 degrees of freedom: exceeded with probability e^-9, 1 in 8,000; the seed is fixed.
    assert right < 18 < other


def test_a_path_is_one_of_the_graph(path: Path) -> None:
    path.write_text(GOOD)
    sampled = CertifiedSampler.load(path)
    assert sampled.path(Script("00" + "0" * 53)) == [0, 1, 3]
    assert sampled.path(Script("11" + "01")) == [0, 2, 5]


def test_numpy_bits_are_below_the_bound() -> None:
    bits = numpy_bits(np.random.default_rng(1))
    for length in (1, 7, 8, 9, 64, 200):
        drawn = [bits(length) for _ in range(200)]
        assert max(drawn) < 2**length
        assert max(drawn) >= 2 ** (length - 1) > min(drawn)


def test_a_table_that_is_not_accepted_is_not_sampled(path: Path) -> None:
    path.write_text(GOOD.replace("TV = 1 10", "TV = 0 1"))
    with pytest.raises(InputError, match="refused"):
        CertifiedSampler.load(path)
    path.write_text(GOOD.replace("t 3 |", "t 0x3 |"))
    with pytest.raises(MalformedError, match="line 10"):
        CertifiedSampler.load(path)
