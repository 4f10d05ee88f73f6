"""Tables by state: the hash by hand, the table in every evaluation, and annealed rewards."""

import struct
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fast.balance.rows import evaluate_with_pullback
from fast.balance.steps import Evaluation, evaluate
from fast.dynamics.state_table import StateTable, is_table, row_of, with_table
from fast.laws.enumeration import enumerate_environment
from fast.training.compose import configure
from fast.training.method import annealed, inverse_temperature
from fast.training.options import SamplingOptions
from fast.training.tables import applied, by_row, on_rows, rows_of_batch, with_rows
from fast.training.trainer import make_trainer
from reference.contract.errors import InputError
from verify.crosscheck.compare import TOLERANCE, tree_distance
from verify.crosscheck.instances import make_instance, random_policy
from verify.crosscheck.samplers import draw

ROWS, MASK = 1 << 12, 0xFFFFFFFF


def by_hand(features: Any) -> int:
    """The row of a state, in Python's integers."""
    factors = np.random.default_rng(0).integers(2**32, size=len(features), dtype=np.uint32)
    total = 0
    for feature, factor in zip(features, factors.tolist(), strict=True):
        (bits,) = struct.unpack("<I", struct.pack("<f", abs(feature) if feature == 0 else feature))
        total += (bits ^ bits >> 23 ^ bits >> 11) * (factor | 1)
    mixed = total & MASK
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ mixed >> shift) * factor & MASK
    return (mixed ^ mixed >> 16) % ROWS


@pytest.mark.crosscheck("fast.dynamics.state_table.row_of")
@pytest.mark.catches(
    "Features whose mantissas are short all lead to a few rows.",
    "fast/dynamics/state_table.py",
    "bits ^ (bits >> 23) ^ (bits >> 11)",
    "bits ^ (bits >> 23)",
)
def test_rows_are_those_by_hand_in_either_precision() -> None:
    rng = np.random.default_rng(1)
    seen = rng.integers(-3, 9, (200, 7)) * rng.choice([0.25, 1.0, -0.0], (200, 7))
    expected = [by_hand(features) for features in seen.tolist()]
    assert np.asarray(row_of(jnp.asarray(seen, jnp.float32), ROWS)).tolist() == expected
    with jax.enable_x64(True):
        assert np.asarray(row_of(jnp.asarray(seen, jnp.float64), ROWS)).tolist() == expected


@pytest.mark.parametrize("name", ["grid", "synthetic, prepend-append", "structure", "variables"])
def test_states_of_a_problem_have_rows_as_if_drawn(name: str) -> None:
    seen = make_instance(name).enumeration.observations
    distinct = np.unique(seen, axis=0)
    rows = len(np.unique(row_of(jnp.asarray(distinct), ROWS)))
    expected = ROWS * (1 - (1 - 1 / ROWS) ** len(distinct))
    # Four deviations of the number of rows that are hit, at most the root of the collisions.
    assert abs(rows - expected) <= 4 * max(len(distinct) - expected, 1) ** 0.5 + 1


def tabled(name: str, dynamics: str, p_b: str = "uniform") -> tuple[Any, Any]:
    """An environment, and a policy with random tables."""
    environment = make_instance(name).environment
    policy = random_policy(environment, dynamics=dynamics, p_b=p_b, table_rows=64)
    rng = np.random.default_rng(2)

    def filled(leaf: Any) -> Any:
        if not is_table(leaf):
            return leaf
        return StateTable(jnp.asarray(rng.normal(size=leaf.rows.shape), jnp.float32))

    return environment, jax.tree.map(filled, policy, is_leaf=is_table)


