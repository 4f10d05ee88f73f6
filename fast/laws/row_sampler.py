"""A trained policy as a sampler with exact draws from its rows, and their probabilities.

The network is evaluated in float64 on whole batches, step by step. The reference
(`reference.rows.exact`) closes each row, draws from it and takes its logarithm. The
certificate covers the sampler of these rows. `exact_policy` evaluates and closes rows by the same
functions; only the size of a batch may round a network's output differently.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.environments import AbstractEnvironment
from fast.environments.interface import encode_all
from fast.laws.enumeration import Floats, Ints, Precision, decode_all, log_reward_tolerance
from fast.laws.walk import policy_step, to_float64
from fast.policies.policy import Policy
from fast.sampling.trajectories import repeat
from reference.contract.errors import InputError, shown
from reference.rows.exact import choose_all, closed_rows
from reference.rows.importance import Walks
from reference.rows.sums import ExactPath, PathSums
from reference.rows.walks import LogRewards, Sampler

# Trajectories per call of the network, always a full batch, so that one program is compiled.
BATCH = 4_096


class _At(NamedTuple):
    """The current states of a batch, the inputs of the policy, and the last moves turned round."""

    state: Any
    seen: Any
    mask: Any
    parents: Any
    ended: Any
    undo: Any


class RowSampler(Sampler):
    """A trained policy, to be certified, on an environment of that precision.

    The problem in plain Python has the rewards that count; without one, those of the environment
    do, with their rounding. `exact_paths` is as of `reference.rows.walks.Walker`. Raises
    InputError if `p_B` reads latents: its mass is not one.
    """

    def __init__(
        self,
        policy: Policy,
        environment: AbstractEnvironment,
        problem: Any,
        precision: Precision,
        seed: int,
    ):
        if policy.backward.reads_latent:
            raise InputError(
                "p_B reads latents, so that its mass is not one, and weights say nothing of TV: "
                "certify with another one (uniform), or a problem that is enumerated"
            )
        with jax.enable_x64(True):
            self.policy = to_float64(policy)
        self.environment, self.problem, self.precision = environment, problem, precision
        self._name = type(environment).__name__
        self.rng = np.random.default_rng(seed)
        self._rewards = LogRewards(problem)
        self.exact_paths: list[ExactPath] | None = None

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Independent trajectories drawn from `p_F`."""
        return _joined([self._walk(min(BATCH, count - at)) for at in range(0, count, BATCH)])

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """One trajectory `tau ~ p_B(. | x)` for each terminal state."""
        blocks = []
        for at in range(0, len(terminals), BATCH):
            part = list(terminals[at : at + BATCH])
            padded = part + part[-1:] * (BATCH - len(part))
            final = jax.tree.map(jnp.asarray, encode_all(self.environment, padded))
            blocks.append(walks := self._walk(len(part), self._backward_actions(final)))
            for x, end in zip(part, walks.terminals, strict=True):
                if x != end:
                    raise InputError(
                        f"{self._name}: the actions that redo() gives on the way back from "
                        f"{shown(x)} lead to {shown(end)}: fix redo() or backward_step()"
                    )
        return _joined(blocks)

    def findings(self) -> Sequence[str]:
        """No findings: a soft-max has no zeros."""
        return []

    def _walk(self, count: int, forced: Ints | None = None) -> Walks:
        """Trajectories, drawn or along given actions, shape (horizon, BATCH)."""
        environment = self.environment
        with self._own():
            at = _start(environment, BATCH)
        latent, sums = None, PathSums(count, self.exact_paths)
        active = np.ones(BATCH, bool)
        for step in range(environment.horizon + 1):
            if step:
                sums.add_step(sums.log_p_b, self._back(at), np.asarray(at.undo), active[:count])
            active = active & ~np.asarray(at.ended)
            if not active.any():
                break
            if step == environment.horizon:
                fix = "set horizon to the number of steps of the longest"
                if forced is not None:
                    fix = "fix redo(), which names its actions on the way back, or backward_step()"
                raise InputError(
                    f"{self._name}: a trajectory has not ended after {step} steps: {fix}"
                )
            with jax.enable_x64(True):
                latent, _, log_p = policy_step(self.policy, latent, _wide(at.seen), at.mask)
            rows = closed_rows(np.asarray(log_p), np.asarray(at.mask))
            action = choose_all(rows, self.rng) if forced is None else forced[step]
            sums.add_step(sums.log_p_f, rows, action, active[:count])
            with self._own():
                at = _step(environment, at.state, jnp.asarray(action, jnp.int32))
        final = jax.tree.map(lambda leaf: np.asarray(leaf)[:count], at.state)
        terminals = decode_all(environment, final)
        with self._own():
            log_reward = np.asarray(_log_reward(environment, at.state), np.float64)[:count]
        tolerance = log_reward_tolerance(log_reward, self.precision)
        # Raises where the environment's differs from the problem's.
        confirmed = [
            self._rewards.confirm(x, value, tolerance, "environment")
            for x, value in zip(terminals, log_reward.tolist(), strict=True)
        ]
        return sums.walks(terminals, confirmed)

    def _backward_actions(self, final: Any) -> Ints:
        """The actions of `tau ~ p_B(. | x)`, from the first on; shape (horizon, BATCH)."""
        back: list[Ints] = []
        lengths = np.zeros(BATCH, np.int64)
        with self._own():
            at = _seen(self.environment, final, jnp.zeros(BATCH, jnp.int32))
        for _ in range(self.environment.horizon):
            active = np.asarray(at.parents).any(-1)
            chosen = jnp.asarray(choose_all(self._back(at), self.rng), jnp.int32)
            with self._own():
                at = _step_back(self.environment, at.state, chosen, active)
            back.append(np.asarray(at.undo))
            lengths += active
        # Row k of `back` is k + 1 steps before the end.
        rows = np.maximum(lengths - 1 - np.arange(self.environment.horizon)[:, None], 0)
        actions: Ints = np.stack(back)[rows, np.arange(BATCH)]
        return actions

    def _back(self, at: _At) -> Floats:
        """The closed rows of `p_B` at a batch of states; uniform ones at the initial state."""
        with jax.enable_x64(True):
            log_back = np.asarray(_back_rows(self.policy, _wide(at.seen), at.parents))
        mask = np.asarray(at.parents)
        none = ~mask.any(-1, keepdims=True)
        return closed_rows(np.where(none, 0.0, log_back), mask | none)

    def _own(self) -> Any:
        """The environment's precision, so that the network sees the features it was trained on."""
        return jax.enable_x64(self.precision == "float64")


