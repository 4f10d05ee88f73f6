"""This project, through `make_trainer` and `sample_trajectories`."""

import importlib.metadata
import time
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.peers.bits import AnyOrderBits
from benchmarks.peers.protocol import Worker, serve
from benchmarks.peers.tasks import (
    FROZEN,
    HIDDEN,
    LEARNING_RATE,
    LOG_Z_LEARNING_RATE,
    TASKS,
    BitTask,
    DagTask,
    GridTask,
)
from fast.environments import AbstractEnvironment, GridEnvironment
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import law_of, target_law
from fast.policies.policy import Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.training import trainer as training
from fast.training.compose import configure
from pdai.posteriors.environments import StructureEnvironment
from reference.metrics import total_variation
from reference.posterior import StructureLearning
from reference.posterior.networks import Network
from reference.problems import Grid


def make_trainer(
    environment: AbstractEnvironment, batch: int, rate: float, log_z_rate: float
) -> training.Trainer:
    """Trajectory balance on a Markovian policy of the given hidden layers, without exploration."""
    features = jax.eval_shape(lambda: environment.observe(environment.initial())).shape[0]
    config = configure(
        **of_network("grid", [features, *HIDDEN, environment.actions]),
        batch=batch,
        epsilon=0.0,
        schedule="constant",
        learning_rate=rate,
        log_z_learning_rate=log_z_rate,
    )
    return training.make_trainer(config, environment)


def of_network(task: str, sizes: list[int]) -> dict[str, Any]:
    """Options of trajectory balance on a task, with layers of these sizes."""
    # The number of parameters that these layers have: the nearest width is theirs.
    parameters = sum((n + 1) * m for n, m in pairwise(sizes))
    hidden = {"hidden_layers": len(sizes) - 2, "parameters": parameters, "table_rows": 0}
    return {"task": task, "dynamics": "markov", "loss": "tb", **hidden}


def sample(policy: Policy, environment: Any, batch: int, key: Any) -> tuple[Any, Any]:
    """The mean number of actions of a batch, and its rewards."""
    draws = uniforms(key, environment, batch)
    trajectories, _ = sample_trajectories(policy, environment, draws)
    return trajectories.active.sum(1).mean(), trajectories.log_reward


class Pdai(Worker):
    """The fast half of this project."""

    def own(self, options: dict[str, Any], seed: int) -> float:
        """Begins a training by options of `pdai train`; the processor seconds of the process."""
        self.config = configure(**options, seed=seed)
        self.environment: AbstractEnvironment = self.config.make_environment()
        self.trainer = training.make_trainer(self.config, self.environment)
        self.state = self.trainer.init()
        return self.seconds()

    def distance(self) -> float:
        if not hasattr(self, "enumeration"):
            problem, most = self.config.problem(), self.config.run.max_states
            self.enumeration = enumerate_environment(problem, self.environment, most)
        law = law_of(self.state.policy(0), self.environment, self.enumeration, final=True, seed=0)
        target = target_law(self.enumeration).tolist()
        return float(total_variation(law.probabilities.tolist(), target))

    def reach(self, task: str, distances: list[float]) -> list[list[Any]]:
        """The weights of a network, untrained, and once TV is first below each distance.

        It is the network of the comparison, trained by the defaults of this project.
        """
        grid = TASKS[task]
        assert isinstance(grid, GridTask)
        sizes = [grid.side * grid.dimension, *HIDDEN, grid.dimension + 1]
        self.own({**of_network("grid", sizes), "side": grid.side, "dimension": grid.dimension}, 0)
        reached = [self._weights()]
        for distance in distances:
            while self.tv() >= distance:
                self.train(100)
            reached.append(self._weights())
        return reached

    def _weights(self) -> list[Any]:
        return [leaf.tolist() for leaf in jax.tree.leaves(self.state.policy(0))]

    def take(self, weights: list[Any]) -> None:
        def leaves(state: Any) -> Any:
            return jax.tree.leaves(state.sampler.policy)

        new = [jnp.array(part)[None] for part in weights]
        self.state = eqx.tree_at(leaves, self.state, new)

    def grid_logits(self, cells: Any) -> Any:
        environment = self.environment
        state = jax.vmap(lambda _: environment.initial())(jnp.arange(len(cells)))
        seen = jax.vmap(environment.observe)(state._replace(coordinates=jnp.asarray(cells)))
        network = self.state.policy(0).network
        return network.read(network.initial(), seen)[:, : environment.actions]

    def versions(self) -> dict[str, str]:
        return {name: importlib.metadata.version(name) for name in ("pdai", "jax", "jaxlib")}

    def build(self, task: GridTask | BitTask | DagTask, batch: int) -> int:
        # The posterior's log R is that of the scores without a constant.
        self.offset = 0.0
        if isinstance(task, DagTask):
            problem = StructureLearning.from_scores(task.scores)
            self.environment = StructureEnvironment.from_problem(problem)
            self.offset = problem.offset
        elif isinstance(task, GridTask):
            self.environment = GridEnvironment.from_problem(Grid(task.side, task.dimension))
        else:
            self.environment = AnyOrderBits.from_modes(
                task.words, task.bits, task.modes, task.exponent
            )
        self.trainer = make_trainer(self.environment, batch, LEARNING_RATE, LOG_Z_LEARNING_RATE)
        self.state = self.trainer.init()
        self.key = jax.random.key(2)

        def draw(policy: Policy, environment: Any, keys: Any) -> tuple[Any, Any]:
            lengths, rewards = lax.map(lambda key: sample(policy, environment, batch, key), keys)
            return lengths.mean(), rewards.sum()

        self.draw = jax.jit(draw)
        return sum(leaf.size for leaf in jax.tree.leaves(self.state.policy(0)))

    def train(self, steps: int) -> None:
        self.state, info = self.trainer.advance(self.state, steps)
        info.loss.block_until_ready()

    def freeze(self) -> None:
        self.trainer = make_trainer(self.environment, self.batch, FROZEN, FROZEN)

    def sample(self, batches: int) -> float:
        self.key, key = jax.random.split(self.key)
        keys = jax.random.split(key, batches)
        lengths, _ = self.draw(self.state.policy(0), self.environment, keys)
        return float(lengths)

    def log_rewards(self, terminals: list[list[int]]) -> list[float]:
        environment = self.environment
        if isinstance(environment, StructureEnvironment):
            graphs = [environment.encode(Network(tuple(masks), True)) for masks in terminals]
            state: Any = jax.tree.map(lambda *leaves: jnp.stack(leaves), *graphs)
        elif isinstance(environment, GridEnvironment):
            state = jax.vmap(lambda _: environment.initial())(jnp.arange(len(terminals)))
            state = state._replace(coordinates=jnp.array(terminals), stopped=state.stopped | True)
        else:
            state = environment.encode(terminals)
        return [float(x) + self.offset for x in jax.vmap(environment.log_reward)(state)]

    def matmul(self) -> float:
        weights = jax.random.normal(jax.random.key(0), (256, 256)) / 16
        rows = jax.random.normal(jax.random.key(1), (self.batch, 256))
        repeats = 40_000 // self.batch

        @jax.jit
        def chain(rows: Any, weights: Any) -> Any:
            return lax.fori_loop(0, repeats, lambda _, x: x @ weights, rows)

        chain(rows, weights).block_until_ready()
        seconds = []
        for _ in range(5):
            started = time.process_time()
            chain(rows, weights).block_until_ready()
            seconds.append(time.process_time() - started)
        return 2 * 256 * 256 * self.batch * repeats / sorted(seconds)[2] / 1e9


if __name__ == "__main__":
    serve(Pdai())
