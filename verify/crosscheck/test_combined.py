"""Samplers combined into one, against the reference's residuals, on every base trajectory."""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.loss import RatioLoss
from fast.balance.losses import LogVariance, aggregated_ratio, streaming_ratio
from fast.balance.steps import Steps, evaluate
from fast.laws.walk import to_float64
from fast.policies.policy import Policy, Sampler
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.training.combined import FrozenSamplers, combined_loss, combined_ratio
from fast.training.compose import configure
from fast.training.networks import Networks
from fast.training.state import TrainState
from fast.training.step import AXIS, Batch, loss_and_gradient, on_devices
from pdai.distributed.certificates import oscillations, path_ratios
from reference import (
    LiftedSampler,
    aggregated_residuals,
    check_clients,
    enumerate_rewards,
    streaming_residuals,
)
from reference.bounds import residual_spread
from reference.problems import split
from verify.crosscheck import by_hand
from verify.crosscheck.compare import TOLERANCE, Compiled, tree_distance
from verify.crosscheck.instances import Instance, make_instance, random_policy
from verify.crosscheck.samplers import draw, make_exact

# Float64 logarithms of products of a few probabilities, against rationals.
CLOSE = 1e-11

# The combined sampler, and two clients: another dynamics each.
DYNAMICS = ("srwm", "gru", "markov")


class Case(NamedTuple):
    """Samplers on one instance, in `fast` and in the reference, along all base trajectories."""

    instance: Instance
    policies: list[Policy]
    exact: list[LiftedSampler[Fraction]]
    edges: list[tuple[int, ...]]
    ratios: list[Any]
    ends: Any


@functools.cache
def case(name: str) -> Case:
    instance = make_instance(name)
    made = [make_exact(name, seed, dynamics=dynamics) for seed, dynamics in enumerate(DYNAMICS)]
    policies, exact = [each.policy for each in made], [each.sampler for each in made]
    # A backward policy that reads the latent is asked at the ends as well.
    reads_latent = random_policy(instance.environment, 3, dynamics="gru", p_b="lifted")
    every = [path_ratios(policy, instance.enumeration) for policy in (*policies, reads_latent)]
    ends, ratios = every[0][0], [row for _, row in every[:-1]]
    assert all(np.array_equal(other, ends) for other, _ in every)
    # The trajectory of each row is the one whose ratios under all samplers are nearest to it.
    edges = list(instance.enumeration.dag.trajectories())
    logs = np.array([[_log_ratio(sampler, path) for sampler in exact] for path in edges])
    nearest = [int(np.abs(logs - row).sum(1).argmin()) for row in np.array(ratios).T]
    return Case(instance, policies, exact, [edges[i] for i in nearest], ratios, ends)


def _log_ratio(sampler: LiftedSampler[Fraction], edges: tuple[int, ...]) -> float:
    p_f, p_b = sampler.along(edges)
    return math.log(p_f / p_b)


NAMES = ["sets", "lines"]


@pytest.mark.crosscheck("pdai.distributed.certificates.path_ratios")
@pytest.mark.parametrize("name", NAMES)
def test_ratios_along_every_base_trajectory_are_those_of_each_samplers_own_lift(name: str) -> None:
    setting = case(name)
    dag = setting.instance.enumeration.dag
    assert sorted(setting.edges) == sorted(dag.trajectories())
    assert [dag.end(edges) for edges in setting.edges] == setting.ends.tolist()
    for ratios, exact in zip(setting.ratios, setting.exact, strict=True):
        for edges, ratio in zip(setting.edges, ratios, strict=True):
            assert ratio == pytest.approx(_log_ratio(exact, edges), abs=CLOSE)
    # Control: the samplers differ.
    assert np.abs(setting.ratios[0] - setting.ratios[1]).max() > 0.1


