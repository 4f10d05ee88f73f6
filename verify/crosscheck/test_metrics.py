"""Every figure of a run against exact sums over all trajectories, or a second way in NumPy."""

import math
import statistics
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from fast.dynamics.markov import Uniform
from fast.environments import make_environment
from fast.environments.interface import encode_all
from fast.laws import terminal_law
from fast.laws.enumeration import Ints, decode_all
from fast.laws.exact_policy import exact_policy
from fast.laws.paths import (
    backward_paths,
    drawn_nodes,
    drawn_terminals,
    forward_paths,
    labelled_paths,
)
from fast.laws.terminal_law import (
    exact_law,
    has_exact_law,
    law_of,
    sampled_law,
    target_law,
    uniform_law,
)
from fast.measure import estimates, terminals
from fast.measure import report as evaluation
from fast.measure.estimates import (
    curve_value,
    estimated_fcs,
    estimated_report,
    exact_terminals,
    random_terminals,
    total_variation_of_paths,
)
from fast.measure.report import figures_of_all, mean_best
from fast.measure.terminals import enumerated_report
from fast.measure.weights import mean_of, scaled
from fast.policies.policy import Policy, count_parameters, uniform_policy
from reference import RATIONAL, BackwardPolicy, ForwardPolicy, marginal, metrics
from reference.problems import closed_form
from reference.problems.closed_form import Enclosure
from reference.problems.hard_core import HardCore
from verify.crosscheck.compare import compilations, excess
from verify.crosscheck.instances import Instance, make_instance, random_policy
from verify.lib.laws import path_laws

Floats = npt.NDArray[np.float64]

# A right estimate is further than this many standard errors from its expectation with a
# probability below 1e-6.
ERRORS = 5
SEED = 3


class Exact(NamedTuple):
    """A policy on an instance, all trajectories summed; laws are of `x`, or of `tau`.

    `mu` is `pi(x) p_B(tau | x)`, and `minus_f` is `-f(tau) = log( R(x) p_B(tau | x) / p_F(tau) )`,
    in nats; `p_t` and `pi` are exact.
    """

    instance: Instance
    policy: Policy
    p_f: Floats
    mu: Floats
    minus_f: Floats
    p_t: tuple[Fraction, ...]
    pi: tuple[Fraction, ...]
    log_z: float

    @property
    def tv(self) -> float:
        """`TV(p_F, mu)`, of the laws of trajectories."""
        return float(np.abs(self.p_f - self.mu).sum() / 2)


def summed(instance: Instance, policy: Policy) -> Exact:
    """Sums all trajectories, on the lift of the policy and with the backward policy of the base."""
    enumeration = instance.enumeration
    lifted, p_f = exact_policy(policy, enumeration, 100_000)
    p_b = BackwardPolicy.uniform(lifted.base, RATIONAL).on(lifted)
    pi = metrics.normalize(enumeration.rewards)
    forward, mu = (np.array(law, float) for law in path_laws(p_f, p_b, pi))
    minus_f = np.log(mu / forward) + enumeration.log_z
    return Exact(
        instance, policy, forward, mu, minus_f, tuple(marginal(p_f)), pi, enumeration.log_z
    )


@pytest.fixture(scope="module")
def exact() -> Exact:
    instance = make_instance("synthetic, prepend-append")
    return summed(instance, random_policy(instance.environment, dynamics="linear"))


def is_near(mean: float, law: Floats, values: Floats, count: int) -> bool:
    """True if a mean of so many samples is where it should be."""
    expected = float((law * values).sum())
    variance = float((law * (values - expected) ** 2).sum())
    return abs(mean - expected) <= ERRORS * math.sqrt(variance / count)


def follows(drawn: Any, law: Floats, count: int) -> bool:
    """True if numbers of terminals look like samples of a law, at an error of 1e-6."""
    return excess(np.bincount(drawn, minlength=len(law)), law * count) <= 1


