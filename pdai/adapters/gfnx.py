"""Samplers of gfnx: `pdai.certify(pdai.adapters.gfnx.sampler(env, params, logits), log_z=...)`."""

from collections.abc import Callable, Hashable
from typing import Any

import jax
import numpy as np

from pdai.adapters.stepping import UNIFORM, Logits, SteppedSampler, WayBack
from reference.rows.exact import Floats, Ints


def sampler(
    env: Any,
    env_params: Any,
    forward_logits: Callable[[Any], Any],
    backward_logits: Callable[[Any], Any] | None = None,
    problem: Any = None,
    label: Callable[[Any], Hashable] | None = None,
    seed: int = 0,
) -> SteppedSampler:
    """A gfnx sampler, to be certified.

    Args:
        env: a vectorised environment.
        env_params: its parameters.
        forward_logits: a function from a batch of observations to the logits of `p_F`.
        backward_logits: the same for the logits of `p_B`; by default uniform parents, with a note.
        problem: the same problem in this project, with the same rewards.
        label: a function from a state of the library, a tuple of numbers, to a state of the
            problem.
        seed: the seed of the draws.
    """
    steps = _Steps(env, env_params, forward_logits, backward_logits)
    return SteppedSampler(steps, problem, label, seed, [UNIFORM] if backward_logits is None else [])


class _Steps:
    """gfnx, step by step: a terminal state stays in place, with one legal backward action."""

    def __init__(self, env: Any, env_params: Any, forward: Any, backward: Any):
        self.env, self.params = env, env_params

        def rows(state: Any) -> tuple[Any, Any]:
            mask = ~env.get_invalid_mask(state, env_params).astype(bool)
            return forward(env.get_obs(state, env_params)), mask

        def move(state: Any, action: Any) -> tuple[Any, ...]:
            _, after, _, ended, _ = env.step(state, action, env_params)
            taken = env.get_backward_action(state, action, after, env_params)
            mask = ~env.get_invalid_backward_mask(after, env_params).astype(bool)
            logits = mask * 0.0
            if backward is not None:
                logits = backward(env.get_obs(after, env_params))
            return after, ended, taken, logits, mask

        self._rows, self._move = jax.jit(rows), jax.jit(move)

    def start(self, count: int) -> Any:
        return self.env.get_init_state(count)

    def forward(self, states: Any) -> Logits:
        return Logits(*self._rows(states))

    def move(self, states: Any, actions: Ints, active: Any) -> tuple[Any, Any, WayBack]:
        after, ended, taken, logits, mask = self._move(states, actions)
        return after, ended, WayBack(Logits(logits, mask), np.asarray(taken), active)

    def take(self, states: Any, which: Ints) -> Any:
        return jax.tree.map(lambda leaf: leaf[which], states)

    def keys(self, states: Any) -> list[Hashable]:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(states)]
        return [tuple(leaf[i].tobytes() for leaf in leaves) for i in range(len(leaves[0]))]

    def ends(self, states: Any) -> tuple[list[Hashable], Floats]:
        given = self.env.reward_module.log_reward(states, self.params)
        log_reward: Floats = np.asarray(given, np.float64)
        # The leaf with a second axis after the batch is the state; the other leaves are flags.
        rows = next(np.asarray(leaf) for leaf in jax.tree.leaves(states) if leaf.ndim > 1)
        labels: list[Hashable] = list(map(tuple, rows.reshape(len(rows), -1).tolist()))
        return labels, log_reward
