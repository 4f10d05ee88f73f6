"""prop:apx:dist, prop:apx:sm, assumption:targets: clients and streams on small lifts."""

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from reference.bounds import combined_tv_bound, tv_bound, tv_within
from reference.combination import (
    LiftedSampler,
    aggregated_residuals,
    check_clients,
    product_rewards,
    streaming_residuals,
)
from reference.contract.errors import InputError
from reference.dag import PointedDAG, Trajectory, pointed_dag
from reference.fields.field import RATIONAL
from reference.lifted import Forgetful, History, LiftedDAG, lift
from reference.marginals import marginal
from reference.metrics import normalize, total_variation
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.solve import forward_from_backward, forward_from_law
from verify.lib.laws import by_label
from verify.lib.named_dags import DIAMOND, FORK
from verify.lib.scopes import Draw, Scope
from verify.lib.small_scope import lifts, pointed_dags, pointed_dags_up_to

Rewards = tuple[Fraction, ...]
Ratios = Mapping[Trajectory, Fraction]


def some_rewards(dag: PointedDAG[Any], rng: random.Random) -> Rewards:
    return tuple(map(Fraction, rng.choices(range(1, 10), k=len(dag.terminals))))


def times(*factors: Rewards) -> Rewards:
    return product_rewards(RATIONAL, factors)


def some_backward(lifted: LiftedDAG[Any], rng: random.Random) -> BackwardKernel[Fraction]:
    """Positive; of the lift, or a base policy evaluated along trajectories."""
    dag = rng.choice([lifted.dag, lifted.base])
    policy = Draw(lifted, (), rng).backward(dag)
    return policy if dag is lifted.dag else policy.on(lifted)


def balanced(
    lifted: LiftedDAG[Any], rewards: Rewards, rng: random.Random
) -> LiftedSampler[Fraction]:
    backward = some_backward(lifted, rng)
    return LiftedSampler(lifted, forward_from_backward(backward, rewards)[0], backward)


def unbalanced(lifted: LiftedDAG[Any], rng: random.Random) -> LiftedSampler[Fraction]:
    forward = Draw(lifted, (), rng).forward(lifted.dag)
    return LiftedSampler(lifted, forward, some_backward(lifted, rng))


def of_ends(base: PointedDAG[Any], values: Rewards) -> Ratios:
    """For each trajectory the value of its end."""
    at = dict(zip(base.terminals, values, strict=True))
    return {tau: at[base.end(tau)] for tau in base.trajectories()}


def multiplied(factors: Iterable[Ratios]) -> Ratios:
    first, *rest = factors
    return {tau: math.prod((f[tau] for f in rest), start=value) for tau, value in first.items()}


def backward(sampler: LiftedSampler[Fraction]) -> Ratios:
    """`p_B(tau|x)` on the trajectories of the base."""
    return {tau: sampler.along(tau)[1] for tau in sampler.lifted.base.trajectories()}


def ratios(sampler: LiftedSampler[Fraction]) -> Ratios:
    """`p_F(tau) / p_B(tau|x)` on the trajectories of the base."""
    return {tau: sampler.along(tau)[0] / p_b for tau, p_b in backward(sampler).items()}


def distance(sampler: LiftedSampler[Fraction], rewards: Rewards) -> Fraction:
    """TV of `p_F` and `mu(tau) = R(x) p_B(tau|x) / sum of R` on the trajectories of the base."""
    pi, p_b = of_ends(sampler.lifted.base, normalize(rewards)), backward(sampler)
    return total_variation(
        [sampler.along(tau)[0] for tau in pi], list(multiplied((pi, p_b)).values())
    )


def check_identity(
    residuals: Iterable[tuple[Trajectory, Trajectory, Fraction]],
    combined: LiftedSampler[Fraction],
    wanted: Ratios,
    denominators: Ratios,
) -> None:
    """The identity of the notes, of which the propositions are the case of residual 0."""
    pairs = {tau: combined.along(tau) for tau in wanted}
    scale = sum(p_b * wanted[tau] for tau, (_, p_b) in pairs.items())
    total = dict.fromkeys(wanted, Fraction(0))
    for tau, other, residual in residuals:
        contrast = residual / (denominators[tau] * denominators[other])
        total[tau] += contrast
        total[other] -= contrast
    for tau, (p_f, p_b) in pairs.items():
        assert total[tau] == p_f * scale - p_b * wanted[tau]


