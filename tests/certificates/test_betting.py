"""Confidence bounds of means, and the guarantees of a certificate, number by number."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from reference import RATIONAL, BackwardPolicy, ForwardPolicy, InputError, PointedDAG
from reference.bounds import residual_spread
from reference.certificates.bare import against_law, against_samples, bound_by_events, cuts
from reference.certificates.betting import BETS, Interval, LowerMean, MeanInterval, log_capital
from reference.certificates.collisions import collision_bound, split
from reference.certificates.expectations import FeatureMeans
from reference.certificates.partition import bound_partition
from reference.certificates.regimes import (
    PILOT,
    Budget,
    Draws,
    Result,
    from_below,
    weight_lines,
    with_log_z,
    with_neither,
    with_target,
)
from reference.certificates.statement import Certificate
from reference.problems.closed_form import Enclosure
from reference.rows.functions import BackwardRows, ForwardRows
from reference.rows.importance import effective_size, log_mean, pareto_k, shortfall
from reference.rows.walks import Walker
from tests.certificates.problems import Fork, Words, certify_lines, fair_ends, half, other
from tests.refusals import refused

LEVEL = 0.05


def test_the_interval_is_as_narrow_as_expected_of_a_good_sampler() -> None:
    noise = np.random.default_rng(0).normal(size=100_000) * 0.12
    values = np.clip(-np.expm1(noise - 0.0072), 0, 1)
    interval = MeanInterval()
    for stop, width in ((10_000, 0.0104), (100_000, 0.0036)):
        interval.add(values[interval.count : stop])
        result = interval.interval(1e-6)
        assert result.low < 0.0478 < result.high
        assert result.width < width


def test_bounds_lie_on_their_side_of_constants_and_hold_them() -> None:
    for value in (0.0, 1e-9, 0.3, 1.0):
        interval = MeanInterval()
        interval.add(np.full(3_000, value))
        low, high = interval.interval(1e-6)
        assert low <= value <= high
        assert high - low < 0.02
    wide = LowerMean()
    wide.add(np.full(1_000, 5e6))
    assert 4.5e6 < wide.bound(1e-6) <= 5e6


def test_smaller_values_never_bound_a_mean_by_more() -> None:
    """So that values at a floor of Z, whatever it depends on, may stand for those at Z."""
    rng = np.random.default_rng(5)
    for count in (1, 30, 3_000):
        values = rng.random(count) ** 0.2
        bounds = []
        for factor in (1.0, 1 - 2.0**-52, 0.99, 0.5):
            mean = LowerMean()
            mean.add(values * factor)
            bounds.append(mean.bound(1e-3))
        assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[2] > bounds[3] > 0


@pytest.mark.catches(
    "What rounding may have added to the sums is not taken off.",
    "reference/certificates/betting.py",
    "logs = self.gains - lost - self.count",
    "logs = self.gains - 0 * lost - self.count",
)
def test_what_rounding_may_have_added_is_taken_off() -> None:
    exact, rounded = LowerMean(), LowerMean(roundings=10**11)
    for bound in (exact, rounded):
        bound.add(np.full(1_000, 0.3))
    assert 0 < rounded.bound(1e-6) < exact.bound(1e-6)


@pytest.mark.parametrize("mean", [0.05, 0.25, 0.6])
def test_the_capital_is_that_of_confseq(mean: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its martingales for our bets: independent code by the authors of the method."""
    # Its last release is of before NumPy 2, which has no such name.
    monkeypatch.setattr(np, "float_", np.float64, raising=False)
    betting = pytest.importorskip("confseq.betting", reason="confseq is not there: it needs Boost")
    values = np.random.default_rng(0).random(200) ** 3
    bets = [lambda x, m, bet=bet: np.full(len(x), bet / (1 + bet * m)) for bet in BETS]
    theirs = betting.diversified_betting_mart(values, mean, bets, theta=1, trunc_scale=1)
    gains = np.log1p(BETS * values[:, None]).cumsum(0)
    ours = log_capital(gains, np.arange(1.0, 201.0), mean)
    assert ours == pytest.approx(np.log(theirs), abs=1e-9)