def _joined(blocks: Sequence[Walks]) -> Walks:
    terminals = [x for block in blocks for x in block.terminals]
    return Walks(
        terminals, *(np.concatenate(column) for column in list(zip(*blocks, strict=True))[1:])
    )


def _wide(seen: Any) -> jax.Array:
    """Features in float64 (inside `jax.enable_x64`)."""
    return jnp.asarray(np.asarray(seen, np.float64))


@eqx.filter_jit
def _start(environment: AbstractEnvironment, batch: int) -> _At:
    return _seen(environment, repeat(environment.initial(), batch), jnp.zeros(batch, jnp.int32))


@eqx.filter_jit
def _step(environment: AbstractEnvironment, state: Any, action: jax.Array) -> _At:
    undo = jax.vmap(environment.undo)(state, action)
    return _seen(environment, jax.vmap(environment.step)(state, action), undo)


@eqx.filter_jit
def _seen(environment: AbstractEnvironment, state: Any, undo: jax.Array) -> _At:
    methods = (environment.observe, environment.mask, environment.parent_mask)
    seen, mask, parents = (jax.vmap(method)(state) for method in methods)
    return _At(state, seen, mask, parents, jax.vmap(environment.is_terminal)(state), undo)


@eqx.filter_jit
def _back_rows(policy: Policy, seen: Any, parents: Any) -> jax.Array:
    return policy.log_p_b(None, seen, parents)


@eqx.filter_jit
def _step_back(environment: AbstractEnvironment, state: Any, parent: Any, active: Any) -> _At:
    """The parents of active states, and the actions that lead back from there."""

    def move(state: Any, parent: Any, active: Any) -> Any:
        before = environment.backward_step(state, parent)
        return jax.tree.map(lambda a, b: jnp.where(active, a, b), before, state)

    action = jax.vmap(environment.redo)(state, parent)
    return _seen(environment, jax.vmap(move)(state, parent, active), action)


@eqx.filter_jit
def _log_reward(environment: AbstractEnvironment, state: Any) -> jax.Array:
    return jax.vmap(environment.log_reward)(state)