def check_aggregation(
    lifted: Sequence[LiftedDAG[Any]], at: LiftedDAG[Any], rng: random.Random
) -> None:
    """Clients on the given lifts, combined on the lift `at`."""
    base = at.base
    rewards = [some_rewards(base, rng) for _ in lifted]
    clients = [balanced(u, r, rng) for u, r in zip(lifted, rewards, strict=True)]
    target = times(*rewards)
    combined = balanced(at, target, rng)
    assert all(r == 0 for *_, r in aggregated_residuals(combined, clients))
    assert marginal(combined.forward) == normalize(target)
    wrong = unbalanced(at, rng)
    clients[0] = unbalanced(lifted[0], rng)
    check_identity(
        aggregated_residuals(wrong, clients),
        wrong,
        multiplied(map(ratios, clients)),
        multiplied(map(backward, clients)),
    )


def check_stream(lifted: Sequence[LiftedDAG[Any]], rng: random.Random) -> None:
    """One step per lift."""
    base = lifted[0].base
    rewards = [some_rewards(base, rng) for _ in lifted]
    sampler, target = balanced(lifted[0], rewards[0], rng), rewards[0]
    for step, reward in zip(lifted[1:], rewards[1:], strict=True):
        target = times(target, reward)
        current = balanced(step, target, rng)
        assert all(r == 0 for *_, r in streaming_residuals(current, sampler, reward))
        assert marginal(current.forward) == normalize(times(marginal(sampler.forward), reward))
        wrong = unbalanced(step, rng)
        check_identity(
            streaming_residuals(wrong, sampler, reward),
            wrong,
            multiplied((of_ends(base, reward), ratios(sampler))),
            backward(sampler),
        )
        sampler = current
    assert marginal(sampler.forward) == normalize(times(*rewards))


def random_lifts(count: int, rng: random.Random) -> Iterator[list[LiftedDAG[Any]]]:
    """Lists of 3, 4 or 5 lifts of one DAG with 5 states, the first by the full history."""
    every = [list(lifts(dag)) for dag in pointed_dags(5)]
    for number in range(count):
        of_one = rng.choice(every)
        yield [of_one[-1], *rng.choices(of_one, k=2 + number % 3)]


def pairs_of_lifts() -> Iterator[tuple[LiftedDAG[Any], LiftedDAG[Any]]]:
    """Every pair of lifts of one DAG with up to 4 states."""
    for dag in pointed_dags_up_to(4):
        yield from product(list(lifts(dag)), repeat=2)


def on_fork(p_f: Rewards, p_b: Rewards = (Fraction(1), Fraction(1))) -> LiftedSampler[Fraction]:
    lifted = lift(FORK, Forgetful())
    return LiftedSampler(
        lifted,
        ForwardPolicy(lifted.dag, RATIONAL, normalize(p_f)),
        BackwardPolicy(lifted.dag, RATIONAL, p_b),
    )


def pair(first: int, second: int) -> Rewards:
    return Fraction(first), Fraction(second)


@pytest.mark.claim("prop:apx:dist", "assumption:targets")
def test_two_clients_on_a_fork_by_hand() -> None:
    clients = [on_fork(pair(1, 2)), on_fork(pair(3, 1))]
    # (1/3, 2/3) and (3/4, 1/4) multiply to (3/12, 2/12).
    assert [r for *_, r in aggregated_residuals(on_fork(pair(3, 2)), clients)] == [0]
    # (1/2)(2/3 * 1/4) - (1/2)(1/3 * 3/4)
    (left,) = (r for *_, r in aggregated_residuals(on_fork(pair(1, 1)), clients))
    assert left == Fraction(1, 12) - Fraction(1, 8)


@pytest.mark.catches(
    "p_F and p_B of the clients are exchanged in aggregating balance.",
    "reference/combination.py",
    "                p_f * _product(field, (b for _, b in parts)),\n"
    "                p_b * _product(field, (f for f, _ in parts)),\n",
    "                p_f * _product(field, (f for f, _ in parts)),\n"
    "                p_b * _product(field, (b for _, b in parts)),\n",
)
@pytest.mark.claim("prop:apx:dist")
def test_aggregating_balance_whatever_each_client_and_the_combiner_remember(scope: Scope) -> None:
    rng = random.Random(0)
    for chosen in scope.over(
        pairs_of_lifts(), "all {} pairs of lifts of one DAG up to 4 states, as two clients"
    ):
        check_aggregation(chosen, rng.choice(list(lifts(chosen[0].base))), rng)
    rng = random.Random(1)
    for at, *lifted in random_lifts(90, rng):
        check_aggregation(lifted, at, rng)
    scope("30 each of 2, 3 and 4 clients with lifts of their own, 5 states")


