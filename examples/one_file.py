"""The paper in one file: a sampler that sees its whole path, trained on a hypergrid.

    python examples/one_file.py

A state graph is lifted with a latent `W_t = W_{t-1} + phi(s_t, W_{t-1})`. The policy
`p_F(. | s_t, W_t)` is trained by trajectory balance (col:tb), here with a GRU or the paper's SRWM
(eq:ASRWM). Its law of terminal states (eq:marginal) is summed over all trajectories, so that the
total variation to the target is exact up to float32. A test compares it with `fast`.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

Cell = Int[Array, " dimension"]
Vector = Float[Array, " d"]


class Grid(NamedTuple):
    """A hypergrid: action i increases coordinate i, and the last action stops."""

    side: int = 8
    dimension: int = 2

    def mask(self, cell: Cell) -> Bool[Array, " actions"]:
        """The legal actions: a coordinate below the edge may grow, and stopping is always legal."""
        return jnp.append(cell + 1 < self.side, True)

    def step(self, cell: Cell, action: Int[Array, ""]) -> Cell:
        """The cell after an action; stopping leaves it."""
        return cell + (jnp.arange(self.dimension) == action)

    def observe(self, cell: Cell) -> Vector:
        """The coordinates, each one-hot."""
        return (cell[:, None] == jnp.arange(self.side)).astype(jnp.float32).reshape(-1)

    def log_reward(self, cell: Cell) -> Float[Array, ""]:
        """`log R(x)` in nats: high near the corners, highest in a band there."""
        # |2x / (H - 1) - 1| against 1/2, 3/5 and 4/5, in integers.
        last = self.side - 1
        distance = jnp.abs(2 * cell - last)
        outer = jnp.all(2 * distance > last)
        band = jnp.all((5 * distance > 3 * last) & (5 * distance < 4 * last))
        return jnp.log(1e-3 + 0.5 * outer + 2.0 * band)


class GRU(eqx.Module):
    """A gated recurrent unit: `W_t = W_{t-1} + (1 - z) o (n - W_{t-1})` (Cho et al., 2014)."""

    inputs: Float[Array, "rows features"]
    recurrent: Float[Array, "rows d"]
    bias: Float[Array, " rows"]
    candidate_bias: Vector
    start: Vector

    def __init__(self, features: int, size: int, key: PRNGKeyArray):
        first, second = jax.random.split(key)
        self.inputs = jax.random.normal(first, (3 * size, features)) / features**0.5
        self.recurrent = jax.random.orthogonal(second, size, (3,)).reshape(3 * size, size)
        self.bias, self.candidate_bias, self.start = map(jnp.zeros, (3 * size, size, size))

    def initial(self) -> Vector:
        """`W_o`, which is learned."""
        return self.start

    def advance(self, latent: Vector, seen: Vector) -> Vector:
        """`W_t` on arrival in a state."""
        r, z, n = jnp.split(self.inputs @ seen + self.bias, 3)
        by_r, by_z, by_n = jnp.split(self.recurrent @ latent, 3)
        candidate = jnp.tanh(n + jax.nn.sigmoid(r + by_r) * (by_n + self.candidate_bias))
        return latent + (1 - jax.nn.sigmoid(z + by_z)) * (candidate - latent)

    def read(self, latent: Vector, seen: Vector) -> Vector:
        """`y_t`."""
        return latent


class SRWM(eqx.Module):
    """The paper's self-referential weight matrix with a rotation, as printed (eq:ASRWM).

    q, k, v, beta = W psi(s_t) + b
    W_t = W_{t-1} R + sigmoid(beta) (v - W_{t-1} zeta(k)) (x) zeta(q),   y_t = W_t psi(s_t)
    """

    embedding: Float[Array, "d features"]
    slow: Float[Array, "rows d"]
    bias: Float[Array, " rows"]
    a: Vector
    b: Vector

    def __init__(self, features: int, size: int, key: PRNGKeyArray):
        keys = jax.random.split(key, 4)
        self.embedding = jax.random.normal(keys[0], (size, features))
        self.slow = jax.random.normal(keys[1], (3 * size + 1, size)) / size**0.5
        self.bias = jnp.zeros(3 * size + 1)
        self.a, self.b = jax.random.normal(keys[2], (2, size)) / size**0.25

    def initial(self) -> Float[Array, "d d"]:
        """`W_o = a b'`, of rank one."""
        return jnp.outer(self.a, self.b)

    def advance(self, latent: Float[Array, "d d"], seen: Vector) -> Float[Array, "d d"]:
        """`W_t` on arrival in a state."""
        d = len(self.a)
        rows = self.slow @ (self.embedding @ seen) + self.bias
        q, k, v, beta = jnp.split(rows, (d, 2 * d, 3 * d))
        written = jax.nn.sigmoid(beta) * (v - latent @ zeta(k))
        return latent @ rotation(d) + jnp.outer(written, zeta(q))

    def read(self, latent: Float[Array, "d d"], seen: Vector) -> Vector:
        """`y_t`."""
        return latent @ (self.embedding @ seen)


def zeta(x: Vector) -> Vector:
    """`(ELU(x) + 1) / sum(ELU(x) + 1)` (eq:sigmasa)."""
    return (jax.nn.elu(x) + 1) / jnp.sum(jax.nn.elu(x) + 1)


def rotation(d: int) -> Float[np.ndarray, "d d"]:
    """R: a turn by `2 pi frac(sqrt(p_j))` in the plane of coordinates j and j + d/2, p_j prime."""
    primes = [n for n in range(2, d * d + 4) if all(n % m for m in range(2, n))][: d // 2]
    angles = 2 * np.pi * (np.sqrt(primes) % 1)
    cos, sin = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[cos, -sin], [sin, cos]]).astype(np.float32)


class Policy(eqx.Module):
    """Latent dynamics, a perceptron on their read-out, and `log Z` in nats."""

    dynamics: Any
    weights: list[Float[Array, "in out"]]
    biases: list[Float[Array, " out"]]
    log_z: Float[Array, ""]

    def __init__(self, dynamics: Any, sizes: list[int], key: PRNGKeyArray):
        self.dynamics, self.log_z = dynamics, jnp.zeros(())
        keys = jax.random.split(key, len(sizes))
        self.weights = [
            jax.random.normal(k, pair) * (2 / pair[0]) ** 0.5
            for k, pair in zip(keys, pairwise(sizes), strict=False)
        ]
        self.biases = [jnp.zeros(size) for size in sizes[1:]]

    def log_p_f(self, grid: Grid, cell: Cell, latent: Any) -> Float[Array, " actions"]:
        """`log p_F(. | s_t, W_t)` of every action, in nats."""
        x = self.dynamics.read(latent, grid.observe(cell))
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.leaky_relu(x @ weight + bias, 0.01)
        logits = x @ self.weights[-1] + self.biases[-1]
        return jax.nn.log_softmax(jnp.where(grid.mask(cell), logits, -1e9))


def sample(policy: Policy, grid: Grid, key: PRNGKeyArray) -> Int[Array, " time"]:
    """The actions of one trajectory, a tenth of them at random; after a stop it stops again."""

    def one_step(carry: Any, key: PRNGKeyArray) -> tuple[Any, Array]:
        cell, latent = carry
        mask = grid.mask(cell)
        exploring = 0.9 * jnp.exp(policy.log_p_f(grid, cell, latent)) + 0.1 * mask / mask.sum()
        action = jax.random.categorical(key, jnp.log(exploring))
        cell = grid.step(cell, action)
        return (cell, policy.dynamics.advance(latent, grid.observe(cell))), action

    start = jnp.zeros(grid.dimension, jnp.int32), policy.dynamics.initial()
    keys = jax.random.split(key, grid.dimension * (grid.side - 1) + 1)
    actions = lax.scan(one_step, start, keys)[1]
    return jnp.where(jnp.cumsum(actions == grid.dimension) > 0, grid.dimension, actions)


def residual(policy: Policy, grid: Grid, actions: Int[Array, " time"]) -> Float[Array, ""]:
    """Trajectory balance: `log Z + log p_F(tau) - log p_B(tau | x) - log R(x)` (col:tb), nats."""

    def one_step(carry: Any, action: Int[Array, ""]) -> tuple[Any, Array]:
        cell, latent, is_active = carry
        forward = policy.log_p_f(grid, cell, latent)[action]
        cell = grid.step(cell, action)
        stops = action == grid.dimension
        # p_B is uniform over parents; that of a stop is one.
        backward = jnp.where(stops, 0.0, -jnp.log(jnp.maximum((cell > 0).sum(), 1)))
        latent = policy.dynamics.advance(latent, grid.observe(cell))
        return (cell, latent, is_active & ~stops), jnp.where(is_active, forward - backward, 0.0)

    start = jnp.zeros(grid.dimension, jnp.int32), policy.dynamics.initial(), jnp.array(True)
    (cell, _, _), ratios = lax.scan(one_step, start, actions)
    return policy.log_z + ratios.sum() - grid.log_reward(cell)


def loss(policy: Policy, grid: Grid, actions: Int[Array, "batch time"]) -> Float[Array, ""]:
    """The trajectory balance loss (col:objectives), in squared nats."""
    return jnp.mean(jax.vmap(residual, (None, None, 0))(policy, grid, actions) ** 2)


def exact_law(policy: Policy, grid: Grid) -> Float[np.ndarray, "*cells"]:
    """`p_T(x)`, summed over all trajectories by their length (eq:marginal)."""
    ask = jax.jit(jax.vmap(lambda cell, latent: policy.log_p_f(grid, cell, latent)))
    move = jax.jit(jax.vmap(lambda w, cell: policy.dynamics.advance(w, grid.observe(cell))))
    law = np.zeros((grid.side,) * grid.dimension)
    cells, latents = np.zeros((1, grid.dimension), np.int32), policy.dynamics.initial()[None]
    mass = np.ones(1)
    while len(cells):
        probabilities = np.exp(np.asarray(ask(cells, latents), np.float64)) * mass[:, None]
        np.add.at(law, tuple(cells.T), probabilities[:, -1])
        at, along = np.nonzero(cells + 1 < grid.side)
        mass, cells = probabilities[at, along], cells[at] + np.eye(grid.dimension, dtype=int)[along]
        latents = move(latents[at], cells)
    return law


def target(grid: Grid) -> Float[np.ndarray, "*cells"]:
    """`R(x) / Z`."""
    cells = np.indices((grid.side,) * grid.dimension).reshape(grid.dimension, -1).T
    rewards = np.exp(np.asarray(jax.vmap(grid.log_reward)(cells), np.float64))
    return (rewards / rewards.sum()).reshape((grid.side,) * grid.dimension)


def train(dynamics: Any, grid: Grid, steps: int, batch: int = 64) -> Policy:
    """A policy trained on trajectories of its own, by Adam."""
    key = jax.random.key(0)
    policy = Policy(dynamics, [32, 64, grid.dimension + 1], key)
    rates = eqx.tree_at(lambda p: p.log_z, jax.tree.map(lambda _: "slow", policy), "fast")
    optimiser = optax.multi_transform({"slow": optax.adam(3e-3), "fast": optax.adam(0.1)}, rates)

    @jax.jit
    def one_step(policy: Policy, state: Any, key: PRNGKeyArray) -> tuple[Policy, Any, Array]:
        actions = jax.vmap(sample, (None, None, 0))(policy, grid, jax.random.split(key, batch))
        value, gradient = jax.value_and_grad(loss)(policy, grid, actions)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(policy, updates), state, value

    state = optimiser.init(policy)
    for step in range(steps):
        policy, state, value = one_step(policy, state, jax.random.fold_in(key, step))
        if (step + 1) % 200 == 0:
            tv = abs(exact_law(policy, grid) - target(grid)).sum() / 2
            print(f"step {step + 1:,}: loss {value:.4f}, log Z {policy.log_z:.3f}, TV {tv:.4f}")
    return policy


if __name__ == "__main__":
    for kind in (GRU, SRWM):
        print(kind.__name__)
        train(kind(16, 32, jax.random.key(1)), Grid(side=8, dimension=2), 1_000)
