"""gfnx's losses at the counterexamples of docs/records/losses.md: see minima.py.

Its losses are parts of the training steps of its scripts, in `baselines` of its repository. Here a
step is taken with tables for a policy, drawing given trajectories, and an optimiser that keeps the
gradient.
"""

import argparse
import importlib
import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import chex
import equinox as eqx
import gfnx
import jax
import jax.numpy as jnp
import optax
from gfnx.base import BaseEnvParams, BaseEnvState, BaseRewardModule, BaseVecEnvironment
from minima import Example, Path_, Sampler, main

SCRIPTS = {"TB": "tb_hypergrid", "DB": "db_hypergrid", "SubTB": "subtb_hypergrid"}


@chex.dataclass(frozen=True)
class State(BaseEnvState):
    """The row of a batch, and a state of the graph."""

    row: Any
    node: Any


class Rewards(BaseRewardModule):  # type: ignore[misc]
    """`log R` of ends, and zero elsewhere."""

    def __init__(self, example: Example):
        self.log_r = jnp.zeros(len(example.labels))
        for end, reward in example.rewards.items():
            self.log_r = self.log_r.at[end].set(jnp.log(float(reward)))

    def init(self, rng_key: Any, dummy_state: Any) -> None:
        """Nothing is drawn."""

    def log_reward(self, state: Any, env_params: Any) -> Any:
        return self.log_r[state.node].astype(jnp.float32)

    def reward(self, state: Any, env_params: Any) -> Any:
        return jnp.exp(self.log_reward(state, env_params))


class Graph(BaseVecEnvironment):  # type: ignore[misc]
    """A graph whose actions are its edges; an observation is the row of a batch and the state."""

    name = "graph"
    action_space = backward_action_space = observation_space = state_space = None

    def __init__(self, example: Example, paths: list[Path_]):
        super().__init__(Rewards(example))
        self.edges = jnp.array(example.edges)
        self.is_end = jnp.array([s in example.rewards for s in range(len(example.labels))])
        self.most = max(map(len, paths))

    @property
    def max_steps_in_episode(self) -> int:
        return self.most

    def init(self, rng_key: Any) -> Any:
        return BaseEnvParams(reward_params=None)

    def get_init_state(self, num_envs: int) -> State:
        no, rows = jnp.zeros(num_envs, bool), jnp.arange(num_envs)
        return State(is_terminal=no, is_initial=~no, is_pad=no, row=rows, node=jnp.zeros_like(rows))

    def _single_transition(self, state: Any, action: Any, env_params: Any) -> Any:
        node = jnp.where(state.is_terminal, state.node, self.edges[action, 1])
        done = self.is_end[node]
        after = state.replace(
            node=node, is_terminal=done, is_initial=node == 0, is_pad=state.is_terminal
        )
        return after, done, {}

    def _single_backward_transition(self, state: Any, action: Any, env_params: Any) -> Any:
        raise NotImplementedError

    def get_obs(self, state: Any, env_params: Any) -> Any:
        return jnp.stack([state.row, state.node], -1)

    def get_backward_action(self, state: Any, action: Any, after: Any, env_params: Any) -> Any:
        return action

    def get_forward_action(self, state: Any, action: Any, before: Any, env_params: Any) -> Any:
        return action

    def get_invalid_mask(self, state: Any, env_params: Any) -> Any:
        """Edges from elsewhere; none at the end, where nothing is read."""
        return (state.node[:, None] != self.edges[:, 0]) & ~state.is_terminal[:, None]

    def get_invalid_backward_mask(self, state: Any, env_params: Any) -> Any:
        """Edges to elsewhere; none at the start, where nothing is read."""
        return (state.node[:, None] != self.edges[:, 1]) & ~state.is_initial[:, None]


class Tables(eqx.Module):
    """The policy of the scripts as tables: logits and flows of every state, a uniform `p_B`."""

    rows: Any
    flow: Any
    is_wide: bool

    def __call__(self, observation: Any) -> dict[str, Any]:
        flow = self.flow[observation[1]]
        return {
            "forward_logits": self.rows[observation[1]],
            "backward_logits": jnp.zeros(self.rows.shape[1]),
            "log_flow": flow[None] if self.is_wide else flow,
        }


def drawing(example: Example, paths: list[Path_]) -> Any:
    """gfnx's rollout with a policy that draws given trajectories, one in each row."""
    chosen = jnp.zeros((len(paths), len(example.labels)), int)
    for row, path in enumerate(paths):
        for edge in path:
            chosen = chosen.at[row, example.edges[edge][0]].set(edge)
    original = gfnx.utils.forward_rollout

    def rollout(**given: Any) -> Any:
        def policy(key: Any, seen: Any, params: Any) -> Any:
            _, outputs = given["policy_fn"](key, seen, params)
            wanted = jax.nn.one_hot(chosen[seen[:, 0], seen[:, 1]], len(example.edges))
            return jnp.log(wanted), outputs

        return original(**{**given, "policy_fn": policy})

    return rollout


def evaluate(
    loss: str, example: Example, sampler: Sampler, paths: list[Path_]
) -> tuple[float, float]:
    """A loss and its largest slope in the tables of `p_F`, of flows, and in `log Z`."""
    script = importlib.import_module(SCRIPTS[loss])
    env, kept = Graph(example, paths), {}
    rows = jnp.zeros((len(example.labels), len(example.edges)))
    for edge, (u, _) in enumerate(example.edges):
        rows = rows.at[u, edge].set(sampler.log_p_f[edge])

    def update(gradient: Any, state: Any, params: Any) -> Any:
        kept["gradient"] = gradient
        return jax.tree.map(jnp.zeros_like, gradient), state

    logging = SimpleNamespace(eval_each=2, track_each=1, use_writer=True)
    fields = {
        "rng_key": jax.random.PRNGKey(0),
        "config": SimpleNamespace(
            num_envs=len(paths), num_train_steps=3, logging=logging, agent=SimpleNamespace(lmbd=0.9)
        ),
        "env": env,
        "env_params": env.init(None),
        "model": Tables(rows, jnp.array(sampler.log_flow), loss == "SubTB"),
        "logZ": jnp.array(sampler.log_z),
        "optimizer": optax.GradientTransformation(lambda _: (), update),
        "opt_state": (),
        "metrics_module": MagicMock(update=lambda state, **_: state),
        "metrics_state": (),
        "exploration_schedule": lambda _: 0.0,
        "eval_info": {},
    }
    names = script.TrainState._fields
    state = script.TrainState(**{name: fields[name] for name in names})
    losses: list[float] = []
    writer = SimpleNamespace(log=lambda info, **_: losses.append(info["train/mean_loss"]))
    with (
        jax.disable_jit(),
        patch.object(gfnx.utils, "forward_rollout", drawing(example, paths)),
        patch.object(script, "writer", writer),
    ):
        script.train_step(1, state)
    jax.effects_barrier()
    return losses[0], max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(kept["gradient"]))


if __name__ == "__main__":
    command = argparse.ArgumentParser(description=__doc__)
    command.add_argument("--scripts", type=Path, required=True, help="baselines of its repository")
    sys.path.insert(0, str(command.parse_args().scripts))
    jax.config.update("jax_enable_x64", True)
    # Writers and checkpoints are for runs.
    for name in ("utils", "utils.checkpoint", "utils.logger"):
        sys.modules[name] = MagicMock(spec=ModuleType(name), Writer=MagicMock, save_checkpoint=None)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("gfnx", "jax"))
    main({"versions": versions, "right": tuple(SCRIPTS), "without p_B": ()}, evaluate)