@pytest.mark.catches(
    "A step of a stream forgets the reward of its own chunk.",
    "fast/training/combined.py",
    "        return streaming_ratio(steps, previous)",
    "        return aggregated_ratio(steps, [previous])",
    only="sets",
)
@pytest.mark.crosscheck(
    "fast.training.combined.combined_ratio", "fast.balance.losses.aggregated_ratio"
)
@pytest.mark.parametrize("name", NAMES)
def test_combined_ratios_vanish_in_pairs_where_the_exact_residuals_do(name: str) -> None:
    setting = case(name)
    rewards = setting.instance.enumeration.rewards
    dag = setting.instance.enumeration.dag
    at_end = dict(zip(dag.terminals, rewards, strict=True))
    reward = {edges: at_end[dag.end(edges)] for edges in setting.edges}
    first, *others = setting.exact
    check_clients(others)
    terms = [_as_steps(ratios, [*reward.values()]) for ratios in setting.ratios]
    with jax.enable_x64(True):
        both = jax.jit(combined_ratio, static_argnames="rewarded")
        aggregated = np.asarray(both(terms[0], terms[1:], rewarded=False))
        streamed = np.asarray(both(terms[0], terms[1:2], rewarded=True))
    place = {edges: row for row, edges in enumerate(setting.edges)}
    along = {edges: [sampler.along(edges) for sampler in setting.exact] for edges in setting.edges}
    for tau, other, residual in aggregated_residuals(first, others):
        # The residual is left minus right side, and the contrast of ratios the log of their ratio.
        right = _side(along[other][:1], along[other][1:]) * _side(along[tau][1:], along[tau][:1])
        contrast = aggregated[place[tau]] - aggregated[place[other]]
        assert math.expm1(contrast) == pytest.approx(float(residual / right), rel=1e-9, abs=1e-9)
    for tau, other, residual in streaming_residuals(first, others[0], rewards):
        right = _side(along[other][:1], along[other][1:2]) * _side(along[tau][1:2], along[tau][:1])
        right *= reward[tau]
        contrast = streamed[place[tau]] - streamed[place[other]]
        assert math.expm1(contrast) == pytest.approx(float(residual / right), rel=1e-9, abs=1e-9)
    # Control: one is not the other.
    assert np.ptp(aggregated - streamed) > 0.1


def _as_steps(ratios: Any, rewards: list[Fraction]) -> Any:
    """Steps of one step each, in float64."""
    with jax.enable_x64(True):
        log_p, zero = jnp.asarray(ratios)[:, None], jnp.zeros((len(ratios), 1))
        log_reward = jnp.log(jnp.asarray([float(r) for r in rewards]))
        return Steps(log_p, zero, zero, zero == 0, log_reward)


def _side(above: list[Any], below: list[Any]) -> Fraction:
    """`prod p_F` of some samplers times `prod p_B` of others."""
    return math.prod((p_f for p_f, _ in above), start=Fraction(1)) * math.prod(
        (p_b for _, p_b in below), start=Fraction(1)
    )


@pytest.mark.catches(
    "The residual of an aggregate leaves out what its clients say.",
    "pdai/distributed/certificates.py",
    "residual = ratios[name] - sum(ratios[other] for other in frozen[name])",
    "residual = ratios[name]",
)
@pytest.mark.crosscheck("pdai.distributed.certificates.oscillations")
def test_oscillations_are_the_spreads_of_exact_residuals() -> None:
    setting = case("sets")
    problem, enumeration = setting.instance.problem, setting.instance.enumeration
    dag = enumeration.dag
    whole = configure("sets", items=5, size=3, utility_seed=1, parts=2)
    assert whole.problem() == problem
    runs = {
        "aggregate": whole,
        "client-0": whole.changed(factors=(0,)),
        "client-1": whole.changed(factors=(1,)),
        "chunk-1": whole,
    }
    given = {
        "aggregate": ("client-0", "client-1"),
        "client-0": (),
        "client-1": (),
        "chunk-1": ("client-0",),
    }
    ratios = dict(zip(runs, [*setting.ratios, setting.ratios[0]], strict=True))
    spread = oscillations(runs, given, ratios, enumeration, setting.ends)
    factors = [enumerate_rewards(part, dag) for part in split(problem, 2)]
    for client, exact, rewards in zip(
        ("client-0", "client-1"), setting.exact[1:], factors, strict=True
    ):
        bounds = residual_spread(exact.forward, exact.backward, rewards)
        assert spread[client] == pytest.approx(bounds.oscillation, abs=1e-9)
    second = dict(zip(dag.terminals, factors[1], strict=True))
    aggregated, streamed = [], []
    for edges in setting.edges:
        own, first, other = (p_f / p_b for p_f, p_b in (s.along(edges) for s in setting.exact))
        aggregated.append(own / first / other)
        streamed.append(own / first / second[dag.end(edges)])
    for name, residuals in (("aggregate", aggregated), ("chunk-1", streamed)):
        expected = math.log(max(residuals) / min(residuals))
        assert spread[name] == pytest.approx(expected, abs=1e-9)
    assert len({round(value, 3) for value in spread.values()}) == 4


@dataclass(frozen=True)
class Weighted(RatioLoss):
    """A loss of a user's own: squared deviations, each with a random weight."""

    def of_ratios(self, ratios: Any, key: Any) -> Any:
        """Their weighted mean."""
        weights = jax.random.uniform(key, ratios.shape)
        return jnp.mean(weights * (ratios - ratios.mean()) ** 2)


def loss_by_hand(loss: RatioLoss, ratios: Any, key: Any) -> float:
    """In NumPy."""
    if isinstance(loss, LogVariance):
        return by_hand.log_variance(ratios)
    weights = np.asarray(jax.random.uniform(key, (len(ratios),)))
    return float(np.mean(weights * (np.array(ratios) - np.mean(ratios)) ** 2))


