"""The check of losses, on ones that learn the right law and on ones that do not."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.flow_matching import FlowMatching
from fast.balance.loss import Loss, TrajectoryLoss, log_path_ratio, log_ratio
from fast.balance.losses import (
    DetailedBalance,
    LogVariance,
    SubtrajectoryBalance,
    TrajectoryBalance,
)
from fast.balance.steps import Steps
from fast.checking import expected_loss
from fast.checking import loss as loss_check
from fast.checking.counterexamples import Counterexample
from fast.checking.instances import (
    CROSSING,
    EXIT,
    TREE,
    TRIANGLE,
    UNEQUAL,
    WrittenProblem,
    make_instance,
)
from fast.checking.landscape import Landscape
from fast.checking.loss import LossReport, check_loss
from fast.checking.minimise import Minimiser
from fast.checking.search import Minimum, search
from fast.checking.tabular_policy import LiftedTable
from fast.parts import LOSSES
from fast.training.step import Batch, loss_and_gradient
from reference import History, InputError
from tests.refusals import refuses

# Few, as most of the time is that of the compiler; `check_loss` tries six or ten.
FEW = (
    make_instance("two lengths", UNEQUAL),
    make_instance("triangle", TRIANGLE),
    make_instance("diamond with an exit, history", EXIT, History()),
)


def check(loss: Loss, **options: Any) -> LossReport:
    return check_loss(loss, **({"instances": FEW, "starts": 6} | options))


def certain(report: LossReport) -> Counterexample:
    """A counterexample in rationals."""
    assert not report.learns_the_target
    assert report.counterexample is not None
    assert report.counterexample.is_certain
    return report.counterexample


@pytest.mark.long
@pytest.mark.parametrize("name", [*LOSSES])
def test_our_losses_learn_the_right_law(name: str) -> None:
    report = check(LOSSES[name]())
    assert report.learns_the_target
    assert (report.reached, report.spurious_minima, report.counterexample) == (
        report.starts,
        {},
        None,
    )
    assert report.worst_distance < 1e-5
    assert report.instances == (2 if name == "fm" else 3)
    assert report.rows()["learns the right law"] == f"yes, on the {report.instances} graphs tried"
    assert report.verdict.endswith(f" learns the right law on the {report.instances} graphs tried")


def written(name: str, terms: Callable[[Steps, Any, Any], Any]) -> TrajectoryLoss:
    """A loss with a learned log Z: the mean of these terms."""
    members = {"learns_log_z": True, "value": lambda _, *of: jnp.mean(terms(*of))}
    loss: TrajectoryLoss = dataclass(frozen=True)(type(name, (TrajectoryLoss,), members))()
    return loss


@dataclass(frozen=True)
class EqualLengths(TrajectoryLoss):
    """Contrastive balance as printed: only trajectories of equal length are compared (col:cb)."""

    least_batch = 2

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        ratios, lengths = log_ratio(steps), steps.active.sum(1)
        squares = (ratios[:, None] - ratios[None]) ** 2
        return jnp.mean(jnp.where(lengths[:, None] == lengths[None], squares, 0.0))


@pytest.mark.long
def test_control_pairs_of_equal_length_lie_about_two_lengths() -> None:
    report = check(EqualLengths())
    assert not report.learns_the_target
    # Balanced it is, and unbiased: that it asks for too little is seen only by searching.
    assert report.is_balanced
    assert report.is_unbiased
    counterexample = certain(report)
    assert (counterexample.instance, counterexample.loss) == ("two lengths", 0.0)
    assert counterexample.target == {"x": Fraction(1, 2), "y": Fraction(1, 2)}
    assert counterexample.law == dict(zip("xy", counterexample.p_f["o"], strict=True))
    assert counterexample.distance > Fraction(1, 50)
    assert report.rows()["learns the right law"] == "no"
    assert report.verdict == "EqualLengths learns a WRONG law"


# Trajectory balance without `p_B`: terminals count once for every way to them.
FORGETS_P_B = written(
    "ForgetsPb", lambda steps, log_z, key: (log_z + steps.log_p_f.sum(-1) - steps.log_reward) ** 2
)


@pytest.mark.long
def test_control_a_loss_without_p_b_is_wrong_where_there_are_several_ways() -> None:
    triangle = make_instance("triangle", TRIANGLE)
    report = check(FORGETS_P_B, instances=(make_instance("tree", TREE), triangle))
    assert report.spurious_minima.keys() == {"triangle"}
    assert not report.is_balanced
    counterexample = certain(report)
    # R = (1, 2), and x is reached in two ways.
    assert counterexample.law == {"x": Fraction(1, 2), "y": Fraction(1, 2)}
    assert counterexample.target == {"x": Fraction(1, 3), "y": Fraction(2, 3)}


# Trajectory balance with the wrong sign of log Z: the law is right, and the parameter is -log Z.
SIGN = written("Sign", lambda steps, log_z, key: (log_ratio(steps) - log_z) ** 2)


@pytest.mark.long
def test_control_a_log_z_of_the_wrong_sign_is_named() -> None:
    triangle = make_instance("triangle", TRIANGLE)
    report = check(SIGN, instances=(triangle,))
    assert report.spurious_minima == {}
    assert report.log_z_error == pytest.approx(2 * math.log(3))
    assert report.verdict == "Sign learns a log Z off by 2.2 nats: training will not settle"
    assert report.rows()["learns the right law"] == "yes, with another log Z"
    assert check(LOSSES["tb"](), instances=(triangle,)).log_z_error < 1e-9


# Trajectory balance with `log R` between two bounds, as of a reward with a floor.
CLIPS = written(
    "Clips",
    lambda steps, log_z, key: (log_z + log_path_ratio(steps) - steps.log_reward.clip(-20, 80)) ** 2,
)


@pytest.mark.long
def test_control_a_loss_that_clips_extreme_rewards_is_seen() -> None:
    report = check_loss(CLIPS, starts=2, seconds=0)
    assert (report.reached, report.spurious_minima) == (2, {})
    assert report.faults == ["is not at a minimum where the law is right"]
    # One of six graphs, or of ten.
    thorough = check_loss(CLIPS, starts=2, seconds=0, thorough=True)
    assert (report.left_out, thorough.left_out) == (5, 9)


@pytest.mark.long
@pytest.mark.parametrize("loss", [TrajectoryBalance(), DetailedBalance()])
def test_control_a_lifted_p_b_without_its_mass_is_wrong(loss: Loss) -> None:
    report = check(loss, backward="lifted", instances=FEW[1:])
    # Without memory p_B is a law over the parents, whatever it is.
    assert report.spurious_minima.keys() == {"diamond with an exit, history"}
    counterexample = certain(report)
    # Two copies of c say with which probability each was left for its own parent: p and q. With
    # mass p + q of x and 1 of y, and R = (1, 1), the law is in proportion to (p + q, 1).
    p, q = counterexample.p_b["('c', ('a', 'c'))"][0], counterexample.p_b["('c', ('b', 'c'))"][1]
    assert p + q != 1
    assert counterexample.law == {"x": (p + q) / (p + q + 1), "y": 1 / (p + q + 1)}
    assert counterexample.target == {"x": Fraction(1, 2), "y": Fraction(1, 2)}


@pytest.mark.parametrize("only", ["not cached", "cached", "with memory"])
@pytest.mark.catches(
    "The gradient of training is compared with cached values alone.",
    "fast/checking/loss.py",
    "for own in {loss.reads_cache, False}:",
    "for own in {loss.reads_cache}:",
    only="not cached",
)
@pytest.mark.catches(
    "The gradient of training is compared without cached values alone.",
    "fast/checking/loss.py",
    "for own in {loss.reads_cache, False}:",
    "for own in {False}:",
    only="cached",
)
@pytest.mark.catches(
    "The gradient of training is not compared with memory.",
    "fast/checking/loss.py",
    "if thorough or [each.is_markovian for each in tried].count(instance.is_markovian) == 1:",
    "if thorough or len(tried) == 1:",
    only="with memory",
)
def test_control_a_gradient_that_training_gets_wrong_is_seen(
    only: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_shorter_trajectories(*arguments: Any) -> Any:
        loss, environment, sampler, (trajectories, cached), key = arguments
        wrong = {
            "not cached": cached is None,
            "cached": cached is not None,
            "with memory": isinstance(sampler.policy.network, LiftedTable),
        }
        if not wrong[only]:
            return loss_and_gradient(*arguments)
        short = trajectories._replace(active=trajectories.active.at[:, 0].set(False))
        return loss_and_gradient(loss, environment, sampler, Batch(short, None), key)

    monkeypatch.setattr(expected_loss, "loss_and_gradient", of_shorter_trajectories)
    report = check(
        LogVariance(), instances=FEW[1:] if only == "with memory" else FEW[1:2], starts=1
    )
    assert report.gradient_error > 1e-3
    assert report.faults == ["is trained by a WRONG gradient"]


def not_a_number(steps: Steps, log_z: Any, key: Any) -> Any:
    """Trajectory balance that is no number where residuals are zero."""
    squares = (log_z + log_ratio(steps)) ** 2
    return jnp.where(squares > 1e-20, squares, jnp.nan)


@pytest.mark.catches(
    "A loss that is no number at balance is not said to be none.",
    "fast/checking/loss.py",
    "math.isnan(self.balanced_loss)",
    "False",
)
def test_control_a_loss_that_is_no_number_at_balance_is_not_zero_there() -> None:
    report = check(written("NotANumber", not_a_number), instances=FEW[:1], starts=1)
    assert math.isnan(report.balanced_loss)
    assert report.faults[0] == "is not a number where the law is right"


def at(**figures: float) -> Minimum:
    return Minimum(np.zeros(99), **({"loss": 0.0, "slope": 0.0, "distance": 0.0} | figures))


@pytest.mark.catches(
    "The smallest distance is reported for the largest.",
    "fast/checking/loss.py",
    "worst_distance=max(",
    "worst_distance=min(",
)
def test_the_report_counts_the_ends_of_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    far = at(loss=1.0, distance=0.75)
    ends = [at(distance=2**-12), at(distance=2**-11), far, at(loss=1e-3, slope=1.0, distance=0.5)]
    monkeypatch.setattr(loss_check, "search", lambda *_: ends)
    report = check(Constant(), instances=FEW[:1])
    assert (report.starts, report.reached, report.stuck) == (4, 2, 1)
    assert report.worst_distance == 2**-11
    stopped = (
        "can stop at a WRONG law: 1 of 4 searches ended with a loss and no gradient, such as on "
        "o -> x u; u -> y, with p_F at o = ("
    )
    (fault,) = report.faults
    assert fault.startswith(stopped)
    assert report.rows()["with more loss but no gradient, and as far off"] == "1 of 4"
    monkeypatch.setattr(loss_check, "search", lambda *_: ends[1:2] + ends[3:] * 2)
    few = "cannot be judged: 1 of 3 searches ended without loss (is it flat near its minimum?)"
    assert check(Constant(), instances=FEW[:1]).faults == [few]


@pytest.mark.catches(
    "A law that is off by a hundredth is right.",
    "fast/checking/search.py",
    "SPURIOUS = 1e-3",
    "SPURIOUS = 2e-2",
)
@pytest.mark.catches(
    "A search that ends where a loss has no gradient is let pass.",
    "fast/checking/search.py",
    "return self.loss > STUCK and",
    "return self.loss > 1e6 * STUCK and",
)
def test_an_end_without_loss_or_without_gradient_is_wrong_where_the_law_is() -> None:
    assert [at(distance=tv).is_spurious for tv in (0.0009, 0.0011)] == [False, True]
    assert not at(loss=2e-12, distance=0.5).is_spurious
    stuck = {"loss": 0.9, "slope": 9e-9, "distance": 0.0011}
    assert at(**stuck).is_stuck
    # A loss that is flat near its zero; a search that may go on; a law that is right.
    for change in ({"loss": 9e-7}, {"slope": 2e-8}, {"distance": 0.0009}):
        assert not at(**(stuck | change)).is_stuck


@pytest.mark.catches(
    "No search begins at a nearly deterministic policy.",
    "fast/checking/search.py",
    "scale = PEAKED if number < PEAKED_SHARE * starts else PLAIN",
    "scale = PLAIN",
)
def test_two_of_five_searches_begin_at_nearly_deterministic_policies() -> None:
    still = SimpleNamespace(
        balanced=np.zeros(3),
        floor=0.0,
        minimum=lambda start, free: start,
        graded=lambda vector: (0.0, vector),
        distance=lambda vector: 0.0,
    )
    rng = np.random.default_rng(7)
    starts = [scale * rng.normal(size=3) for scale in (4, 4, 1, 1, 1)]
    ends = search(cast(Landscape, still), 5, seed=7)
    assert np.array_equal([each.vector for each in ends], starts)
    assert [each.slope for each in ends] == [np.abs(start).max() for start in starts]


@dataclass(frozen=True)
class Stops(TrajectoryLoss):
    """Trajectory balance, without a gradient beyond a nat; or with a constant beside it."""

    bound: float = math.inf
    beside: float = 0.0

    learns_log_z = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        residuals = jnp.clip(log_z + log_ratio(steps), -self.bound, self.bound)
        return jnp.mean(residuals**2) + self.beside


def test_control_a_loss_that_stops_where_residuals_are_large_is_wrong() -> None:
    report = check(Stops(bound=1.0), instances=FEW[:1], starts=10)
    assert (report.reached, report.stuck, report.spurious_minima) == (3, 7, {})
    assert not report.is_judged
    assert report.verdict.startswith("Stops can stop at a WRONG law: 7 of 10 searches ended with a")
    assert report.rows()["learns the right law"] == "no"


def test_a_loss_that_is_not_zero_at_balance_is_not_said_to_be() -> None:
    report = check(Stops(beside=0.016), instances=FEW[1:2], starts=2)
    assert report.learns_the_target
    assert report.balanced_loss == pytest.approx(0.016, rel=1e-12)
    rows = report.rows()
    assert rows["searches that ended at the balanced loss or below"] == "2 of 2"
    assert not any("without loss" in name for name in rows)


@dataclass(frozen=True)
class Constant(TrajectoryLoss):
    """A number; or an array, or nothing at all."""

    shape: tuple[int, ...] = ()

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return jnp.zeros(self.shape)


@pytest.mark.long
def test_control_a_loss_that_asks_for_nothing_is_wrong_everywhere() -> None:
    report = check(Constant(), instances=FEW[:2])
    assert report.spurious_minima.keys() == {"two lengths", "triangle"}


@dataclass(frozen=True)
class Endless(TrajectoryLoss):
    """A loss without a minimum: the variance with the wrong sign, or a gap without its score."""

    kind: str

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        ratios = log_ratio(steps)
        gap = -jnp.log(jnp.mean(jnp.exp(ratios - ratios.mean())))
        return {"variance": -ratios.var(), "score": ratios.mean(), "gap": gap}[self.kind]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["variance", "score", "gap"])
def test_control_a_loss_without_a_minimum_is_named(kind: str) -> None:
    report = check(Endless(kind))
    graph = "Endless has no minimum: it falls without end (o -> x u; u -> y, towards p_F at o = ("
    assert report.verdict.startswith(graph)
    assert not report.learns_the_target
    # Nothing more is tried.
    assert report.instances == 1


@dataclass(frozen=True)
class Flat(TrajectoryLoss):
    """Contrastive balance by fourth powers: right, but too flat for a search to come to its end."""

    least_batch = 2

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        ratios = log_ratio(steps)
        return jnp.mean((ratios - ratios.mean()) ** 4)


@pytest.mark.long
def test_a_loss_that_no_search_brings_to_its_end_is_not_called_wrong() -> None:
    report = check(Flat(), instances=FEW[1:2], starts=3)
    assert report.verdict.startswith("Flat cannot be judged: 0 of 3 searches ended without loss")
    assert not report.learns_the_target
    assert report.rows()["learns the right law"] == "not known"


# Trajectory balance with the root of `p_B`: the least loss is at irrational rows.
HALF_OF_P_B = written(
    "HalfOfPb",
    lambda steps, log_z, key: (log_z + log_ratio(steps) + 0.5 * steps.log_p_b.sum(1)) ** 2,
)


@pytest.mark.long
def test_a_counterexample_has_small_denominators_where_its_minimum_has_none() -> None:
    report = check(HALF_OF_P_B, instances=FEW[1:2])
    counterexample = report.counterexample
    assert counterexample is not None
    assert all(share.denominator <= 10 for row in counterexample.p_f.values() for share in row)
    assert counterexample.loss < counterexample.balanced_loss
    assert counterexample.distance > Fraction(1, 50)


def noisy(steps: Steps, log_z: Any, key: Any) -> Any:
    """Trajectory balance of trajectories chosen at random."""
    chosen = 0.1 + jax.random.uniform(key, steps.log_reward.shape)
    return chosen * (log_z + log_ratio(steps)) ** 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (TrajectoryBalance(penalty="huber"), {}),
        (DetailedBalance(penalty="log-cosh"), {}),
        (SubtrajectoryBalance(subtb_lambda=1.0), {}),
        # Learned of the state, a backward policy is harmless.
        (TrajectoryBalance(), {"backward": "learned"}),
        (DetailedBalance(), {"backward": "learned"}),
        # A loss may draw random numbers.
        (written("Noisy", noisy), {}),
        # Controls: on one length alone, and on a tree, nothing is wrong with these.
        (EqualLengths(), {"instances": (make_instance("crossing", CROSSING),)}),
        (FORGETS_P_B, {"instances": (make_instance("tree", TREE),)}),
    ],
    ids=str,
)
def test_so_do_their_options_and_wrong_ones_where_they_ask_for_enough(
    loss: Loss, options: dict[str, Any]
) -> None:
    assert check(loss, **{"instances": FEW[2:], **options}).learns_the_target


test_what_is_no_loss_is_refused = refuses(
    lambda loss, options: check(loss, **options),
    (3, {}, "loss is 3, a int, but must be a Loss"),
    (Loss(), {}, "derives from TrajectoryLoss"),
    (Constant((2,)), {}, r"of the shape \(2,\), but must give one number"),
    (TrajectoryBalance(), {"backward": "of the moon"}, "must be one of 'uniform'"),
    (TrajectoryBalance(), {"starts": 0}, "starts is 0"),
    (TrajectoryBalance(), {"seed": -1}, "the seed is -1"),
    (FlowMatching(), {"backward": "learned"}, "does not read p_B: leave it at 'uniform'"),
    (FlowMatching(), {"instances": FEW[2:]}, "no instance is left for FlowMatching"),
)


@pytest.mark.long
def test_a_search_without_time_says_what_it_left_out() -> None:
    report = check(TrajectoryBalance(), instances=FEW, starts=1, seconds=0)
    assert (report.instances, report.left_out) == (1, len(FEW) - 1)
    assert report.verdict.endswith(f"the 1 graph tried ({len(FEW) - 1} left out for want of time)")


@pytest.mark.long
def test_control_a_terminal_state_without_reward_is_refused() -> None:
    with pytest.raises(InputError, match="'y' has no reward: add it"):
        make_instance("unfinished", WrittenProblem(TREE.rows, {"x": Fraction(1)}))


@pytest.mark.catches(
    "Entries are measured in units, and the gradient is not.",
    "fast/checking/minimise.py",
    "return value, gradient[self.free] / self.scale",
    "return value, gradient[self.free]",
)
def test_a_minimum_moves_the_free_entries_alone_up_to_the_largest() -> None:
    weights, start = np.array([1.0, 1e4, 1.0, 1e-4]), np.array([7.0, 7.0, 0.0, 0.0])

    def graded(vector: Any) -> tuple[float, Any]:
        gap = vector - np.array([1.0, 1.0, 50.0, -3.0])
        return float(weights @ gap**2), 2 * weights * gap

    free, options = np.array([1, 2, 3]), {"gtol": 1e-12, "ftol": 0.0}
    search = Minimiser(graded, free, options, np.sqrt(weights[free]), largest=20.0)
    assert search.minimum(start) == pytest.approx([7.0, 1.0, 20.0, -3.0], abs=1e-9)
    assert start.tolist() == [7.0, 7.0, 0.0, 0.0]
