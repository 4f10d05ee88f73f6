"""Gradients of sampled losses against the gradients of the exact expected losses."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.flow_matching import fm_residuals
from fast.balance.loss import TrajectoryLoss, log_ratio
from fast.balance.recurrent_groups import GROUP, in_passes, recurrent_groups
from fast.balance.rows import SMALLEST, evaluate_with_pullback, markovian_rows, read_out_rows
from fast.balance.steps import Evaluation, cached_terms, evaluate
from fast.dynamics.perceptron import Perceptron, known_product
from fast.environments import AbstractEnvironment, make_environment
from fast.laws.paths import as_batch
from fast.laws.walk import to_float64
from fast.parts import LOSSES
from fast.policies.policy import Policy, Sampler
from fast.sampling.actions import Exploration
from fast.sampling.forward import sample_trajectories
from fast.sampling.replay import add, choose, empty_buffer
from fast.sampling.trajectories import uniforms
from fast.schedule import COMPACT, ONE_PASS, SIDE_BY_SIDE
from fast.training.compose import configure
from fast.training.networks import Networks
from fast.training.state import TrainState
from fast.training.step import AXIS, Batch, loss_and_gradient, on_devices
from reference import FLOAT64, BackwardPolicy, ForwardPolicy, cb_objective, tb_objective
from reference.problems import Lines, Problem, Sets
from verify.crosscheck import by_hand
from verify.crosscheck.compare import TOLERANCE, Compiled, distance, tree_distance
from verify.crosscheck.instances import PROBLEMS, make_instance, random_policy
from verify.crosscheck.samplers import Exact, draw, make_exact
from verify.crosscheck.test_losses import by_definition

LOG_Z, EPSILON, BATCH, BATCHES = 0.3, 0.4, 8, 400
# Of losses that draw random numbers: none of ours does.
KEY = jax.random.key(7)


def exact_gradient(exact: Exact, loss: str) -> Policy:
    """The gradient of the expected loss by the parameters, from the reference's by the logits."""
    (_, environment, enumeration), policy, sampler, _ = exact
    dag, base = sampler.lifted.dag, enumeration.dag
    p, degree = list(map(float, sampler.forward.values)), [len(row) for row in dag.children]
    by_degree = [EPSILON / degree[u] for u, _ in dag.edges]
    mixed = [(1 - EPSILON) * x + share for x, share in zip(p, by_degree, strict=True)]
    forward, exploring = (ForwardPolicy.from_weights(dag, FLOAT64, row) for row in (p, mixed))
    backward = BackwardPolicy.uniform(base, FLOAT64).on(sampler.lifted)
    rewards = [float(reward) for reward in enumeration.rewards]
    objective = (
        tb_objective(forward, backward, rewards, LOG_Z, exploring)
        if loss == "tb"
        else cb_objective(forward, backward, rewards, exploring)
    )
    # By the logits of a state it sums to zero, so that it is that by its log probabilities as well:
    # each is met along some trajectory, and counts there once.
    taus, seen = list(base.trajectories()), set()
    weights = np.zeros((len(taus), environment.horizon), np.float32)
    for row, tau in enumerate(taus):
        for time, edge in enumerate(sampler.lifted.above(tau)):
            weights[row, time] = 0 if edge in seen else objective.logits_gradient[edge]
            seen.add(edge)
    assert len(seen) == len(dag.edges)
    known = as_batch(environment, [base.states(tau) for tau in taus])

    def total(policy: Policy) -> Any:
        return jnp.sum(weights * evaluate(policy, environment, known).log_p_f)

    gradient: Policy = eqx.filter_jit(eqx.filter_grad(total))(policy)
    return gradient


def flat(tree: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(tree)])


