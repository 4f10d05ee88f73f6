"""Measurements of experiments while training, against the same by hand."""

import math
from collections import defaultdict
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.environments import make_environment
from fast.laws.exact_policy import exact_policy
from fast.laws.paths import forward_paths
from fast.laws.terminal_law import exact_law
from fast.policies.policy import uniform_policy
from fast.runs.setup import Setup, set_up
from fast.training.compose import configure
from pdai.experiments import probes
from pdai.experiments.probes import aliasing, best, edges, likelihood, memory, met, projection
from reference.expressivity.memory import aliasing_kl
from reference.problems import enumerate_dag, enumerate_rewards
from verify.crosscheck.instances import random_policy

LENGTH = 4


def lines(seed: int, **options: Any) -> Setup:
    """A run on Lines whose policy is random, far from uniform."""
    options = {"dynamics": "gru", **options}
    config = configure("lines", length=LENGTH, step=2, parameters=4_000, **options)
    return with_policy(set_up(config), seed)


def with_policy(setup: Setup, seed: int) -> Setup:
    policy = random_policy(setup.environment, seed, dynamics=setup.config.name_of("dynamics"))
    one = jax.tree.map(lambda leaf: leaf[None], policy)
    initial = eqx.tree_at(lambda state: state.sampler.policy, setup.initial, one)
    return setup._replace(initial=initial)


@pytest.mark.crosscheck("pdai.experiments.probes.aliasing")
@pytest.mark.parametrize("dynamics", ["markov", "gru"])
def test_aliasing_is_that_of_the_reference_on_all_histories(dynamics: str) -> None:
    # At p_3 of N = 4 there is no step of two: of N = 5 there is.
    size: dict[str, Any] = {"latent_size": 8} if dynamics == "gru" else {}
    config = configure("lines", length=5, step=2, dynamics=dynamics, parameters=4_000, **size)
    setup = with_policy(set_up(config), seed=3)
    assert setup.enumeration is not None
    lifted, forward = exact_policy(setup.policies(setup.initial)[0], setup.enumeration, 1_000)
    actions: dict[Any, Any] = {
        (f"p{i}", child): name
        for i in (2, 3)
        for child, name in ((f"q{i}", "stop"), (f"p{i + 1}", "one"), (f"p{i + 2}", "two"))
    }
    divergence = aliasing(setup, setup.initial)["kl"]
    # The reference has the network in float64, the probe in float32.
    assert divergence == pytest.approx(aliasing_kl(lifted, forward, "p2", "p3", actions), rel=1e-4)
    assert divergence > 1e-3
    # Control: between the places the other way round it is another number.
    backwards = aliasing_kl(lifted, forward, "p3", "p2", actions)
    assert divergence != pytest.approx(backwards, rel=1e-3)


@pytest.mark.crosscheck("pdai.experiments.probes.memory")
def test_memory_is_the_mean_divergence_between_histories() -> None:
    setup = lines(1, dynamics="gru", latent_size=8)
    policy, environment = setup.policies(setup.initial)[0], setup.environment
    # `p_F` after every walk `p_0, ..., p_i`, by actions, evaluated one walk at a time.
    walks: list[tuple[int, ...]] = [(0,)]
    after, unroll = defaultdict[int, list[Any]](list), eqx.filter_jit(policy.network.unroll)
    for walk in walks:
        walks += [(*walk, i) for i in range(walk[-1] + 1, min(walk[-1] + 2, LENGTH) + 1)]
        states = [environment.encode(f"p{i}") for i in walk]
        outputs = unroll(jnp.stack([environment.observe(s) for s in states]))
        mask = environment.mask(states[-1])
        log_p = np.asarray(policy.log_p_f(outputs[-1], mask), np.float64)[np.asarray(mask)]
        after[walk[-1]].append(np.exp(log_p))
    largest = [
        max(float(p @ np.log(p / q)) for p in after[i] for q in after[i])
        for i in range(1, LENGTH + 1)
    ]
    divergence = memory(setup, setup.initial)["kl"]
    assert divergence == pytest.approx(np.mean(largest), rel=1e-4)
    assert divergence > 1e-3


@pytest.mark.crosscheck("pdai.experiments.probes.memory")
@pytest.mark.parametrize(
    "options", [{"dynamics": "markov"}, {"dynamics": "gru", "latent_size": 8, "reset": True}]
)
def test_control_a_policy_without_memory_has_no_divergence(options: Any) -> None:
    setup = set_up(configure("lines", length=LENGTH, parameters=4_000, **options))
    assert memory(setup, setup.initial)["kl"] == 0


@pytest.mark.crosscheck("pdai.experiments.probes.best")
def test_the_best_states_are_those_of_highest_reward_among_enough_samples() -> None:
    config = configure(
        "syn", length=3, letters=4, dynamics="markov", parameters=4_000, batch=512, steps=4
    )
    setup = set_up(config)
    states = best(setup, setup.initial)
    problem = config.problem()
    assert setup.enumeration is not None
    dag = setup.enumeration.dag
    rewards = dict(
        zip((dag.labels[x] for x in dag.terminals), enumerate_rewards(problem, dag), strict=True)
    )
    for reached in (states["learned"], states["uniform"]):
        assert len({label for label, _ in reached}) == 20
        for label, log_reward in reached:
            assert log_reward == pytest.approx(math.log(rewards[label]), abs=1e-5)
    # 512 samples of 64 states miss none but with probability 64 (63/64)^512 = 0.02.
    top = sorted(rewards, key=lambda label: -rewards[label])[:20]
    assert {label for label, _ in states["uniform"]} == set(top)
    assert make_environment(problem).horizon == 3


