"""The guarantees of a certificate, number by number: events, features, seeds, margins, ends."""

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from reference import RATIONAL, BackwardPolicy, ForwardPolicy, InputError, PointedDAG
from reference.bounds import residual_spread
from reference.certificates.bare import (
    _Events,
    against_law,
    against_samples,
    bound_by_events,
    cuts,
)
from reference.certificates.betting import Interval, LowerMean
from reference.certificates.collisions import collision_bound, split
from reference.certificates.features import FeatureMeans
from reference.certificates.partition import bound_partition
from reference.certificates.policies import BackwardRows, ForwardRows
from reference.certificates.statement import Certificate
from reference.certificates.walks import Walker
from reference.problems.closed_form import Enclosure
from tests.certificates.problems import Fork, Words, certify_lines, half, other
from tests.certificates.test_regimes import LEVEL, interval

TARGET: Mapping[Hashable, Fraction] = {"a": Fraction(1, 2), "b": Fraction(1, 2)}


def test_events_and_each_bound_from_above_share_the_level() -> None:
    """The two sides have a half each; two bounds are from above."""
    samples = ["a", "a", "a", "b"] * 500
    balance = interval([0, 1, 0, 1] * 250, LEVEL / 2)
    share = interval([0, 0, 0, 1] * 250, LEVEL / 2)
    parts = split(np.array([0, 0, 0, 1] * 500), 2)
    noise = 1 / math.sqrt(2_000) / 2 + math.sqrt(math.log(4 / LEVEL) / 4_000)
    result, lines = against_law(samples, TARGET, LEVEL)
    pieces = [
        np.bincount(x, minlength=2) for x in np.split(np.array([0, 0, 0, 1] * 500), cuts(2_000))
    ]
    least = bound_by_events(pieces, np.array([0.5, 0.5]), LEVEL / 2)
    by_parts = collision_bound(parts, np.array([0.5, 0.5]), LEVEL / 4)
    assert result == pytest.approx((least, min(0.25 + noise, by_parts)), rel=1e-9)
    assert [line.value for line in lines if line.name.startswith("bound by")] == pytest.approx(
        [by_parts, 0.25 + noise], rel=1e-9
    )
    low = against_samples(samples, ["a", "b"] * 1_000, LEVEL)[0].low
    assert low == pytest.approx(balance.low - share.high, rel=1e-9)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.3, 0.3), (0.05, 0.1), (0.9, 0.6)])
def test_the_bound_by_events_fails_with_at_most_its_level(p: float, q: float) -> None:
    """Exactly: all counts of two values in the three pieces of twenty samples."""
    law, sizes = np.array([q, 1 - q]), (2, 8, 10)
    for level in (0.5, 0.1):
        missed = 0.0
        for counts in product(*(range(size + 1) for size in sizes)):
            chances = zip(sizes, counts, strict=True)
            chance = math.prod(math.comb(n, k) * p**k * (1 - p) ** (n - k) for n, k in chances)
            pieces = [np.array([k, n - k]) for n, k in zip(sizes, counts, strict=True)]
            if chance > 1e-9:
                missed += chance * (bound_by_events(pieces, law, level) > abs(p - q) + 1e-12)
        assert missed <= level


def test_what_is_bet_does_not_depend_on_the_samples_that_decide_it() -> None:
    law, first = np.full(4, 0.25), [np.array([100, 0, 0, 0]), np.array([300, 33, 33, 34])]
    lasts = (np.array([300, 33, 33, 34]), np.array([100, 290, 10, 0]))
    one, other = (_Events.of([*first, last], law) for last in lasts)
    assert (one.mass == other.mass).all()
    assert (one.kappas(1, 10.0) == other.kappas(1, 10.0)).all()
    assert (one.inside != other.inside).any()


@pytest.mark.parametrize(
    ("against", "target"), [(against_law, TARGET), (against_samples, ["a", "b"] * 3_000)]
)
def test_an_event_is_measured_on_the_half_that_did_not_choose_it(against: Any, target: Any) -> None:
    """The first samples choose "a"; what follows has about its share."""
    assert against(["a"] * 600 + ["a", "b"] * 2_700, target, 1e-6)[0].low == 0