@pytest.mark.claim("prop:apx:sm")
def test_streaming_balance_by_hand_on_a_fork() -> None:
    stream = [pair(1, 2), pair(3, 1), pair(1, 5), pair(2, 3)]
    products = [pair(1, 2), pair(3, 2), pair(3, 10), pair(6, 30)]
    for last, now, reward in zip(products, products[1:], stream[1:], strict=False):
        residuals = streaming_residuals(on_fork(now), on_fork(last), reward)
        assert [r for *_, r in residuals] == [0]


@pytest.mark.catches(
    "Streaming balance leaves out p_F of the previous sampler, and so its law.",
    "reference/combination.py",
    "p_b * reward[base.end(tau)] * f))",
    "p_b * reward[base.end(tau)]))",
)
@pytest.mark.claim("prop:apx:sm")
def test_streaming_balance_carries_the_law_whatever_each_step_remembers(scope: Scope) -> None:
    rng = random.Random(2)
    for chosen in scope.over(
        pairs_of_lifts(), "all {} pairs of lifts of one DAG up to 4 states, as two steps"
    ):
        check_stream(chosen, rng)
    rng = random.Random(3)
    for _, *lifted in random_lifts(90, rng):
        check_stream(lifted, rng)
    scope("30 each of 2, 3 and 4 steps with lifts of their own, 5 states")


@pytest.mark.claim("assumption:targets", "prop:apx:dist")
def test_factors_may_vanish_if_their_product_does_not_everywhere() -> None:
    rng, lifted = random.Random(4), lift(DIAMOND, History())
    rewards = [pair(0, 2), pair(3, 5)]
    clients = [balanced(lifted, r, rng) for r in rewards]
    combined = balanced(lift(DIAMOND, Forgetful()), times(*rewards), rng)
    assert all(r == 0 for *_, r in aggregated_residuals(combined, clients))
    assert marginal(combined.forward) == pair(0, 1)


@pytest.mark.claim("assumption:targets")
def test_sub_posteriors_of_data_independent_given_x_multiply_to_the_posterior() -> None:
    # A coin with chance 1/4 or 3/4, prior (1/3, 2/3); heads, then tails, then heads.
    prior, chance = normalize(pair(1, 2)), (Fraction(1, 4), Fraction(3, 4))
    heads, tails = chance, (1 - chance[0], 1 - chance[1])
    stream = [times(prior, heads), tails, heads]
    joint = tuple(w * p * (1 - p) * p for w, p in zip(prior, chance, strict=True))
    assert normalize(times(*stream)) == normalize(joint) == (Fraction(1, 7), Fraction(6, 7))


@pytest.mark.control("assumption:targets")
def test_sub_posteriors_of_data_that_are_only_independent_of_each_other_do_not() -> None:
    # D1 and D2 are fair coins, independent; x is 1 iff they differ. Each alone says nothing of x.
    outcomes = list(product(range(2), repeat=2))

    def given(x: int) -> list[tuple[int, ...]]:
        return [data for data in outcomes if (data[0] != data[1]) == bool(x)]

    def likelihood(data: int, place: int, x: int) -> Fraction:
        return Fraction(sum(d[place] == data for d in given(x)), len(given(x)))

    prior = (Fraction(1, 2), Fraction(1, 2))
    stream = [tuple(likelihood(1, place, x) for x in range(2)) for place in range(2)]
    assert normalize(times(prior, *stream)) == (Fraction(1, 2), Fraction(1, 2))
    joint = tuple(prior[x] * Fraction(given(x).count((1, 1)), len(given(x))) for x in range(2))
    assert normalize(joint) == pair(1, 0)


@pytest.mark.control("assumption:targets")
def test_factors_whose_product_vanishes_leave_no_target_and_no_condition() -> None:
    clients = [on_fork(pair(1, 0)), on_fork(pair(0, 1))]
    for p_f in (pair(1, 1), pair(9, 1), pair(0, 1)):
        assert [r for *_, r in aggregated_residuals(on_fork(p_f), clients)] == [0]
    with pytest.raises(InputError, match="zero at each of the 2 terminals"):
        product_rewards(RATIONAL, [pair(1, 0), pair(0, 1)])


def printed_residuals(
    combined: LiftedSampler[Fraction], clients: Sequence[LiftedSampler[Fraction]]
) -> Iterator[tuple[bool, Fraction]]:
    """Eq:apx:dist as printed times its denominators, and whether both trajectories end in x."""
    base = combined.lifted.base
    for tau, other in product(list(base.trajectories()), repeat=2):
        same = base.end(tau) == base.end(other)
        (p_f, p_b), (q_f, q_b) = combined.along(tau), combined.along(other)
        left, right = p_f * (q_b if same else 0), q_f * p_b
        for client in clients:
            (f, b), (g, c) = client.along(tau), client.along(other)
            left, right = left * g * b, right * f * c
        yield same, left - right