@pytest.mark.crosscheck(
    "fast.dynamics.state_table.StateTable",
    "fast.dynamics.state_table.with_table",
    "fast.dynamics.state_table.is_table",
)
@pytest.mark.catches(
    "The rows of a batch that read the head alone leave out the table.",
    "fast/balance/rows.py",
    "full.network.after(read_outs, seen, cached)",
    "full.network.head.recall(read_outs, cached)",
    only="grid-gru-uniform",
)
@pytest.mark.parametrize(
    ("name", "dynamics", "p_b"),
    [
        ("grid", "markov", "learned"),
        ("grid", "gru", "uniform"),
        pytest.param("synthetic, prepend-append", "gru", "learned", marks=pytest.mark.long),
        pytest.param("synthetic, prepend-append", "srwm", "lifted", marks=pytest.mark.long),
    ],
)
def test_the_table_is_added_by_hand_in_every_evaluation(name: str, dynamics: str, p_b: str) -> None:
    environment, policy = tabled(name, dynamics, p_b)
    drawn, cached, defined = draw(policy, environment, 16)
    states = jax.tree.map(lambda leaf: leaf[:, :-1], drawn.states)
    weights = jax.random.normal(jax.random.key(1), (3, *defined.active.shape))

    @eqx.filter_jit
    def together(policy: Any, environment: Any, drawn: Any, cached: Any, weights: Any) -> Any:
        seen = jax.vmap(jax.vmap(environment.observe))(states)
        without = eqx.tree_at(lambda p: p.network.table, policy, None)
        outputs, alone = policy.network.unroll(seen), without.network.unroll(seen)
        steps, pullback = evaluate_with_pullback(Evaluation(policy, environment, drawn, cached))
        arrays, static = eqx.partition(policy, eqx.is_inexact_array)

        def weighted(arrays: Any) -> Any:
            terms = evaluate(eqx.combine(arrays, static), environment, drawn)[:3]
            return jnp.sum(jnp.stack(terms) * weights)

        pulled = pullback(weights), jax.grad(weighted)(arrays)
        return row_of(seen, 64), outputs, alone, steps[:3], pulled

    given = (policy, environment, drawn, cached, weights)
    numbers, outputs, alone, terms, (pulled, gradient) = together(*given)
    by_state = np.asarray(policy.network.table.rows)[np.asarray(numbers)]
    np.testing.assert_allclose(outputs, alone + by_state, atol=TOLERANCE["float32"])
    np.testing.assert_allclose(cached.log_p_f, defined.log_p_f, atol=TOLERANCE["float32"])
    for term, exact in zip(terms, defined[:3], strict=True):
        np.testing.assert_allclose(term, exact, atol=TOLERANCE["float32"])
    assert tree_distance(pulled, gradient) < 1e-4
    assert float(jnp.abs(gradient.network.table.rows).max()) > 0


@pytest.mark.crosscheck(
    "fast.training.tables.rows_of_batch",
    "fast.training.tables.with_rows",
    "fast.training.tables.by_row",
)
@pytest.mark.catches(
    "A row that several states of a batch share keeps the gradient at one of its places.",
    "fast/training/tables.py",
    "return StateTable(of_rows.rows[table.places[rows]])",
    "return of_rows",
)
def test_rows_of_a_batch_have_the_gradient_of_the_whole_table() -> None:
    environment, policy = tabled("grid", "markov", "learned")
    drawn = draw(policy, environment, 9).trajectories
    rows = rows_of_batch(policy, environment, drawn)
    assert rows is not None
    few, repeated = with_rows(policy, rows), len(rows) - len(set(np.asarray(rows).tolist()))
    assert repeated > 0

    def total(policy: Any) -> Any:
        steps = evaluate(policy, environment, drawn)
        return jnp.sum(steps.log_p_f) + jnp.sum(steps.log_p_b)

    gradient: Any = eqx.filter_jit(eqx.filter_grad(total))
    whole, of_rows = gradient(policy), by_row(gradient(few), few, rows)
    others = np.setdiff1d(np.arange(64), rows)
    for some, every in ((of_rows.network, whole.network), (of_rows.backward, whole.backward)):
        np.testing.assert_allclose(some.table.rows, every.table.rows[rows], atol=1e-6)
        assert not np.any(np.asarray(every.table.rows)[others])


