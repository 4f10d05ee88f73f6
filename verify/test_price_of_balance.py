"""Minima of likelihood, trajectory balance and log variance over tied rows, and what is left."""

import random
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pdai.experiments.forgetting.minimisers import LOSSES, LossName, TiedLoss, minimum, proved_box
from pdai.experiments.forgetting.nearest import nearest
from pdai.experiments.forgetting.price import target_of
from reference.dag import PointedDAG, pointed_dag
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.coarse import block_of_cell, end_of_string, tied_policies
from reference.fields.balls import precision
from reference.fields.field import RATIONAL
from reference.marginals import marginal, path_sums
from reference.metrics import normalize, total_variation
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.problems import BitSequences, Grid
from verify.lib.attainable import tied_by
from verify.lib.forks import HALF
from verify.lib.scopes import Scope, all_small_dags

STRINGS = BitSequences(("0000", "1111", "0011"), exponent=8)
# Two states whose rows are one, with visits 1/4 and 3/4.
PAIR = pointed_dag({"o": ["s", "t"], "s": ["x", "y"], "t": ["v", "w"],
                    "x": [], "y": [], "v": [], "w": []})  # fmt: skip
# The second state with three actions, which are those of the first and one more.
FORK = pointed_dag({"o": ["s", "x"], "s": ["y", "z"], "x": [], "y": [], "z": []})


def by_count(dag: PointedDAG[Any]) -> TiedPolicies:
    """Policies whose rows are the same at states with as many actions."""
    return tied_by(dag, ((len(row), place) for row in dag.out_edges for place in range(len(row))))


def random_law(count: int, rng: random.Random) -> list[Fraction]:
    return list(normalize([Fraction(rng.randint(1, 9)) for _ in range(count)]))


@cache
def strings(last: int) -> tuple[TiedPolicies, list[Fraction]]:
    tied = tied_policies(STRINGS, lambda string: end_of_string(string, last))
    return tied, target_of(STRINGS, tied)


@cache
def blocks() -> tuple[TiedPolicies, list[Fraction]]:
    problem = Grid(4, 2)
    tied = tied_policies(problem, lambda cell: block_of_cell(cell, 2))
    return tied, target_of(problem, tied)


def steps_of(tied: TiedPolicies, policy: ForwardPolicy[Any], tau: Any) -> list[Fraction]:
    """`grad log p_F(tau)` in the logits of the classes."""
    slope = [Fraction(0)] * tied.count
    for edge in tau:
        slope[tied.classes[edge]] += 1
        for other in tied.dag.out_edges[tied.dag.edges[edge][0]]:
            slope[tied.classes[other]] -= policy.values[other]
    return slope


def score(tied: TiedPolicies, target: list[Fraction], weights: Any) -> list[Fraction]:
    """The gradient of the log-likelihood of the target's trajectories, one by one."""
    dag, policy = tied.dag, tied.policy(weights)
    at = dict(zip(dag.terminals, target, strict=True))
    total, uniform = [Fraction(0)] * tied.count, BackwardPolicy.uniform(dag, RATIONAL)
    for tau in dag.trajectories(1_000):
        share = at[dag.end(tau)] * uniform.along(tau)
        slope = steps_of(tied, policy, tau)
        total = [t + share * s for t, s in zip(total, slope, strict=True)]
    return total


@pytest.mark.claim("price-of-likelihood")
@pytest.mark.catches(
    "leaves the target out of the flows",
    "pdai/experiments/forgetting/minimisers.py",
    "flows = self._to_classes(self._sums(np.array(self._tree.q, object)))",
    "flows = self._to_classes(self._sums(np.array(self._tree.uniform, object)))",
)
def test_the_score_vanishes_at_averages_that_are_weighted_by_visits(scope: Scope) -> None:
    rng = random.Random(0)
    tied_rows = 0
    for dag in scope.over(all_small_dags()):
        tied, target = by_count(dag), random_law(len(dag.terminals), rng)
        weights = TiedLoss(tied, target, "likelihood").averages()
        assert set(score(tied, target, weights)) == {0}
        tied_rows += tied.count < len(dag.edges)
    assert tied_rows > 100
    scope(f"{scope.count} small DAGs, in {tied_rows} of which rows are tied")