@pytest.mark.catches(
    "The expectation under the target is given the interval of that under the sampler.",
    "reference/certificates/features.py",
    "Interval(max(0.0, low - tv.high), min(1.0, high + tv.high))",
    "Interval(low, high)",
)
@pytest.mark.catches(
    "The upper end of an expectation is widened by the lower end of TV.",
    "reference/certificates/features.py",
    "min(1.0, high + tv.high)",
    "min(1.0, high + tv.low)",
)
@pytest.mark.catches(
    "An expectation takes the whole level beside that of TV.",
    "reference/certificates/features.py",
    "low, high = mean.interval(level / 2)",
    "low, high = mean.interval(level)",
)
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_an_expectation_takes_half_of_the_level_and_the_upper_end_of_tv(scale: float) -> None:
    means = FeatureMeans(lambda x: {"end": 1 - scale * (1 - x)})
    means.add(Fork().draw(2_000))
    model, target, _ = means.lines(LEVEL, Interval(0.2, 0.5))
    low, high = means.means["end"].interval(LEVEL / 2)
    assert model.value == means.means["end"].interval(LEVEL)
    assert target.value == (max(0.0, low - 0.5), min(1.0, high + 0.5))


@pytest.mark.catches(
    "After p_B was learned, trajectories are drawn with the same seed whatever was asked.",
    "reference/certificates/walks.py",
    "        other.rng = self.rng\n",
    "",
)
def test_draws_after_learning_use_the_random_numbers_of_the_walker() -> None:
    drawn = []
    for seed in (0, 1):
        problem = Words()
        walker = Walker(problem, ForwardRows(half, problem), BackwardRows(problem), seed)
        learned = walker.reversed(1)
        assert learned.rng is walker.rng
        drawn.append(learned.draw(32).terminals)
    assert drawn[0] != drawn[1]


# Margins of rounding: true values by identities that are exact, or in another form.


@pytest.mark.catches(
    "The error of log Z is that of its size, not of the two logs that it is made of.",
    "reference/problems/closed_form.py",
    "gamma(12) * (1 + abs(top) + abs(bottom))",
    "gamma(12) * (1 + abs(top - bottom))",
)
@pytest.mark.parametrize("k", range(1, 5))
def test_a_logarithm_of_a_large_fraction_that_cancels_lies_inside(k: int) -> None:
    """`log(1 + 3e-12)` as a difference of two logarithms near 9,210."""
    more = Fraction(3 * 10**3_988, 10**4_000 + k)
    result = Enclosure.log_of(1 + more)
    assert result.contains(math.log1p(float(more)))
    assert result.error < 1e-10