@pytest.mark.parametrize("value", [np.nan, -0.1, 1.1, np.inf, 1e300])
def test_values_that_are_out_of_range_are_refused(value: float) -> None:
    for mean in (MeanInterval(), LowerMean())[: 1 if value == 1.1 else 2]:
        with pytest.raises(InputError, match="bounded of numbers from 0 to 9"):
            mean.add(np.array([0.5, value]))


# The fork is `p_F = (3/4, 1/4)` beside `mu = (1/2, 1/2)`: TV is 1/4, and Z is 2.
LOG_2 = math.log(2)
FEW, MANY = (Budget(0.0, samples, 60.0) for samples in (2_000, 50_000))


def at_log_z(log_z: float, fork: Fork | None = None, budget: Budget = FEW) -> Result:
    return with_log_z(fork or Fork(), Interval(log_z, log_z), 1e-6, budget, Draws())


@pytest.mark.catches(
    "Of model and target samples the smaller mean bounds TV from above.",
    "reference/certificates/regimes.py",
    "interval = Interval(least, max(side.high for side in sides))",
    "interval = Interval(least, min(side.high for side in sides))",
)
@pytest.mark.parametrize("pilot", [-LOG_2, LOG_2, 0.0])
def test_the_larger_mean_bounds_the_distance_from_above(pilot: float) -> None:
    """At twice or half of Z the means are 0 and 1/2; at Z itself both are TV."""
    low, high = with_target(fair_ends(50_000), Fork(pilot=pilot), 1e-6, MANY, Draws()).interval
    if pilot:
        assert low == 0
        assert 0.49 < high < 0.52
    else:
        assert 0.22 < low <= 0.25 <= high < 0.28


def test_zeros_of_the_sampler_count_as_distance_though_they_are_never_drawn() -> None:
    low, high = at_log_z(math.log(4), Fork(1.0 - 2.0**-60, (1.0, 3.0)), MANY).interval
    assert 0.74 < low <= 0.75 <= high < 0.76


@pytest.mark.catches(
    "With neither log Z nor target samples, the mean weight stands for a lower bound of Z.",
    "reference/certificates/regimes.py",
    "bound, floor, low = weight.bound(level / 2), -math.inf, 0.0",
    "bound, floor, low = math.exp(log_mean(draws.all) - log_scale), -math.inf, 0.0",
)
def test_without_z_the_same_samples_bound_z_and_then_the_distance() -> None:
    """About half of all mean weights lie above Z, the floor never does."""
    above = 0
    for seed in range(20):
        fork, draws = Fork(), Draws()
        fork.rng = np.random.default_rng(seed)
        result = with_neither(fork, 1e-6, MANY._replace(samples=20_000), draws)
        floor = result.lines[0].value
        assert isinstance(floor, float)
        assert math.log(1.9) < floor < LOG_2
        assert 0.2 < result.interval.low < 0.25
        assert result.interval.high == 1
        assert result.samples == draws.count == 20_000
        above += bool(np.exp(draws.all).mean() > 2)
    assert 3 < above < 17


# Levels and splits.


def interval(values: Any, level: float) -> Interval:
    mean = MeanInterval()
    mean.add(*values) if isinstance(values, tuple) else mean.add(np.array(values, float))
    return mean.interval(level)


def bound(values: Any, level: float) -> float:
    mean = LowerMean()
    mean.add(values)
    return mean.bound(level)


def short(log_ratio: Any) -> Any:
    return shortfall(log_ratio, np.float64(0.0))


@pytest.mark.catches(
    "The upper end of a mean takes the level that both ends have together.",
    "reference/certificates/betting.py",
    "1 - self.above.bound(level / 2)",
    "1 - self.above.bound(level)",
)
def test_an_interval_gives_half_of_its_level_to_each_end() -> None:
    values = np.random.default_rng(0).random(500)
    low, high = interval(values, LEVEL)
    assert low == bound(values, LEVEL / 2) < bound(values, LEVEL)
    assert high == math.nextafter(1 - bound(np.nextafter(1 - values, 0.0), LEVEL / 2), 2.0)


def in_z(draws: Draws) -> tuple[Result, Sequence[float]]:
    result = with_log_z(Fork(), Interval(LOG_2, LOG_2), LEVEL, FEW, draws)
    floor = LOG_2 + math.log(bound(np.exp(draws.all - LOG_2), LEVEL))
    return result, [*interval(short(draws.all - LOG_2), LEVEL), floor]