@pytest.mark.control("prop:apx:dist")
def test_with_the_printed_denominator_the_true_combination_fails_at_every_pair_of_ends() -> None:
    rng = random.Random(5)
    for dag in (dag for dag in pointed_dags_up_to(4) if len(dag.terminals) > 1):
        lifted, rewards = lift(dag, History()), [some_rewards(dag, rng) for _ in range(2)]
        clients = [balanced(lifted, r, rng) for r in rewards]
        combined = balanced(lifted, times(*rewards), rng)
        assert all((r == 0) == same for same, r in printed_residuals(combined, clients))


@pytest.mark.control("prop:apx:dist")
def test_where_the_printed_denominator_is_defined_any_law_passes() -> None:
    clients = [on_fork(pair(1, 1)), on_fork(pair(1, 1))]
    wrong = on_fork(pair(9, 1))
    assert all(r == 0 for same, r in printed_residuals(wrong, clients) if same)
    assert marginal(wrong.forward) == (Fraction(9, 10), Fraction(1, 10))


@pytest.mark.control("prop:apx:dist", "prop:apx:sm")
def test_a_client_or_a_step_with_a_zero_of_p_b_lets_a_wrong_law_pass() -> None:
    dag = pointed_dag({"o": ["a", "b"], "a": ["c"], "b": ["c", "y"], "c": ["x"], "x": [], "y": []})
    lifted = lift(dag, Forgetful())
    b_to_c = dag.edges.index((dag.index["b"], dag.index["c"]))
    without = BackwardPolicy.from_weights(
        lifted.dag, RATIONAL, [int(e != b_to_c) for e in range(len(dag.edges))]
    )
    client = LiftedSampler(lifted, forward_from_backward(without, pair(1, 1))[0], without)
    # The trajectory through the excluded edge appears in no constraint (0 = 0): its law is free.
    uniform = BackwardPolicy.uniform(lifted.dag, RATIONAL)
    p_f = forward_from_law(
        ForwardPolicy.uniform(lifted.dag, RATIONAL),
        lambda tau: uniform.along(tau) * (7 if b_to_c in tau else 1) / 5,
    )
    assert by_label(p_f) == {"x": Fraction(4, 5), "y": Fraction(1, 5)}
    combined = LiftedSampler(lifted, p_f, uniform)
    assert all(r == 0 for *_, r in aggregated_residuals(combined, [client]))
    assert all(r == 0 for *_, r in streaming_residuals(combined, client, pair(1, 1)))
    assert marginal(client.forward) == (Fraction(1, 2), Fraction(1, 2))
    with pytest.raises(
        InputError, match=r"client number 1 has p_B\(tau\|x\) = 0 on .*'b', 'c', 'x'"
    ):
        check_clients([combined, client])
    check_clients([combined])


@pytest.mark.control("prop:apx:dist")
def test_a_combined_sampler_of_another_product_is_not_balanced() -> None:
    rng = random.Random(6)
    clients = [balanced(lift(DIAMOND, History()), pair(1, w), rng) for w in (2, 3)]
    wrong = balanced(lift(DIAMOND, History()), pair(1, 5), rng)
    assert any(residual != 0 for *_, residual in aggregated_residuals(wrong, clients))


@pytest.mark.control("prop:apx:sm")
def test_a_step_with_another_reward_is_not_balanced_and_spoils_all_later_ones() -> None:
    first, second = on_fork(pair(1, 1)), on_fork(pair(9, 1))
    assert [r for *_, r in streaming_residuals(second, first, pair(1, 1))] != [0]
    # Each later step is balanced with R = (1, 1), and none returns to the product (1, 1).
    for _ in range(3):
        third = on_fork(marginal(second.forward))
        assert [r for *_, r in streaming_residuals(third, second, pair(1, 1))] == [0]
        assert marginal(third.forward) == (Fraction(9, 10), Fraction(1, 10))
        second = third


def error(sampler: LiftedSampler[Fraction], expected: Ratios) -> Fraction:
    """`rho = exp(Delta)`: the oscillation of `p_F / p_B` relative to what it should be."""
    values = [r / expected[tau] for tau, r in ratios(sampler).items()]
    return max(values) / min(values)