@pytest.mark.claim("price-of-likelihood")
@pytest.mark.control("price-of-likelihood")
def test_plain_averages_are_no_maximum_and_likelihood_is_not_the_nearest() -> None:
    tied = TiedPolicies(PAIR, (0, 1, 2, 3, 2, 3))
    target = [Fraction(n, 80) for n in (4, 16, 36, 24)]
    named = dict(zip("xyvw", target, strict=True))
    target = [named[str(PAIR.labels[x])] for x in PAIR.terminals]
    weights = TiedLoss(tied, target, "likelihood").averages()
    assert weights == (Fraction(1, 4), Fraction(3, 4), HALF, HALF)
    plain = (Fraction(1, 4), Fraction(3, 4), Fraction(2, 5), Fraction(3, 5))
    assert score(tied, target, weights) == [0] * 4
    assert score(tied, target, plain) != [0] * 4
    # Of strings, a policy that a search finds is nearer than that of likelihood.
    tied, target = strings(1)
    optimum = minimum(TiedLoss(tied, target, "likelihood"))
    assert nearest(tied, target, 2).distance < optimum.distance.lower - Fraction(1, 50)


@pytest.mark.claim("price-of-likelihood")
def test_the_maximum_with_masks_is_one_and_the_tv_is_that_of_rationals() -> None:
    tied, target = blocks()
    landscape = TiedLoss(tied, target, "likelihood")
    assert not landscape.is_closed
    made, rng = minimum(landscape), np.random.default_rng(0)
    assert made.proved
    for _ in range(200):
        assert landscape.value(rng.normal(size=tied.count)) > float(made.loss.upper)
    for _ in range(3):
        again = landscape.search(rng.normal(size=tied.count))
        assert again == pytest.approx(made.logits, abs=1e-6)
    tied, target = strings(2)
    landscape = TiedLoss(tied, target, "likelihood")
    exact = total_variation(target, marginal(tied.policy(landscape.averages())))
    lower, upper = minimum(landscape).distance
    assert lower <= exact <= upper < lower + Fraction(1, 2**90)


@pytest.mark.claim("price-of-balance")
@pytest.mark.control("price-of-balance")
def test_on_policy_log_z_changes_no_gradient(scope: Scope) -> None:
    rng = random.Random(1)
    depends = 0
    for dag in scope.over(all_small_dags(), "any numbers as log ratios on {} small DAGs"):
        tied = by_count(dag)
        policy = tied.policy([Fraction(rng.randint(1, 9)) for _ in range(tied.count)])
        uniform = ForwardPolicy.uniform(dag, RATIONAL)
        paths = list(dag.trajectories(1_000))
        slopes = [steps_of(tied, policy, tau) for tau in paths]
        ratios = [Fraction(rng.randint(-9, 9)) for _ in paths]
        for explored in (policy, uniform):
            weights = [explored.along(tau) for tau in paths]
            mean = sum(w * f for w, f in zip(weights, ratios, strict=True))
            # The gradients of E (f + log Z)^2 / 2 for two log Z, and of Var f / 2.
            balance, other, variance = (
                [sum(w * (f + z) * s[c] for w, f, s in zip(weights, ratios, slopes, strict=True))
                 for c in range(tied.count)]
                for z in (Fraction(0), Fraction(5), -mean)
            )  # fmt: skip
            if explored is policy:
                assert balance == other == variance
            else:
                depends += balance != other
    # Control: under another policy they differ.
    assert depends > scope.count / 2


@pytest.mark.claim("price-of-balance")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.catches(
    "forgets pairs of steps in second derivatives",
    "pdai/experiments/forgetting/minimisers.py",
    "np.add.at(pairs, (tree.entry[above], tree.entry[nodes]), below[nodes])",
    "np.add.at(pairs, (tree.entry[above], tree.entry[nodes]), 0 * below[nodes])",
)
def test_derivatives_are_those_by_differences(loss: LossName) -> None:
    rng = np.random.default_rng(0)
    for tied, target in (strings(1), blocks()):
        landscape = TiedLoss(tied, target, loss)
        at, step = rng.normal(size=tied.count), rng.normal(size=tied.count)
        ends = at + 1e-5 * step, at - 1e-5 * step
        rise = (landscape.value(ends[0]) - landscape.value(ends[1])) / 2e-5
        assert landscape.gradient(at) @ step == pytest.approx(rise, rel=1e-6)
        turn = (landscape.gradient(ends[0]) - landscape.gradient(ends[1])) / 2e-5
        assert landscape.hessian(at) @ step == pytest.approx(turn, abs=1e-6)
    # On a tree the reverse KL of trajectories is that of the terminal law.
    if loss == "on policy":
        tied, target = strings(1)
        landscape = TiedLoss(tied, target, loss)
        at = rng.normal(size=tied.count)
        law = landscape.law(at)
        expected = float(np.sum(law * np.log(law / np.array(target, float))))
        assert landscape.value(at) == pytest.approx(expected)


