"""Samplers of alexhernandezgarcia/gflownet: `pdai.adapters.gflownet.sampler(agent, ...)`."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from pdai.adapters.stepping import Logits, SteppedSampler, WayBack
from reference.contract.errors import InputError
from reference.rows.exact import Floats, Ints

# A state of the library, and whether the trajectory ends in it.
State = tuple[Any, bool]


def sampler(
    agent: Any, problem: Any = None, label: Callable[[Any], Hashable] | None = None, seed: int = 0
) -> SteppedSampler:
    """A gflownet sampler on a discrete environment, to be certified.

    Args:
        agent: a `gflownet.gflownet.GFlowNetAgent`, whose environment, policies and proxy are taken.
            Draws are of `p_F` itself: without random actions, at temperature 1.
        problem: the same problem in this project, with the same rewards.
        label: a function from a state of the library to a state of the problem; lists are given
            as tuples.
        seed: the seed of the draws.

    Raises:
        InputError: if the environment is continuous.
    """
    if getattr(agent.env, "continuous", False):
        raise InputError(
            f"{type(agent.env).__name__} is continuous, but a certificate is of finitely many "
            "actions in each state: give a discrete environment"
        )
    return SteppedSampler(_Steps(agent), problem, label, seed)


class _Steps:
    """gflownet, state by state: the end is a step of its own, from a state to itself."""

    def __init__(self, agent: Any):
        self.agent, self.env = agent, agent.env.copy()

    def start(self, count: int) -> list[State]:
        self.env.reset()
        return [(self._state(), False)] * count

    def forward(self, states: Sequence[State]) -> Logits:
        masks = [self.env.get_mask_invalid_actions_forward(*state) for state in states]
        # Rows of finished trajectories are not used, and have no valid action.
        return self._logits(self.agent.forward_policy, states, masks)

    def move(
        self, states: Sequence[State], actions: Ints, active: Any
    ) -> tuple[list[State], Any, WayBack]:
        after, taken, masks = list(states), np.zeros(len(states), int), []
        for i, action in enumerate(actions.tolist()):
            if active[i]:
                self.env.reset()
                self.env.set_state(*states[i])
                # An environment may end by itself, where no other action is left.
                _, done_by, valid = self.env.step(self.env.action_space[action])
                if not valid:
                    raise InputError(f"the library refuses the action {action} at {states[i][0]}")
                taken[i] = self.env.action2index(done_by)
                after[i] = self._state(), bool(self.env.done)
            masks.append(self.env.get_mask_invalid_actions_backward(*after[i]))
        ended = np.array([done for _, done in after])
        logits = self._logits(self.agent.backward_policy, after, masks)
        return after, ended, WayBack(logits, taken, np.asarray(active) & ~ended)

    def take(self, states: Sequence[State], which: Ints) -> list[State]:
        return [states[i] for i in which]

    def keys(self, states: Sequence[State]) -> list[Hashable]:
        return [_plain(state) for state, _ in states]

    def ends(self, states: Sequence[State]) -> tuple[list[Hashable], Floats]:
        proxies = self.env.states2proxy([state for state, _ in states])
        rewards = self.agent.proxy.rewards(proxies, log=True)
        log_reward: Floats = rewards.detach().cpu().double().numpy()
        return self.keys(states), log_reward

    def _state(self) -> Any:
        state = self.env.state
        return state.copy() if hasattr(state, "copy") else state.clone()

    def _logits(self, policy: Any, states: Sequence[State], masks: Sequence[Any]) -> Logits:
        """The logits of a policy, and the actions that the library has not masked as invalid."""
        encoded = self.env.states2policy([state for state, _ in states])
        return Logits(policy(encoded).detach().cpu().double().numpy(), ~np.array(masks, bool))


def _plain(state: Any) -> Hashable:
    """A state of lists, dictionaries or tensors as tuples."""
    if hasattr(state, "tolist"):
        state = state.tolist()
    if isinstance(state, dict):
        return tuple((key, _plain(value)) for key, value in state.items())
    return tuple(map(_plain, state)) if isinstance(state, list | tuple) else state
