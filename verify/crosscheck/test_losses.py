"""Losses against what is written by hand, in value and gradient, and against the reference.

Also the `log Z` that training starts from, and what is learned of it.
"""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance import losses
from fast.balance.flow_matching import FlowMatching, fm_residuals
from fast.balance.loss import Loss, RatioLoss, TrajectoryLoss, log_path_ratio, log_ratio
from fast.balance.losses import PENALTIES, PenaltyName, db_residuals
from fast.balance.steps import Steps
from fast.laws.exact_policy import exact_policy
from fast.laws.walk import base_log_p_b
from fast.parts import LOSSES
from fast.policies.policy import Sampler
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from reference import (
    FLOAT64,
    RATIONAL,
    BackwardKernel,
    BackwardPolicy,
    ForwardPolicy,
    balance,
    optimal_log_z,
)
from verify.crosscheck import by_hand
from verify.crosscheck.compare import (
    PRECISIONS,
    ROUNDED,
    TOLERANCE,
    Compiled,
    Precision,
    distance,
    eagerly,
    tree_distance,
)
from verify.crosscheck.instances import make_instance, random_policy
from verify.crosscheck.parts import functions
from verify.crosscheck.samplers import draw, edges_along
from verify.lib.laws import path_laws
from verify.lib.scopes import crossed

LENGTHS = (4, 1, 3)
SEEDS = (0, 1)


def some_steps(rng: np.random.Generator) -> Any:
    """Three trajectories of 4, 1 and 3 steps with arbitrary terms, in NumPy."""
    active = np.arange(5) < np.array(LENGTHS)[:, None]
    log_p_f, log_p_b, log_flow = np.where(active, rng.normal(size=(3, 3, 5)), 0.0)
    terms: tuple[Any, ...] = (log_p_f, log_p_b, log_flow, active, rng.normal(size=3))
    return Steps(*terms)


# A value for every parameter of a function of `fast.balance.losses`, by its name.
ARGUMENTS: dict[str, Callable[[np.random.Generator], Any]] = {
    "steps": some_steps,
    "previous": some_steps,
    "clients": lambda rng: [some_steps(rng), some_steps(rng)],
    "ratios": lambda rng: rng.normal(size=4),
    "residual": lambda rng: rng.normal(size=9) * 2,
    "log_z": lambda rng: np.array(rng.normal()),
    "decay": lambda rng: np.array(rng.uniform(0.2, 1)),
}


def parameters(name: str) -> list[str]:
    """The arguments of a loss."""
    return list(inspect.signature(getattr(losses, name)).parameters)


def arguments(name: str, seed: int) -> dict[str, Any]:
    """Random numbers for all parameters of a loss but its penalty."""
    rng = np.random.default_rng(seed)
    return {key: ARGUMENTS[key](rng) for key in parameters(name) if key != "penalty"}


NAMES = [*functions(losses), log_ratio.__name__, log_path_ratio.__name__]


def values(module: Any, name: str, given: dict[str, Any]) -> list[Any]:
    """A function of `losses` or of `by_hand`, with each penalty if it has one."""
    function = getattr(module, name)
    if "penalty" not in parameters(name):
        return [function(**given)]
    penalties = [getattr(module, penalty.__name__) for penalty in PENALTIES.values()]
    return [function(**given, penalty=penalty) for penalty in penalties]


def written_by_hand(name: str, given: dict[str, Any]) -> list[Any]:
    """The same in float64 NumPy; penalties are written for one number."""
    if "residual" in given:
        return [np.array([getattr(by_hand, name)(r) for r in given["residual"].tolist()])]
    return [np.array(value) for value in values(by_hand, name, given)]


def weighted(arrays: list[Any]) -> Any:
    """One number that depends on all of several."""
    total = 0.0
    for k, value in enumerate(arrays):
        weights = np.cos(np.arange(value.size) + k).astype(value.dtype)
        total += (weights * value.ravel()).sum()
    return total


def slope_by_hand(name: str, given: dict[str, Any], along: dict[str, Any]) -> Any:
    """The derivative along a direction, by central differences."""

    def moved(step: float) -> Any:
        def move(x: Any, by: Any) -> Any:
            return x if x.dtype == bool else x + step * by

        return weighted(written_by_hand(name, jax.tree.map(move, given, along)))

    return (moved(1e-5) - moved(-1e-5)) / 2e-5


