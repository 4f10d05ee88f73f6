"""Where forks share a row: the row at the minimum of each loss, in rationals."""

import random
from collections.abc import Sequence
from fractions import Fraction
from math import lcm, prod
from typing import NamedTuple

import numpy as np
import pytest

from pdai.experiments.forgetting.minimisers import LossName, TiedLoss, minimum
from reference.dag import pointed_dag
from reference.expressivity.aliasing import TiedPolicies
from reference.fields.field import RATIONAL
from reference.marginals import marginal
from reference.metrics import total_variation
from reference.policies import ForwardPolicy
from verify.lib.attainable import tied_by
from verify.lib.forks import HALF
from verify.lib.scopes import Scope
from verify.test_price_of_balance import steps_of


class Forks(NamedTuple):
    """States that share a row of two actions, each to its own terminal, and terminals beside them.

    Attributes:
        tied: the policies; actions of the root are free.
        shares: the target's share of the first action, by fork.
        masses: the target's mass of each fork, then of each other terminal.
    """

    tied: TiedPolicies
    shares: list[Fraction]
    masses: list[Fraction]

    @property
    def target(self) -> list[Fraction]:
        """The target, in the order of the terminals."""
        return self.law(self.masses, self.shares)

    def law(self, masses: Sequence[Fraction], shares: Sequence[Fraction]) -> list[Fraction]:
        """The law with masses of forks and terminals, and the share of each fork."""
        own = dict(zip((f"s{i}" for i in range(len(masses))), masses, strict=True))
        for i, share in enumerate(shares):
            mass = own.pop(f"s{i}")
            own |= {f"s{i}x": mass * share, f"s{i}y": mass * (1 - share)}
        return [own[str(self.tied.dag.labels[x])] for x in self.tied.dag.terminals]

    def policy(self, masses: Sequence[Fraction], share: Fraction) -> ForwardPolicy[Fraction]:
        """The policy of the class with these masses, and this share at every fork."""
        weights = [Fraction(0)] * self.tied.count
        for edge, (u, v) in enumerate(self.tied.dag.edges):
            name = str(self.tied.dag.labels[v])
            weight = share if name.endswith("x") else 1 - share
            if u == 0:
                weight = masses[int(name[1:])]
            weights[self.tied.classes[edge]] = weight
        return self.tied.policy(weights)


def forks(shares: Sequence[Fraction], masses: Sequence[Fraction]) -> Forks:
    """The instance with these shares and masses."""
    names = [f"s{i}" for i in range(len(masses))]
    children: dict[str, list[str]] = {"o": names}
    for i, name in enumerate(names):
        children[name] = [f"{name}x", f"{name}y"] if i < len(shares) else []
    children |= {leaf: [] for name in names for leaf in children[name]}
    dag = pointed_dag(children)
    keys = [v if u == 0 else str(dag.labels[v])[-1] for u, v in dag.edges]
    return Forks(tied_by(dag, keys), list(shares), list(masses))


def share_of(odds: Fraction) -> Fraction:
    return odds / (1 + odds)


def drawn(rng: random.Random) -> tuple[Forks, list[int]]:
    """A random instance, and the exponents of the odds of its forks, which are powers of four.

    Their mean is a whole number, so that the row at equal visits has rational odds.
    """
    count = rng.randint(2, 4)
    powers = [rng.randint(-3, 3) for _ in range(count - 1)]
    powers.append(rng.randint(-1, 1) * count - sum(powers))
    masses = [Fraction(rng.randint(1, 9)) for _ in range(count + rng.randint(0, 2))]
    shares = [share_of(Fraction(4) ** power) for power in powers]
    return forks(shares, [mass / sum(masses) for mass in masses]), powers


def at_equal_visits(made: Forks, powers: Sequence[int]) -> ForwardPolicy[Fraction]:
    """The policy at the minimum if forks are visited equally, by the formula of the note."""
    power = sum(powers) // len(powers)
    share = share_of(Fraction(4) ** power)
    # sqrt(x (1 - x)) is 2^p / (1 + 4^p) at odds of 4^p.
    spreads = [Fraction(2) ** p / (1 + Fraction(4) ** p) for p in (*powers, power)]
    *own, common = spreads
    masses = [m * s / common for m, s in zip(made.masses, own, strict=False)]
    masses += made.masses[len(powers) :]
    return made.policy([mass / sum(masses) for mass in masses], share)


def is_at_rest(
    made: Forks, policy: ForwardPolicy[Fraction], explored: ForwardPolicy[Fraction]
) -> bool:
    """True if the gradient of `Var log(p_F / q)` vanishes, decided in rationals.

    Each of its entries is a sum of rational multiples of logarithms of rationals.
    """
    tied, dag = made.tied, made.tied.dag
    target = dict(zip(dag.terminals, made.target, strict=True))
    paths = list(dag.trajectories(100))
    ratios = [policy.along(tau) / target[dag.end(tau)] for tau in paths]
    visits = [explored.along(tau) for tau in paths]
    slopes = [steps_of(tied, policy, tau) for tau in paths]
    for c in range(tied.count):
        mean = sum(w * s[c] for w, s in zip(visits, slopes, strict=True))
        powers = [w * (s[c] - mean) for w, s in zip(visits, slopes, strict=True)]
        scale = lcm(*(power.denominator for power in powers))
        if prod(r ** int(p * scale) for r, p in zip(ratios, powers, strict=True)) != 1:
            return False
    return True


