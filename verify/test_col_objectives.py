"""col:objectives, exploratory-policy: losses and gradients against sums by hand."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from reference.balance import log_tb_residuals, tb_residuals
from reference.bounds import tv_bound_from_loss
from reference.contract.errors import InputError
from reference.dag import PointedDAG
from reference.fields.field import FLOAT64, RATIONAL
from reference.lifted import History, lift
from reference.marginals import marginal
from reference.metrics import normalize, total_variation
from reference.objectives import Objective, cb_objective, optimal_log_z, tb_objective
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.solve import forward_from_backward
from verify.lib.named_dags import DIAMOND, FORK
from verify.lib.scopes import Scope, all_small_dags
from verify.lib.small_scope import lifts, pointed_dags, pointed_dags_up_to

LOG_Z = 0.7


class Instance(NamedTuple):
    """Random policies and rewards on a lift, in float64."""

    forward: ForwardPolicy[float]
    backward: BackwardPolicy[float]
    rewards: list[float]
    exploratory: ForwardPolicy[float]

    @property
    def dag(self) -> PointedDAG[Any]:
        """That of the policies."""
        return self.forward.dag

    def law(self) -> Iterator[tuple[float, float]]:
        """`p_E(tau)` and `delta(tau)` of each trajectory."""
        for tau, delta in log_tb_residuals(self.forward, self.backward, self.rewards, LOG_Z):
            yield self.exploratory.along(tau), delta


def make_instance(dag: PointedDAG[Any], seed: int, field: Any = FLOAT64) -> Instance:
    rng = random.Random(seed)

    def policy(kind: Any) -> Any:
        return kind.from_weights(dag, field, rng.choices(range(1, 10), k=len(dag.edges)))

    return Instance(
        policy(ForwardPolicy),
        policy(BackwardPolicy),
        [field.convert(rng.randint(1, 9)) for _ in dag.terminals],
        policy(ForwardPolicy),
    )


def instances() -> Iterator[Instance]:
    for seed, dag in enumerate(pointed_dags(5)):
        yield make_instance(random.Random(seed).choice(list(lifts(dag))).dag, seed)


def mixed(
    p_f: ForwardPolicy[Fraction], epsilon: Fraction, other: ForwardPolicy[Fraction]
) -> ForwardPolicy[Fraction]:
    """`(1 - epsilon) p_F + epsilon other`, row by row: epsilon-greedy if `other` is uniform."""
    values = [
        (1 - epsilon) * a + epsilon * b for a, b in zip(p_f.values, other.values, strict=True)
    ]
    return ForwardPolicy(p_f.dag, RATIONAL, values)


def point_mass(dag: PointedDAG[Any], choices: dict[int, int]) -> ForwardPolicy[Fraction]:
    """The policy that takes one edge of each row."""
    return ForwardPolicy(
        dag, RATIONAL, [Fraction(e in choices.values()) for e in range(len(dag.edges))]
    )


@pytest.mark.claim("exploratory-policy")
def test_a_policy_explores_every_trajectory_iff_it_explores_every_edge(scope: Scope) -> None:
    rng = random.Random(0)
    for dag in scope.over(all_small_dags()):
        weights = rng.choices(range(3), k=len(dag.edges))
        for _, row in ForwardPolicy.rows(dag):
            weights[rng.choice(row)] = 1
        p_e = ForwardPolicy.from_weights(dag, RATIONAL, weights)
        every_edge = all(value > 0 for value in p_e.values)
        assert all(p_e.along(tau) > 0 for tau in dag.trajectories()) == every_edge
        uniform = ForwardPolicy.uniform(dag, RATIONAL)
        greedy = mixed(p_e, Fraction(1, 10), uniform)
        assert all(greedy.along(tau) > 0 for tau in dag.trajectories())
    scope(f"{scope.count:,} DAGs up to {len(dag.labels)} states")


@pytest.mark.claim("col:objectives")
def test_all_log_ratios_that_exploration_meets_vanish_iff_the_policy_is_balanced(
    scope: Scope,
) -> None:
    # In rationals: a logarithm is 0 exactly at 1, so a loss is 0 iff each ratio met is 1.
    # Lifts add nothing to DAGs here: the statement does not look below.
    rng = random.Random(0)

    def weights(dag: PointedDAG[Any]) -> list[int]:
        return rng.choices(range(1, 10), k=len(dag.edges))

    for dag in scope.over(all_small_dags()):
        rewards = tuple(Fraction(rng.randint(1, 9)) for _ in dag.terminals)
        p_b = BackwardPolicy.from_weights(dag, RATIONAL, weights(dag))
        optimum, z = forward_from_backward(p_b, rewards)
        other = ForwardPolicy.from_weights(dag, RATIONAL, weights(dag))
        for p_f in (optimum, other):
            greedy = mixed(p_f, Fraction(1, 10), ForwardPolicy.uniform(dag, RATIONAL))
            met = [r for tau, r in tb_residuals(p_f, p_b, rewards, z) if greedy.along(tau) > 0]
            assert len(met) == dag.trajectory_count
            assert any(met) != (p_f.values == optimum.values)
            assert any(met) or marginal(p_f) == normalize(rewards)
    scope(f"zero loss iff balance on {scope.count:,} DAGs up to {len(dag.labels)} states")


@pytest.mark.claim("col:objectives")
def test_a_balanced_policy_has_no_loss_and_no_gradient_and_another_has() -> None:
    dag = lift(DIAMOND, History()).dag
    rewards = [1.0, 2.0]
    backward = BackwardPolicy.from_weights(dag, FLOAT64, [1, 2, 3, 4, 5, 6, 7, 8][: len(dag.edges)])
    forward, _ = forward_from_backward(backward, rewards)
    uniform = ForwardPolicy.uniform(dag, FLOAT64)
    optimum = tb_objective(forward, backward, rewards, math.log(3), uniform)
    assert optimum.loss < 1e-30
    assert max(map(abs, optimum.logits_gradient)) < 1e-14
    other = tb_objective(uniform, backward, rewards, math.log(3), uniform)
    assert other.loss > 0.01
    assert max(map(abs, other.logits_gradient)) > 0.01


@pytest.mark.catches(
    "The CB loss is the variance of the log ratio instead of twice it.",
    "reference/objectives.py",
    "return Objective(two * half.loss,",
    "return Objective(half.loss,",
)
@pytest.mark.catches(
    "The best log Z is the mean of f instead of minus it.",
    "reference/objectives.py",
    "self.best_log_z = field.zero - following[0]",
    "self.best_log_z = following[0]",
)
@pytest.mark.claim("col:objectives", "cb-tb-loss-identity")
def test_the_losses_are_their_sums_over_trajectories_and_cb_is_twice_tb_at_the_best_log_z(
    scope: Scope,
) -> None:
    for instance in scope.over(instances(), "the losses in float64 on {} random lifts"):
        pairs = list(instance.law())
        mean = sum(p * d for p, d in pairs)
        variance = sum(p * (d - mean) ** 2 for p, d in pairs)

        def tb(log_z: float, instance: Instance = instance) -> Objective[float]:
            return tb_objective(*instance[:3], log_z, instance.exploratory)

        assert tb(LOG_Z).loss == pytest.approx(
            sum(p * d * d for p, d in pairs), rel=1e-12, abs=1e-25
        )
        best = optimal_log_z(*instance)
        assert best == pytest.approx(LOG_Z - mean, rel=1e-12, abs=1e-12)
        least = tb(best)
        assert least.log_z_gradient == 0.0
        cb = sum(p * q * (d - e) ** 2 for p, d in pairs for q, e in pairs)
        for twice in (cb_objective(*instance).loss, 2 * variance, 2 * least.loss):
            assert twice == pytest.approx(cb, rel=1e-11, abs=1e-25)
        for log_z in (best - 0.1, best + 0.1):
            assert tb(log_z).loss == pytest.approx(least.loss + 0.01, rel=1e-9)


def losses(instance: Any, log_z: float = LOG_Z, edge: int = 0, step: float = 0.0) -> Any:
    """TB and CB, with one logit moved."""
    forward, backward, rewards, explore = instance
    weights = list(forward.values)
    weights[edge] *= math.exp(step)
    moved: Any = ForwardPolicy.from_weights(forward.dag, FLOAT64, weights)
    tb = tb_objective(moved, backward, rewards, log_z, explore)
    both = tb, cb_objective(moved, backward, rewards, explore)
    return np.array([objective.loss for objective in both])


@pytest.mark.catches(
    "The gradient of a soft-max reaches the logit of the action taken and no other.",
    "reference/objectives.py",
    "two * (delta[edge] - self.forward.values[edge] * through)",
    "two * (delta[edge] - self.forward.values[edge] * delta[edge])",
)
@pytest.mark.catches(
    "The gradient of the CB loss is that of half of it.",
    "reference/objectives.py",
    "[two * g for g in half.logits_gradient]",
    "[g for g in half.logits_gradient]",
)
@pytest.mark.claim("col:objectives")
def test_the_gradients_equal_central_differences() -> None:
    # The error of a central difference is step^2 times a third derivative of order 10.
    step = 1e-5
    for instance in list(instances())[::20]:
        tb = tb_objective(*instance[:3], LOG_Z, instance.exploratory)
        cb = cb_objective(*instance)
        slope, _ = (losses(instance, LOG_Z + step) - losses(instance, LOG_Z - step)) / (2 * step)
        assert tb.log_z_gradient == pytest.approx(slope, rel=1e-6, abs=1e-8)
        for edge, gradients in enumerate(zip(tb.logits_gradient, cb.logits_gradient, strict=True)):
            up, down = (losses(instance, LOG_Z, edge, h) for h in (step, -step))
            assert gradients == pytest.approx((up - down) / (2 * step), abs=1e-6)


@pytest.mark.control("cb-tb-loss-identity")
def test_at_another_log_z_the_losses_differ_and_so_do_their_gradients() -> None:
    instance = next(i for i in instances() if len(i.rewards) > 1)
    tb = tb_objective(*instance[:3], optimal_log_z(*instance) + 1, instance.exploratory)
    cb = cb_objective(*instance)
    assert cb.loss == pytest.approx(2 * tb.loss - 2)
    assert cb.logits_gradient != pytest.approx([2 * g for g in tb.logits_gradient])


@pytest.mark.control("col:objectives", "exploratory-policy")
def test_exploration_of_one_trajectory_gives_no_loss_to_the_wrong_law() -> None:
    # p_E goes to x alone, as any policy it is absolutely continuous; Z = p_B R / p_F = 10/9.
    p_e, p_b = point_mass(FORK, {0: 0}), BackwardPolicy.uniform(FORK, RATIONAL)
    rewards, p_f = (Fraction(1), Fraction(1)), ForwardPolicy.from_weights(FORK, RATIONAL, [9, 1])
    residuals = dict(tb_residuals(p_f, p_b, rewards, Fraction(10, 9)))
    assert [p_e.along(tau) for tau in residuals] == [1, 0]
    assert list(residuals.values()) == [0, Fraction(-8, 9)]
    assert marginal(p_f) == (Fraction(9, 10), Fraction(1, 10)) != normalize(rewards)


@pytest.mark.control("col:objectives")
def test_the_least_dag_on_which_an_on_policy_loss_of_zero_is_wrong_has_two_edges() -> None:
    # Deterministic p_F with p_E = p_F meets one trajectory, which some Z balances, always.
    failures: dict[int, int] = {}
    for dag in pointed_dags_up_to(3):
        rewards = (Fraction(1),) * len(dag.terminals)
        inner = {u: row for u, row in enumerate(dag.out_edges) if row}
        for edges in product(*inner.values()):
            p_f = point_mass(dag, dict(zip(inner, edges, strict=True)))
            wrong = marginal(p_f) != normalize(rewards)
            failures[len(dag.edges)] = failures.get(len(dag.edges), 0) + wrong
    # One terminal is always met; the fork is wrong for both of its deterministic policies.
    assert failures == {1: 0, 2: 2, 3: 0}


@pytest.mark.control("col:objectives", "loss-tv-bound")
def test_on_policy_losses_can_vanish_while_the_law_is_wrong() -> None:
    backward = BackwardPolicy.uniform(FORK, FLOAT64)
    for eta in (1e-2, 1e-4, 1e-8, 1e-12):
        forward = ForwardPolicy.from_weights(FORK, FLOAT64, [1 - eta, eta])
        on_policy = cb_objective(forward, backward, [1.0, 1.0], forward).loss
        expected = 2 * eta * (1 - eta) * math.log((1 - eta) / eta) ** 2
        assert on_policy == pytest.approx(expected, rel=1e-7)
    assert total_variation(marginal(forward), [0.5, 0.5]) > 0.49
    # As if p_E = p_F covered everything evenly.
    assert tv_bound_from_loss(on_policy, 1.0) < 1e-4
    uniform = ForwardPolicy.uniform(FORK, FLOAT64)
    assert cb_objective(forward, backward, [1.0, 1.0], uniform).loss > 100


@pytest.mark.control("col:objectives")
def test_a_pair_that_is_one_draw_twice_has_no_contrastive_loss() -> None:
    instance = next(i for i in instances() if i.dag.trajectory_count > 1)
    assert sum(p * (d - d) ** 2 for p, d in instance.law()) == 0.0 < cb_objective(*instance).loss


@pytest.mark.control("col:objectives")
def test_where_a_reward_or_a_backward_probability_is_zero_there_is_no_loss() -> None:
    uniform = ForwardPolicy.uniform(DIAMOND, FLOAT64)
    p_b = BackwardPolicy.uniform(DIAMOND, FLOAT64)
    with pytest.raises(InputError, match="logarithm"):
        tb_objective(uniform, p_b, [0.0, 1.0], 0.0, uniform)
    without_b = BackwardPolicy.from_weights(DIAMOND, FLOAT64, [1, 1, 1, 0, 1, 1])
    with pytest.raises(InputError, match="logarithm"):
        tb_objective(uniform, without_b, [1.0, 1.0], 0.0, uniform)