def in_s(draws: Draws) -> tuple[Result, Sequence[float]]:
    result = with_target(fair_ends(2_000), Fork(), LEVEL, FEW, draws)
    back = Fork().draw_backward(fair_ends(2_000)).log_weight
    z = log_mean(Fork().draw(PILOT).log_weight)
    sides = [interval(short(x), LEVEL / 4) for x in (draws.all - z, z - back)]
    events = [interval(x > z, LEVEL / 4) for x in (draws.all, back)]
    low = max(min(side.low for side in sides), events[1].low - events[0].high)
    return result, [low, max(side.high for side in sides), *np.ravel([*sides, *events])]


def in_n(draws: Draws) -> tuple[Result, Sequence[float]]:
    result = with_neither(Fork(), LEVEL, FEW, draws)
    scale = log_mean(Fork().draw(PILOT).log_weight)
    floor = scale + math.log(bound(np.exp(draws.all - scale), LEVEL / 2))
    return result, [bound(short(draws.all - floor).low, LEVEL / 2), 1.0, floor]


@pytest.mark.catches(
    "The difference of an event's probabilities is bounded by the wrong ends of both.",
    "reference/certificates/regimes.py",
    "(events[1].low - events[0].high)",
    "(events[1].high - events[0].low)",
    only="in_s",
)
@pytest.mark.catches(
    "In regime S each of four means is bounded at the level that all have together.",
    "reference/certificates/regimes.py",
    "sides = model.interval(level / 4), target.interval(level / 4)",
    "sides = model.interval(level), target.interval(level)",
    only="in_s",
)
@pytest.mark.parametrize("regime", [in_z, in_s, in_n])
def test_a_regime_splits_its_level_over_the_means_it_needs(regime: Callable[..., Any]) -> None:
    result, expected = regime(Draws())
    values = [result.interval, *(line.value for line in result.lines if line.kind == "bound")]
    assert np.hstack(values).tolist() == pytest.approx(expected, rel=1e-9)


# NaN and infinities are no answers.


@pytest.mark.parametrize("off", [-10.0, -600.0, -686.0, -688.0, -700.0, -1e4, -1e5, -1e300])
def test_a_log_z_that_is_too_low_is_refuted_however_low_it_is(off: float) -> None:
    refused("certify that it is above", at_log_z, LOG_2 + off)


def test_a_log_z_that_is_bounded_from_above_alone_bounds_tv_from_above_alone() -> None:
    rare = Fork(0.75, (1.0, 1e-300))
    result = with_log_z(rare, Interval(-math.inf, LOG_2), 1e-6, FEW, Draws())
    assert result.interval.low == 0
    assert 0.5 < result.interval.high < 1


@pytest.mark.parametrize("weights", [[0.0] * 10, [-math.inf] * 10, [-math.inf, 0.0]])
def test_estimates_that_cannot_be_had_are_left_out(weights: list[float]) -> None:
    lines = weight_lines(np.array(weights), 0.0)
    assert len(lines) == 3 + math.isfinite(max(weights))
    assert not any(isinstance(line.value, float) and math.isnan(line.value) for line in lines)


@pytest.mark.catches(
    "What rounding may have done narrows the variable instead of widening it.",
    "reference/rows/importance.py",
    "for sign in (1, -1))",
    "for sign in (-1, 1))",
)
@pytest.mark.catches(
    "What rounding may have done is added to a variable that is bounded from below.",
    "reference/certificates/regimes.py",
    "np.exp(log_values - error)",
    "np.exp(log_values + error)",
)
def test_rounding_is_outward() -> None:
    ratio = np.array([-1e-9, 0.0, -np.inf, 3.0])
    low, high = shortfall(ratio, np.full(4, 1e-12))
    exact = -np.expm1(ratio)
    assert (low <= exact.clip(0)).all()
    assert (high >= exact.clip(0)).all()
    assert high[1] > 0 == low[1]
    assert (high[2], low[3], high[3]) == (1, 0, 0)
    below = from_below(np.zeros(1), np.full(1, 2.0**-20))
    assert 1 - 2.0**-19 < below[0] < 1 - 2.0**-21


