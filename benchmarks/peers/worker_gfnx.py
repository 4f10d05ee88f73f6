"""gfnx: its environments, rollout and masking, and the trajectory-balance step of its scripts.

gfnx ships losses only inside scripts that also log and evaluate, so the step is written here after
`baselines/tb_hypergrid.py`: the network is evaluated again on the padded trajectories, by a vmap
over time inside a vmap over trajectories. Steps run in one compiled loop, as in its scripts,
without their callbacks.
"""

import importlib.metadata
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import gfnx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gfnx.base import BaseRewardModule
from gfnx.reward.hypergrid import GeneralHypergridRewardModule
from gfnx.reward.ising import IsingRewardModule, IsingRewardParams
from jax import lax

from benchmarks.peers.protocol import Worker, distance, serve
from benchmarks.peers.tasks import (
    FROZEN,
    HIDDEN,
    LEARNING_RATE,
    LOG_Z_LEARNING_RATE,
    BitTask,
    DagTask,
    GridTask,
    IsingTask,
    TableTask,
    Task,
)


class Script(NamedTuple):
    """Settings of a training.

    Attributes:
        rate: of the network.
        log_z_rate: of log Z.
        explored: the share of rows that are uniform at first.
        until: the step from which none are.
        backward: whether `p_B` is learned.
    """

    rate: float = LEARNING_RATE
    log_z_rate: float = LOG_Z_LEARNING_RATE
    explored: float = 0.0
    until: int = 1
    backward: bool = False


# `baselines/configs/tb_hypergrid.yaml` and `tb_tfbind.yaml`; of `tb_bitseq.yaml`, whose network is
# a transformer, the rates alone, as its share of rows is 1/1000. No script trains on an Ising model
# that is known.
SCRIPTS = {
    GridTask: Script(explored=0.1, until=30_000, backward=True),
    TableTask: Script(5e-4, 5e-2, explored=1.0, until=50_000),
    BitTask: Script(log_z_rate=5e-2),
}


class ExactBands(GeneralHypergridRewardModule):
    """Its reward with a margin: in float32, gfnx has |12/15 - 1/2| > 3/10, and 9 modes, not 4."""

    def reward(self, state: Any, env_params: Any) -> jax.Array:
        """The same formula; a margin far below the distance 1/(2 (side - 1)) between cells."""
        a = jnp.abs(state.state / (env_params.side - 1) - 0.5)
        outer, band = a > 0.25 + 1e-6, (a > 0.3 + 1e-6) & (a < 0.4 - 1e-6)
        return self.R0 + self.R1 * jnp.all(outer, -1) + self.R2 * jnp.all(band, -1)


class Table(BaseRewardModule):  # type: ignore[misc]
    """A reward that is looked up."""

    def init(self, rng_key: Any, dummy_state: Any) -> None:
        """Nothing is drawn."""

    def reward(self, state: Any, env_params: Any) -> jax.Array:
        return jnp.exp(self.log_reward(state, env_params))


class ScoreTable(Table):
    """`log R` by looking up what each node has with its parents."""

    def __init__(self, scores: list[list[float]]):
        self.scores = jnp.array(scores)

    def log_reward(self, state: Any, env_params: Any) -> jax.Array:
        nodes = len(self.scores)
        masks = jnp.sum(state.adjacency_matrix * 2 ** jnp.arange(nodes)[:, None], axis=-2)
        return self.scores[jnp.arange(nodes), masks].sum(-1)


class StringTable(Table):
    """`log R` of strings of a fixed length by looking it up."""

    def __init__(self, task: TableTask):
        self.log_rewards = jnp.array(task.log_rewards)
        self.places = task.letters ** jnp.arange(task.length)[::-1]

    def log_reward(self, state: Any, env_params: Any) -> jax.Array:
        """Rewards of strings that are not finished: any number, as it is not used."""
        return self.log_rewards[jnp.sum(state.tokens * self.places, -1)]


