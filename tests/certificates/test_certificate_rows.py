"""Rows are normalised exactly, and drawn from exactly."""

from collections import Counter
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest

from reference.fields.balls import BALL, enclose, precision
from reference.problems.closed_form import Enclosure
from reference.rows.exact import (
    choose,
    choose_all,
    closed_rows,
    exact_row,
    soft_row,
    soft_rows,
    unit_row,
)
from reference.rows.sums import ExactPath, PathSums
from tests.refusals import refuses


def test_float32_rows_become_rationals_that_sum_to_one() -> None:
    row = np.random.default_rng(0).dirichlet(np.ones(7)).astype(np.float32)
    given = row.astype(float).tolist()
    assert sum(map(Fraction, given)) != 1
    exact = exact_row(unit_row(given, "s"))
    assert sum(exact) == 1
    assert max(abs(float(p) - q) for p, q in zip(exact, given, strict=True)) < 1e-6
    soft = exact_row(soft_row([0.5, -np.inf, 3.0], "s"))
    assert sum(soft) == 1
    assert soft[1] == 0


def of_batch(read: Any) -> Any:
    """A reader of one row, made of one of batches; all actions are legal."""
    return lambda row, _: read(np.array([row]), np.ones((1, len(row)), bool))


test_rows_that_are_no_probabilities_are_refused = refuses(
    lambda read, row: read(row, "s"),
    (unit_row, [0.5, 0.4], "s sums to 0.9, not to 1"),
    (unit_row, [0.5, np.nan], "finite numbers >= 0"),
    (unit_row, [1.5, -0.5], "finite numbers >= 0"),
    (unit_row, [0.0, 0.0], "positive sum"),
    (soft_row, [0.0, np.nan], "one of them finite"),
    (soft_row, [-np.inf, -np.inf], "one of them finite"),
    (soft_row, [np.inf, 0.0], "one of them finite"),
    (of_batch(closed_rows), [0.0, np.nan], "training diverged"),
    (of_batch(soft_rows), [0.0, np.nan], "NaN or infinite"),
    (of_batch(soft_rows), [0.0, np.inf], "NaN or infinite"),
)


class Bits:
    """A generator that gives what it is told."""

    def __init__(self, uniform: float, bits: list[int]):
        self.uniform, self.bits = uniform, bits

    def random(self, count: int | None = None) -> Any:
        return self.uniform if count is None else np.full(count, self.uniform)

    def integers(self, below: int) -> int:
        return self.bits.pop(0)


def test_a_draw_at_a_boundary_is_decided_by_more_bits() -> None:
    row = unit_row([1 / 3, 2 / 3], "s")
    boundary = exact_row(row)[0]
    # The 53 bits below a third: the boundary lies inside of what they leave open.
    uniform = float(np.floor(float(boundary) * 2**53) / 2**53)
    rest = (boundary - Fraction(uniform)) * 2**53
    assert 0 <= rest < 1
    sums = np.cumsum(row).tolist()
    for bits in ([0] * 9, [1] * 9):
        drawn = Fraction(int("".join(map(str, bits)), 2), 2**9)
        expected = int(drawn >= rest)
        rng: Any = Bits(uniform, list(bits))
        assert choose(row, sums, rng) == expected
        both = choose_all(np.array([row]), Bits(uniform, list(bits)))
        assert both.tolist() == [expected]


def test_both_ways_draw_the_same_and_never_what_has_no_probability() -> None:
    row = unit_row([0.0, 0.25, 0.0, 0.75, 0.0], "s")
    many = choose_all(np.tile(row, (5_000, 1)), np.random.default_rng(0))
    rng, sums = np.random.default_rng(0), np.cumsum(row).tolist()
    assert many.tolist() == [choose(row, sums, rng) for _ in range(5_000)]
    assert set(many.tolist()) == {1, 3}
    assert abs((many == 3).mean() - 0.75) < 0.03


