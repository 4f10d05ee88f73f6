"""Statistical certificates of draws and of bare samples: written, checked, refused if changed."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
from pdai.certifying.proofs import bare_proof
from reference.certificates import Sample, check_bare, check_samples, write_bare, write_samples
from reference.certificates.betting import Interval
from reference.certificates.refuted import OTHER, BareHeader, open_bare
from reference.certificates.sampled import BETS, GRAIN, Values, capital, open_samples
from reference.contract.errors import InputError
from reference.rows.exact import exact_entry, exact_row
from tests.certificates.mutants import CHECKER
from tests.certificates.problems import GRID, Fork, Words, half, stopping
from tests.certificates.samples import (
    BARE_DRAWN,
    FORM,
    RIGHT_BARE,
    RIGHT_SAMPLES,
    WRONG_BARE,
    WRONG_SAMPLES,
    each_changed,
    verdict,
    words,
)

Z = {"regime": "Z", "samples": 300}
TWENTY = Interval(2.995732, 2.995733)
LAW = {"a": Fraction(1, 6), "b": Fraction(1, 3), "c": Fraction(1, 2)}
Change = Callable[[str], str]


OF_SAMPLES: dict[str, Change] = {
    **FORM,
    "a sample is left out": lambda text: re.sub(r"s .*\n", "", text, count=1),
    "a sample twice": lambda text: re.sub(r"(s .*\n)", r"\1\1", text, count=1),
    "p_F of zero": lambda text: re.sub(r"f \d+", "f 0", text, count=1),
    "a negative reward": lambda text: re.sub(r"s \d+", "s -1", text, count=1),
    "no denominator": lambda text: re.sub(r"s (\d+) \d+", r"s \1 0", text, count=1),
    "TV above one": lambda text: re.sub(r"TV (\d+) \d+ (\d+)", r"TV \1 \g<2>1 \2", text),
    "no b": lambda text: text.replace(" b ", " ", 1),
    "another name": lambda text: text.replace("weights", "weight"),
}
OF_BARE: dict[str, Change] = {
    **FORM,
    "a sample is left out": lambda text: re.sub(r"x .*\n", "", text, count=1),
    "two samples in another order": lambda text: text.replace("x 0\nx 1\n", "x 1\nx 0\n", 1),
    "a value is left out": lambda text: re.sub(r"v .*\n", "", text, count=1),
    "another name": lambda text: text.replace("trace", "traces"),
    "two values of one label": lambda text: text.replace("| value 1", "| value 0", 1),
}
# By its name: what checks a kind of file, right ones, how many numbers the first has, wrong ones,
# and ways to spoil the first.
KINDS: dict[str, Any] = {
    "samples": (check_samples, [RIGHT_SAMPLES], 14 + 60 * 14, WRONG_SAMPLES, OF_SAMPLES),
    "bare": (check_bare, RIGHT_BARE, 10 + 4 + len(BARE_DRAWN), WRONG_BARE, OF_BARE),
}


@pytest.mark.catches(
    "A statistical certificate is accepted if its mean weight is another one.",
    "reference/certificates/sampled.py",
    "if values.count != h.samples or values.weights != h.weights:",
    "if values.count != h.samples:",
    only="samples",
)
@pytest.mark.catches(
    "A certificate of bare samples is accepted if its samples are others.",
    "reference/certificates/refuted.py",
    "if (len(samples), _trace(h, samples)) != (h.samples, h.trace):",
    "if len(samples) != h.samples:",
    only="bare",
)
@pytest.mark.parametrize("kind", KINDS)
def test_control_each_number_that_is_changed_is_refused(path: Path, kind: str) -> None:
    check, (text, *_), numbers, *_ = KINDS[kind]
    # All but those of the names of values.
    places = [match.span() for match in re.finditer(r"(?<= )(?<!value )\d+(?=[ \n])", text)]
    assert len(places) == numbers
    for other in each_changed(text, places[:62]):
        assert verdict(check, path, other) != "accepted", other


@pytest.mark.parametrize("kind", KINDS)
def test_control_a_broken_rule_or_another_form_is_refused(path: Path, kind: str) -> None:
    check, right, _, wrong, changes = KINDS[kind]
    page = (CHECKER / "README.md").read_text()
    shown, *_ = re.findall(f"(pdai-{kind} 1.*?end\n)", page, re.DOTALL)
    for text in (shown, *right):
        assert verdict(check, path, text) == "accepted"
    for name, text in wrong.items():
        assert verdict(check, path, text) == "refused", name
    for name, change in changes.items():
        assert (other := change(right[0])) != right[0]
        assert verdict(check, path, other) != "accepted", name


# Draws.


def won_exactly(path: Path) -> Iterator[tuple[Fraction, Fraction, int]]:
    """The mean of each side, what is won against it in rationals, and what the file says."""
    with open_samples(path) as (h, samples):
        level, bets = Fraction(h.level_num, h.level_den), [Fraction(k, GRAIN) for k in BETS]
        weights = [Fraction(*sample.weight()) for sample in samples]
    z, tv = (
        [Fraction(x, d) for x in (low, high)]
        for low, high, d in ((h.z_low, h.z_high, h.z_den), (h.tv_low, h.tv_high, h.tv_den))
    )
    low = [max(1 - w / z[0], Fraction(0)) for w in weights]
    high = [min(w / z[1], Fraction(1)) for w in weights]
    for mean, values, said in ((tv[0], low, h.won_low), (1 - tv[1], high, h.won_high)):
        won = Fraction(0)
        for bet in bets:
            each = level / 2
            for x in values:
                each *= (1 + bet * x) / (1 + bet * mean)
            won += each
        yield mean, won / len(bets), said


@pytest.mark.catches(
    "Each side of a statistical certificate is given the whole level.",
    "reference/certificates/sampled.py",
    "h.scale * h.level_num // (2 * h.level_den)",
    "h.scale * h.level_num // h.level_den",
)
def test_what_is_won_is_what_rationals_give_rounded_down(path: Path) -> None:
    write_samples(path, words(16), TWENTY, Interval(0.001, 0.99), 0.5)
    assert verdict(check_samples, path, path.read_text()) == "accepted"
    with open_samples(path) as (header, _):
        scale = header.scale
    for mean, won, said in won_exactly(path):
        assert 0 <= won - Fraction(said, len(BETS) * scale) < Fraction(1, 2**100) * (won + 1)
        assert won >= 1 > mean > 0


@pytest.mark.catches(
    "Z of a statistical certificate is narrowed by the rounding of its logarithm.",
    "reference/certificates/sampled.py",
    "low * (1 - Fraction(1, 2**50)), high * (1 + Fraction(1, 2**50))",
    "low * (1 + Fraction(1, 2**50)), high * (1 - Fraction(1, 2**50))",
)
def test_z_is_widened_by_the_rounding_of_its_logarithm(path: Path) -> None:
    write_samples(path, words(16), Interval(0.0, 0.0), Interval(0.0, 1.0), 0.5)
    with open_samples(path) as (header, _):
        assert header.z_low < header.z_den < header.z_high


def test_random_claims_are_accepted_if_and_only_if_enough_is_won(path: Path) -> None:
    rng, statuses = random.Random(0), []
    for seed in range(12):
        samples = words(rng.randint(1, 20), seed)
        interval = Interval(rng.uniform(0, 0.6), rng.uniform(0.8, 1))
        log_z = rng.choice((TWENTY, Interval(5.0, 5.5)))
        claim = write_samples(path, samples, log_z, interval, 0.5)
        assert claim.low <= interval.low <= interval.high <= claim.high
        text = path.read_text()
        assert verdict(check_samples, path, text) == "accepted"
        # Another claim, with what is won against it.
        with open_samples(path) as (header, _):
            other = header._replace(tv_low=min(header.tv_high, rng.randint(0, 2 * header.tv_low)))
        won = capital(other, other.tv_low, Values(other, samples).low)
        lines = [*other._replace(won_low=won).lines(), *text.splitlines()[9:]]
        statuses.append(verdict(check_samples, path, "\n".join(lines) + "\n"))
        (mean, exactly, _), _ = won_exactly(path)
        assert statuses[-1] == ("accepted" if exactly >= 1 or not mean else "refused")
    assert set(statuses) == {"accepted", "refused"}


@pytest.mark.parametrize(
    ("policy", "problem"), [(half, Words()), (stopping(0.25), GRID)], ids=["tree", "graph"]
)
def test_regime_z_writes_the_interval_it_reports(path: Path, policy: Any, problem: Any) -> None:
    made = pdai.certify(policy, problem, certificate=path, **Z)
    assert "accepted by" in " ".join(made.notes)
    with open_samples(path) as (header, samples):
        drawn = list(samples)
    assert header.samples == made.samples == len(drawn)
    assert header.tv_low / header.tv_den == pytest.approx(made.interval.low, abs=1e-9)
    assert header.tv_high / header.tv_den == pytest.approx(made.interval.high, abs=1e-9)


@pytest.mark.catches(
    "The largest entry of a row stands in a certificate as its float.",
    "reference/rows/exact.py",
    "if place != row.index(max(row)):",
    "if True:",
)
def test_an_entry_is_that_of_the_exact_row() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 40):
        row = rng.dirichlet(np.ones(size) / 9).tolist()
        entries = [exact_entry(row, place) for place in range(size)]
        assert entries == exact_row(row)
        # With the float of the largest entry they would miss one.
        assert sum(entries) == 1


def test_other_samplers_and_regimes_have_no_such_file(path: Path, tmp_path: Path) -> None:
    options = {"certificate": path, **Z}
    for sampler, problem, others in (
        (Fork(), None, {"log_z": 0.5}),
        (half, Words(), {"regime": "N"}),
        (["aaa"] * 9, Words(), {}),
    ):
        words = "a certificate file, or a theorem, needs regime E, .* or "
        words += "regime|certify does not read it for an obj"
        with pytest.raises(InputError, match=words):
            pdai.certify(sampler, problem, **{**options, **others})
        assert not path.exists()
    with pytest.raises(InputError, match="sample 1: its probability under the sampler is zero"):
        write_samples(path, [Sample("x", (1, 1), [(0, 1)], [])], TWENTY, Interval(0, 1), 0.5)


# Bare samples.


def won_by_rationals(h: BareHeader, weights: Sequence[int], samples: Sequence[int]) -> int:
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
def test_what_bare_samples_win_is_what_rationals_give_rounded_down(path: Path) -> None:
    samples = random.Random(0).choices("abcx", weights=[5, 1, 1, 1], k=40)
    low = write_bare(path, LAW, samples, 0.25)
    assert 0.1 < low < 0.55
    assert verdict(check_bare, path, path.read_text()) == "accepted"
    with open_bare(path) as (header, values, drawn):
        assert [x.label for x in values] == ["a", "b", "c", "any other value"]
        won = won_by_rationals(header, weights := [x.weight for x in values], list(drawn))
    needed = 3 * len(BETS) * header.scale
    assert needed <= won
    assert 0 <= won - header.won < needed / 2**100
    # A claim that is larger by 1 in 1,000 is not won.
    more = header._replace(tv_low=header.tv_low + header.tv_den // 1_000)
    assert won_by_rationals(more, weights, ["abcx".index(x) for x in samples]) < needed


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