@pytest.mark.crosscheck("fast.training.tables.on_rows", "fast.training.tables.applied")
def test_rows_move_as_by_the_optimiser_alone_and_others_stay() -> None:
    inner, rows = optax.adam(0.1), jnp.asarray([3, 1, 3])
    table, one = StateTable(jnp.arange(8.0).reshape(4, 2)), jnp.asarray([1.0, -2.0])
    gradient, others = StateTable(jnp.stack([one, 5 * one, one])), jnp.asarray([0, 2])
    optimiser = on_rows(inner)
    state = optimiser.init(table)
    for _ in range(2):
        updates, state = optimiser.update(gradient, state, rows=rows)
        table = applied(table, updates, rows)
    expected = jnp.asarray([[2.0, 3.0], [6.0, 7.0]])
    alone = inner.init(expected)
    for _ in range(2):
        change, alone = inner.update(jnp.stack([5 * one, one]), alone)
        expected = expected + change
    np.testing.assert_allclose(table.rows[jnp.asarray([1, 3])], expected, rtol=1e-6)
    assert table.rows[others].tolist() == [[0.0, 1.0], [4.0, 5.0]]


def test_no_table_adds_nothing() -> None:
    assert with_table(None, outputs := jnp.ones(3), jnp.zeros(2)) is outputs


def annealed_rewards(share: float, start: float, step: int) -> list[float]:
    environment, policy = tabled("grid", "markov")
    drawn = draw(policy, environment, 4).trajectories
    options = SamplingOptions(anneal=share, anneal_from=start)
    rewards = annealed(drawn, options, 100, jnp.int32(step)).log_reward / drawn.log_reward
    return [float(beta) for beta in rewards]


@pytest.mark.crosscheck("fast.training.method.annealed", "fast.training.method.inverse_temperature")
@pytest.mark.parametrize(
    ("share", "step", "beta"),
    [(0.5, 0, 0.01), (0.5, 25, 0.1), (0.5, 50, 1.0), (0.5, 99, 1.0), (1.0, 50, 0.1), (0.0, 0, 1.0)],
)
def test_beta_rises_in_equal_ratios_to_one(share: float, step: int, beta: float) -> None:
    assert annealed_rewards(share, 0.01, step) == pytest.approx([beta] * 4, rel=1e-5)
    options = SamplingOptions(anneal=share, anneal_from=0.01)
    assert inverse_temperature(options, 100, jnp.int32(step)) == pytest.approx(beta, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"anneal": 1.5}, "lie between 0 and 1"),
        ({"anneal_from": 0.0}, "lie in"),
        ({"anneal": 0.5, "loss": "fm", "dynamics": "markov"}, "annealed at the ends"),
        ({"anneal": 0.5, "dynamics": "gaussian"}, "annealed at the ends"),
        ({"table_rows": -1}, "lie from 0"),
        ({"table_rows": 9, "encoding": "fourier"}, "has no row of its own"),
        ({"table_learning_rate": 0.0}, "be positive"),
    ],
)
def test_options_that_break_a_rule_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        configure("grid", **options)


def test_only_the_rows_of_states_that_were_seen_are_trained() -> None:
    config = configure("lines", steps=3, batch=4, table_rows=4096, anneal=0.5)
    environment = config.make_environment()
    trainer = make_trainer(config, environment)
    state, _ = trainer.advance(trainer.init(), 3)
    trained = np.flatnonzero(np.abs(np.asarray(state.sampler.policy.network.table.rows)[0]).sum(1))
    seen = enumerate_environment(config.problem(), environment, 1_000).observations
    states = np.asarray(row_of(jnp.asarray(seen), 4096))
    assert len(trained) > 0
    assert set(trained) <= set(states)
