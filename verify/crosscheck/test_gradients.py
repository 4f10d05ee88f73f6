"""Gradients of sampled losses against the gradients of the exact expected losses."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from fast.balance.flow_matching import fm_residuals
from fast.balance.loss import TrajectoryLoss, log_ratio
from fast.balance.recurrent_groups import GROUP, recurrent_groups
from fast.balance.rows import (
    SMALLEST,
    evaluate_with_pullback,
    markovian_rows,
    read_out_rows,
)
from fast.balance.steps import Evaluation, cached_terms, evaluate
from fast.dynamics.perceptron import Perceptron, known_product
from fast.environments import AbstractEnvironment, make_environment
from fast.laws.walk import to_float64
from fast.parts import LOSSES
from fast.policies.policy import Policy, Sampler
from fast.sampling.actions import Exploration
from fast.sampling.forward import sample_trajectories
from fast.sampling.replay import add, empty_buffer
from fast.sampling.trajectories import uniforms
from fast.training.compose import configure
from fast.training.networks import Networks
from fast.training.state import TrainState
from fast.training.step import AXIS, Batch, loss_and_gradient, on_devices
from reference import (
    FLOAT64,
    BackwardPolicy,
    Forgetful,
    ForwardPolicy,
    History,
    cb_objective,
    lift,
    tb_objective,
)
from reference.problems import Problem, Sets
from verify.crosscheck import by_hand
from verify.crosscheck.compare import TOLERANCE, Compiled, tree_distance
from verify.crosscheck.instances import PROBLEMS, Instance, make_instance, random_policy

LOG_Z, EPSILON, BATCH, BATCHES = 0.3, 0.4, 8, 400
# Of losses that draw random numbers: none of ours does.
KEY = jax.random.key(7)


def _exact_gradient(instance: Instance, policy: Policy, loss: str) -> Policy:
    """The gradient of the expected loss by the parameters, from the reference's by the logits."""
    enumeration = instance.enumeration
    base = enumeration.dag
    lifted = lift(base, Forgetful() if policy.is_markovian else History(), 10_000)
    inner = [node for node, row in enumerate(lifted.dag.children) if row]
    paths = [
        [lifted.projection[node]]
        if policy.is_markovian
        else [0, *(base.index[state] for state in lifted.dag.labels[node][1])]
        for node in inner
    ]
    last = np.array([len(path) - 1 for path in paths])
    padded = np.stack([path + path[-1:] * (last.max() + 1 - len(path)) for path in paths])
    observations = jnp.asarray(enumeration.observations[padded])
    masks = np.asarray(enumeration.edge[padded[np.arange(len(inner)), last]] >= 0)
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    def logits(arrays: Policy) -> Any:
        whole = eqx.combine(arrays, static)
        return whole.network.unroll(observations)[np.arange(len(inner)), last, : whole.actions]

    table = jax.jit(logits)(arrays)
    p = np.asarray(softmax(np.where(masks, table, -np.inf).astype(np.float64), axis=1))
    row_of = {node: row for row, node in enumerate(inner)}
    action_of = {
        int(edge): action
        for node in range(len(base.labels))
        for action, edge in enumerate(enumeration.edge[node])
        if edge >= 0
    }
    place = [
        (row_of[u], action_of[lifted.base_edge[edge]])
        for edge, (u, _) in enumerate(lifted.dag.edges)
    ]
    forward = ForwardPolicy.from_weights(lifted.dag, FLOAT64, [p[at] for at in place])
    degree = [len(row) for row in lifted.dag.children]
    exploring = ForwardPolicy.from_weights(
        lifted.dag,
        FLOAT64,
        [
            (1 - EPSILON) * value + EPSILON / degree[u]
            for value, (u, _) in zip(forward.values, lifted.dag.edges, strict=True)
        ],
    )
    backward = BackwardPolicy.uniform(base, FLOAT64).on(lifted)
    rewards = [float(r) for r in enumeration.rewards]
    objective = (
        tb_objective(forward, backward, rewards, LOG_Z, exploring)
        if loss == "tb"
        else cb_objective(forward, backward, rewards, exploring)
    )
    by_logits = np.zeros(p.shape, np.float32)
    for at, value in zip(place, objective.logits_gradient, strict=True):
        by_logits[at] += value
    pull = jax.jit(lambda arrays, weights: jax.vjp(logits, arrays)[1](weights)[0])
    gradient: Policy = pull(arrays, by_logits)
    return gradient


