"""tail-chain: cutting tails and growing them by `p_F`, with Hastings' ratio, keeps the target."""

from fractions import Fraction
from itertools import islice
from typing import Any

import pytest

from reference import RATIONAL, BackwardKernel, BackwardPolicy, ForwardPolicy, InputError, normalize
from reference.tail_chain import tail_chain
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Draw, Scope, all_small_lifts

# The factors of the acceptance ratio.
FACTORS = ("rewards", "p_b", "p_f", "lengths")


def by_definition(
    forward: ForwardPolicy[Any], backward: BackwardKernel[Any], rewards: Any, left_out: str = ""
) -> list[list[Fraction]]:
    """The transition matrix, trajectory by trajectory, with a factor of the ratio left out."""
    dag = forward.dag
    every, ends = list(dag.trajectories()), list(dag.terminals)
    reward = dict(zip(ends, rewards, strict=True))

    def weight(tau: Any, t: int) -> Fraction:
        factors = {
            "rewards": reward[dag.end(tau)],
            "p_b": backward.along(tau[t:]),
            "p_f": 1 / forward.along(tau[t:]),
            "lengths": Fraction(1, len(tau)),
        }
        product = Fraction(1)
        for name, factor in factors.items():
            product *= 1 if name == left_out else factor
        return product

    rows = [[Fraction(0)] * len(ends) for _ in ends]
    for old in every:
        x = ends.index(dag.end(old))
        for t in range(len(old)):
            for new in every:
                if new[:t] == old[:t] and len(new) > t:
                    p = backward.along(old) / len(old) * forward.along(new[t:])
                    kept = min(Fraction(1), weight(new, t) / weight(old, t))
                    rows[x][ends.index(dag.end(new))] += p * kept
                    rows[x][x] += p * (1 - kept)
    return rows


def policies(draw: Draw) -> tuple[ForwardPolicy[Any], BackwardKernel[Any]]:
    """A random `p_F` on the lift, and a random `p_B` on its base."""
    lifted = draw.lifted
    return draw.forward(lifted.dag), draw.backward(lifted.base).on(lifted)


def moved(law: Any, rows: list[list[Fraction]]) -> list[Fraction]:
    return [sum(p * row[y] for p, row in zip(law, rows, strict=True)) for y in range(len(law))]


@pytest.mark.claim("tail-chain")
@pytest.mark.catches(
    "The chain divides by the length of one of the two trajectories alone.",
    "reference/tail_chain.py",
    "weight = rewards[x] * backward.along(tau[t:]) / len(tau)",
    "weight = rewards[x] * backward.along(tau[t:])",
)
def test_the_target_is_invariant_on_all_small_lifts(scope: Scope) -> None:
    for draw in scope.lifts():
        forward, backward = policies(draw)
        rows, target = tail_chain(forward, backward, draw.rewards), normalize(draw.rewards)
        assert all(sum(row) == 1 for row in rows)
        assert moved(target, rows) == list(target)
        # Some tail leads anywhere: the chain forgets where it began.
        assert all(p > 0 for row in rows for p in row)


@pytest.mark.claim("tail-chain")
@pytest.mark.control("tail-chain")
def test_the_matrix_is_that_of_the_definition_of_which_each_factor_counts() -> None:
    lost = set()
    for draw in islice(all_small_lifts(), 0, None, 20):
        given, target = (*policies(draw), draw.rewards), normalize(draw.rewards)
        assert tail_chain(*given) == by_definition(*given)
        # Control: without a factor of the ratio another law is kept.
        for factor in FACTORS:
            if moved(target, by_definition(*given, factor)) != list(target):
                lost.add(factor)
    assert lost == {*FACTORS}


def test_policies_that_do_not_belong_together_are_refused() -> None:
    forward = ForwardPolicy.uniform(DIAMOND, RATIONAL)
    ones = BackwardKernel(DIAMOND, RATIONAL, [RATIONAL.one] * len(DIAMOND.edges))
    uniform = BackwardPolicy.uniform(DIAMOND, RATIONAL)
    rewards = [Fraction(1)] * len(DIAMOND.terminals)
    for backward, given, why in (
        (ones, rewards, "p_B have mass 1 at every"),
        (uniform, [*rewards[1:], Fraction(0)], "rewards must be positive"),
        (uniform, rewards[1:], "1 rewards for 2 terminal states"),
    ):
        with pytest.raises(InputError, match=why):
            tail_chain(forward, backward, given)