class Evaluated(NamedTuple):
    """A loss at two points: its values, its derivatives along a direction, its compilations."""

    values: list[Any]
    slopes: list[Any]
    traces: int


def cast(given: Any, dtype: Precision) -> Any:
    """NumPy's numbers as arrays of a precision."""
    return jax.tree.map(lambda x: jnp.asarray(x, None if x.dtype == bool else dtype), given)


@functools.cache
def evaluated(name: str, dtype: Precision) -> Evaluated:
    @Compiled
    def value_and_slope(given: dict[str, Any], along: dict[str, Any]) -> Any:
        def number(given: dict[str, Any]) -> Any:
            computed = values(losses, name, given)
            return weighted(computed), computed

        gradient, computed = eqx.filter_grad(number, has_aux=True)(given)  # type: ignore[no-untyped-call]
        along = eqx.filter(along, eqx.is_inexact_array)
        return computed, sum(jax.tree.leaves(jax.tree.map(jnp.vdot, gradient, along)))

    with jax.enable_x64(dtype == "float64"):
        pairs = [[cast(arguments(name, seed + k), dtype) for k in (0, 100)] for seed in SEEDS]
        results = [value_and_slope(*pair) for pair in pairs]
    return Evaluated(
        [value for value, _ in results], [slope for _, slope in results], value_and_slope.traces
    )