def _flat(tree: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(tree)])


@pytest.mark.long
@pytest.mark.parametrize("loss", ["tb", "log_variance"])
@pytest.mark.parametrize("dynamics", ["markov", "srwm"])
def test_gradients_of_sampled_losses_are_unbiased(dynamics: Any, loss: Any) -> None:
    instance = make_instance("lines")
    policy = random_policy(instance.environment, seed=1, dynamics=dynamics)
    config = configure("lines", loss=loss, dynamics=dynamics)
    sampler = Sampler(policy, jnp.float32(LOG_Z))

    def gradient(key: Any) -> Any:
        draws = uniforms(key, instance.environment, BATCH)
        drawn, cached = sample_trajectories(
            policy, instance.environment, draws, Exploration(EPSILON), cache=True
        )
        batch = Batch(drawn, cached)
        found = loss_and_gradient(config.loss, instance.environment, sampler, batch, key)
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(found.by.policy)])

    exact = _flat(_exact_gradient(instance, policy, loss))
    # Projections on fixed directions, so that each has a standard error of its own.
    directions = np.random.default_rng(1).normal(size=(6, exact.size))
    directions[0] = exact
    keys = jax.random.split(jax.random.key(5), BATCHES)
    sampled = jax.jit(lambda keys: jax.lax.map(gradient, keys))(keys)
    found = np.asarray(sampled, np.float64) @ directions.T
    error = found.std(0, ddof=1) / np.sqrt(len(found))
    score = (found.mean(0) - directions @ exact) / error
    # Six normal scores exceed 5 with probability below 4e-6.
    assert np.abs(score).max() < 5
    # Along the exact gradient the error is small enough that a factor of 7/8, the bias of the
    # other variance at this batch size, would be seen.
    if loss == "log_variance":
        assert np.abs(found.mean(0) * 7 / 8 - directions @ exact)[0] > 2 * error[0]


