"""Certificates of bare samples: written, checked by both programs, refused once changed."""

import random
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from pathlib import Path

import pytest

import pdai
from pdai.certifying.proofs import bare_proof
from reference.certificates import check_bare, write_bare
from reference.certificates.refuted import OTHER, BareHeader, open_bare
from reference.certificates.sampled import BETS, GRAIN
from reference.errors import InputError
from tests.certificates.mutants import CHECKER
from tests.certificates.samples import (
    BARE_DRAWN,
    FORM,
    RIGHT_BARE,
    WRONG_BARE,
    each_changed,
    verdict,
)

# All but those of the names of values.
NUMBER = re.compile(r"(?<= )(?<!value )\d+(?=[ \n])")
LAW = {"a": Fraction(1, 6), "b": Fraction(1, 3), "c": Fraction(1, 2)}


def won_exactly(h: BareHeader, weights: Sequence[int], samples: Sequence[int]) -> int:
    """The sum that all bets win, each rounded down once, written out from the rule."""
    total = sum(weights)
    law, won = [Fraction(weight, total) for weight in weights], 0
    for threshold in (0, 2, 4):
        gains, means, event = [0], [0], set[int]()
        for number, value in enumerate(samples):
            if number in (1, 2, 4, 8, 16, 32):
                over = [samples[:number].count(x) - number * p for x, p in enumerate(law)]
                event = {
                    x
                    for x, p in enumerate(law)
                    if over[x] > 0 and over[x] ** 2 > threshold**2 * number * p
                }
            gains.append(h.tv_den * total * (value in event))
            means.append(h.tv_den * sum(weights[x] for x in event) + h.tv_low * total)
        for bet in BETS:
            top, bottom = (
                prod(GRAIN * h.tv_den * total + bet * x for x in numbers[1:])
                for numbers in (gains, means)
            )
            won += h.scale * h.level_num * top // (h.level_den * bottom)
    return won


@pytest.mark.catches(
    "Events of bare samples are chosen with the samples that are bet on.",
    "reference/certificates/refuted.py",
    "end = max(1, 2 * start)",
    "end = max(1, 2 * start) + 1",
)
def test_what_is_won_is_what_rationals_give_rounded_down(path: Path) -> None:
    samples = random.Random(0).choices("abcx", weights=[5, 1, 1, 1], k=40)
    low = write_bare(path, LAW, samples, 0.25)
    assert 0.1 < low < 0.55
    assert verdict(check_bare, path, path.read_text()) == "accepted"
    with open_bare(path) as (header, values, drawn):
        assert [x.label for x in values] == ["a", "b", "c", "any other value"]
        won = won_exactly(header, weights := [x.weight for x in values], list(drawn))
    needed = 3 * len(BETS) * header.scale
    assert needed <= won
    assert 0 <= won - header.won < needed / 2**100
    # A claim that is larger by 1 in 1,000 is not won.
    more = header._replace(tv_low=header.tv_low + header.tv_den // 1_000)
    assert won_exactly(more, weights, ["abcx".index(x) for x in samples]) < needed


@pytest.mark.catches(
    "A certificate of bare samples is accepted if its samples are others.",
    "reference/certificates/refuted.py",
    "if (len(samples), _trace(h, samples)) != (h.samples, h.trace):",
    "if len(samples) != h.samples:",
)
def test_control_each_number_that_is_changed_is_refused(path: Path) -> None:
    text = RIGHT_BARE[0]
    assert verdict(check_bare, path, text) == "accepted"
    places = [match.span() for match in NUMBER.finditer(text)]
    assert len(places) == 10 + 4 + len(BARE_DRAWN)
    for other in each_changed(text, places):
        assert verdict(check_bare, path, other) != "accepted", other


def test_control_one_broken_rule_is_refused(path: Path) -> None:
    shown = re.search("pdai-bare 1.*?end\n", (CHECKER / "README.md").read_text(), re.DOTALL)
    for text in (shown[0], *RIGHT_BARE):
        assert verdict(check_bare, path, text) == "accepted"
    for name, text in WRONG_BARE.items():
        assert verdict(check_bare, path, text) == "refused", name


CHANGES: dict[str, Callable[[str], str]] = {
    **FORM,
    "a sample is left out": lambda text: re.sub(r"x .*\n", "", text, count=1),
    "two samples in another order": lambda text: text.replace("x 0\nx 1\n", "x 1\nx 0\n", 1),
    "a value is left out": lambda text: re.sub(r"v .*\n", "", text, count=1),
    "another name": lambda text: text.replace("trace", "traces"),
    "two values of one label": lambda text: text.replace("| value 1", "| value 0", 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_control_other_changes_are_refused(path: Path, name: str) -> None:
    other = CHANGES[name](RIGHT_BARE[0])
    assert other != RIGHT_BARE[0]
    assert verdict(check_bare, path, other) != "accepted"


def test_a_law_has_no_value_of_the_name_of_all_others(path: Path) -> None:
    with pytest.raises(InputError, match="'any other value' is what no law lists"):
        write_bare(path, {**LAW, OTHER: Fraction(1)}, ["a"], 0.25)


def test_a_sampler_that_is_right_is_not_refuted(path: Path) -> None:
    """The claim is then that TV is at least 0, which is accepted of any samples."""
    for seed in range(5):
        samples = random.Random(seed).choices("abc", weights=[1, 2, 3], k=300)
        assert write_bare(path, LAW, samples, 1e-3) == 0
        assert verdict(check_bare, path, path.read_text()) == "accepted"


def test_certify_writes_what_it_reports(path: Path) -> None:
    samples = random.Random(0).choices("abcx", weights=[5, 1, 1, 1], k=400)
    weights = dict(zip("abc", (1, 2, 3), strict=True))
    made = pdai.certify(samples, weights=weights, certificate=path, level=1e-3)
    with open_bare(path) as (header, values, drawn):
        assert [values[j].label for j in drawn][:3] == [f"'{x}'" for x in samples[:3]]
    low = header.tv_low / header.tv_den
    assert any("accepted by" in note and f"[{low:.6g}"[:7] in note for note in made.notes)
    assert 0.5 * made.interval.low < low < made.interval.high


class Twin:
    """One of several values with the same text."""

    def __repr__(self) -> str:
        return "twin"


def test_values_of_the_same_text_are_one_value_of_the_file(path: Path) -> None:
    twins = Twin(), Twin()
    law = {twins[0]: Fraction(1, 4), twins[1]: Fraction(1, 4), "x": Fraction(1, 2)}
    samples = random.Random(0).choices([*law], weights=[1, 1, 2], k=2_000)
    bare_proof(path, samples, law, "a law", 1e-3)
    with open_bare(path) as (header, values, _):
        assert header.tv_low == 0
        assert [value.weight for value in values] == [1, 1, 0]
