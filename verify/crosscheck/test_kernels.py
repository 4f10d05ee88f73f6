"""Every array function of `fast`: compiled once, and the same as when it is not compiled.

Which functions there are is found by looking, and what they are called with by the names of their
parameters: a new one is tested as soon as it is there.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.loss import Loss
from fast.balance.steps import rows_of
from fast.dynamics.arc_scorer import ArcScorer
from fast.dynamics.graph_networks import EdgeScorer, graphs_of, scorer_of
from fast.dynamics.state_table import StateTable
from fast.environments import AbstractEnvironment, make_environment
from fast.policies.backward import LearnedBackward, LiftedBackward, UniformBackward
from fast.policies.policy import Policy, Sampler
from fast.sampling.actions import Exploration
from fast.sampling.forward import sample_trajectories
from fast.sampling.replay import Buffer, add, empty_buffer
from fast.sampling.trajectories import Trajectories
from fast.stochastic.densities import Normal
from fast.stochastic.policy import StochasticPolicy, features_of
from fast.stochastic.trajectories import LatentTrajectories, Noise, sample_latent_trajectories
from reference.problems import Grid
from verify.crosscheck.compare import TOLERANCE, Compiled, eagerly, tree_distance
from verify.crosscheck.instances import PRESETS, environment_of, filled, random_policy
from verify.crosscheck.parts import concrete, modules, parts

# Where compilations are counted elsewhere.
ELSEWHERE = {
    "fast.laws.likelihood": "called from Python, on a whole policy: test_projection",
    "fast.measure": "called from Python, on whole problems: test_metrics, test_unknown_z",
    "fast.laws.terminal_law": "called from Python, on a whole problem: test_metrics",
    "fast.laws.walk": "called from Python, on a whole problem: test_probes",
    "fast.laws.paths": "called from Python, on a whole problem: test_probes",
    "fast.balance.losses": "with their derivatives: test_losses",
    "fast.balance.flow_matching": "compiled once, and compared by hand: test_gradients",
    "fast.balance.rows": "compared with plain derivatives: test_gradients",
    "fast.balance.recurrent_groups": "likewise",
    "fast.balance.steps.cached_terms": "likewise",
    "fast.balance.loss": "compiled once there: test_losses",
    "fast.dynamics.graph_networks.graphs_of": "computes nothing",
    "fast.dynamics.graph_networks.scorer_of": "likewise",
    "fast.dynamics.state_table.is_table": "likewise",
    "fast.training.tables": "compared with the whole table: test_state_table",
    "pdai.distributed.certificates": "called from Python, on a whole problem: test_combined",
    "pdai.experiments.probes": "called from Python, on a whole problem: test_probes",
    "fast.stochastic.densities.mean_vector": "NumPy",
    "fast.stochastic.densities.covariance_factor": "likewise",
    "fast.training.method": "made of parts that are compared here: test_exploration",
    "fast.training.state": "made of parts that are compared here: test_gradients",
    "fast.training.step": "likewise",
    "fast.training.combined": "compiled in test_combined",
    "fast.dynamics.fast_weights.applied": "parts of dynamics, compiled there: test_dynamics",
    "fast.dynamics.fast_weights.linked": "likewise",
    "fast.dynamics.fast_weights.one_term": "likewise",
    "fast.dynamics.fast_weights.with_term": "likewise",
    "fast.dynamics.residual.check_heads": "likewise",
    "fast.dynamics.residual.join_heads": "likewise",
    "fast.dynamics.residual.split_heads": "likewise",
    "fast.dynamics.rotations": "NumPy",
    "fast.environments.base.feature_count": "a constant of an environment: test_observations",
    "fast.environments.base.feature_norm": "likewise",
    "fast.environments.graphs": "NumPy",
    "fast.schedule": "computes nothing",
    "fast.environments.encodings.first_of_block": "part of observe, compiled below",
    "fast.environments.encodings.last_letters": "likewise",
    "pdai.posteriors.uniform_dags": "drawn by random_terminal, which is compiled below",
}


def kernel(part: str) -> Any:
    """The function, method or class of that name."""
    module = next(m for m in modules() if part.startswith(m.__name__ + "."))
    names = part.removeprefix(module.__name__ + ".").split(".")
    owner: Any = functools.reduce(getattr, names[:-1], module)
    # A loss holds no arrays, so that it is no argument of a compiled function.
    is_loss = inspect.isclass(owner) and issubclass(owner, Loss)
    return getattr(owner() if is_loss else owner, names[-1])


KERNELS = sorted(
    part
    for part in parts(modules())
    if not any(f"{part}.".startswith(f"{module}.") for module in ELSEWHERE)
    and not inspect.isclass(kernel(part))
)
# These take another way if the policy is path-dependent.
BOTH_WAYS = ("fast.sampling.forward.sample_trajectories", "fast.balance.steps.evaluate")
# These give the same whatever the numbers.
CONSTANT = (
    "fast.sampling.replay.empty_buffer",
    "fast.policies.policy.uniform_policy",
    "fast.policies.policy.count_parameters",
)

BATCH = 4


class World(NamedTuple):
    """A small environment with a policy, trajectories, and random numbers."""

    environment: AbstractEnvironment
    policy: Policy
    draws: Any
    trajectories: Trajectories
    buffer: Buffer
    scorer: EdgeScorer
    arcs: ArcScorer
    latent: "Latents"
    rng: np.random.Generator

    @property
    def features(self) -> int:
        """The number of features of a state."""
        return int(jax.eval_shape(self.environment.observe, self.environment.initial()).size)

    def normal(self, *shape: int) -> Any:
        """Random numbers of that shape."""
        return jnp.asarray(self.rng.normal(size=shape), jnp.float32)

    def uniform(self, *shape: int) -> Any:
        """Random numbers in [0, 1)."""
        return jnp.asarray(self.rng.uniform(size=shape), jnp.float32)


class Latents(NamedTuple):
    """The additions of a random latent."""

    policy: StochasticPolicy
    noise: Noise
    trajectories: LatentTrajectories


GRID = make_environment(Grid(2, 2))
SIZE = 2
TARGET = Normal.of((0.1, -0.2), (1.0, 0.3, 0.3, 2.0), SIZE)


@eqx.filter_jit
def beginning(policy: Policy, draws: Any) -> tuple[Trajectories, Buffer]:
    drawn, _ = sample_trajectories(policy, GRID, draws)
    return drawn, add(empty_buffer(GRID, 8), drawn.final, drawn.log_reward)


@eqx.filter_jit
def begun(policy: StochasticPolicy, noise: Noise) -> LatentTrajectories:
    return sample_latent_trajectories(policy, GRID, noise)


def latents(rng: np.random.Generator) -> Latents:
    """A random policy, far from balance, and what it draws."""
    features = jax.eval_shape(lambda: features_of(GRID, GRID.initial())).size
    shapes = eqx.filter_eval_shape(
        lambda key: StochasticPolicy(features, GRID.actions, SIZE, sigma=0.5, hidden=(4,), key=key),
        jax.random.key(0),
    )
    policy = filled(shapes, lambda shape: rng.normal(size=shape))
    times = GRID.horizon + 1
    noise = Noise(
        jnp.asarray(rng.uniform(size=(times, BATCH)), jnp.float32),
        jnp.asarray(rng.normal(size=(times, BATCH, SIZE)), jnp.float32),
    )
    return Latents(policy, noise, begun(policy, noise))


def scorer(name: str, rng: np.random.Generator) -> Any:
    """The scorer of graph networks on that preset, at random."""
    of, key = graphs_of(environment_of(name)), jax.random.key(0)
    shapes = eqx.filter_eval_shape(lambda key: scorer_of(of, 4, path_features=1, key=key), key)
    return filled(shapes, lambda shape: rng.normal(size=shape))


@functools.cache
def world(dynamics: Any, seed: int) -> World:
    """Equal shapes and other numbers for every seed."""
    rng = np.random.default_rng(seed)
    policy = random_policy(GRID, seed, dynamics=dynamics, loss="subtb", p_b="learned")
    draws = jnp.asarray(rng.uniform(size=(GRID.horizon, BATCH)), jnp.float32)
    drawn, buffer = beginning(policy, draws)
    of_graphs, of_dags = (scorer(name, rng) for name in ("graphs, matching", "structure"))
    return World(GRID, policy, draws, drawn, buffer, of_graphs, of_dags, latents(rng), rng)


def learned(w: World) -> LearnedBackward:
    assert isinstance(w.policy.backward, LearnedBackward)
    return w.policy.backward


def head_activations(w: World) -> tuple[Any, ...]:
    return tuple(w.normal(BATCH, bias.size) for bias in learned(w).head.biases)


# By the name of a parameter, or of a parameter of one function or class.
ARGUMENTS: dict[str, Callable[[World], Any]] = {
    "adjacency": lambda w: jnp.asarray(w.rng.integers(2, size=(BATCH, 6, 6)), jnp.float32),
    "batch": lambda w: BATCH,
    "beta": lambda w: w.uniform(),
    "buffer": lambda w: w.buffer,
    "capacity": lambda w: 8,
    "draw": lambda w: w.uniform(BATCH),
    "draws": lambda w: w.draws,
    "fast.sampling.replay.choose.draws": lambda w: w.uniform(BATCH),
    "encoding": lambda w: "fourier",
    "environment": lambda w: w.environment,
    "exploration": lambda w: Exploration(w.uniform(), w.uniform()),
    "final": lambda w: w.trajectories.final,
    # Another in each world, whatever was drawn before.
    "key": lambda w: jax.random.key(int(1e6 * float(w.draws[0, 0]))),
    "keys": lambda w: w.normal(2, 3, 4),
    "later": lambda w: None,
    "log_p": lambda w: jnp.asarray(np.log(w.rng.dirichlet((1, 1, 1), BATCH)), jnp.float32),
    "log_rewards": lambda w: w.trajectories.log_reward,
    "logits": lambda w: w.normal(BATCH, 3),
    "mask": lambda w: jnp.asarray(np.arange(3) != w.rng.integers(3, size=(BATCH, 1))),
    # Beside -1e9 no other difference would be seen.
    "fast.policies.policy.Policy.log_p_f.mask": lambda w: jnp.ones((BATCH, 3), bool),
    "fast.stochastic.policy.StochasticPolicy.log_p_f.mask": lambda w: jnp.ones((BATCH, 3), bool),
    "numbers": lambda w: w.normal(3),
    "observation": lambda w: w.uniform(BATCH, w.features),
    "fast.dynamics.graph_networks.EdgeScorer.adjacency.observation": lambda w: w.uniform(BATCH, 36),
    "outputs": lambda w: w.normal(BATCH, w.policy.network.output),
    "fast.balance.steps.row_terms.outputs": lambda w: w.normal(
        w.draws.size, w.policy.network.output
    ),
    "path_features": lambda w: w.normal(BATCH, 6, 1),
    "policy": lambda w: w.policy,
    "fast.dynamics.perceptron.known_product.product": lambda w: w.normal(BATCH, 3),
    "fast.dynamics.perceptron.Perceptron.recall.activations": head_activations,
    "activations": lambda w: (),
    "reads": lambda w: w.normal(2, 3, 4),
    "rows": lambda w: rows_of(w.trajectories),
    "fast.dynamics.state_table.StateTable.self": lambda w: StateTable(w.normal(8, 3)),
    "fast.dynamics.state_table.table": lambda w: StateTable(w.normal(8, 3)),
    "fast.dynamics.state_table.rows": lambda w: 8,
    "fast.dynamics.state_table.StateTable.of.numbers": lambda w: jnp.arange(BATCH) % 3,
    "fast.dynamics.state_table.with_table.outputs": lambda w: w.normal(BATCH, 3),
    "old": lambda w: w.trajectories,
    "kept": lambda w: jnp.arange(BATCH) % 2,
    "fast.policies.backward.LearnedBackward.self": learned,
    "fast.policies.backward.LiftedBackward.log_p_b.outputs": lambda w: w.normal(BATCH, 3),
    "fast.policies.backward.LiftedBackward.self": lambda w: LiftedBackward(3),
    "fast.policies.backward.UniformBackward.self": lambda w: UniformBackward(),
    "fast.policies.policy.Policy.self": lambda w: w.policy,
    "fast.dynamics.perceptron.Perceptron.self": lambda w: learned(w).head,
    "fast.dynamics.graph_networks.EdgeScorer.self": lambda w: w.scorer,
    "fast.dynamics.arc_scorer.ArcScorer.self": lambda w: w.arcs,
    "fast.dynamics.arc_scorer.ArcScorer.adjacency": lambda w: jnp.asarray(
        w.rng.integers(2, size=(BATCH, 3, 3)), jnp.float32
    ),
    "fast.dynamics.arc_scorer.ArcScorer.adjacency.observation": lambda w: w.uniform(BATCH, 7),
    "fast.dynamics.arc_scorer.ArcScorer.path_features": lambda w: w.normal(BATCH, 3, 1),
    "states": lambda w: w.trajectories.final,
    "terms": lambda w: w.normal(3, BATCH, w.environment.horizon),
    "trajectories": lambda w: w.trajectories,
    "values": lambda w: w.normal(2, 3, 4),
    "weight": lambda w: w.normal(w.features, 3),
    "writes": lambda w: w.normal(2, 3, 4),
    "x": lambda w: w.uniform(BATCH, w.features),
    "component": lambda w: jnp.asarray(w.rng.integers(4, size=BATCH)),
    "following": lambda w: w.uniform(BATCH, w.features + 1),
    "gradient": lambda w: "reparameterised",
    "latent": lambda w: w.normal(BATCH, SIZE),
    "latents": lambda w: w.latent.trajectories.latents,
    "log_scale": lambda w: w.normal(BATCH, SIZE),
    "mean": lambda w: w.normal(BATCH, SIZE),
    "noise": lambda w: w.latent.noise,
    "fast.stochastic.densities.Mixture.noise": lambda w: w.normal(BATCH, SIZE),
    "fast.stochastic.densities.Mixture.self": lambda w: w.latent.policy.start,
    "fast.stochastic.densities.Normal.self": lambda w: TARGET,
    "fast.stochastic.policy.StochasticPolicy.self": lambda w: w.latent.policy,
    "fast.stochastic.trajectories.policy": lambda w: w.latent.policy,
    "fast.stochastic.trajectories.trajectories": lambda w: w.latent.trajectories,
    "fast.stochastic.training.trajectories": lambda w: w.latent.trajectories,
    "sampler": lambda w: Sampler(w.latent.policy, w.uniform()),
    "seen": lambda w: w.uniform(BATCH, w.features + 1),
    "size": lambda w: SIZE,
    "start": lambda w: 1,
    "stop": lambda w: w.environment.horizon,
    "state": lambda w: jax.tree.map(lambda leaf: leaf[0], w.trajectories.final),
    "target": lambda w: TARGET,
}


# Of parameters that are given by name alone, and have no default.
OPTIONS: dict[str, dict[str, Any]] = {"fast.sampling.replay.choose": {"by_reward": True}}


def arguments(part: str, w: World) -> list[Any]:
    """The arguments of a part in that world."""
    owner = part.rpartition(".")[0]
    values = []
    for name, parameter in inspect.signature(kernel(part)).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            continue
        keys = [key for key in (f"{part}.{name}", f"{owner}.{name}", name) if key in ARGUMENTS]
        assert keys, f"ARGUMENTS has no value for {name} of {part}: add one"
        values.append(ARGUMENTS[keys[0]](w))
    return values


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "dynamics"),
    [(part, "markov") for part in KERNELS] + [(part, "linear") for part in BOTH_WAYS],
)
def test_a_kernel_is_compiled_once_and_gives_what_it_gives_uncompiled(
    part: str, dynamics: str
) -> None:
    function = functools.partial(kernel(part), **OPTIONS.get(part, {}))
    compiled = Compiled(function)
    first, second = (arguments(part, world(dynamics, seed)) for seed in (0, 1))
    result, other = compiled(*first), compiled(*second)
    assert compiled.traces == 1
    assert tree_distance(eagerly(function, *first), result) <= TOLERANCE["float32"]
    # Control: with the other numbers there is another result.
    assert (tree_distance(other, result) > TOLERANCE["float32"]) == (part not in CONSTANT)


# One of each class. What it gives uncompiled is compared by check_environment, on all of them.
ENVIRONMENTS = {type(environment_of(name)).__name__: name for name in PRESETS}


@pytest.mark.parametrize("name", ENVIRONMENTS.values())
def test_an_environment_is_compiled_once_for_all_its_states(name: str) -> None:
    environment, problem = environment_of(name), PRESETS[name]

    def everything(environment: AbstractEnvironment, state: Any, action: Any) -> Any:
        following = environment.step(state, action)
        parent = environment.undo(state, action)
        return (
            following,
            environment.backward_step(following, parent),
            environment.redo(following, parent),
            environment.mask(state),
            environment.parent_mask(state),
            environment.is_terminal(state),
            environment.observe(state),
            environment.log_reward(state),
        )

    compiled = Compiled(everything)
    state = jax.tree.map(jnp.asarray, environment.encode(problem.initial))
    for _ in range(3):
        mask = compiled(environment, state, jnp.int32(0))[3]
        state, *_ = compiled(environment, state, jnp.asarray(np.argmax(mask), jnp.int32))
    assert compiled.traces == 1


def test_every_class_of_environments_is_compiled() -> None:
    assert {kind.__name__ for kind in concrete(AbstractEnvironment, modules())} == set(ENVIRONMENTS)


def test_control_a_function_of_another_shape_is_compiled_again() -> None:
    compiled = Compiled(jnp.sum)
    for size in (2, 2, 3):
        compiled(np.zeros(size, np.float32))
    assert compiled.traces == 2
    assert tree_distance([1, np.float32(1)], [1, np.float32(1.001)]) > TOLERANCE["float32"]
    assert tree_distance([1], [2]) == tree_distance([1], [1.0]) == np.inf