def numbers_of(instance: Instance, final: Any) -> Ints:
    """The place of terminal states in the list of terminals."""
    place = {label: i for i, label in enumerate(instance.ends)}
    return np.array([place[label] for label in decode_all(instance.environment, final)])


def fcs_by_hand(p: Floats, q: Floats, batches: Any) -> float:
    """FCS (eq:fcsa), batch by batch."""
    distances = []
    for batch in batches:
        of_p, of_q = sum(p[x] for x in batch), sum(q[x] for x in batch)
        distances.append(sum(abs(p[x] / of_p - q[x] / of_q) for x in batch) / 2)
    return statistics.fmean(distances)


# Without enumeration


@pytest.mark.crosscheck(
    "fast.measure.estimates.random_terminals", "fast.measure.estimates.exact_terminals"
)
def test_terminals_are_drawn_uniformly_or_from_the_target(exact: Exact) -> None:
    instance, size = exact.instance, len(exact.pi)
    uniform = random_terminals(instance.environment, 4_000, SEED)
    assert follows(numbers_of(instance, uniform), np.full(size, 1 / size), 4_000)
    form = closed_form(instance.problem)
    target = numbers_of(instance, exact_terminals(instance.environment, form, 4_000, SEED))
    pi = np.array(exact.pi, float)
    assert follows(target, pi, 4_000)
    assert not follows(target, np.full(size, 1 / size), 4_000)


