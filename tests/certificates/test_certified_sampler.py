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
from reference.certificates.sample import below
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


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 5, 7, 8])
def test_integers_below_a_bound_are_uniform(bound: int) -> None:
    # Of all strings of bits, each number comes from equally many; the rest were all rejected.
    bits = (bound - 1).bit_length()
    length = 3 * max(1, bits)
    counts = of_all_bits(length, lambda script: below(bound, script))
    assert set(counts) == set(range(bound))
    assert len(set(counts.values())) == 1
    rejected = 1 - Fraction(bound, 2**bits)
    assert 2**length - counts.total() == 2**length * rejected**3


def test_the_law_of_the_sampler_is_the_certified_one(path: Path) -> None:
    # Powers of two reject nothing: over all strings of five bits, frequencies are the law.
    forward = ForwardPolicy.from_weights(enumerate_dag(Small()), RATIONAL, [3, 1, 5, 3, 1, 7])
    write_certificate(path, forward, [Fraction(1)] * 3)
    drawn = of_all_bits(5, CertifiedSampler.load(path).draw)
    p_t = dict(zip(map(state_label, "xyz"), marginal(forward), strict=True))
    assert p_t == {label: Fraction(count, 2**5) for label, count in drawn.items()}


def test_the_law_with_rejections_is_the_certified_one(path: Path) -> None:
    # Denominators 4 and 3: what has ended within 8 bits has the law but for what was rejected.
    path.write_text(HISTORIES.replace("i 8 5 1 6 7", "i 3 5 1 6 2").replace("= 5 96", "= 0 1"))
    ended = of_all_bits(8, CertifiedSampler.load(path).draw)
    # 2 bits, then of 3 tries of 2 bits one below 3: both laws are (1/3, 2/3).
    assert ended["'x'"] * 2 == ended["'y'"]
    assert ended.total() == 2**8 * (1 - Fraction(1, 4) ** 3)


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