@pytest.mark.catches(
    "Detailed balance averages over padded steps too.",
    "fast/balance/losses.py",
    "jnp.sum(jnp.where(steps.active, residuals, 0.0)) / jnp.sum(steps.active)",
    "jnp.sum(jnp.where(steps.active, residuals, 0.0)) / steps.active.size",
    only="db-float64",
)
@pytest.mark.catches(
    "The flow after the last step is a learned one instead of the reward.",
    "fast/balance/losses.py",
    "flows = jnp.where(steps.active, steps.log_flow, steps.log_reward[:, None])",
    "flows = steps.log_flow",
    only="db-float64",
)
@pytest.mark.catches(
    "The sum over a subtrajectory leaves out its first step.",
    "fast/balance/losses.py",
    "total[:, None, :] - before[:, :, None]",
    "total[:, None, :] - total[:, :, None]",
    only="subtb-float64",
)
@pytest.mark.catches(
    "log R has the wrong sign in the log ratio.",
    "fast/balance/loss.py",
    "return log_path_ratio(steps) - steps.log_reward",
    "return log_path_ratio(steps) + steps.log_reward",
    only="log_ratio-float64",
)
@pytest.mark.catches(
    "log Z enters the loss of trajectory balance twice.",
    "fast/balance/losses.py",
    "return log_z + log_ratio(steps)",
    "return 2 * log_z + log_ratio(steps)",
    only="tb_residuals-float64",
)
@pytest.mark.catches(
    "The variance loss divides by n instead of n - 1.",
    "fast/balance/losses.py",
    "return 2 * jnp.var(ratios, ddof=1)",
    "return 2 * jnp.var(ratios)",
    only="log_variance-float64",
)
@pytest.mark.catches(
    "The streaming loss leaves out the new reward.",
    "fast/balance/losses.py",
    "return log_ratio(steps) - log_path_ratio(previous)",
    "return log_path_ratio(steps) - log_path_ratio(previous)",
    only="streaming_ratio-float64",
)
@pytest.mark.crosscheck(
    "fast.balance.losses", "fast.balance.loss.log_ratio", "fast.balance.loss.log_path_ratio"
)
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_loss_is_the_one_written_by_hand(name: str, dtype: Precision) -> None:
    computed = evaluated(name, dtype).values
    expected = [written_by_hand(name, arguments(name, seed)) for seed in SEEDS]
    assert all(value.dtype == dtype for value in jax.tree.leaves(computed))
    for ours, theirs in zip(computed, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert distance(a, b) <= TOLERANCE[dtype]
    # Control: at the other point the value is another.
    assert distance(computed[0][0], expected[1][0]) > 1e-2


@pytest.mark.parametrize("name", NAMES)
def test_every_gradient_of_a_loss_is_its_central_difference(name: str) -> None:
    for seed, slope in zip(SEEDS, evaluated(name, "float64").slopes, strict=True):
        expected = slope_by_hand(name, arguments(name, seed), arguments(name, seed + 100))
        # Central differences in float64 with a step of 1e-5: an error of about 1e-10.
        assert distance(slope, expected) <= 1e-8


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_compiled_once_and_the_same_in_float32_and_uncompiled(
    name: str, record_property: Any
) -> None:
    single, double = (evaluated(name, dtype) for dtype in PRECISIONS)
    assert single.traces == double.traces == 1
    leaves = zip(
        *(jax.tree.leaves(evaluation.values) for evaluation in (single, double)), strict=True
    )
    worst = max(distance(a, b) for a, b in leaves)
    record_property("float32", worst)
    assert worst <= ROUNDED
    with jax.enable_x64(True):
        eager = eagerly(values, losses, name, cast(arguments(name, SEEDS[0]), "float64"))
    assert tree_distance(eager, double.values[0]) <= TOLERANCE["float64"]


def test_the_configuration_offers_the_penalties_that_there_are() -> None:
    assert set(get_args(PenaltyName)) == set(PENALTIES)
    # Every function that could be one is.
    offered = {penalty.__name__ for penalty in PENALTIES.values()}
    assert offered == {name for name in functions(losses) if parameters(name) == ["residual"]}


KINDS: dict[str, Any] = {**LOSSES}
CASES: dict[str, Loss] = {
    f"{name}, {penalty}": KINDS[name](penalty=penalty) for name in LOSSES for penalty in PENALTIES
} | {"subtb, another decay": KINDS["subtb"](subtb_lambda=0.6)}
OF_STEPS = [name for name, loss in CASES.items() if isinstance(loss, TrajectoryLoss)]


def by_definition(module: Any, loss: Any, steps: Any, log_z: Any) -> Any:
    """A loss by the functions of `losses` or `by_hand`, its options given one by one."""
    penalty = getattr(module, PENALTIES[getattr(loss, "penalty", "square")].__name__)
    if isinstance(loss, LOSSES["log_variance"]):
        return module.log_variance(module.log_ratio(steps), penalty)
    if isinstance(loss, LOSSES["tb"]):
        return module.tb(steps, log_z, penalty)
    if isinstance(loss, LOSSES["db"]):
        return module.db(steps, penalty)
    return module.subtb(steps, loss.subtb_lambda, penalty)


def test_a_decay_below_all_floats_of_32_bits_leaves_single_steps() -> None:
    steps = cast(arguments("tb", 0), "float32")["steps"]
    assert float(losses.subtb(steps, 1e-46)) == pytest.approx(float(losses.subtb(steps, 1e-30)))


@pytest.mark.catches(
    "Trajectory balance squares its residuals, whatever penalty it is made with.",
    "fast/balance/losses.py",
    "return tb(steps, log_z, PENALTIES[self.penalty])",
    "return tb(steps, log_z)",
    only="tb, huber",
)
@pytest.mark.crosscheck(
    "fast.balance.losses.TrajectoryBalance",
    "fast.balance.losses.LogVariance",
    "fast.balance.losses.DetailedBalance",
    "fast.balance.losses.SubtrajectoryBalance",
    "fast.balance.loss.RatioLoss.value",
)
@pytest.mark.parametrize("name", OF_STEPS)
def test_a_loss_as_an_object_is_the_function_with_its_options(name: str) -> None:
    loss: Any = CASES[name]

    @Compiled
    def both(steps: Steps, log_z: Any, key: Any) -> Any:
        ways = (
            lambda given: loss.value(*given, key),
            lambda given: by_definition(losses, loss, *given),
        )
        results = [eqx.filter_value_and_grad(way)((steps, log_z)) for way in ways]  # type: ignore[no-untyped-call]
        is_of_ratios = isinstance(loss, RatioLoss)
        return results, loss.of_ratios(log_ratio(steps), key) if is_of_ratios else results[0][0]

    values = []
    for seed in SEEDS:
        given = arguments("tb", seed)
        with jax.enable_x64(True):
            exact = cast(given, "float64")
            (ours, theirs), of_ratios = both(exact["steps"], exact["log_z"], jax.random.key(seed))
        assert tree_distance(ours, theirs) <= TOLERANCE["float64"]
        expected = by_definition(by_hand, loss, given["steps"], given["log_z"])
        assert float(ours[0]) == pytest.approx(float(expected), rel=TOLERANCE["float64"])
        assert of_ratios == ours[0]
        values.append(float(ours[0]))
    assert both.traces == 1
    # Control: at the other point the value is another, and so it is of every other loss.
    assert abs(values[0] - values[1]) > 1e-2 * max(values)
    steps, log_z = given["steps"], given["log_z"]
    for other in OF_STEPS:
        value = by_definition(by_hand, CASES[other], steps, log_z)
        assert (abs(value - values[-1]) < 1e-6) == (CASES[other] == loss)


@pytest.mark.crosscheck("fast.balance.flow_matching.FlowMatching")
@pytest.mark.parametrize("penalty", PENALTIES)
def test_flow_matching_averages_the_penalties_of_its_residuals(penalty: PenaltyName) -> None:
    environment = make_instance("grid").environment
    policy = random_policy(environment, dynamics="markov", loss="fm")
    drawn, loss = draw(policy, environment, 8).trajectories, FlowMatching(penalty=penalty)

    @eqx.filter_jit
    def both(policy: Any, drawn: Any) -> Any:
        residuals = fm_residuals(policy, environment, drawn)
        return loss.penalties(policy, environment, drawn), residuals, drawn.active

    penalties, residuals, active = map(np.asarray, both(policy, drawn))
    assert not active.all()
    assert not penalties[~active].any()
    one = getattr(by_hand, PENALTIES[penalty].__name__)
    expected = [one(float(residual)) for residual in residuals[active]]
    assert penalties[active] == pytest.approx(np.array(expected), rel=1e-4, abs=1e-6)
    # Control: far from balance, some residuals are where the penalties differ.
    assert np.abs(residuals).max() > 1


def test_control_padding_changes_no_loss_and_a_step_every_one() -> None:
    given, moved, padded = (arguments("subtb", 0) for _ in range(3))
    moved["steps"].log_p_f[1, 0] += 0.1
    padded["steps"].log_p_f[1, 1] += 0.1
    for name in ("db", "subtb"):
        loss = jax.jit(getattr(losses, name))
        plain, seen, unseen = (float(loss(some["steps"])) for some in (given, moved, padded))
        assert unseen == pytest.approx(plain, rel=1e-6)
        assert seen != pytest.approx(plain, rel=1e-4)


@pytest.mark.catches(
    "The linear branch of the penalty does not meet the quadratic one in slope.",
    "fast/balance/losses.py",
    "jnp.where(size <= 1, residual**2, 2 * size - 1)",
    "jnp.where(size <= 1, residual**2, size)",
)
def test_penalties_are_quadratic_near_zero_and_linear_far_away() -> None:
    for name, penalty in PENALTIES.items():
        both = jax.jit(jax.vmap(jax.value_and_grad(penalty)))
        values, slopes = map(np.asarray, both(np.array([0, 1e-2, 40, -40], np.float32)))
        assert values[0] == 0
        assert values[1] == pytest.approx(1e-4, rel=1e-2)
        assert values[2] == values[3]
        assert slopes[2] == pytest.approx(80 if name == "square" else 2, rel=1e-6)


@pytest.mark.catches(
    "The reward replaces the flow one step before the end instead of at the end.",
    "fast/balance/flow_matching.py",
    "jnp.arange(shape[1]) + 1 == trajectories.active.sum(1, keepdims=True)",
    "jnp.arange(shape[1]) + 2 == trajectories.active.sum(1, keepdims=True)",
    only="grid-learned",
)
@pytest.mark.catches(
    "The number of a parent is used as the action that leads from it.",
    "fast/balance/flow_matching.py",
    "actions = jax.vmap(jax.vmap(environment.redo, (None, 0)), (0, None))(after, slots)",
    "actions = jnp.broadcast_to(slots, mask.shape)",
    only="synthetic, prepend-append-uniform",
)
@pytest.mark.crosscheck(
    "fast.balance.flow_matching.fm_residuals", "fast.policies.policy.Policy.log_flow"
)
@pytest.mark.parametrize(
    ("name", "p_b"), crossed(["grid", "synthetic, prepend-append", "lines"], ["learned", "uniform"])
)
def test_flow_residuals_of_a_network_are_those_of_the_reference(name: str, p_b: Any) -> None:
    _, environment, enumeration = make_instance(name)
    dag = enumeration.dag
    policy = random_policy(environment, dynamics="markov", loss="db", p_b=p_b)
    _, exact = exact_policy(policy, enumeration, 1_000)
    forward = ForwardPolicy.from_weights(dag, FLOAT64, list(map(float, exact.values)))
    log_p_b = base_log_p_b(policy, enumeration, float64=True)
    kernel = BackwardKernel(dag, FLOAT64, np.exp(log_p_b).tolist())
    outputs = policy.network.read((), jnp.asarray(enumeration.observations))
    flow = np.exp(np.asarray(policy.log_flow(outputs), np.float64)).tolist()
    rewards = [float(r) for r in enumeration.rewards]
    exact_db = dict(balance.db_residuals(forward, kernel, flow, rewards))
    exact_fm = dict(balance.fm_residuals(forward, flow, rewards))
    all_flow = dict(enumerate(flow)) | dict(zip(dag.terminals, rewards, strict=True))

    drawn, _, steps = draw(policy, environment, 200)
    found_db = np.asarray(db_residuals(steps))
    found_fm = np.asarray(eqx.filter_jit(fm_residuals)(policy, environment, drawn))
    assert not found_fm[~np.asarray(drawn.active)].any()
    seen: set[int] = set()
    for row, tau in enumerate(edges_along(enumeration, drawn)):
        for t, edge in enumerate(tau):
            node = dag.edges[edge][1]
            # The residual lhs - rhs over its right-hand side, as a difference of logarithms.
            right = all_flow[node] * kernel.values[edge]
            expected = exact_db[edge] / right, exact_fm[node] / all_flow[node]
            ours = found_db[row, t], found_fm[row, t]
            assert ours == pytest.approx(np.log1p(expected), abs=2e-4)
        seen.update(tau)
    assert len(seen) > len(dag.edges) / 4


# log Z


# A mean of independent draws is this many standard errors off with probability 6e-7.
ERRORS = 5


@pytest.mark.catches(
    "Training starts from the mean of f as log Z instead of minus it.",
    "fast/balance/loss.py",
    "best = -log_ratio(steps).mean()",
    "best = log_ratio(steps).mean()",
)
def test_training_starts_from_the_best_constant_of_the_first_batch() -> None:
    config = configure("lines", length=5, step=2, parameters=5_000, batch=256, epsilon=0.0)
    _, environment, enumeration = make_instance("lines")
    trainer = make_trainer(config, environment)
    state = trainer.init()
    assert state.sampler.log_z.dtype == jnp.float32
    lifted, forward = exact_policy(state.policy(0), enumeration, 10_000)
    backward = BackwardPolicy.uniform(lifted.base, RATIONAL).on(lifted)
    p, weight = (np.array(law, float) for law in path_laws(forward, backward, enumeration.rewards))
    minus_f = np.log(weight / p)
    expected = float(p @ minus_f)
    floats = ForwardPolicy(lifted.dag, FLOAT64, [*map(float, forward.values)])
    back = BackwardPolicy.uniform(lifted.base, FLOAT64).on(lifted)
    rewards = [float(r) for r in enumeration.rewards]
    assert optimal_log_z(floats, back, rewards, floats) == pytest.approx(expected)
    error = math.sqrt(p @ (minus_f - expected) ** 2 / config.sampling.batch)
    _, info = trainer.advance(state, 1)
    assert abs(float(info.log_z[0, 0]) - expected) <= ERRORS * error
    # Control: the sign matters.
    assert abs(float(info.log_z[0, 0]) + expected) > ERRORS * error


@pytest.mark.crosscheck("fast.balance.loss.Loss.learned_log_z")
@pytest.mark.parametrize("name", LOSSES)
def test_what_is_learned_of_log_z_is_the_parameter_or_the_flow_at_the_start(name: str) -> None:
    loss, environment = LOSSES[name](), make_instance("lines").environment
    policy = random_policy(environment, dynamics="markov", loss=name)
    assert policy.has_flow == (name in ("db", "subtb", "fm"))
    learned = loss.learned_log_z(Sampler(policy, jnp.float32(0.7)), environment)
    at_start = float(draw(policy, environment, 2).steps.log_flow[1, 0])
    if name == "log_variance":
        assert learned is None
        return
    assert learned is not None
    assert float(learned) == pytest.approx(0.7 if name == "tb" else at_start, rel=1e-5)
    # Control: the two are not the same number.
    assert abs(at_start - 0.7) > 1e-2