@pytest.mark.catches(
    "log Z has the wrong sign in the distance between laws of trajectories.",
    "fast/measure/estimates.py",
    "paths.log_ratio - paths.log_reward + log_z",
    "paths.log_ratio - paths.log_reward - log_z",
)
@pytest.mark.catches(
    "The distance between laws of trajectories has tanh |f| for tanh |f| / 2.",
    "fast/measure/estimates.py",
    "+ log_z) / 2)\n",
    "+ log_z))\n",
)
@pytest.mark.crosscheck(
    "fast.laws.paths.forward_paths",
    "fast.laws.paths.backward_paths",
    "fast.measure.estimates.total_variation_of_paths",
    "fast.measure.estimates.curve_value",
)
def test_the_distance_of_trajectories_is_estimated_without_bias(
    exact: Exact, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, environment, count = exact.policy, exact.instance.environment, 4_000
    monkeypatch.setattr(estimates, "CURVE_SAMPLES", count)
    # loss-tv-bound: the distance is the mean of tanh(|f| / 2) under (p_F + mu) / 2.
    value = np.tanh(np.abs(exact.minus_f - exact.log_z) / 2)
    assert ((exact.p_f + exact.mu) / 2 * value).sum() == pytest.approx(exact.tv, rel=1e-12)
    assert exact.tv >= metrics.total_variation(exact.p_t, exact.pi)
    form = closed_form(exact.instance.problem)
    final = exact_terminals(environment, form, count, SEED)
    forward = forward_paths(policy, environment, count, SEED)
    backward = backward_paths(policy, environment, final, SEED)
    for paths, law in ((forward, exact.p_f), (backward, exact.mu)):
        assert len(paths.log_reward) == count
        minus_f = paths.log_reward - paths.log_ratio
        assert is_near(float(minus_f.mean()), law, exact.minus_f, count)
    estimate = total_variation_of_paths(exact.log_z, forward, backward)
    assert abs(estimate.mean - exact.tv) <= ERRORS * estimate.standard_error
    assert estimate.standard_error < 0.01
    # Control: with another log Z it is another number.
    wrong = total_variation_of_paths(exact.log_z + 1, forward, backward)
    assert abs(wrong.mean - exact.tv) > ERRORS * wrong.standard_error
    curve: Any = curve_value(policy, environment, form, final, SEED)
    assert abs(curve - exact.tv) <= ERRORS * estimate.standard_error
    assert curve_value(policy, environment, None, final, SEED) is None


@pytest.mark.catches(
    "log p_T is estimated by the mean of log ratios instead of the log of their mean.",
    "fast/measure/estimates.py",
    "log_p = largest + np.log(np.exp(rows - largest).mean(0))",
    "log_p = rows.mean(0)",
)
@pytest.mark.crosscheck("fast.measure.estimates.estimated_fcs")
def test_fcs_of_backward_trajectories_is_that_of_their_mean_ratio(
    exact: Exact, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, pi = exact.instance.environment, np.array(exact.pi, float)
    final = random_terminals(environment, 32 * 8, SEED)
    drawn = numbers_of(exact.instance, final)
    log_rewards = np.log(pi[drawn])
    monkeypatch.setattr(estimates, "ENOUGH", 0.0)
    whole, gap, log_p, count = estimated_fcs(
        exact.policy, environment, final, log_rewards, 8, 8, SEED
    )
    assert count == 8
    rows = [backward_paths(exact.policy, environment, final, SEED + i) for i in range(8)]
    p = np.mean([np.exp(row.log_ratio) for row in rows], axis=0)
    batches = np.arange(32 * 8).reshape(32, 8)
    assert np.exp(log_p) == pytest.approx(p, rel=1e-12)
    assert whole.mean == pytest.approx(fcs_by_hand(p, pi[drawn], batches), rel=1e-12)
    half, *_ = estimated_fcs(exact.policy, environment, final, log_rewards, 8, 4, SEED)
    assert half.mean - whole.mean == pytest.approx(gap, rel=1e-12)
    # p_T(x) is the mean of the ratio over p_B: without bias, state by state.
    p_t = np.array(exact.p_t, float)
    for x in range(len(p_t)):
        ratios = np.array([np.exp(row.log_ratio[drawn == x]) for row in rows]).ravel()
        estimate = mean_of(ratios)
        assert abs(estimate.mean - p_t[x]) <= ERRORS * estimate.standard_error + 1e-6


def test_no_more_backward_trajectories_are_drawn_than_fcs_needs(exact: Exact) -> None:
    environment, pi = exact.instance.environment, np.array(exact.pi, float)
    final = random_terminals(environment, 64 * 8, SEED)
    drawn = numbers_of(exact.instance, final)
    true = fcs_by_hand(np.array(exact.p_t, float), pi[drawn], drawn.reshape(64, 8))
    arguments = (exact.policy, environment, final, np.log(pi[drawn]), 8)
    whole, fall, _, count = estimated_fcs(*arguments, 64, SEED)
    assert 8 <= count < 64
    assert abs(fall) < 0.1 * whole.mean
    # The bias is of the size of the last fall, which has a share of noise.
    assert 0 <= whole.mean - true < 0.1 * true
    # Control: two are too few.
    few, _, _, count = estimated_fcs(*arguments, 2, SEED)
    assert count == 2
    assert few.mean - true > 0.1 * true


@pytest.mark.crosscheck("fast.measure.estimates.estimated_report")
def test_a_report_without_enumeration_has_the_figures_of_all_trajectories(
    exact: Exact, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 4_000
    for name, value in (("SAMPLES", count), ("ENOUGH", 0.0), ("FCS_BATCHES", 16), ("FCS_SIZE", 8)):
        monkeypatch.setattr(estimates, name, value)
    environment = exact.instance.environment
    form = closed_form(exact.instance.problem)
    # There are no more than SAMPLES.
    report: Any
    report, law, target = estimated_report([exact.policy], None, environment, form, SEED, 10**6)
    assert report.method == "4,000 trajectories each way"
    uniform = summed(exact.instance, uniform_policy(exact.policy))
    for figures, what in ((report.learned[0], exact), (report.uniform, uniform)):
        assert abs(figures.tv.mean - what.tv) <= ERRORS * figures.tv.standard_error
        # KL(mu || p_F) is an upper bound of KL(pi || p_T).
        assert is_near(figures.kl, what.mu, what.minus_f - what.log_z, count)
        assert (what.mu * (what.minus_f - what.log_z)).sum() >= metrics.kl_divergence(
            what.pi, what.p_t
        )
        assert is_near(figures.log_z.mean, what.p_f, what.minus_f, count)
        assert (what.p_f * what.minus_f).sum() <= what.log_z
        # With 64 trajectories a state, FCS is that of p_T but for a bias that the report names.
        final = random_terminals(environment, 16 * 8, SEED)
        batches = numbers_of(exact.instance, final).reshape(16, 8)
        p, q = np.array(what.p_t, float), np.array(what.pi, float)
        assert figures.fcs.mean == pytest.approx(fcs_by_hand(p, q, batches), abs=0.02)
    drawn = numbers_of(exact.instance, final)
    q = np.array(exact.pi, float)[drawn]
    assert target == pytest.approx(q / q.sum(), rel=1e-5)
    p = np.array(exact.p_t, float)[drawn]
    assert law[0] == pytest.approx(p / p.sum(), rel=0.5)
    assert report.log_z == pytest.approx(exact.log_z, abs=1e-6)
    # The best 20 of 16 terminals, all found: the mean of all.
    rewards = exact.instance.enumeration.log_rewards
    assert report.exact.best == pytest.approx(rewards.mean(), rel=1e-5)
    # Half of the samples: half of the backward trajectories.
    half, _, _ = estimated_report([exact.policy], None, environment, form, SEED, count // 2)
    assert half.method == "2,000 trajectories each way"
    assert (report.drawn, half.drawn) == (4_000, 2_000)
    assert half.notes[0].startswith("FCS: p_T from 32 backward trajectories a state")
    # After few trajectories of training, a quarter as many of 128 states each, and eight at least.
    for trained, paths in ((512, 16), (0, 8)):
        arguments = ([exact.policy], None, environment, form, SEED, count, trained)
        short, _, _ = estimated_report(*arguments)
        assert short.notes[0].startswith(f"FCS: p_T from {paths} backward trajectories a state")
    # Control: the two policies have different figures.
    first, second = report.learned[0].tv, report.uniform.tv
    assert abs(first.mean - second.mean) > ERRORS * first.standard_error


@pytest.mark.parametrize(("name", "paths"), [("grid, fixed order", 1), ("grid, 3 axes", 64)])
def test_one_backward_trajectory_is_drawn_where_p_b_is_certain(
    name: str, paths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for what, value in (("SAMPLES", 100), ("ENOUGH", 0), ("FCS_BATCHES", 2), ("FCS_SIZE", 8)):
        monkeypatch.setattr(estimates, what, value)
    instance = make_instance(name)
    form = closed_form(instance.problem)
    policies = [random_policy(instance.environment, seed) for seed in range(2)]
    report, laws, _ = estimated_report(policies, None, instance.environment, form, SEED, 100)
    assert report.notes[0].startswith(f"FCS: p_T from {paths} backward trajectories a state")
    assert ("from half" in report.notes[0]) == (paths > 1)
    final = numbers_of(instance, random_terminals(instance.environment, 16, SEED))
    for policy, law in zip(policies, laws, strict=True):
        p = exact_law(policy, instance.enumeration, float64=True).probabilities[final]
        # Control: with several paths a state, what is drawn has an error.
        assert (abs(law - p / p.sum()).max() < 1e-6) == (paths == 1)


@pytest.mark.parametrize("shift", [0, 10])
def test_figures_by_a_user_s_closed_form_say_that_nothing_proves_it(
    shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for what, value in (("SAMPLES", 100), ("FCS_BATCHES", 2), ("FCS_SIZE", 8)):
        monkeypatch.setattr(estimates, what, value)
    instance = make_instance("grid, fixed order")
    policy = random_policy(instance.environment)
    form: Any = instance.problem

    class Own(type(form)):  # type: ignore[misc]
        def log_z(self) -> Enclosure:
            return Enclosure(form.log_z().value + shift, 0.0)

    own = Own(form.side, form.dimension)
    report, _, _ = estimated_report([policy], None, instance.environment, own, SEED, 100)
    assert report.exact is None
    assert report.notes[1:] == (estimates.TOLD, *([estimates.TOO_HIGH] if shift else []))


def test_weights_that_are_all_equal_refute_no_closed_form() -> None:
    # Independent vertices: the uniform policy is exact, and its KL is rounding, here below 0.
    problem = HardCore(30, (), Fraction(1))
    environment = make_environment(problem)
    policy = uniform_policy(random_policy(environment))
    on = estimates._Samples(environment, closed_form(problem), SEED, 64, 1e9, [policy])
    figures = on.measured(policy, SEED, None)
    assert figures.kl is not None
    assert figures.kl < 0
    assert not on.is_refuted


# With enumeration


@pytest.mark.catches(
    "A run reports KL(p_T || pi) as KL(pi || p_T).",
    "fast/measure/terminals.py",
    "kl_divergence(target, p.tolist())",
    "kl_divergence(p.tolist(), target)",
)
@pytest.mark.crosscheck(
    "fast.measure.terminals.enumerated_report",
    "fast.laws.terminal_law.target_law",
    "fast.laws.terminal_law.uniform_law",
    "fast.laws.paths.drawn_nodes",
)
@pytest.mark.parametrize("is_summed", [True, False])
def test_a_report_on_all_terminals_has_the_figures_of_exact_arithmetic(
    exact: Exact, is_summed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("TOP_SAMPLES", 60), ("FCS_BATCHES", 400), ("FCS_SIZE", 3)):
        monkeypatch.setattr(terminals, name, value)
    monkeypatch.setattr(terminals, "TOP_SHARE", 0.2)
    monkeypatch.setattr(evaluation, "MEAN_BEST", 3)
    environment, enumeration = exact.instance.environment, exact.instance.enumeration
    assert target_law(enumeration) == pytest.approx(np.array(exact.pi, float), rel=1e-15)
    law = exact_law(exact.policy, enumeration, float64=True)
    # A law that counts as sampled has its trajectories drawn.
    law = law if is_summed else replace(law, samples=60)
    report: Any = enumerated_report([exact.policy], None, environment, enumeration, [law], SEED)
    walk = summed(exact.instance, uniform_policy(exact.policy))
    uniform = uniform_law(enumeration)
    assert uniform.probabilities == pytest.approx(np.array(walk.p_t, float), rel=1e-14)
    samplers = ((report.learned[0], exact, SEED + 1, is_summed), (report.uniform, walk, SEED, True))
    for figures, on, seed, from_law in samplers:
        p_t = on.p_t
        tv = float(metrics.total_variation(p_t, exact.pi))
        assert figures.tv.mean == pytest.approx(tv, rel=1e-12)
        assert figures.tv.standard_error == 0
        assert figures.kl == pytest.approx(metrics.kl_divergence(exact.pi, p_t), rel=1e-11)
        fcs = float(metrics.fcs(p_t, exact.pi, 3))
        assert abs(figures.fcs.mean - fcs) <= ERRORS * figures.fcs.standard_error
        batches = metrics.uniform_batches(len(p_t), 3, 400, seed=0)
        by_hand = fcs_by_hand(np.array(p_t, float), np.array(exact.pi, float), batches)
        assert figures.fcs.mean == pytest.approx(by_hand, rel=1e-12)
        # What was sampled, and the best of it, by sorting.
        block = drawn_nodes(on.policy, environment, enumeration, 60, seed)
        reward = dict(zip(enumeration.dag.terminals, enumeration.log_rewards, strict=True))
        ranked = sorted(reward, key=reward.__getitem__, reverse=True)
        places = np.random.default_rng(seed).choice(len(p_t), 60, p=np.array(p_t, float))
        ends = np.array(enumeration.dag.terminals)[places] if from_law else block.ends
        seen = set(ends.tolist())
        best = [reward[x] for x in ranked if x in seen][:3]
        assert figures.best == pytest.approx(statistics.fmean(best), rel=1e-12)
        top = [x for x in ranked if reward[x] >= reward[ranked[3]]]
        assert report.top_count == len(top)
        assert report.drawn == 60
        assert figures.top_found == len(seen & set(top))
        minus_f = [
            reward[x] - f + b
            for x, _, f, b, _ in zip(*(column.tolist() for column in block), strict=True)
        ]
        below = on.p_f @ on.minus_f if from_law else statistics.fmean(minus_f)
        assert figures.log_z.mean == pytest.approx(below, rel=1e-12)
        assert is_near(figures.log_z.mean, on.p_f, on.minus_f, 60)
    if is_summed:
        assert report.exact.tv == report.exact.fcs == metrics.Estimate(0.0, 0.0)
    assert report.exact.log_z.mean == report.log_z
    assert report.log_z == pytest.approx(exact.log_z, rel=1e-15)


@pytest.mark.crosscheck("fast.laws.paths.drawn_terminals", "fast.laws.paths.labelled_paths")
def test_drawn_terminals_follow_the_law_of_the_policy_and_have_their_numbers(exact: Exact) -> None:
    environment, enumeration = exact.instance.environment, exact.instance.enumeration
    dag, count = enumeration.dag, 6_000
    labels, log_reward, log_p_f, log_p_b = drawn_terminals(exact.policy, environment, count, SEED)
    place = {dag.labels[x]: i for i, x in enumerate(dag.terminals)}
    drawn = np.array([place[label] for label in labels])
    assert [len(column) for column in (labels, log_reward, log_p_f, log_p_b)] == [count] * 4
    assert follows(drawn, np.array(exact.p_t, float), count)
    assert not follows(drawn, np.array(exact.pi, float), count)
    assert np.abs(log_reward - np.array(enumeration.log_rewards)[drawn]).max() < 2e-4
    paths = labelled_paths(exact.policy, environment, count, SEED)
    assert paths.ends == labels
    assert paths.log_ratio == pytest.approx(log_p_f - log_p_b, abs=1e-4)
    # Each is one of the trajectories: its p_F with its -f.
    minus_f = log_reward + log_p_b - log_p_f
    near = np.abs(log_p_f[:, None] - np.log(exact.p_f)) + np.abs(minus_f[:, None] - exact.minus_f)
    assert near.min(1).max() < 1e-3


@pytest.mark.crosscheck("fast.laws.terminal_law.sampled_law")
def test_a_sampled_distance_has_the_floor_of_exact_sampling(exact: Exact) -> None:
    environment, enumeration, count = exact.instance.environment, exact.instance.enumeration, 4_096
    law = sampled_law(exact.policy, environment, enumeration, count, SEED)
    p_t, pi = np.array(exact.p_t, float), np.array(exact.pi, float)
    drawn = np.repeat(np.arange(len(p_t)), np.rint(law.probabilities * count).astype(int))
    assert len(drawn) == count
    assert follows(drawn, p_t, count)
    assert not follows(drawn, pi, count)
    report: Any = enumerated_report([exact.policy], None, environment, enumeration, [law], SEED)
    assert report.tv_kind == "sampled"
    # E TV = sum of E |X / n - p| / 2 with X binomial: summed over all its values.
    n = np.arange(count + 1)
    deviations = [(binom.pmf(n, count, p) * np.abs(n / count - p)).sum() for p in pi]
    expected = sum(deviations) / 2
    rng = np.random.default_rng(0)
    simulated = np.abs(rng.multinomial(count, pi, 2_000) / count - pi).sum(1) / 2
    assert abs(simulated.mean() - expected) <= ERRORS * simulated.std() / math.sqrt(2_000)
    assert abs(report.exact.tv.mean - expected) <= ERRORS * simulated.std()
    # By the triangle inequality a sampled distance is off by no more than such a floor.
    tv = report.learned[0].tv
    error = abs(tv.mean - float(metrics.total_variation(exact.p_t, exact.pi)))
    assert error <= expected + ERRORS * simulated.std()


@pytest.mark.crosscheck(
    "fast.laws.terminal_law.law_of",
    "fast.laws.terminal_law.has_exact_law",
    "fast.policies.policy.uniform_policy",
    "fast.dynamics.markov.Uniform",
)
def test_the_law_is_exact_where_it_can_be_and_sampled_elsewhere(
    exact: Exact, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, enumeration = exact.instance.environment, exact.instance.enumeration

    def law(policy: Policy, final: bool) -> Any:
        return law_of(policy, environment, enumeration, final=final, seed=SEED)

    for final, tolerance in ((True, 1e-12), (False, 2e-4)):
        learned = law(exact.policy, final)
        assert learned.samples == 0
        assert learned.probabilities == pytest.approx(np.array(exact.p_t, float), rel=tolerance)
    walk = tuple(marginal(ForwardPolicy.uniform(enumeration.dag, RATIONAL)))
    assert isinstance(uniform_policy(exact.policy).network, Uniform)
    uniform = law(uniform_policy(exact.policy), True).probabilities
    assert uniform == pytest.approx(np.array(walk, float), rel=1e-12)
    assert has_exact_law(exact.policy, enumeration)
    for most in (0, -1):
        most_summed = enumeration.dag.trajectory_count + most
        monkeypatch.setattr(terminal_law, "MAX_HISTORIES", most_summed)
        assert has_exact_law(exact.policy, enumeration) == (most == 0)
        if most == 0:
            assert law(exact.policy, True).samples == 0
    assert has_exact_law(random_policy(environment, dynamics="markov"), enumeration)
    monkeypatch.setattr(terminal_law, "CURVE_SAMPLES", terminal_law.FEWEST * len(exact.p_t) - 1)
    assert law(exact.policy, False).samples == terminal_law.CURVE_SAMPLES
    monkeypatch.setattr(terminal_law, "CURVE_SAMPLES", 4_096)
    learned = law(exact.policy, False)
    assert (learned.samples, learned.method[:4]) == (0, f"{4_096 // len(exact.p_t)} ")
    monkeypatch.setattr(terminal_law, "backward_law", lambda *_: None)
    assert law(exact.policy, False).samples == 4_096


@pytest.mark.crosscheck(
    "fast.laws.terminal_law.backward_law", "fast.laws.terminal_law.histogram_error"
)
def test_a_law_from_backward_trajectories_is_as_exact_as_it_says(exact: Exact) -> None:
    environment, enumeration = exact.instance.environment, exact.instance.enumeration
    p_t, count = np.array(exact.p_t, float), 64 * len(exact.p_t)
    expected = terminal_law.histogram_error(p_t, count)
    drawn = np.random.default_rng(0).multinomial(count, p_t, 2_000) / count
    assert expected == pytest.approx(np.abs(drawn - p_t).sum(1).mean() / 2, rel=0.05)

    def law(policy: Policy, samples: int = count) -> Any:
        return terminal_law.backward_law(policy, environment, enumeration, samples, SEED)

    estimate = law(exact.policy)
    assert 0 < estimate.error < expected
    ends = [enumeration.dag.labels[node] for node in enumeration.dag.terminals for _ in range(64)]
    paths = backward_paths(exact.policy, environment, encode_all(environment, ends), SEED)
    each = [list(row) for row in np.exp(paths.log_ratio).reshape(-1, 64)]
    missing = abs(1 - sum(map(statistics.fmean, each)))
    chance = sum(statistics.stdev(row) / 64**0.5 for row in each)
    assert estimate.error == pytest.approx((missing + chance) / 2, rel=1e-6)
    # Of 64 trajectories the error is that of chance, and rarely three times what is expected.
    assert np.abs(estimate.probabilities - p_t).sum() / 2 < 3 * estimate.error
    assert estimate.probabilities.sum() == pytest.approx(1, abs=1e-12)
    report: Any = enumerated_report(
        [exact.policy], None, environment, enumeration, [estimate], SEED
    )
    assert (report.tv_kind, report.exact and report.exact.tv) == (
        "estimated",
        metrics.Estimate(0.0, 0.0),
    )
    assert str(float(f"{estimate.error:.1g}")) in report.notes[0]
    assert law(exact.policy, terminal_law.FEWEST * len(p_t) - 1) is None


def test_a_policy_whose_paths_are_rarely_drawn_backwards_is_measured_by_samples(
    exact: Exact, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, enumeration = exact.instance.environment, exact.instance.enumeration
    paths = backward_paths

    def missed(*given: Any) -> Any:
        """As if each terminal had a path of half its probability that is never drawn."""
        drawn = paths(*given)
        return drawn._replace(log_ratio=drawn.log_ratio - math.log(2))

    monkeypatch.setattr(terminal_law, "backward_paths", missed)
    count = 64 * len(exact.p_t)
    assert terminal_law.backward_law(exact.policy, environment, enumeration, count, SEED) is None


# Statistics


@pytest.mark.crosscheck("fast.measure.report.figures_of_all")
def test_each_sampler_is_measured_with_its_own_seed_and_log_z() -> None:
    def asked(*arguments: Any) -> Any:
        return arguments

    learned: Any
    learned, uniform = figures_of_all(asked, ["p", "q"], "uniform", [0.5, 1.5], 3)
    assert [*learned, uniform] == [("p", 4, 0.5), ("q", 5, 1.5), ("uniform", 3, None)]
    learned, _ = figures_of_all(asked, ["p"], "uniform", None, 3)
    assert learned == (("p", 4, None),)


@pytest.mark.catches(
    "The worst distinct states are averaged instead of the best.",
    "fast/measure/report.py",
    "np.sort(log_rewards[first])[-MEAN_BEST:]",
    "np.sort(log_rewards[first])[:MEAN_BEST]",
)
@pytest.mark.crosscheck(
    "fast.measure.weights.mean_of",
    "fast.measure.report.mean_best",
    "fast.measure.weights.scaled",
    "fast.policies.policy.count_parameters",
)
def test_means_are_those_of_the_statistics_module(exact: Exact) -> None:
    values = np.random.default_rng(0).normal(size=50)
    estimate = mean_of(values)
    assert scaled(values) == pytest.approx(np.exp(values) / math.exp(max(values)), rel=1e-12)
    assert estimate.mean == pytest.approx(statistics.fmean(values), rel=1e-12)
    error = statistics.stdev(values) / math.sqrt(50)
    assert estimate.standard_error == pytest.approx(error, rel=1e-12)
    # Each distinct state counts once: 30 states, each met one to three times, 20 of them counted.
    states = np.repeat(np.arange(30), np.arange(30) % 3 + 1)[::-1]
    rewards = np.random.default_rng(1).normal(size=30)
    best = statistics.fmean(sorted(rewards, reverse=True)[: evaluation.MEAN_BEST])
    assert mean_best(states, rewards[states]) == pytest.approx(best, rel=1e-12)
    assert mean_best(states[:, None], rewards[states]) == pytest.approx(best, rel=1e-12)
    leaves = jax.tree.leaves(exact.policy)
    assert count_parameters(exact.policy) == sum(math.prod(leaf.shape) for leaf in leaves)


# Compilation


@pytest.mark.parametrize(("dynamics", "p_b"), [("linear", "uniform"), ("markov", "learned")])
def test_figures_of_another_policy_of_the_same_shapes_are_not_compiled_again(
    dynamics: str, p_b: str
) -> None:
    _, environment, enumeration = make_instance("synthetic, prepend-append")

    def figures(seed: int) -> None:
        policy = random_policy(environment, seed, dynamics=dynamics, p_b=p_b)
        final = random_terminals(environment, 64, seed)
        forward_paths(policy, environment, 64, seed)
        backward_paths(policy, environment, final, seed)
        for float64 in (False, True):
            exact_law(policy, enumeration, float64=float64)
        sampled_law(policy, environment, enumeration, 64, seed)

    # The tests above may have compiled them already.
    figures(0)
    assert compilations(figures, 1) == 0
    # Control: what was never compiled is counted.
    assert compilations(jax.jit(lambda x: x + 1), np.zeros(7)) > 0