@pytest.mark.catches(
    "The aggregate's loss counts a reward beside those that its clients stand for.",
    "fast/training/combined.py",
    "    return aggregated_ratio(steps, frozen)",
    "    return aggregated_ratio(steps, frozen) - steps.log_reward",
    only="aggregate",
)
@pytest.mark.catches(
    "Where samplers are combined, the mean ratio is reported as log Z instead of minus it.",
    "fast/training/combined.py",
    "return -jnp.mean(self._ratios(steps))",
    "return jnp.mean(self._ratios(steps))",
    only="stream",
)
@pytest.mark.long
@pytest.mark.crosscheck(
    "fast.training.combined.combined_loss", "fast.training.step.loss_and_gradient"
)
@pytest.mark.parametrize("rewarded", [False, True], ids=["aggregate", "stream"])
def test_the_losses_of_frozen_samplers_are_those_written_by_hand(rewarded: bool) -> None:
    setting = case("sets")
    environment = setting.instance.environment
    config = configure("sets", items=5, size=3, utility_seed=1, batch=12, epsilon=0.0)
    losses, key = (LogVariance(), Weighted()), jax.random.key(2)
    with jax.enable_x64(True):
        own, *others = map(to_float64, setting.policies[: 2 if rewarded else 3])
        frozen = FrozenSamplers(tuple(others), (environment,) * len(others), rewarded)
        draws = uniforms(jax.random.key(1), environment, 12)
        drawn, cached = eqx.filter_jit(sample_trajectories)(own, environment, draws)
        sampler = Sampler(own, jnp.zeros(()))

        @Compiled
        def everything(sampler: Sampler, batch: Batch, draws: Any) -> Any:
            drawn = batch.trajectories
            said = combined_loss(losses[0], frozen).context(environment, drawn)

            def direct(policy: Policy) -> Any:
                terms = evaluate(policy, environment, drawn)
                other_terms = [evaluate(other, environment, drawn) for other in others]
                ratios = (
                    streaming_ratio(terms, *other_terms)
                    if rewarded
                    else aggregated_ratio(terms, other_terms)
                )
                return [loss.of_ratios(ratios, key) for loss in losses], (terms, other_terms)

            slopes, (terms, other_terms) = jax.jacrev(direct, has_aux=True)(sampler.policy)
            alone, shared = [], []
            for loss in losses:
                batch_loss = combined_loss(loss, frozen)
                alone.append(loss_and_gradient(batch_loss, environment, sampler, batch, key))
                method = Networks(config.changed(loss=loss), frozen)
                of_draws = functools.partial(method.gradient_of_draws, key=key, axis=AXIS)
                state = TrainState(sampler, None, None, jnp.int32(0))
                shared.append(on_devices(of_draws, 1)(environment, state, draws)[0])
            return alone, shared, slopes, (terms, other_terms), said

        given = (sampler, Batch(drawn, cached), jnp.concatenate([draws[:1], draws]))
        alone, shared, slopes, (terms, other_terms), said = everything(*given)
        steps, *rest = (jax.tree.map(np.asarray, each) for each in (terms, *other_terms))
        ratios = (
            by_hand.streaming_ratio(steps, *rest)
            if rewarded
            else by_hand.aggregated_ratio(steps, rest)
        )
        expected = [loss_by_hand(loss, ratios, key) for loss in losses]
    for one, same, slope, value in zip(alone, shared, slopes, expected, strict=True):
        assert float(one.loss) == pytest.approx(value, rel=TOLERANCE["float64"])
        assert float(one.log_z) == pytest.approx(-np.mean(ratios), rel=TOLERANCE["float64"])
        assert tree_distance(one.by.policy, slope) <= TOLERANCE["float64"]
        assert tree_distance(same, one) <= TOLERANCE["float64"]
    for ours, theirs in zip(said, other_terms, strict=True):
        assert tree_distance(ours, theirs) <= TOLERANCE["float64"]


def test_an_aggregate_never_sees_a_reward_and_a_stream_does() -> None:
    setting = case("sets")
    environment = setting.instance.environment
    blind = eqx.tree_at(lambda e: e.log_weights, environment, jnp.full(5, jnp.nan))
    sampler = Sampler(setting.policies[0], jnp.zeros(()))
    compiled, key = eqx.filter_jit(loss_and_gradient), jax.random.key(2)

    def loss_in(environment: Any, rewarded: bool) -> Any:
        drawn, cached, _ = draw(sampler.policy, environment, 12)
        frozen = FrozenSamplers((setting.policies[1],), (environment,), rewarded)
        loss = combined_loss(LogVariance(), frozen)
        return compiled(loss, environment, sampler, Batch(drawn, cached), key)

    seen, unseen = loss_in(environment, False), loss_in(blind, False)
    assert np.isnan(draw(sampler.policy, blind, 12).trajectories.log_reward).all()
    assert all(map(np.array_equal, jax.tree.leaves(seen), jax.tree.leaves(unseen)))
    # Control: where a reward counts, the same environment ruins everything.
    assert not np.isfinite(loss_in(blind, True).loss)