@pytest.mark.catches(
    "a string that is met twice counts twice",
    "pdai/experiments/probes.py",
    "mass.ravel()[np.unique(places)]",
    "mass.ravel()[places]",
)
@pytest.mark.crosscheck("pdai.experiments.probes.met")
@pytest.mark.parametrize("form", ["sum", "product"])
def test_the_mass_that_is_met_is_of_the_best_strings_of_the_reference(form: str) -> None:
    config = configure(
        "syn", length=4, dynamics="markov", parameters=4_000, batch=256, steps=8, evaluations=2,
        form=form,
    )  # fmt: skip
    setup = set_up(config)
    record = met(setup, setup.initial._replace(step=jnp.array([5])))
    dag = enumerate_dag(config.problem())
    labels = (dag.labels[x] for x in dag.terminals)
    rewards = dict(zip(labels, enumerate_rewards(config.problem(), dag), strict=True))
    # 1 % of 1,296 strings, rounded up.
    top = sorted(rewards, key=lambda label: -rewards[label])[:13]
    whole = sum(rewards[label] for label in top)
    policy = setup.policies(setup.initial)[0]
    for name, sampler in (("learned", policy), ("uniform", uniform_policy(policy))):
        ends = forward_paths(sampler, setup.environment, 1_024, 5).ends
        rows = [jax.tree.map(lambda leaf, i=i: leaf[i], ends) for i in range(1_024)]
        drawn = set(map(setup.environment.decode, rows))
        assert record[name] == pytest.approx(
            float(sum(rewards[label] for label in drawn & {*top}) / whole), abs=1e-12
        )
        assert 0.1 < record[name] < 1
    missed = [(1 - rewards[label] / sum(rewards.values())) ** 1_024 for label in top]
    exact = sum(rewards[label] * (1 - q) for label, q in zip(top, missed, strict=True)) / whole
    assert record["exact"] == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.long
@pytest.mark.crosscheck("pdai.experiments.probes.projection", "pdai.experiments.probes.likelihood")
def test_the_projection_stands_in_the_place_of_the_policy_at_the_last_step() -> None:
    setup = lines(3, dynamics="gru", steps=300, learning_rate=1e-2)
    assert projection(setup, setup.initial._replace(step=jnp.array([299]))) == {}
    measured = projection(setup, setup.initial._replace(step=jnp.array([300])))["instead"]
    assert measured["tv_kind"] == "float64"
    learned = measured["learned"]
    assert setup.enumeration is not None
    rewards = np.array([float(reward) for reward in setup.enumeration.rewards])
    off = []
    for of in (setup, lines(8, dynamics="gru")):
        p_t = exact_law(of.policies(of.initial)[0], setup.enumeration, float64=True).probabilities
        off.append(float(np.abs(p_t - rewards / rewards.sum()).sum() / 2))
    # The fitted network has the law of the policy, so it is as far from the target.
    assert learned["tv"]["mean"] == pytest.approx(off[0], abs=0.03)
    # Control: another policy is elsewhere.
    assert abs(learned["tv"]["mean"] - off[1]) > 0.03
    # Fitted to the target it is there, and not before the last step.
    assert likelihood(setup, setup.initial._replace(step=jnp.array([299]))) == {}
    exact = likelihood(setup, setup.initial._replace(step=jnp.array([300])))["instead"]
    assert exact["learned"]["tv"]["mean"] < 0.03 < off[0]


@pytest.mark.long
@pytest.mark.crosscheck("pdai.experiments.probes.edges", "pdai.experiments.probes.distance")
@pytest.mark.crosscheck("pdai.experiments.probes.marginals_of")
@pytest.mark.crosscheck("pdai.experiments.probes.spread_of_draws")
def test_the_error_of_edge_marginals_is_that_of_the_exact_law() -> None:
    config = configure("structure", nodes=3, rows=20, parameters=4_000, steps=300)
    setup = with_policy(set_up(config), 2)
    assert setup.enumeration is not None
    dag = setup.enumeration.dag
    parents = np.array([dag.labels[x].parents for x in dag.terminals])[:, None]
    graphs, rewards = parents >> np.arange(3)[:, None] & 1, enumerate_rewards(config.problem(), dag)
    exact = np.tensordot([float(r / sum(rewards)) for r in rewards], graphs, 1)
    assert probes.marginals_of(config.problem()) == pytest.approx(exact)
    policy = setup.policies(setup.initial)[0]
    errors = edges(setup, setup.initial._replace(step=jnp.array([300])))
    for name, sampler in (("learned", policy), ("uniform", uniform_policy(policy))):
        p_t = exact_law(sampler, setup.enumeration, float64=True).probabilities
        law = np.tensordot(p_t, graphs, 1)
        # The diagonal, which is no edge, is zero in both.
        off = np.abs(law - exact).sum() / 6
        assert probes.distance(law, exact) == pytest.approx(off)
        # Of 16,384 draws the share of an edge has a standard error of 0.004 at most.
        assert errors[name] == pytest.approx(off, abs=0.005)
    # Control: the two are further apart than that.
    assert abs(errors["learned"] - errors["uniform"]) > 0.01
    shares = np.random.default_rng(0).binomial(probes.DRAWS, exact, (2_000, 3, 3)) / probes.DRAWS
    of_draws = np.abs(shares - exact).sum((1, 2)).mean() / 6
    assert errors["exact"] == probes.spread_of_draws(exact) == pytest.approx(of_draws, rel=0.05)
