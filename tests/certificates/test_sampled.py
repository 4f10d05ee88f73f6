"""Statistical certificates: written from draws, checked by both programs, refused once changed."""

import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
from reference.certificates import Sample, check_samples, write_samples
from reference.certificates.betting import Interval
from reference.certificates.rows import exact_entry, exact_row
from reference.certificates.sampled import BETS, GRAIN, Values, capital, open_samples
from reference.errors import InputError
from tests.certificates.mutants import CHECKER
from tests.certificates.problems import GRID, Fork, Words, half, stopping
from tests.certificates.samples import (
    FORM,
    RIGHT_SAMPLES,
    WRONG_SAMPLES,
    each_changed,
    verdict,
    words,
)

Z = {"regime": "Z", "samples": 300}
TWENTY = Interval(2.995732, 2.995733)
NUMBER = re.compile(r"(?<= )\d+(?=[ \n])")


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
    "A statistical certificate is accepted if its mean weight is another one.",
    "reference/certificates/sampled.py",
    "if values.count != h.samples or values.weights != h.weights:",
    "if values.count != h.samples:",
)
def test_control_each_number_that_is_changed_is_refused(path: Path) -> None:
    write_samples(path, words(12), TWENTY, Interval(0.001, 0.99), 0.25, "the words")
    text = path.read_text()
    places = [match.span() for match in NUMBER.finditer(text)]
    assert len(places) == 14 + 12 * 14
    for other in each_changed(text, places[: 14 + 2 * 14]):
        assert verdict(check_samples, path, other) != "accepted", other


def test_control_one_broken_rule_is_refused(path: Path) -> None:
    shown = re.search("pdai-samples 1.*?end\n", (CHECKER / "README.md").read_text(), re.DOTALL)
    assert (
        verdict(check_samples, path, shown[0])
        == verdict(check_samples, path, RIGHT_SAMPLES)
        == "accepted"
    )
    for name, text in WRONG_SAMPLES.items():
        assert verdict(check_samples, path, text) == "refused", name


CHANGES: dict[str, Callable[[str], str]] = {
    **FORM,
    "a sample is left out": lambda text: re.sub(r"s .*\n", "", text, count=1),
    "a sample twice": lambda text: re.sub(r"(s .*\n)", r"\1\1", text, count=1),
    "p_F of zero": lambda text: re.sub(r"f \d+", "f 0", text, count=1),
    "p_F above one": lambda text: re.sub(r"f \d+ \d+", "f 4 3", text, count=1),
    "a negative reward": lambda text: re.sub(r"s \d+", "s -1", text, count=1),
    "no denominator": lambda text: re.sub(r"s (\d+) \d+", r"s \1 0", text, count=1),
    "TV above one": lambda text: re.sub(r"TV (\d+) \d+ (\d+)", r"TV \1 \g<2>1 \2", text),
    "no b": lambda text: text.replace(" b ", " ", 1),
    "another name": lambda text: text.replace("weights", "weight"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_control_other_changes_are_refused(path: Path, name: str) -> None:
    write_samples(path, words(12), TWENTY, Interval(0.001, 0.99), 0.25)
    text = path.read_text()
    assert CHANGES[name](text) != text
    assert verdict(check_samples, path, CHANGES[name](text)) != "accepted"


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
def test_regime_z_writes_the_interval_that_it_reports(
    path: Path, policy: Any, problem: Any
) -> None:
    made = pdai.certify(policy, problem, certificate=path, **Z)
    assert "accepted by" in " ".join(made.notes)
    with open_samples(path) as (header, samples):
        drawn = list(samples)
    assert header.samples == made.samples == len(drawn)
    assert header.tv_low / header.tv_den == pytest.approx(made.interval.low, abs=1e-9)
    assert header.tv_high / header.tv_den == pytest.approx(made.interval.high, abs=1e-9)


@pytest.mark.catches(
    "The largest entry of a row stands in a certificate as its float.",
    "reference/certificates/rows.py",
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
        (half, Words(), {"keep": tmp_path / "kept"}),
        (half, Words(), {"regime": "N"}),
        (["aaa"] * 9, Words(), {}),
    ):
        with pytest.raises(InputError, match=r"a certificate file needs regime E, .* or regime"):
            pdai.certify(sampler, problem, **{**options, **others})
        assert not path.exists()
    with pytest.raises(InputError, match="sample 1: its probability under the sampler is zero"):
        write_samples(path, [Sample("x", (1, 1), [(0, 1)], [])], TWENTY, Interval(0, 1), 0.5)