class Gfnx(Worker):
    """gfnx as its scripts drive it."""

    def versions(self) -> dict[str, str]:
        return {name: importlib.metadata.version(name) for name in ("gfnx", "jax", "jaxlib")}

    def build(self, task: Task, batch: int) -> int:
        if isinstance(task, GridTask):
            reward = ExactBands(task.r0, task.r1, task.r2)
            env = gfnx.HypergridEnvironment(reward, dim=task.dimension, side=task.side)
            env_params = env.init(jax.random.PRNGKey(0))
            features = env.observation_space.shape[0]

            def encode(observation: jax.Array) -> jax.Array:
                return observation
        elif isinstance(task, IsingTask):
            spins = task.side**2
            env = gfnx.IsingEnvironment(IsingRewardModule(), dim=spins)
            env_params = env.init(jax.random.PRNGKey(0)).replace(
                reward_params=IsingRewardParams(J=jnp.array(task.matrix))
            )
            features = 3 * spins

            def encode(observation: jax.Array) -> jax.Array:
                return jax.nn.one_hot(observation + 1, 3).reshape(-1)
        elif isinstance(task, TableTask):
            # Its reward is another table, in a file that is not installed with it.
            env = gfnx.TFBind8Environment(StringTable(task))
            assert (env.nchar, env.max_length) == (task.letters, task.length)
            env_params = env.init(jax.random.PRNGKey(0))
            tokens = env.ntoken
            features = task.length * tokens

            def encode(observation: jax.Array) -> jax.Array:
                # Without the token that begins every string.
                return jax.nn.one_hot(observation[1:], tokens).reshape(-1)
        elif isinstance(task, DagTask):
            env = gfnx.DAGEnvironment(ScoreTable(task.scores), task.nodes)
            env_params = env.init(jax.random.PRNGKey(0))
            features = task.nodes**2

            def encode(observation: jax.Array) -> jax.Array:
                return observation.reshape(-1).astype(jnp.float32)
        else:
            length, values = task.words * task.bits, 2**task.bits
            reward = gfnx.BitseqRewardModule(length, task.bits, len(task.modes), task.exponent)
            env = gfnx.BitseqEnvironment(reward, n=length, k=task.bits)
            env_params = env.init(jax.random.PRNGKey(0)).replace(
                reward_params={"mode_set": jnp.array(task.modes, bool)}
            )
            features = task.words * (values + 1)

            def encode(observation: jax.Array) -> jax.Array:
                # Without the token that begins every string; the empty place is the last value.
                return jax.nn.one_hot(observation[1:], values + 1).reshape(-1)

        self.env, self.env_params = env, env_params
        script = SCRIPTS.get(type(task), Script()) if self.script else Script()
        forwards, backwards = env.action_space.n, env.backward_action_space.n
        outputs = forwards + backwards * script.backward
        network = eqx.nn.MLP(
            features,
            outputs,
            HIDDEN[0],
            len(HIDDEN),
            # As here, so that all can have one policy.
            activation=jax.nn.relu if self.script else jax.nn.leaky_relu,
            key=jax.random.PRNGKey(self.seed),
        )
        params, static = eqx.partition(network, eqx.is_array)

        def make_optimizer(rate: float, log_z_rate: float) -> Any:
            return optax.multi_transform(
                {"network": optax.adam(rate), "log_z": optax.adam(log_z_rate)},
                {"network": jax.tree.map(lambda _: "network", params), "log_z": "log_z"},
            )

        def both(params: Any, observation: jax.Array) -> jax.Array:
            row = eqx.combine(params, static)(encode(observation))
            return row if script.backward else jnp.concatenate([row, jnp.zeros(backwards)])

        self.logits = lambda params, observation: both(params, observation)[:forwards]

        def policy(key: Any, observations: Any, params: Any) -> tuple[Any, Any]:
            network, explored = params
            rows = jax.vmap(lambda x: both(network, x))(observations)
            forward, backward = rows[:, :forwards], rows[:, forwards:]
            if script.explored:
                # The rollout draws actions by the key itself.
                uniform = jax.random.bernoulli(jax.random.split(key)[1], explored, (batch, 1))
                forward = jnp.where(uniform, 0.0, forward)
            return forward, {"forward_logits": forward, "backward_logits": backward}

        def rollout(key: Any, params: Any, explored: Any = 0.0) -> tuple[Any, Any]:
            return gfnx.utils.forward_rollout(
                key, batch, policy, (params, explored), env, env_params
            )

        def loss_of(learned: Any, trajectories: Any) -> jax.Array:
            over_time = lambda f: jax.vmap(f, (1, None), 1)  # noqa: E731
            states, actions = trajectories.state, trajectories.action
            invalid = over_time(env.get_invalid_mask)(states, env_params)
            network = partial(both, learned["network"])
            rows = jax.vmap(jax.vmap(network))(trajectories.obs)
            scores = gfnx.utils.mask_logits(rows[..., :forwards], invalid)
            taken = jnp.take_along_axis(jax.nn.log_softmax(scores), actions[..., None], -1)[..., 0]
            log_p_f = jnp.where(trajectories.pad, 0.0, taken).sum(1)

            before = jax.tree.map(lambda x: x[:, :-1], states)
            after = jax.tree.map(lambda x: x[:, 1:], states)
            backward_action = jax.vmap(env.get_backward_action, (1, 1, 1, None), 1)(
                before, actions[:, :-1], after, env_params
            )
            invalid = over_time(env.get_invalid_backward_mask)(after, env_params)
            scores = gfnx.utils.mask_logits(rows[:, 1:, forwards:], invalid)
            taken = jnp.take_along_axis(jax.nn.log_softmax(scores), backward_action[..., None], -1)[
                ..., 0
            ]
            target = taken + trajectories.log_gfn_reward[:, :-1]
            target = jnp.where(trajectories.pad[:, :-1], 0.0, target).sum(1)
            return optax.losses.squared_error(learned["log_z"] + log_p_f, target).mean()

        def one_step(optimizer: Any, state: Any, _: None) -> tuple[Any, jax.Array]:
            key, learned, optimizer_state, steps = state
            key, sample_key = jax.random.split(key)
            explored = script.explored * jnp.maximum(0.0, 1 - steps / script.until)
            trajectories, _ = rollout(sample_key, learned["network"], explored)
            loss, gradient = jax.value_and_grad(loss_of)(learned, trajectories)
            updates, optimizer_state = optimizer.update(gradient, optimizer_state, learned)
            return (key, optax.apply_updates(learned, updates), optimizer_state, steps + 1), loss

        def sample(params: Any, keys: Any) -> jax.Array:
            def one(key: Any) -> tuple[jax.Array, jax.Array]:
                _, info = rollout(key, params)
                return info["trajectory_length"].mean(), info["log_gfn_reward"].sum()

            lengths, rewards = lax.map(one, keys)
            return lengths.mean(), rewards.sum()

        def make_advance(rate: float, log_z_rate: float) -> Any:
            step = partial(one_step, make_optimizer(rate, log_z_rate))
            return jax.jit(
                lambda state, steps: lax.scan(step, state, None, length=steps), static_argnums=1
            )

        learned = {"network": params, "log_z": jnp.zeros(())}
        rates = script.rate, script.log_z_rate
        optimizer_state = make_optimizer(*rates).init(learned)
        self.state = (jax.random.PRNGKey(1_000 * self.seed + 1), learned, optimizer_state, 0)
        self.make_advance, self.advance = make_advance, make_advance(*rates)
        self.draw = jax.jit(sample)
        self.key = jax.random.PRNGKey(2)
        return sum(leaf.size for leaf in jax.tree.leaves(params))

    def train(self, steps: int) -> None:
        self.state, losses = self.advance(self.state, steps)
        losses.block_until_ready()

    def freeze(self) -> None:
        self.advance = self.make_advance(FROZEN, FROZEN)

    def take(self, weights: list[Any]) -> None:
        layers = len(weights) // 2

        def parts(network: Any) -> list[Any]:
            return [getattr(layer, name) for name in ("weight", "bias") for layer in network.layers]

        new = [jnp.array(part.T) for part in weights[:layers]] + [*map(jnp.array, weights[layers:])]
        key, learned, *rest = self.state
        network = eqx.tree_at(parts, learned["network"], new)
        self.state = (key, learned | {"network": network}, *rest)

    def sample(self, batches: int) -> float:
        self.key, key = jax.random.split(self.key)
        lengths, _ = self.draw(self.state[1]["network"], jax.random.split(key, batches))
        return float(lengths)

    def as_sampler(self, problem: Any = None, label: Any = None) -> Any:
        from pdai.adapters.gfnx import sampler

        network = self.state[1]["network"]
        logits = jax.vmap(lambda observation: self.logits(network, observation))
        return sampler(self.env, self.env_params, logits, problem=problem, label=label)

    def grid_logits(self, cells: Any) -> Any:
        states = self.env.get_init_state(len(cells)).replace(state=jnp.asarray(cells))
        network = self.state[1]["network"]
        seen = self.env.get_obs(states, self.env_params)
        return jax.vmap(lambda observation: self.logits(network, observation))(seen)

    def distance(self) -> float:
        steps = self.as_sampler().steps

        # By powers of two: each number of states is compiled again for each policy.
        def filled(call: Any) -> Any:
            def some(*rows: Any) -> Any:
                count = len(jax.tree.leaves(rows)[0])
                shape = (1 << max(8, (count - 1).bit_length()),)
                whole = jax.tree.map(lambda x: np.resize(x, shape + x.shape[1:]), rows)
                return jax.tree.map(lambda x: np.asarray(x)[:count], call(*whole))

            return some

        steps.forward, steps.move = filled(steps.forward), filled(steps.move)
        return distance(steps)

    def log_rewards(self, terminals: list[list[int]]) -> list[float]:
        state = self.env.get_init_state(len(terminals))
        rows = jnp.array(terminals)
        if isinstance(self.env, gfnx.DAGEnvironment):
            nodes = jnp.arange(self.env.num_variables)
            edges = rows[:, None] >> nodes[:, None] & 1
            state = state.replace(adjacency_matrix=edges.astype(bool))
        elif isinstance(self.env, gfnx.HypergridEnvironment):
            state = state.replace(state=rows)
        else:
            state = state.replace(tokens=rows)
        return [float(x) for x in self.env.reward_module.log_reward(state, self.env_params)]


if __name__ == "__main__":
    serve(Gfnx())