@pytest.mark.long
@pytest.mark.parametrize("dynamics", ["markov", "srwm"])
def test_gradients_of_sampled_losses_are_unbiased(dynamics: str) -> None:
    exact, losses = make_exact("lines", seed=1, dynamics=dynamics), ("tb", "log_variance")
    environment, policy = exact.instance.environment, exact.policy
    sampler = Sampler(policy, jnp.float32(LOG_Z))

    def gradients(key: Any) -> Any:
        draws = uniforms(key, environment, BATCH)
        drawn = sample_trajectories(policy, environment, draws, Exploration(EPSILON), cache=True)
        return [
            loss_and_gradient(LOSSES[loss](), environment, sampler, Batch(*drawn), key).by.policy
            for loss in losses
        ]

    keys = jax.random.split(jax.random.key(5), BATCHES)
    both = jax.jit(lambda keys: jax.lax.map(gradients, keys))(keys)
    for loss, sampled in zip(losses, both, strict=True):
        expected = flat(exact_gradient(exact, loss))
        # Projections on fixed directions, so that each has a standard error of its own.
        directions = np.random.default_rng(1).normal(size=(6, expected.size))
        directions[0] = expected
        rows = [np.asarray(leaf).reshape(BATCHES, -1) for leaf in jax.tree.leaves(sampled)]
        projected = np.concatenate(rows, axis=1).astype(np.float64) @ directions.T
        error = projected.std(0, ddof=1) / np.sqrt(BATCHES)
        # Six normal scores exceed 5 with probability below 4e-6.
        assert np.abs((projected.mean(0) - directions @ expected) / error).max() < 5
        # Along the exact gradient the error is small enough that a factor of 7/8, the bias of the
        # other variance at this batch size, would be seen.
        if loss == "log_variance":
            assert np.abs(projected.mean(0) * 7 / 8 - directions @ expected)[0] > 2 * error[0]


@pytest.mark.crosscheck(
    "fast.dynamics.perceptron.known_product",
    "fast.dynamics.perceptron.Perceptron.record",
    "fast.dynamics.perceptron.Perceptron.recall",
)
def test_a_known_product_has_the_value_given_and_the_derivatives_of_the_product() -> None:
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        x, weight, by = (jnp.asarray(rng.normal(size=s)) for s in ((2, 3, 4), (4, 5), (2, 3, 5)))
        plain, pull = jax.vjp(lambda x, weight: x @ weight, x, weight)
        # A wrong one, to see that it is not computed.
        value, pull_known = jax.vjp(lambda *both: known_product(*both, plain + 1), x, weight)
        assert (value == plain + 1).all()
        assert tree_distance(pull_known(by), pull(by)) <= TOLERANCE["float64"]
        head = Perceptron([4, 3, 3, 5], key=jax.random.key(0))
        outputs, activations = Perceptron.record(head, x)
        assert [each.shape for each in activations] == [(2, 3, 3), (2, 3, 3), (2, 3, 5)]
        assert (outputs == head(x)).all()
        recalled = eqx.filter_vjp(lambda head: Perceptron.recall(head, x, activations), head)
        again = eqx.filter_vjp(lambda head: head(x), head)
        assert (recalled[0] == outputs).all()
        assert tree_distance(recalled[1](by), again[1](by)) <= TOLERANCE["float64"]


@pytest.mark.catches(
    "a head that is asked to have no biases learns some",
    "fast/dynamics/perceptron.py",
    "for _, m in pairs] if biases else []",
    "for _, m in pairs]",
)
def test_without_biases_a_network_of_an_integer_is_linear_in_it() -> None:
    config = configure("lines", dynamics="markov", encoding="natural", biases=False)
    environment = make_environment(Lines.sparse(20), "natural")
    network = config.dynamics.build(environment, 3, 8, key=jax.random.key(0))
    shapes = [leaf.shape for leaf in jax.tree.leaves(network)]
    assert shapes == [(1, 8), (8, 8), (8, 8), (8, 3)]
    first, eighth = (network.unroll(jnp.full((1, 1), i, jnp.float32)) for i in (1, 8))
    assert (eighth == 8 * first).all()