@pytest.mark.claim("price-of-balance")
def test_three_losses_have_three_minima_and_one_if_the_target_is_in_the_class() -> None:
    tied, target = strings(1)
    minima = [minimum(TiedLoss(tied, target, loss)) for loss in LOSSES]
    assert all(made.proved for made in minima)
    for made in minima:
        assert made.distance.upper - made.distance.lower < Fraction(1, 2**30)
    ordered = sorted(made.distance for made in minima)
    assert all(one.upper < other.lower for one, other in pairwise(ordered))
    own = list(marginal(tied.policy([Fraction(c % 3 + 1) for c in range(tied.count)])))
    for loss in LOSSES:
        made = minimum(TiedLoss(tied, own, loss))
        assert made.proved
        assert made.distance.upper < Fraction(1, 2**30)


@pytest.mark.claim("price-of-balance")
@pytest.mark.control("price-of-balance")
def test_the_reverse_kl_of_two_equal_bits_has_two_minima_and_a_saddle() -> None:
    problem = BitSequences(("00", "11"), exponent=8)
    tied = tied_policies(problem, lambda string: end_of_string(string, 0))
    landscape = TiedLoss(tied, target_of(problem, tied), "on policy")
    ones = [tied.classes[e] for e, (_, v) in enumerate(tied.dag.edges)
            if str(tied.dag.labels[v]).endswith("1")]  # fmt: skip
    with precision(128):
        sides = []
        for sign in (-1.0, 1.0):
            start = np.zeros(tied.count)
            start[ones] = sign
            end = landscape.search(start)
            assert proved_box(landscape, end) is not None
            # Control: off the minimum nothing is proved.
            off = end.copy()
            off[landscape.free] += 1e-6
            assert proved_box(landscape, off) is None
            sides.append(landscape.law(end))
        assert sides[0] != pytest.approx(sides[1], abs=0.1)
        # Control: by symmetry the gradient vanishes at equal logits, and it is a saddle.
        middle = np.zeros(tied.count)
        assert np.abs(landscape.gradient(middle)).max() < 1e-12
        assert proved_box(landscape, middle) is None


def rows_apart(p: ForwardPolicy[Fraction], q: ForwardPolicy[Fraction], visits: Any) -> Fraction:
    """The sum over states of visits times TV between the rows."""
    total = Fraction(0)
    for u, out in enumerate(p.dag.out_edges):
        if out:
            rows = ([r.values[e] for e in out] for r in (p, q))
            total += visits[u] * total_variation(*rows)
    return total


@pytest.mark.claim("price-of-optimisation")
def test_terminal_laws_are_no_further_apart_than_rows(scope: Scope) -> None:
    rng = random.Random(2)
    for dag in scope.over(all_small_dags(), "two random policies on each of {} small DAGs"):
        weights = [Fraction(rng.randint(1, 9)) for _ in dag.edges]
        best = ForwardPolicy.from_weights(dag, RATIONAL, weights)
        # The log ratios of a row differ by h = log 9 at most: tanh(h / 4) = 1/2.
        moved = [w * rng.choice((1, 2, 4, 9)) for w in weights]
        trained = ForwardPolicy.from_weights(dag, RATIONAL, moved)
        target = random_law(len(dag.terminals), rng)
        apart = total_variation(marginal(trained), marginal(best))
        rest = total_variation(marginal(trained), target) - total_variation(marginal(best), target)
        of_rows = rows_apart(trained, best, path_sums(best))
        assert abs(rest) <= apart <= of_rows <= max(dag.depths) * HALF


@pytest.mark.claim("price-of-optimisation")
@pytest.mark.control("price-of-optimisation")
def test_half_of_h_and_other_visits_do_not_do_and_the_rest_may_be_negative() -> None:
    dag = pointed_dag({"o": ["x", "y"], "x": [], "y": []})
    rows = [
        ForwardPolicy(dag, RATIONAL, [Fraction(n, 3) for n in pair]) for pair in ((1, 2), (2, 1))
    ]
    # Log ratios differ by h = log 4, and tanh(h / 4) = 1/3; tanh(h / 8) < 1/5.
    apart = total_variation(marginal(rows[0]), marginal(rows[1]))
    assert apart == Fraction(1, 3) > Fraction(1, 5) > np.tanh(np.log(4) / 8)
    values = [Fraction(n, 40) for n in (36, 4, 30, 10)], [Fraction(n, 40) for n in (36, 4, 10, 30)]
    p, q = (ForwardPolicy(FORK, RATIONAL, list(row)) for row in values)
    apart = total_variation(marginal(p), marginal(q))
    assert apart == rows_apart(p, q, path_sums(q)) == Fraction(9, 20)
    seldom = ForwardPolicy(FORK, RATIONAL, [Fraction(n, 40) for n in (4, 36, 10, 30)])
    assert rows_apart(p, q, path_sums(seldom)) < apart
    tied, target = strings(1)
    made = minimum(TiedLoss(tied, target, "on policy"))
    assert nearest(tied, target, 2).distance < made.distance.lower