@pytest.mark.claim("aliased-forks")
@pytest.mark.control("aliased-forks")
def test_likelihood_averages_shares_and_variance_averages_their_log_odds(scope: Scope) -> None:
    rng, apart = random.Random(0), 0
    for _ in scope.over(range(200), "{} random sets of two to four forks"):
        made, powers = drawn(rng)
        count = len(powers)
        uniform = ForwardPolicy.uniform(made.tied.dag, RATIONAL)
        balanced = at_equal_visits(made, powers)
        assert is_at_rest(made, balanced, uniform)
        whole = (m * x for m, x in zip(made.masses, made.shares, strict=False))
        average = sum(whole, Fraction(0))
        likeliest = made.policy(made.masses, average / sum(made.masses[:count]))
        weights = TiedLoss(made.tied, made.target, "likelihood").averages()
        assert made.tied.policy(weights).values == likeliest.values
        # Control: the policies differ, unless the forks are alike; then all are the target.
        if len(set(powers)) > 1:
            apart += not is_at_rest(made, likeliest, uniform)
        else:
            assert list(marginal(balanced)) == list(marginal(likeliest)) == made.target
    assert apart > 100


@pytest.mark.claim("aliased-forks")
@pytest.mark.catches(
    "explores each beginning as often as its parent",
    "pdai/experiments/forgetting/minimisers.py",
    "forward.append(forward[node] / len(out))",
    "forward.append(forward[node])",
)
def test_the_proved_minimum_is_that_of_the_formula() -> None:
    rng = random.Random(1)
    for _ in range(5):
        made, powers = drawn(rng)
        proved = minimum(TiedLoss(made.tied, made.target, "uniform"))
        exact = total_variation(made.target, marginal(at_equal_visits(made, powers)))
        assert proved.proved
        assert proved.distance.lower <= exact <= proved.distance.upper
        assert proved.distance.upper - proved.distance.lower < Fraction(1, 2**30)


@pytest.mark.claim("aliased-forks")
@pytest.mark.control("aliased-forks")
def test_exploration_alone_moves_the_row_over_all_between() -> None:
    # Odds of 4^12 and 1: a share e of the visits at the first gives 4^(12 e).
    made = forks([share_of(Fraction(4) ** 12), HALF], [Fraction(1, 3), Fraction(2, 3)])
    for twelfths in range(1, 12):
        first = Fraction(twelfths, 12)
        explored = made.policy([first, 1 - first], HALF)
        share = share_of(Fraction(4) ** twelfths)
        spreads = [Fraction(2) ** p / (1 + Fraction(4) ** p) for p in (12, 0)]
        masses = [m * s for m, s in zip(made.masses, spreads, strict=True)]
        end = made.policy([mass / sum(masses) for mass in masses], share)
        assert is_at_rest(made, end, explored)
        # Control: with other visits it is not at rest.
        assert not is_at_rest(made, end, made.policy([first / 2, 1 - first / 2], HALF))


@pytest.mark.claim("aliased-forks")
def test_on_policy_the_weights_are_the_own_visits() -> None:
    rng = random.Random(2)
    for _ in range(5):
        made, powers = drawn(rng)
        loss: LossName = "on policy"
        landscape = TiedLoss(made.tied, made.target, loss)
        end = minimum(landscape)
        assert end.proved
        p = made.tied.policy([Fraction(float(np.exp(x))) for x in end.logits])
        dag = made.tied.dag
        visits = {str(dag.labels[v]): p.values[e] for e, (_, v) in enumerate(dag.edges)}
        own = [visits[f"s{i}"] for i in range(len(powers))]
        mean = sum(w * k for w, k in zip(own, powers, strict=True)) / sum(own)
        odds = visits["s0x"] / visits["s0y"]
        assert np.log(float(odds)) == pytest.approx(float(mean) * np.log(4), abs=1e-8)


@pytest.mark.claim("aliased-forks")
@pytest.mark.control("aliased-forks")
def test_likelihood_is_as_near_as_one_likes_where_exploration_is_as_far() -> None:
    for k in range(1, 12):
        small = Fraction(1, 4**k)
        powers = [3 * k, -k]
        shares = [share_of(Fraction(4) ** power) for power in powers]
        made = forks(shares, [small, 1 - small])
        weights = TiedLoss(made.tied, made.target, "likelihood").averages()
        likeliest = total_variation(made.target, marginal(made.tied.policy(weights)))
        balanced = at_equal_visits(made, powers)
        assert is_at_rest(made, balanced, ForwardPolicy.uniform(made.tied.dag, RATIONAL))
        far = total_variation(made.target, marginal(balanced))
        assert likeliest < 2 * small
        assert far > 1 - 3 * small
        # Control: with one visit in four at the first fork the row is that of a coin.
        even = made.policy([Fraction(1, 4), Fraction(3, 4)], HALF)
        assert not is_at_rest(made, balanced, even)