def test_closed_rows_stand_for_rationals_that_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    logits, mask = rng.normal(size=(20, 6)) * 3, rng.random((20, 6)) < 0.7
    mask[:, 0] = True
    log_p = logits - np.log(np.where(mask, np.exp(logits), 0).sum(1, keepdims=True))
    for row, given, legal in zip(closed_rows(log_p, mask), log_p, mask, strict=True):
        exact = exact_row(row.tolist())
        assert sum(exact) == 1
        assert [float(p) for p in exact] == pytest.approx(np.where(legal, np.exp(given), 0))
        assert sum(Fraction(p) != Fraction(q) for p, q in zip(exact, row.tolist(), strict=True)) < 2


def test_the_soft_max_of_a_batch_is_that_of_each_row() -> None:
    logits = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    for row, given in zip(soft_rows(logits, np.ones((9, 5), bool)), logits, strict=True):
        assert row.tolist() == pytest.approx(soft_row(given.tolist(), "s"), rel=1e-14)


@pytest.mark.catches(
    "The margin of a path forgets that the largest entry is one minus many others.",
    "reference/rows/sums.py",
    "3 * width",
    "2",
    only="1-3000",
)
@pytest.mark.parametrize(
    ("steps", "width"), [(200, 4), (40, 16), (10, 128), (2, 1_024), (1, 3_000)]
)
def test_sums_along_paths_and_their_error(steps: int, width: int) -> None:
    """In a wide row the largest entry, one minus the others, is what is least well known."""
    exact: list[ExactPath] = []
    rng, sums = np.random.default_rng(0), PathSums(3, exact)
    for step in range(steps):
        rows = soft_rows(rng.normal(size=(3, width)) * 4 / width, np.ones((3, width), bool))
        chosen = rng.integers(width, size=3) if step % 2 else rows.argmax(1)
        sums.add_step(sums.log_p_f, rows, chosen, np.array([True, True, step < 50]))
    walks = sums.walks("abc", [Enclosure(0.0, 0.0)] * 3)
    assert walks.error.max() < 1e-9
    for path, log_p, error in zip(exact, walks.log_p_f, walks.error, strict=True):
        with precision(200):
            balls = [BALL.log(BALL.convert(p)) for p in path.forward]
            low, high = enclose(sum(balls[1:], balls[0]))
        inside = [
            low - Fraction(error) <= Fraction(moved) <= high + Fraction(error)
            for moved in (log_p, log_p - 2 * error, log_p + 2 * error)
        ]
        assert inside == [True, False, False]


def add_as_numpy(row: list[tuple[float, int]], sums: list[int]) -> tuple[float, int]:
    """The sum of floats and of their numbers of entries; the latter of each sum are kept."""

    def add(left: tuple[float, int], right: tuple[float, int]) -> tuple[float, int]:
        sums.append(left[1] + right[1])
        return left[0] + right[0], sums[-1]

    if len(row) > 128:
        half = len(row) // 16 * 8
        return add(add_as_numpy(row[:half], sums), add_as_numpy(row[half:], sums))
    whole = len(row) // 8 * 8
    parts = [reduce(add, row[at:whole:8]) for at in range(8 if whole else 0)]
    while len(parts) > 1:
        parts = [add(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return reduce(add, [*parts, *row[whole:]])


@pytest.mark.catches(
    "The margin of a row is too small for the worst order of its roundings.",
    "reference/rows/sums.py",
    "3 * width",
    "2 * width",
)
def test_the_margin_of_a_row_is_enough_for_every_rounding() -> None:
    """With more entries each doubling adds one sum, and the margin grows by two."""
    rng = np.random.default_rng(0)
    for width in (*range(2, 300), *range(300, 2_100, 111)):
        row, parts = rng.dirichlet(np.ones(width)), list[int]()
        assert add_as_numpy([(p, 1) for p in row.tolist()], parts)[0] == row.sum()
        margin, inverse = PathSums(1), np.linspace(1, width, 400)
        margin.add(margin.log_p_f, [0], [0.0], width)
        off = sum(times * np.minimum(k, inverse) for k, times in Counter(parts).items())
        logs = np.log(inverse)
        # The last terms: one minus the sum is rounded, and so is the logarithm, by two units.
        assert (off + 1 + 4 * logs <= (margin.widest + 12) * (1 + logs)).all()