@pytest.mark.claim("combined-tv-bound")
def test_errors_of_clients_and_of_the_combiner_at_most_add(scope: Any) -> None:
    rng = random.Random(7)
    for at, *lifted in random_lifts(150, rng):
        rewards = [some_rewards(at.base, rng) for _ in lifted]
        clients, combined = [unbalanced(u, rng) for u in lifted], unbalanced(at, rng)
        rho = [error(c, of_ends(at.base, r)) for c, r in zip(clients, rewards, strict=True)]
        rho.append(error(combined, multiplied(map(ratios, clients))))
        target = times(*rewards)
        tv = distance(combined, target)
        assert total_variation(marginal(combined.forward), normalize(target)) <= tv
        assert tv_within(tv, math.prod(rho, start=Fraction(1)))
        # The logarithms may be rounded down.
        assert tv <= Fraction(combined_tv_bound([math.log(r) + 1e-12 for r in rho]))
    scope("150 times 2, 3 or 4 unbalanced clients with lifts of their own")


@pytest.mark.claim("combined-tv-bound")
def test_errors_of_the_steps_of_a_stream_at_most_add(scope: Any) -> None:
    rng = random.Random(8)
    for lifted in random_lifts(60, rng):
        base = lifted[0].base
        target, before, rho = (Fraction(1),) * len(base.terminals), None, Fraction(1)
        for step in lifted:
            reward, sampler = some_rewards(base, rng), unbalanced(step, rng)
            expected = of_ends(base, reward)
            rho *= error(sampler, multiplied((expected, before)) if before else expected)
            target, before = times(target, reward), ratios(sampler)
            assert tv_within(distance(sampler, target), rho)
    scope("60 unbalanced streams of 3, 4 or 5 steps")


@pytest.mark.claim("combined-tv-bound")
def test_the_bound_on_added_errors_is_attained_by_clients_and_by_streams(scope: Any) -> None:
    # R_t = (1, 2), but each client has (2, 1), off by a ratio of 4: with T clients the exact
    # combination is (2^T, 1) where (1, 2^T) is wanted.
    for count in range(1, 8):
        clients = [on_fork(pair(2, 1))] * count
        combined, target = on_fork(pair(2**count, 1)), pair(1, 2**count)
        assert [r for *_, r in aggregated_residuals(combined, clients)] == [0]
        tv = distance(combined, target)
        assert tv == Fraction(2**count - 1, 2**count + 1)
        bound = combined_tv_bound([math.log(4)] * count)
        assert tv <= Fraction(bound)
        assert bound == pytest.approx(float(tv), abs=1e-13)
        # A stream: each step multiplies by (2, 1) instead of R_t = (1, 2), off by 4 again.
        before = on_fork(pair(2 ** (count - 1), 1))
        assert [r for *_, r in streaming_residuals(combined, before, pair(2, 1))] == [0]
    scope("attained by 1 to 7 clients or steps")


@pytest.mark.claim("combined-tv-bound")
def test_the_bound_is_attained_by_unequal_errors_whatever_each_client_remembers(scope: Any) -> None:
    # Client t, on its own lift, is balanced with (k_t, 1) where R_t = (1, k_t): off by k_t^2.
    rng, counts = random.Random(9), set()
    for at, *lifted in random_lifts(200, rng):
        if len(at.base.terminals) != 2:
            continue
        errors = [rng.randint(2, 5) for _ in lifted]
        clients = [balanced(u, pair(k, 1), rng) for u, k in zip(lifted, errors, strict=True)]
        combined = balanced(at, times(*(pair(k, 1) for k in errors)), rng)
        assert all(r == 0 for *_, r in aggregated_residuals(combined, clients))
        for client, k in zip(clients, errors, strict=True):
            assert error(client, of_ends(at.base, pair(1, k))) == k**2
        target = times(*(pair(1, k) for k in errors))
        tv = total_variation(marginal(combined.forward), normalize(target))
        whole = math.prod(errors)
        assert (1 + tv) ** 2 == whole**2 * (1 - tv) ** 2
        counts.add(len(lifted))
    assert counts == {2, 3, 4}
    scope("attained by 2 to 4 clients with lifts and errors of their own")


@pytest.mark.control("combined-tv-bound")
def test_the_largest_error_alone_is_no_bound() -> None:
    # Two clients off by 4: TV = 3/5, but tanh(log(4) / 4) = 1/3.
    tv = distance(on_fork(pair(4, 1)), pair(1, 4))
    assert tv == Fraction(3, 5)
    assert tv_bound(math.log(4)) == pytest.approx(1 / 3)
    assert not tv_within(tv, Fraction(4))
    assert tv_within(tv, Fraction(16))