def test_the_diagnostics_of_weights() -> None:
    rng = np.random.default_rng(0)
    assert effective_size(np.zeros(100)) == pytest.approx(100)
    assert effective_size(np.array([0.0, -800.0])) == pytest.approx(1)
    for shape in (0.2, 0.6, 0.9):
        logs = -shape * np.log(rng.random(50_000))
        assert pareto_k(logs) == pytest.approx(shape, abs=0.15)


TARGET: Mapping[Hashable, Fraction] = {"a": Fraction(1, 2), "b": Fraction(1, 2)}


def test_events_and_each_bound_from_above_share_the_level() -> None:
    """The two sides have a half each; two bounds are from above."""
    samples = ["a", "a", "a", "b"] * 500
    balance = interval([0, 1, 0, 1] * 250, LEVEL / 2)
    share = interval([0, 0, 0, 1] * 250, LEVEL / 2)
    parts = split(np.array([0, 0, 0, 1] * 500), 2)
    noise = 1 / math.sqrt(2_000) / 2 + math.sqrt(math.log(4 / LEVEL) / 4_000)
    result, lines = against_law(samples, TARGET, LEVEL)
    split_up = np.split(np.array([0, 0, 0, 1] * 500), cuts(2_000))
    pieces = [np.bincount(piece, minlength=2) for piece in split_up]
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


@pytest.mark.parametrize(
    ("against", "target"), [(against_law, TARGET), (against_samples, ["a", "b"] * 3_000)]
)
def test_an_event_is_measured_on_the_half_that_did_not_choose_it(against: Any, target: Any) -> None:
    """The first samples choose "a"; what follows has about its share."""
    assert against(["a"] * 600 + ["a", "b"] * 2_700, target, 1e-6)[0].low == 0


@pytest.mark.catches(
    "The expectation under the target is given the interval of that under the sampler.",
    "reference/certificates/expectations.py",
    "Interval(max(0.0, low - tv.high), min(1.0, high + tv.high))",
    "Interval(low, high)",
)
@pytest.mark.catches(
    "The upper end of an expectation is widened by the lower end of TV.",
    "reference/certificates/expectations.py",
    "min(1.0, high + tv.high)",
    "min(1.0, high + tv.low)",
)
@pytest.mark.catches(
    "An expectation takes the whole level beside that of TV.",
    "reference/certificates/expectations.py",
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
    "reference/rows/walks.py",
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
    "gamma(12 + max(dag.depths))",
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
    refused("must be a finite number", lambda: pdai.certify(half, Words, regime="Z", log_z=log_z))
    if not isinstance(log_z, tuple):
        own = other(log_z=lambda p: Enclosure(log_z, 0.0))
        refused("must be a finite number", lambda: pdai.certify(half, own, regime="Z"))


@pytest.mark.catches(
    "A capital that is NaN is taken for one that refutes nothing.",
    "reference/certificates/betting.py",
    "if math.isnan(capital):",
    "if False:",
)
def test_a_capital_that_is_nan_refutes_nothing_and_is_an_error() -> None:
    refused("is NaN", lambda: LowerMean(1, np.full(37, math.nan)).bound(LEVEL))


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
    refused(words, stated, interval, tv)


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
    refused("no verdict: .* equal 5,998 times", lambda: certify_lines(words, two, level=1e-6))
    made = certify_lines(np.random.default_rng(0).permutation(words), two, target=words)
    assert made.interval.low == 0
    assert any("the samples of the target are not used" in note for note in made.notes)


@pytest.mark.parametrize(
    ("options", "unused"),
    [
        ({"log_z": math.log(20), "target": ["aaa"]}, ["log Z", "samples of the target"]),
        ({"regime": "Z", "target": ["aaa"]}, ["samples of the target"]),
        ({"regime": "Z", "log_z": math.log(20)}, []),
        ({"regime": "N", "log_z": math.log(20)}, ["log Z"]),
    ],
)
def test_what_is_given_and_not_used_is_said(options: dict[str, Any], unused: list[str]) -> None:
    made = pdai.certify(half, Words, samples=100, **options)
    said = [f"the {name} given: not used in regime {made.regime}" for name in unused]
    assert [note for note in made.notes if "not used in regime" in note] == said
