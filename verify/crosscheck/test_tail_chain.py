"""The chain that corrects a sampler: frequencies of a step beside rows of its exact matrix."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.laws.enumeration import decode_all
from fast.laws.exact_policy import exact_policy
from fast.laws.paths import corrected_terminals
from fast.laws.walk import base_log_p_b
from fast.sampling.forward import sample_trajectories
from fast.sampling.tail_chain import regrow, step_chains
from fast.sampling.trajectories import uniforms
from pdai.adapters.blackjax import kernel_of
from reference import RATIONAL, BackwardPolicy, marginal
from reference.tail_chain import tail_chain
from verify.crosscheck.instances import make_instance, random_policy

# Trajectories of many lengths, and of one; with and without memory; p_B fixed and learned.
CASES = (("grid", "markov", "learned"), ("synthetic, prepend-append", "gru", "uniform"))
DRAWS = 4_096
sample = eqx.filter_jit(sample_trajectories)


@pytest.mark.crosscheck(
    "fast.sampling.tail_chain.step_chains", "fast.laws.paths.corrected_terminals"
)
@pytest.mark.catches(
    "The chain forgets that trajectories have different lengths.",
    "fast/sampling/tail_chain.py",
    "ratios.sum(1) - jnp.log(steps.active.sum(1))",
    "ratios.sum(1)",
    only="grid-markov-learned",
)
@pytest.mark.catches(
    "The chain forgets that a latent arrives in the states of the part that is kept.",
    "fast/sampling/tail_chain.py",
    "jnp.where(t > 0, a, b)",
    "jnp.where(t >= kept.max(), a, b)",
    only="synthetic, prepend-append-gru-uniform",
)
@pytest.mark.parametrize(("name", "dynamics", "p_b"), CASES)
def test_frequencies_of_a_step_are_those_of_the_exact_matrix(
    name: str, dynamics: str, p_b: str
) -> None:
    instance = make_instance(name)
    _, environment, enumeration = instance
    policy = random_policy(environment, dynamics=dynamics, p_b=p_b)
    lifted, forward = exact_policy(policy, enumeration, 10_000)
    weights = np.exp(base_log_p_b(policy, enumeration, float64=True))
    backward = BackwardPolicy.from_weights(enumeration.dag, RATIONAL, weights.tolist())
    labels = [lifted.base.labels[lifted.projection[x]] for x in lifted.dag.terminals]
    assert labels == instance.ends
    rows = tail_chain(forward, backward.on(lifted), enumeration.rewards)
    key = jax.random.key(3)
    drawn, _ = sample(policy, environment, uniforms(key, environment, 1))
    (start,) = decode_all(environment, drawn.final)
    many = jax.tree.map(lambda leaf: jnp.repeat(leaf, DRAWS, 0), drawn.final)
    ends = jax.jit(step_chains)(policy, environment, many, key).trajectories.final
    counts = instance.counts(decode_all(environment, ends))
    exact = np.array(rows[labels.index(start)], float)
    deviation = np.sqrt(exact * (1 - exact) / DRAWS)
    # Five deviations of each state: a false alarm in 10^5 runs or so, and the seed is fixed.
    assert (np.abs(counts / DRAWS - exact) <= 5 * deviation + 1e-9).all()
    # The same step in the shape of blackjax, with a key for each chain.
    chain = kernel_of(policy, environment)
    first_state = chain.init(chain.position(start))
    keys = jax.random.split(key, DRAWS)
    states, info = jax.jit(jax.vmap(chain.step, (0, None)))(keys, first_state)
    alone = instance.counts(chain.labels(states.position))
    assert (np.abs(alone / DRAWS - exact) <= 5 * deviation + 1e-9).all()
    assert 0 < info.is_accepted.mean() < 1
    # Eight steps from the sampler's own law, whose chains are independent.
    matrix, first = np.array(rows, float), np.array(marginal(forward), float)
    law = first @ np.linalg.matrix_power(matrix, 8)
    corrected, accepted, moved = corrected_terminals(policy, environment, DRAWS, 0, 8)
    of_eight = instance.counts(corrected.states) / DRAWS
    limit = 5 * np.sqrt(law * (1 - law) / DRAWS) + 1e-9
    assert (np.abs(of_eight - law) <= limit).all()
    assert (np.abs(of_eight - first) > limit).any()
    assert 0 < accepted.mean() < 1
    # A proposal of the state itself is accepted, and moves nothing.
    leaves = [first @ np.linalg.matrix_power(matrix, t) @ (1 - matrix.diagonal()) for t in range(8)]
    margin = 5 * moved.std() / DRAWS**0.5
    assert abs(moved.mean() - np.mean(leaves)) <= margin < accepted.mean() - np.mean(leaves)
    assert (np.abs(counts / DRAWS - first) > 5 * deviation).any()


@pytest.mark.crosscheck("fast.sampling.tail_chain.regrow")
def test_the_part_that_is_kept_is_kept_and_the_rest_is_drawn() -> None:
    environment = make_instance("grid").environment
    policy = random_policy(environment, dynamics="gru")
    old, _ = sample(policy, environment, uniforms(jax.random.key(0), environment, 64))
    lengths = np.asarray(old.active.sum(1))
    kept = np.arange(64) % lengths
    other = uniforms(jax.random.key(1), environment, 64)
    grow = eqx.filter_jit(regrow)
    new = grow(policy, environment, old, jnp.asarray(kept), other)
    before = np.arange(environment.horizon) < kept[:, None]
    assert (np.asarray(new.actions == old.actions) | ~before).all()
    again = uniforms(jax.random.key(0), environment, 64)
    same = grow(policy, environment, old, jnp.zeros(64, int), again)
    assert (np.asarray(same.actions == old.actions) | ~np.asarray(old.active)).all()
    assert not (np.asarray(new.actions == old.actions) | ~np.asarray(old.active)).all()