@pytest.mark.catches(
    "Where p_B is known without a network, it counts the parents of the state before.",
    "fast/balance/steps.py",
    "jax.vmap(environment.parent_mask)(rows_of(trajectories).after)",
    "jax.vmap(environment.parent_mask)(rows_of(trajectories).before)",
    only="grid-tb-uniform",
)
@pytest.mark.catches(
    "The last block of rows, which is not full, is left out of the gradient.",
    "fast/balance/rows.py",
    "lambda carry: carry[0] < self.present, backward,",
    "lambda carry: carry[0] + self.size <= self.present, backward,",
    only="grid-tb-uniform",
)
@pytest.mark.catches(
    "The first step, one row for all trajectories, counts for one of them.",
    "fast/balance/rows.py",
    "return jnp.sum(first(arrays) * weights[..., 0])",
    "return jnp.sum((first(arrays) * weights[..., 0])[:, :1])",
    only="grid-tb-uniform",
)
@pytest.mark.catches(
    "The rows that the last block shares with the one before it are counted twice.",
    "fast/balance/rows.py",
    "due = (start <= numbers) & (numbers < self.present)",
    "due = numbers < self.present",
    only="sets-tb-uniform",
)
@pytest.mark.long
@pytest.mark.crosscheck("fast.balance.rows.markovian_rows")
@pytest.mark.parametrize(
    ("name", "loss", "p_b"),
    [
        *(("grid", loss, p_b) for p_b in ("uniform", "learned") for loss in ("tb", "subtb")),
        ("sets", "tb", "uniform"),
    ],
)
def test_blocks_of_rows_give_the_gradient_of_the_whole(name: str, loss: Any, p_b: Any) -> None:
    instance = make_instance(name)
    environment = instance.environment
    seed = {"tb": 2, "subtb": 1}[loss]
    policy = random_policy(environment, seed, dynamics="markov", loss=loss, p_b=p_b)
    draws = uniforms(jax.random.key(0), environment, 514 if environment.is_graded else 150)
    drawn, found_out = eqx.filter_jit(sample_trajectories)(
        policy, environment, draws, Exploration(0.2)
    )
    # More blocks than one, and a last one that is not full, yet holds more than the last steps, at
    # which no action is left but one. Where all rows are there, it begins before the others end.
    later = drawn.active[:, 1:]
    size = -(-later.size // 3) if environment.is_graded else later.size // 8
    assert SMALLEST < size < later.sum()
    assert later.sum() % size > (0 if environment.is_graded else later[:, -1].sum())
    weights = jax.random.normal(jax.random.key(1), (3, *drawn.actions.shape))
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    def weighted(arrays: Policy) -> Any:
        steps = evaluate(eqx.combine(arrays, static), environment, drawn)
        return jnp.sum(weights * jnp.stack(steps[:3]))

    @Compiled
    def in_blocks(cached: Any, *weights: Any) -> Any:
        steps, pullback = markovian_rows(Evaluation(policy, environment, drawn, cached))
        return steps[:3], [pullback(w) for w in weights]

    plain = _flat(jax.jit(jax.grad(weighted))(arrays))
    whole = eqx.filter_jit(evaluate)(policy, environment, drawn)
    # Control: weights on padding change nothing, weights on steps do.
    off = jnp.where(drawn.active, 0.0, weights)
    for number, cached in enumerate((None, found_out), start=1):
        steps, (of_weights, of_padding) = in_blocks(cached, weights, off)
        for a, b in zip(steps, whole[:3], strict=True):
            assert np.abs(np.asarray(a - b)).max() < 1e-5
        assert np.abs(_flat(of_weights) - plain).max() < 1e-4 * np.abs(plain).max()
        assert not _flat(of_padding).any()
        in_blocks(cached, off, weights)
        assert in_blocks.traces == number


CACHED: dict[str, tuple[Problem[Any], dict[str, Any]]] = {
    "markov, every step there": (PROBLEMS["sets"], {"dynamics": "markov"}),
    "markov, more than a block": (
        PROBLEMS["synthetic, append"],
        {"dynamics": "markov", "hidden_layers": 2},
    ),
    "markov, trajectories end": (PROBLEMS["grid"], {"dynamics": "markov"}),
    "gru": (PROBLEMS["sets"], {"dynamics": "gru"}),
    "gru, trajectories end": (PROBLEMS["grid"], {"dynamics": "gru", "skip": True}),
    "gru, learned p_B": (PROBLEMS["sets"], {"dynamics": "gru", "p_b": "learned"}),
    "gru, lifted p_B": (PROBLEMS["sets"], {"dynamics": "gru", "p_b": "lifted"}),
    "srwm, a flow": (PROBLEMS["grid"], {"dynamics": "srwm", "loss": "subtb"}),
    "no head": (PROBLEMS["lines"], {"dynamics": "linear"}),
    "a reset latent": (PROBLEMS["sets"], {"dynamics": "gru", "reset": True}),
    "markov, one step": (Sets.random(4, 1, seed=1), {"dynamics": "markov"}),
    "gru, one step": (Sets.random(4, 1, seed=1), {"dynamics": "gru"}),
}


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
@pytest.mark.crosscheck("fast.balance.rows.evaluate_with_pullback", "fast.laws.walk.to_float64")
@pytest.mark.parametrize("name", CACHED)
def test_cached_activations_give_the_gradient_without_evaluating_again(name: str) -> None:
    problem, options = CACHED[name]
    environment = make_environment(problem)
    policy = random_policy(environment, **options)
    batch = 600 if name == "markov, more than a block" else 32

    @Compiled
    def compare(policy: Policy, draws: Any, weights: Any, scale: Any) -> Any:
        drawn, cached = sample_trajectories(
            policy, environment, draws, Exploration(0.2), cache=True
        )
        changed = cached._replace(activations=tuple(scale * each for each in cached.activations))
        steps, pullback = evaluate_with_pullback(Evaluation(policy, environment, drawn, changed))
        arrays, static = eqx.partition(policy, eqx.is_inexact_array)

        def weighted(arrays: Policy) -> Any:
            plain = evaluate(eqx.combine(arrays, static), environment, drawn)
            return jnp.sum(weights * jnp.stack(plain[:3])), plain[:3]

        plain, values = jax.grad(weighted, has_aux=True)(arrays)
        return pullback(weights), plain, steps[:3], values, len(cached.activations)

    draws = uniforms(jax.random.key(0), environment, batch)
    with jax.enable_x64(True):
        weights = jax.random.normal(jax.random.key(1), (3, batch, environment.horizon))
        given = (to_float64(policy), jnp.asarray(draws, jnp.float64), weights)
        found, plain, steps, values, count = compare(*given, 1.0)
        other, *_ = compare(*given, 2.0)
    assert tree_distance(found, plain) <= TOLERANCE["float64"]
    assert tree_distance(steps, values) <= TOLERANCE["float64"]
    # Control: what was cached is what is used, where it is and can be. Of a single step there is
    # nothing.
    used = count > 0 and options.get("p_b") != "lifted" and not name.endswith("one step")
    assert (tree_distance(other, plain) > TOLERANCE["float64"]) == used
    unused = (
        "markov, trajectories end",
        "markov, one step",
        "gru, one step",
        "gru, lifted p_B",
        "no head",
    )
    assert used == (name not in unused)


@pytest.mark.long
@pytest.mark.crosscheck(
    "fast.balance.rows.markovian_rows",
    "fast.balance.rows.read_out_rows",
    "fast.balance.recurrent_groups.recurrent_groups",
    "fast.balance.steps.cached_terms",
)
@pytest.mark.parametrize(
    ("p_b", "loss", "dynamics", "name"),
    [
        ("uniform", "tb", "markov", "grid"),
        ("uniform", "tb", "gru", "grid"),
        ("uniform", "tb", "gru", "sets"),
        ("learned", "subtb", "markov", "sets"),
        ("learned", "subtb", "gru", "grid"),
        ("lifted", "subtb", "gru", "grid"),
    ],
)
def test_all_evaluations_are_the_specification_and_its_pullback(
    p_b: str, loss: str, dynamics: str, name: str
) -> None:
    environment = make_environment(PROBLEMS[name])
    policy = random_policy(environment, dynamics=dynamics, loss=loss, p_b=p_b)
    batch = 3 * GROUP // 2
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    # That of groups is right for any.
    special = {"markov": markovian_rows, "gru": read_out_rows}[dynamics]
    ways = (recurrent_groups,) if p_b == "lifted" else (special, recurrent_groups)

    @eqx.filter_jit
    def both(arrays: Policy, draws: Any, weights: Any) -> Any:
        whole = eqx.combine(arrays, static)
        drawn, cached = sample_trajectories(whole, environment, draws, cache=True)

        def terms(arrays: Policy) -> Any:
            return jnp.stack(evaluate(eqx.combine(arrays, static), environment, drawn)[:3])

        plain, pull = jax.vjp(terms, arrays)
        found = []
        for way in ways:
            for given in (None, cached):
                for skips in (True, False):
                    steps, back = way(Evaluation(whole, environment, drawn, given, skips))
                    found.append((jnp.stack(steps[:3]), back(weights)))
        known = cached_terms(Evaluation(whole, environment, drawn, cached))
        if known is not None:
            known = jnp.where(drawn.active, known, 0.0)
        return found, (plain, *pull(weights)), known

    draws = uniforms(jax.random.key(0), environment, batch)
    with jax.enable_x64(True):
        weights = jax.random.normal(jax.random.key(1), (3, batch, environment.horizon))
        found, expected, known = both(to_float64(arrays), jnp.asarray(draws, jnp.float64), weights)
    assert len(found) == 4 * len(ways)
    for each in found:
        assert tree_distance(each, expected) <= TOLERANCE["float64"]
    # Sampling knows the terms where p_B is uniform and there is no flow; elsewhere it says so.
    assert (known is None) == (p_b != "uniform")
    assert known is None or tree_distance(known, expected[0]) <= TOLERANCE["float64"]
    # Control: the batch is in more groups than one, and other weights have another pullback.
    assert batch % GROUP
    with jax.enable_x64(True):
        other = both(to_float64(arrays), jnp.asarray(draws, jnp.float64), weights + 1)[1]
    assert tree_distance(other, expected) > 1e-3


class Small(NamedTuple):
    """A sampler with a flow and a learned `p_B`, and a batch of its trajectories, in float64."""

    environment: AbstractEnvironment[Any]
    sampler: Sampler
    batch: Batch
    direction: Sampler


@pytest.fixture(scope="module")
def small() -> Small:
    environment = make_instance("grid, as tables").environment
    policy = random_policy(environment, dynamics="markov", loss="subtb", p_b="learned")
    other = random_policy(environment, seed=1, dynamics="markov", loss="subtb", p_b="learned")
    draws = uniforms(jax.random.key(0), environment, BATCH)
    drawn, _ = eqx.filter_jit(sample_trajectories)(policy, environment, draws)
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


@pytest.mark.long
@pytest.mark.crosscheck("fast.training.step.loss_and_gradient")
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_has_the_value_and_gradient_of_the_one_written_by_hand(
    small: Small, loss: str
) -> None:
    options: dict[str, Any] = {} if loss == "log_variance" else {"penalty": "log-cosh"}
    if loss == "subtb":
        options["subtb_lambda"] = 0.7
    environment, trajectories = small.environment, small.batch.trajectories

    def by_hand_at(step: float) -> float:
        sampler = moved(small, step)
        if loss == "fm":
            residuals = terms(fm_residuals, sampler.policy, environment, trajectories)
            chosen = np.asarray(residuals)[np.asarray(trajectories.active)]
            return float(np.mean([by_hand.log_cosh(r) for r in chosen]))
        steps = jax.tree.map(np.asarray, terms(evaluate, sampler.policy, environment, trajectories))
        log_z, penalty = float(sampler.log_z), by_hand.log_cosh
        return {
            "tb": lambda: by_hand.tb(steps, log_z, penalty),
            "log_variance": lambda: by_hand.log_variance(by_hand.log_ratio(steps)),
            "db": lambda: by_hand.db(steps, penalty),
            "subtb": lambda: by_hand.subtb(steps, 0.7, penalty),
        }[loss]()

    with jax.enable_x64(True):
        compiled, given = Compiled(loss_and_gradient), LOSSES[loss](**options)
        value, log_z, by, _ = compiled(given, environment, small.sampler, small.batch, KEY)
        compiled(given, environment, moved(small, 0.1), small.batch, KEY)
        slope = _flat(by) @ _flat(eqx.filter(small.direction, eqx.is_inexact_array))
        # Central differences of float64: rounding and curvature of about 1e-9 each.
        difference = (by_hand_at(1e-5) - by_hand_at(-1e-5)) / 2e-5
        assert float(value) == pytest.approx(by_hand_at(0), rel=TOLERANCE["float64"])
    assert compiled.traces == 1
    assert slope == pytest.approx(difference, rel=1e-6)
    # What is reported as log Z: the parameter, the best constant, or the flow at the start.
    assert np.isfinite(log_z)
    if loss == "tb":
        assert float(log_z) == LOG_Z
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
        found = loss_and_gradient(InContext(), small.environment, sampler, batch, KEY)
        return found, eqx.filter_value_and_grad(direct)(sampler.policy)  # type: ignore[no-untyped-call]

    with jax.enable_x64(True):
        found, expected = both(small.sampler, trajectories)
    assert tree_distance((found.loss, found.by.policy), expected) <= TOLERANCE["float64"]
    # Control: without the lengths it is another number.
    assert len(set(np.asarray(trajectories.active.sum(1)).tolist())) > 1


terms = eqx.filter_jit(lambda function, *arguments: function(*arguments))


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
    for step, is_on_policy in ((0, False), (5, True), (9, True)):
        explored, _ = drawing(environment, state(step, buffer), draws)
        plain, _ = eqx.filter_jit(sample_trajectories)(policy, environment, draws[1:, 6:])
        same = np.array_equal(explored.trajectories.actions[:6], plain.actions)
        assert same == is_on_policy
    assert drawing.traces == 1
    # A mesh of one device is the machine itself.
    alone = Networks(configure("lines", dynamics="markov", batch=12))
    sharing = Compiled(on_devices(partial(alone.of_draws, key=KEY, axis=AXIS), 1))
    shared, _ = sharing(environment, state(0), draws)
    sharing(environment, state(1), draws)
    assert sharing.traces == 1
    batch, _ = eqx.filter_jit(alone.draw_batch)(environment, state(0), draws)
    loss = alone.config.loss
    expected = eqx.filter_jit(loss_and_gradient)(loss, environment, sampler, batch, KEY)
    assert tree_distance(shared, expected) <= TOLERANCE["float32"]