class Case(NamedTuple):
    """A policy of these options on a problem, so many trajectories, and ways to evaluate them."""

    problem: Problem[Any]
    options: dict[str, Any]
    batch: int = 3 * GROUP // 2
    ways: tuple[Any, ...] = ()
    uses_activations: bool = True


GRID, SETS, ONE_STEP = PROBLEMS["grid"], PROBLEMS["sets"], Sets.random(4, 1, seed=1)
MARKOV, GRU = {"dynamics": "markov"}, {"dynamics": "gru"}
FLOW = {"loss": "subtb", "p_b": "learned"}
ROWS, GROUPS = markovian_rows, recurrent_groups
CASES = {
    # More blocks than one, and a last one that is not full, yet holds more than the last steps, at
    # which no action is left but one. Where all rows are there, it begins before the others end.
    "markov, every step there": Case(SETS, MARKOV | {"hidden_layers": 2}, 514, (ROWS,)),
    "markov, trajectories end": Case(GRID, MARKOV, 150, (ROWS,), False),
    "markov, trajectories end, a flow": Case(GRID, MARKOV | FLOW, 150, (ROWS,), False),
    "markov, one block": Case(SETS, MARKOV | FLOW, ways=(ROWS, GROUPS)),
    "gru": Case(SETS, GRU, ways=(read_out_rows, GROUPS)),
    "gru, trajectories end": Case(GRID, GRU | {"skip": True}, ways=(read_out_rows, GROUPS)),
    "gru, a flow": Case(GRID, GRU | FLOW, ways=(read_out_rows, GROUPS)),
    "gru, lifted p_B": Case(GRID, GRU | FLOW | {"p_b": "lifted"}, 48, (GROUPS,), False),
    "srwm, a flow": Case(GRID, {"dynamics": "srwm", "loss": "subtb"}),
    "no head": Case(PROBLEMS["lines"], {"dynamics": "linear"}, uses_activations=False),
    "a reset latent": Case(SETS, GRU | {"reset": True}),
    "markov, one step": Case(ONE_STEP, MARKOV, uses_activations=False),
    "gru, one step": Case(ONE_STEP, GRU, uses_activations=False),
}


def in_small_passes(given: Evaluation) -> Any:
    """In passes of two trajectories, as a batch has that is too large for one."""
    with patch("fast.balance.recurrent_groups.PASS", 2 * given.trajectories.active.shape[1]):
        return in_passes(given)