def comb(depth: int, go: Fraction, last: Fraction) -> tuple[Any, Any, list[Fraction]]:
    """All residuals are zero, but that of the last trajectory, which is `-log last`."""
    steps = [row for i in range(depth) for row in ((2 * i + 1, 2 * i + 2), ())]
    dag = PointedDAG(tuple(range(2 * depth + 1)), (*steps, ()))
    forward = ForwardPolicy(dag, RATIONAL, [1 - go if v % 2 else go for _, v in dag.edges])
    stops = [go ** (x // 2) * (1 - go) for x in dag.terminals[:-1]]
    return forward, BackwardPolicy.uniform(dag, RATIONAL), [*stops, go**depth * last]


@pytest.mark.catches(
    "The margin of residuals does not grow with the number of steps.",
    "reference/bounds.py",
    "gamma(8 + max(dag.depths))",
    "gamma(8)",
)
@pytest.mark.catches(
    "The margin of a residual is that of its size, not of the logs that it is made of.",
    "reference/bounds.py",
    "abs(p_f) + sum(map(abs, others))",
    "abs(p_f - sum(others))",
)
@pytest.mark.parametrize(
    ("depth", "go", "last"),
    [
        (600, Fraction(1, 3), Fraction(1, 2)),
        (600, Fraction(1, 3), Fraction(2)),
        *((1, Fraction(k, 10**400), 1 + Fraction(s, 10**11)) for k in (1, 3, 7) for s in (3, -3)),
    ],
)
def test_residuals_of_many_steps_and_of_large_logs_lie_inside(
    depth: int, go: Fraction, last: Fraction
) -> None:
    result = residual_spread(*comb(depth, go, last))
    residual = -math.log1p(float(last - 1))
    assert result.least <= min(residual, 0.0)
    assert result.largest >= max(residual, 0.0)
    assert result.oscillation <= abs(residual) + 1e-9


@pytest.mark.catches(
    "A bound of mass is believed though the float that it came as was rounded down.",
    "reference/certificates/partition.py",
    "Fraction(log_bound) + Fraction(1, 2**45)",
    "Fraction(log_bound)",
    by="refusal",
)
def test_the_tightest_bounds_of_mass_are_not_below_what_they_bound() -> None:
    """Logarithms of large integers, rounded to the nearest."""
    rewards = [10**19 + 7**k for k in range(20)]
    problem = SimpleNamespace(
        initial=-1,
        children=lambda x: list(range(20)) if x < 0 else [],
        reward=rewards.__getitem__,
        log_mass_bound=lambda x: math.log(sum(rewards) if x < 0 else rewards[x]),
    )
    low, high = bound_partition(problem).log_z
    assert low < math.log(sum(rewards)) < high < low + 1e-10


# NaN, infinities, and bounds that contradict each other are no answers.


@pytest.mark.parametrize(
    "log_z", [-math.inf, math.inf, math.nan, (2.0, 1.0), (0.0, math.inf), (math.nan, 1.0)]
)
def test_a_log_z_that_is_no_number_is_refused_whoever_gives_it(log_z: Any) -> None:
    with pytest.raises(InputError, match="must be a finite number"):
        pdai.certify(half, Words, regime="Z", log_z=log_z)
    if not isinstance(log_z, tuple):
        own = other(log_z=lambda p: SimpleNamespace(value=log_z, error=0.0))
        with pytest.raises(InputError, match="must be a finite number"):
            pdai.certify(half, own, regime="Z")


@pytest.mark.catches(
    "A capital that is NaN is taken for one that refutes nothing.",
    "reference/certificates/betting.py",
    "if math.isnan(capital):",
    "if False:",
)
def test_a_capital_that_is_nan_refutes_nothing_and_is_an_error() -> None:
    with pytest.raises(InputError, match="is NaN"):
        LowerMean(1, np.full(37, math.nan)).bound(LEVEL)


def stated(interval: tuple[float, float], tv: Fraction | None) -> Certificate:
    return Certificate("S", Interval(*interval), "terminals", 1e-6, 10, [], [], tv=tv)


@pytest.mark.catches(
    "A certificate does not ask whether its bounds contradict each other.",
    "reference/certificates/statement.py",
    "if low > high:",
    "if False:",
)
@pytest.mark.parametrize(
    ("interval", "tv", "words"),
    [
        ((0.456, 0.377), None, "at level 1e-06 these samples are not independent draws"),
        ((math.nan, 1.0), None, r"not in \[0, 1\]"),
        ((0.0, math.nan), None, r"not in \[0, 1\]"),
        ((0.5, math.inf), None, r"not in \[0, 1\]"),
        ((0.0, 1.0), Fraction(-57, 2000), r"-57/2000, which is not in \[0, 1\]"),
        ((170.46, 170.46), Fraction(8523, 50), r"not in \[0, 1\]"),
    ],
)
def test_no_certificate_holds_what_tv_cannot_be(
    interval: tuple[float, float], tv: Fraction | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        stated(interval, tv)


@pytest.mark.parametrize(
    ("interval", "tv", "words"),
    [
        ((0.0, 0.0), Fraction(0), "every set of terminals is as likely as it should be"),
        ((0.19, 0.19), Fraction(19, 100), "some set of terminals is 0.19 more or less likely than"),
        ((0.1, 0.5), None, "is at least 0.1 more or less likely than it should be, none more than"),
        ((0.1, 1.0), None, "some set of terminals is at least 0.1 more or less likely than it sho"),
        ((0.0, 0.5), None, "no set of terminals is more than 0.5 more or less likely than it shou"),
        ((0.0, 1.0), None, "any set of terminals may be more or less likely than it should be"),
    ],
)
def test_the_summary_says_what_tv_means(
    interval: tuple[float, float], tv: Fraction | None, words: str
) -> None:
    made = stated(interval, tv)
    assert words in repr(made)
    assert words in made.report["in words"]


def test_samples_that_are_not_independent_are_refused() -> None:
    with pytest.raises(InputError, match="not independent draws"):
        pdai.certify(half, Words, regime="S", target=["aaa"] * 5_000, samples=4_096)
    words = ["aaa"] * 3_000 + ["bbb"] * 3_000 + ["aaa"]
    two = other(children=lambda p, s: [] if s else ["aaa", "bbb"], reward=lambda p, x: 1)
    with pytest.raises(InputError, match="not independent draws"):
        certify_lines(words, two, level=1e-6)
    made = certify_lines(np.random.default_rng(0).permutation(words), two, target=words)
    assert made.interval.low == 0
    assert any("the samples of the target are not used" in note for note in made.notes)


@pytest.mark.parametrize(
    ("options", "unused"),
    [
        ({"log_z": 1.0, "target": ["aaa"]}, ["log Z", "samples of the target"]),
        ({"regime": "Z", "target": ["aaa"]}, ["samples of the target"]),
        ({"regime": "Z", "log_z": math.log(20)}, []),
        ({"regime": "N", "log_z": 1.0}, ["log Z"]),
    ],
)
def test_what_is_given_and_not_used_is_said(options: dict[str, Any], unused: list[str]) -> None:
    made = pdai.certify(half, Words, samples=100, **options)
    said = [f"the {name} given: not used in regime {made.regime}" for name in unused]
    assert [note for note in made.notes if "not used in regime" in note] == said
