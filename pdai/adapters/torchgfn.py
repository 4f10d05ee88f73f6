"""Samplers of torchgfn: `pdai.certify(pdai.adapters.torchgfn.sampler(env, gflownet), ...)`."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from pdai.adapters.stepping import UNIFORM, Logits, SteppedSampler, WayBack
from reference.rows.exact import Floats, Ints


def sampler(
    env: Any,
    sampled: Any,
    pb: Any = None,
    problem: Any = None,
    label: Callable[[Any], Hashable] | None = None,
    seed: int = 0,
) -> SteppedSampler:
    """A torchgfn sampler on a discrete environment, to be certified.

    Args:
        env: a `gfn.env.DiscreteEnv`.
        sampled: the GFlowNet, whose estimators `pf` and `pb` are taken; or `pf` alone.
        pb: the estimator of `p_B`; by default the GFlowNet's, or uniform parents, with a note.
        problem: the same problem in this project, with the same rewards.
        label: a function from a state of the library, a tuple of numbers, to a state of the
            problem.
        seed: the seed of the draws.
    """
    pf = getattr(sampled, "pf", sampled)
    pb = getattr(sampled, "pb", None) if pb is None else pb
    notes = [UNIFORM] if pb is None else []
    return SteppedSampler(_Steps(env, pf, pb), problem, label, seed, notes)


class _Steps:
    """torchgfn, step by step: the last action is the exit, from a state to itself."""

    def __init__(self, env: Any, pf: Any, pb: Any):
        self.env, self.pf, self.pb = env, pf, pb

    def start(self, count: int) -> Any:
        return self.env.reset(batch_shape=count).tensor

    def forward(self, states: Any) -> Logits:
        import torch

        wrapped = self.env.states_from_tensor(states)
        with torch.no_grad():
            return Logits(self.pf(wrapped).double().numpy(), wrapped.forward_masks.numpy())

    def move(self, states: Any, actions: Ints, active: Any) -> tuple[Any, Any, WayBack]:
        import torch

        chosen = torch.as_tensor(actions)
        leave = chosen == self.env.n_actions - 1
        following, going = states.clone(), ~leave & torch.as_tensor(active)
        if going.any():
            before = self.env.states_from_tensor(states[going])
            steps = self.env.actions_from_tensor(chosen[going][:, None])
            following[going] = self.env.step(before, steps).tensor
        wrapped = self.env.states_from_tensor(following)
        mask = wrapped.backward_masks.numpy()
        with torch.no_grad():
            values = np.zeros(mask.shape) if self.pb is None else self.pb(wrapped).double().numpy()
        taken = np.minimum(actions, mask.shape[1] - 1)
        return following, leave.numpy(), WayBack(Logits(values, mask), taken, going.numpy())

    def take(self, states: Any, which: Ints) -> Any:
        return states[which]

    def keys(self, states: Any) -> list[Hashable]:
        return [tuple(state.flatten().tolist()) for state in states]

    def ends(self, states: Any) -> tuple[list[Hashable], Floats]:
        import torch

        # A reward may be a module, whose parameters require gradients.
        with torch.no_grad():
            given = self.env.log_reward(self.env.states_from_tensor(states))
        log_reward: Floats = given.double().numpy()
        return self.keys(states), log_reward