def check_blocks(environment: AbstractEnvironment, active: Any) -> None:
    """True if the blocks of rows are more than one, and of the sizes that matter."""
    later = np.asarray(active)[:, 1:]
    size = -(-later.size // 3) if environment.is_graded else later.size // 8
    assert SMALLEST < size < later.sum()
    assert later.sum() % size > (0 if environment.is_graded else later[:, -1].sum())


@pytest.mark.catches(
    "Where p_B is known without a network, it counts the parents of the state before.",
    "fast/balance/steps.py",
    "jax.vmap(environment.parent_mask)(rows_of(trajectories).after)",
    "jax.vmap(environment.parent_mask)(rows_of(trajectories).before)",
    only="markov, trajectories end",
)
@pytest.mark.catches(
    "The last block of rows, which is not full, is left out of the gradient.",
    "fast/balance/rows.py",
    "lambda carry: carry[0] < self.present, backward,",
    "lambda carry: carry[0] + self.size <= self.present, backward,",
    only="markov, trajectories end",
)
@pytest.mark.catches(
    "The first step, one row for all trajectories, counts for one of them.",
    "fast/balance/rows.py",
    "return jnp.sum(first(arrays) * weights[..., 0])",
    "return jnp.sum((first(arrays) * weights[..., 0])[:, :1])",
    only="markov, trajectories end",
)
@pytest.mark.catches(
    "The rows that the last block shares with the one before it are counted twice.",
    "fast/balance/rows.py",
    "due = (start <= numbers) & (numbers < self.present)",
    "due = numbers < self.present",
    only="markov, every step there",
)
@pytest.mark.catches(
    "The gradient at a step takes the activations that were cached one step earlier.",
    "fast/balance/rows.py",
    "tuple(each.reshape(whole, *each.shape[2:]) for each in",
    "tuple(jnp.roll(each, 1, 0).reshape(whole, *each.shape[2:]) for each in",
    only="markov, every step there",
)
@pytest.mark.catches(
    "Derivatives stop at a product that is known.",
    "fast/dynamics/perceptron.py",
    "return by_product @ weight.T, by_weight,",
    "return 0 * by_product @ weight.T, by_weight,",
    only="gru",
)
@pytest.mark.catches(
    "A group of trajectories is cut where its shortest ends.",
    "fast/balance/recurrent_groups.py",
    "pick(lengths, start, 0).max()",
    "pick(lengths, start, 0).min()",
    only="gru, trajectories end",
)
@pytest.mark.catches(
    "Derivatives stop at the read-outs that sampling has cached.",
    "fast/balance/rows.py",
    "jnp.swapaxes(passed, 0, 1)",
    "0 * jnp.swapaxes(passed, 0, 1)",
    only="gru",
)
@pytest.mark.catches(
    "Where trajectories end one by one, derivatives by read-outs go to rows in another order.",
    "fast/balance/rows.py",
    "total.at[self.order[numbers]].add(x)",
    "total.at[numbers].add(x)",
    only="gru, trajectories end",
)
@pytest.mark.long
@pytest.mark.crosscheck(
    "fast.balance.rows",
    "fast.balance.recurrent_groups.recurrent_groups",
    "fast.balance.recurrent_groups.in_passes",
    "fast.balance.steps.cached_terms",
    "fast.laws.walk.to_float64",
)
@pytest.mark.parametrize("name", CASES)
def test_all_evaluations_are_the_specification_and_its_pullback(name: str) -> None:
    problem, options, batch, ways, uses_activations = CASES[name]
    environment = make_environment(problem)
    policy = random_policy(environment, seed=1 if "loss" in options else 2, **options)

    @Compiled
    def compare(policy: Policy, draws: Any, weights: Any, scale: Any) -> Any:
        drawn, cached = sample_trajectories(
            policy, environment, draws, Exploration(0.2), cache=True
        )
        arrays, static = eqx.partition(policy, eqx.is_inexact_array)

        def terms(arrays: Policy) -> Any:
            return jnp.stack(evaluate(eqx.combine(arrays, static), environment, drawn)[:3])

        changed = cached._replace(activations=tuple(scale * each for each in cached.activations))
        given: list[Any] = [(evaluate_with_pullback, changed, COMPACT)]
        given += [(way, cached._replace(activations=()), SIDE_BY_SIDE) for way in ways]
        given += [(way, None, COMPACT) for way in ways]
        given += [(evaluate_with_pullback, changed, ONE_PASS)]
        in_groups = [way for way in ways if way is recurrent_groups]
        given += [(way, cached, how) for way in in_groups for how in (COMPACT, SIDE_BY_SIDE)]
        given += [(in_small_passes, None, ONE_PASS)]
        evaluations = []
        for way, cache, schedule in given:
            steps, back = way(Evaluation(policy, environment, drawn, cache, schedule))
            evaluations.append((jnp.stack(steps[:3]), back(weights)))
        plain, pull = jax.vjp(terms, arrays)
        known = cached_terms(Evaluation(policy, environment, drawn, cached))
        return evaluations, (plain, *pull(weights)), known, drawn.active

    draws = uniforms(jax.random.key(0), environment, batch)
    with jax.enable_x64(True):
        policy, draws, one = to_float64(policy), jnp.asarray(draws, jnp.float64), jnp.ones(())
        weights = jax.random.normal(jax.random.key(1), (3, batch, environment.horizon))
        evaluations, expected, known, active = compare(policy, draws, weights, one)
        off, nothing, _, _ = compare(policy, draws, jnp.where(active, 0.0, weights), one)
        (other, *_), _, _, _ = compare(policy, draws, weights, 2 * one)
    assert compare.traces == 1
    if batch > 3 * GROUP:
        check_blocks(environment, active)
    for each, without in zip(evaluations, off, strict=True):
        assert tree_distance(each, expected) <= TOLERANCE["float64"]
        # Weights on padding change nothing.
        assert not flat(without[1]).any()
    assert not flat(nothing[1]).any()
    # Sampling knows the terms where p_B is uniform and there is no flow; elsewhere it says so.
    assert (known is None) == ("loss" in options)
    known = expected[0] if known is None else np.where(active, known, 0.0)
    assert distance(known, expected[0]) <= TOLERANCE["float64"]
    # Control: what was cached is what is used, where it is and can be.
    assert (tree_distance(other[1], expected[1]) > TOLERANCE["float64"]) == uses_activations


class Small(NamedTuple):
    """A sampler with a flow and a learned `p_B`, and a batch of its trajectories, in float64."""

    environment: AbstractEnvironment
    sampler: Sampler
    batch: Batch
    direction: Sampler


@pytest.fixture(scope="module")
def small() -> Small:
    environment = make_instance("grid, as tables").environment
    policy = random_policy(environment, dynamics="markov", loss="subtb", p_b="learned")
    other = random_policy(environment, seed=1, dynamics="markov", loss="subtb", p_b="learned")
    drawn = draw(policy, environment, BATCH).trajectories
    with jax.enable_x64(True):
        sampler, direction = (
            Sampler(to_float64(p), jnp.asarray(LOG_Z, jnp.float64)) for p in (policy, other)
        )
    return Small(environment, sampler, Batch(drawn, None), direction)


def moved(small: Small, step: float) -> Sampler:
    """The sampler, a step along the direction."""

    def move(leaf: Any, by: Any) -> Any:
        return jnp.asarray(np.asarray(leaf) + step * np.asarray(by), leaf.dtype)

    arrays, rest = eqx.partition(small.sampler, eqx.is_inexact_array)
    along = eqx.filter(small.direction, eqx.is_inexact_array)
    result: Sampler = eqx.combine(jax.tree.map(move, arrays, along), rest)
    return result


@pytest.mark.catches(
    "With the variance loss, the mean of f is reported as log Z instead of minus it.",
    "fast/balance/loss.py",
    "else -log_ratio(steps).mean()",
    "else log_ratio(steps).mean()",
    only="log_variance",
)
@pytest.mark.long
@pytest.mark.crosscheck("fast.training.step.loss_and_gradient", "fast.balance.loss.TrajectoryLoss")
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_has_the_value_and_gradient_of_the_one_written_by_hand(
    small: Small, loss: str
) -> None:
    options: dict[str, Any] = {"subtb_lambda": 0.7} if loss == "subtb" else {}
    objective = LOSSES[loss](penalty="log-cosh", **options)
    environment, trajectories = small.environment, small.batch.trajectories

    def by_hand_at(step: float) -> float:
        sampler = moved(small, step)
        if loss == "fm":
            residuals = terms(fm_residuals, sampler.policy, environment, trajectories)
            chosen = np.asarray(residuals)[np.asarray(trajectories.active)]
            return float(np.mean([by_hand.log_cosh(r) for r in chosen]))
        steps = jax.tree.map(np.asarray, terms(evaluate, sampler.policy, environment, trajectories))
        return float(by_definition(by_hand, objective, steps, float(sampler.log_z)))

    with jax.enable_x64(True):
        steps = terms(evaluate, small.sampler.policy, environment, trajectories)
        compiled = Compiled(loss_and_gradient)
        value, log_z, by, *_ = compiled(objective, environment, small.sampler, small.batch, KEY)
        compiled(objective, environment, moved(small, 0.1), small.batch, KEY)
        slope = flat(by) @ flat(eqx.filter(small.direction, eqx.is_inexact_array))
        # Central differences of float64: rounding and curvature of about 1e-9 each.
        difference = (by_hand_at(1e-5) - by_hand_at(-1e-5)) / 2e-5
        assert float(value) == pytest.approx(by_hand_at(0), rel=TOLERANCE["float64"])
    assert compiled.traces == 1
    assert slope == pytest.approx(difference, rel=1e-6)
    # What is reported as log Z: the parameter, the best constant, or the flow at the start.
    best = -np.mean(by_hand.log_ratio(jax.tree.map(np.asarray, steps)))
    reported: dict[str, Any] = {"tb": LOG_Z, "log_variance": best}
    assert float(log_z) == pytest.approx(float(reported.get(loss, steps.log_flow[5, 0])))
    # Control: the gradient has a part along the direction that central differences can see.
    assert abs(difference) > 1e-2


@dataclass(frozen=True)
class InContext(TrajectoryLoss):
    """A loss of a user's own, which looks at lengths as well."""

    def context(self, environment: Any, trajectories: Any) -> Any:
        """The lengths."""
        return trajectories.active.sum(1)

    def value(self, steps: Any, log_z: Any, key: Any) -> Any:
        """Squared ratios, long trajectories weighing more."""
        return jnp.mean(steps.context * log_ratio(steps) ** 2)


@pytest.mark.catches(
    "What a loss asks to know of trajectories does not reach it.",
    "fast/balance/own.py",
    'traced(name, "context", loss.context, environment, trajectories)',
    '0 * traced(name, "context", loss.context, environment, trajectories)',
)
def test_a_loss_of_ones_own_is_given_the_context_that_it_asks_for(small: Small) -> None:
    trajectories = small.batch.trajectories

    @eqx.filter_jit
    def both(sampler: Sampler, trajectories: Any) -> Any:
        def direct(policy: Policy) -> Any:
            steps = evaluate(policy, small.environment, trajectories)
            return jnp.mean(steps.active.sum(1) * log_ratio(steps) ** 2)

        batch = Batch(trajectories, None)
        ours = loss_and_gradient(InContext(), small.environment, sampler, batch, KEY)
        return ours, eqx.filter_value_and_grad(direct)(sampler.policy)  # type: ignore[no-untyped-call]

    with jax.enable_x64(True):
        ours, expected = both(small.sampler, trajectories)
    assert tree_distance((ours.loss, ours.by.policy), expected) <= TOLERANCE["float64"]
    # Control: without the lengths it is another number.
    assert len(set(np.asarray(trajectories.active.sum(1)).tolist())) > 1


terms = eqx.filter_jit(lambda function, *arguments: function(*arguments))


@pytest.mark.catches(
    "Annealed replay remembers no densities, and so draws uniformly.",
    "fast/training/networks.py",
    "with_densities=replay.by_density)",
    "with_densities=False)",
)
@pytest.mark.catches(
    "Annealed replay draws for the target of the end of training.",
    "fast/training/networks.py",
    "draws[0, :replayed], beta, by",
    "draws[0, :replayed], by",
)
@pytest.mark.catches(
    "Ends are chosen from the buffer before the new ones are in it.",
    "fast/training/networks.py",
    "ends = choose(buffer,",
    "ends = choose(state.buffer,",
)
@pytest.mark.catches(
    "Trajectories are drawn backwards with the numbers that drew the others forwards.",
    "fast/training/networks.py",
    "draws[1:, :replayed])",
    "draws[1:, -replayed:])",
)
@pytest.mark.long
@pytest.mark.crosscheck("fast.training.step.on_devices")
def test_a_batch_is_drawn_forwards_and_from_the_buffer_and_shared_by_devices(small: Small) -> None:
    environment = small.environment
    policy = random_policy(environment, dynamics="markov")
    sampler = Sampler(policy, jnp.float32(LOG_Z))
    draws = jnp.asarray(np.random.default_rng(0).uniform(size=(6, 12)), jnp.float32)
    final, log_reward = small.batch.trajectories.final, small.batch.trajectories.log_reward

    def state(step: int, buffer: Any = None) -> TrainState:
        return TrainState(sampler, None, buffer, jnp.int32(step))

    config = configure(
        "lines", dynamics="markov", epsilon=1.0, steps=10, replay="uniform", batch=12
    )
    buffer = eqx.filter_jit(add)(empty_buffer(environment, 16), final, log_reward)
    drawing = Compiled(Networks(config).draw_batch)
    batch, later = drawing(environment, state(0, buffer), draws)
    ends = np.asarray(batch.trajectories.final.node)
    # Half of each: six ends that were new to the buffer, then six that were in it already.
    assert int(later.added) == BATCH + 6
    assert set(np.asarray(later.states.node)[BATCH : BATCH + 6]) == set(ends[:6])
    assert set(ends[6:]) <= set(np.asarray(final.node)) | set(ends[:6])
    assert batch.cached is None
    # Before the buffer has anything, the ends that are replayed are those just drawn.
    newly, _ = drawing(environment, state(0, empty_buffer(environment, 16)), draws)
    first = np.asarray(newly.trajectories.final.node)
    assert set(first[6:]) <= set(first[:6])
    # What is drawn backwards has numbers of its own: with others, the same ends by other ways.
    others, _ = drawing(environment, state(0, buffer), draws.at[1:, :6].multiply(0.1))
    (actions, ends), (other_actions, other_ends) = (
        (drawn.trajectories.actions, drawn.trajectories.final.node) for drawn in (batch, others)
    )
    assert np.array_equal(ends, other_ends)
    assert np.array_equal(actions[:6], other_actions[:6])
    assert not np.array_equal(actions[6:], other_actions[6:])
    # From half of the steps on there is no exploration: forwards it is p_F itself.
    forwards = eqx.filter_jit(partial(sample_trajectories, schedule=Networks(config).schedule))
    for step, is_on_policy in ((0, False), (5, True), (9, True)):
        explored, _ = drawing(environment, state(step, buffer), draws)
        plain, _ = forwards(policy, environment, draws[1:, 6:])
        same = np.array_equal(explored.trajectories.actions[:6], plain.actions)
        assert same == is_on_policy
    assert drawing.traces == 1
    # Halfway to the end of annealing the target is R^0.1, and its density is remembered.
    annealing = Networks(config.changed(replay="annealed", replay_capacity=16, anneal=1.0))
    sampler, empty = eqx.filter_jit(annealing.begin)(environment, jnp.int32(0))
    batch, dense = eqx.filter_jit(annealing.draw_batch)(
        environment, TrainState(sampler, None, empty, jnp.int32(5)), draws
    )
    assert dense is not None
    assert dense.log_densities is not None
    log_rewards = np.asarray(dense.log_rewards[:6])
    assert np.ptp(log_rewards) > 0
    assert dense.log_densities[:6] == pytest.approx(0.1 * log_rewards, rel=1e-5)
    by_now, at_the_end = (choose(dense, draws[0, :6], b, by_reward=False).node for b in (0.1, 1.0))
    assert np.array_equal(batch.trajectories.final.node[6:], by_now)
    assert not np.array_equal(by_now, at_the_end)
    # A mesh of one device is the machine itself.
    alone = Networks(configure("lines", dynamics="markov", batch=12))
    sharing = Compiled(on_devices(partial(alone.gradient_of_draws, key=KEY, axis=AXIS), 1))
    shared, _ = sharing(environment, state(0), draws)
    sharing(environment, state(1), draws)
    assert sharing.traces == 1
    batch, _ = eqx.filter_jit(alone.draw_batch)(environment, state(0), draws)
    loss = alone.config.loss
    expected = eqx.filter_jit(loss_and_gradient)(loss, environment, sampler, batch, KEY)
    assert tree_distance(shared, expected) <= TOLERANCE["float32"]
