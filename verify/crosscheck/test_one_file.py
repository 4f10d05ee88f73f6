"""The paper in one file (`examples/one_file.py`) beside `fast`: losses, gradients and laws."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples import one_file
from examples.one_file import GRU, SRWM, Grid, Policy, exact_law, loss, sample, target
from fast.balance.losses import tb
from fast.balance.steps import evaluate
from fast.environments import GridEnvironment, make_environment
from fast.environments.grid import GridState
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import exact_law as exact_law_of_fast
from fast.policies.policy import Policy as PolicyOfFast
from fast.sampling.trajectories import Trajectories
from fast.training.build import make_policy
from fast.training.compose import configure
from reference.problems import Grid as GridProblem
from reference.problems import enumerate_dag, enumerate_rewards

GRID, SIZE = Grid(side=5), 8
# Both sum up to nine steps in float32, in other orders.
ROUNDING = 2e-5
# Options that make fast's network the one of the file: the read-out alone, a head of two layers.
SAME: dict[str, Any] = {
    "skip": False,
    "hidden_layers": 1,
    "latent_size": SIZE,
    "table_rows": 0,
    "parameters": 0,
}


def environment() -> Any:
    return make_environment(GridProblem(GRID.side, GRID.dimension))


def pair(kind: Any) -> tuple[Policy, PolicyOfFast]:
    """A policy of each, with the same numbers."""
    config = configure(
        "grid", dynamics=kind.__name__.lower(), p_b="uniform", side=GRID.side, **SAME
    )
    fast = make_policy(config, environment(), key=jax.random.key(0))
    # The last layer begins small, with rows that are nearly uniform.
    fast = eqx.tree_at(lambda p: p.network.head.weights[-1], fast, replace_fn=lambda x: 50 * x)
    cell, head = fast.network.dynamics, fast.network.head
    dynamics = kind(GRID.dimension * GRID.side, SIZE, jax.random.key(0))
    names = [*vars(dynamics)]
    values = [getattr(cell, name) for name in names]
    dynamics = eqx.tree_at(lambda d: [getattr(d, name) for name in names], dynamics, values)
    ours = Policy(dynamics, [SIZE, 1, 1], jax.random.key(0))
    parts = (head.weights, head.biases, jnp.float32(0.7))
    return eqx.tree_at(lambda p: (p.weights, p.biases, p.log_z), ours, parts), fast


def trajectories(actions: Any, world: GridEnvironment) -> Trajectories:
    """Actions of the file as trajectories of fast."""
    state = GridState(
        jnp.zeros((len(actions), GRID.dimension), jnp.int32), jnp.zeros(len(actions), bool)
    )
    states = [state]
    for column in actions.T:
        states.append(jax.vmap(world.step)(states[-1], column))
    active = np.stack([~np.asarray(state.stopped) for state in states[:-1]], 1)
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves, 1), *states)
    rewards = jax.vmap(world.log_reward)(states[-1])
    return Trajectories(together, actions, jnp.asarray(active), states[-1], rewards)


@pytest.mark.catches(
    "The SRWM in one file erases after the rotation.",
    "examples/one_file.py",
    "v - latent @ zeta(k)",
    "v - latent @ rotation(d) @ zeta(k)",
)
@pytest.mark.catches(
    "The GRU in one file has its gate the other way round.",
    "examples/one_file.py",
    "latent + (1 - jax.nn.sigmoid(z + by_z)) *",
    "latent + jax.nn.sigmoid(z + by_z) *",
)
@pytest.mark.parametrize("kind", [GRU, SRWM])
def test_losses_and_gradients_are_those_of_fast(kind: Any) -> None:
    ours, fast = pair(kind)
    keys = jax.random.split(jax.random.key(1), 64)
    actions = jax.vmap(sample, (None, None, 0))(ours, GRID, keys)
    batch = trajectories(actions, environment())
    assert bool(batch.final.stopped.all())

    def loss_of_fast(policy: PolicyOfFast) -> Any:
        return tb(evaluate(policy, environment(), batch), ours.log_z)

    with_gradient: Any = jax.value_and_grad(loss)
    value, gradient = with_gradient(ours, GRID, actions)
    with_gradient = eqx.filter_value_and_grad(loss_of_fast)
    other, by_fast = with_gradient(fast)
    np.testing.assert_allclose(value, other, rtol=ROUNDING, atol=ROUNDING)
    head = by_fast.network.head
    np.testing.assert_allclose(gradient.weights[0], head.weights[0], rtol=1e-3, atol=1e-3)
    # Control: another log Z is another loss.
    assert abs(loss(eqx.tree_at(lambda p: p.log_z, ours, 0.0), GRID, actions) - other) > 0.01


@pytest.mark.parametrize("kind", [GRU, SRWM])
def test_the_law_of_all_trajectories_is_that_of_fast(kind: Any) -> None:
    ours, fast = pair(kind)
    law = exact_law(ours, GRID)
    assert law.sum() == pytest.approx(1, abs=1e-5)
    enumeration = enumerate_environment(GridProblem(GRID.side, GRID.dimension), environment())
    labels = [enumeration.dag.labels[x].coordinates for x in enumeration.dag.terminals]
    other = exact_law_of_fast(fast, enumeration, float64=False).probabilities
    np.testing.assert_allclose([law[x] for x in labels], other, rtol=1e-4, atol=1e-6)


def test_the_target_is_that_of_the_reference() -> None:
    problem = GridProblem(8, 2)
    dag = enumerate_dag(problem)
    rewards = enumerate_rewards(problem, dag)
    total, ours = sum(rewards), target(Grid(8, 2))
    for x, reward in zip(dag.terminals, rewards, strict=True):
        expected = float(reward / total)
        assert ours[dag.labels[x].coordinates] == pytest.approx(expected, rel=1e-6)


def test_it_can_be_read_with_coffee() -> None:
    lines = Path(one_file.__file__).read_text().splitlines()
    assert len(lines) <= 250
    imported = {
        line.split()[1].split(".")[0] for line in lines if line.startswith(("import", "from"))
    }
    assert imported == {"itertools", "typing", "equinox", "jax", "jaxtyping", "numpy", "optax"}
