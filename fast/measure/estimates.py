"""Estimates of how far a sampler is from its target, where states cannot be enumerated."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.balance.losses import log_path_ratio
from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.measure.enumeration import Floats
from fast.measure.report import (
    FCS_BATCHES,
    FCS_SIZE,
    TOP_SAMPLES,
    Figures,
    Report,
    mean_best,
    mean_of,
)
from fast.measure.samples import rollout
from fast.policies.policy import Policy, uniform_policy
from fast.sampling.backward import sample_backward
from fast.sampling.trajectories import uniforms
from reference.metrics import Estimate, fcs_estimate
from reference.problems import ClosedForm

# Trajectories per call; backward trajectories per state; samples of the final and curve figures.
BLOCK = 2_048
BACKWARD = 64
SAMPLES, CURVE_SAMPLES = 16_384, 4_096


class Paths(NamedTuple):
    """Trajectories, as numbers.

    Attributes:
        log_path_ratio: `log( p_F(tau) / p_B(tau | x) )`, in nats.
        log_reward: `log R(x)`, in nats.
        final: the terminal states.
    """

    log_path_ratio: Floats
    log_reward: Floats
    final: Any


def forward_paths(
    policy: Policy, environment: AbstractEnvironment[Any], count: int, seed: int
) -> Paths:
    """Trajectories drawn from `p_F`."""
    blocks = [
        _forward(policy, environment, jax.random.fold_in(jax.random.key(seed), start))
        for start in range(0, count, BLOCK)
    ]
    return _joined(blocks, count)


def backward_paths(
    policy: Policy, environment: AbstractEnvironment[Any], final: Any, seed: int
) -> Paths:
    """One trajectory `tau ~ p_B(. | x)` for each of a batch of terminal states."""
    count = jax.tree.leaves(final)[0].shape[0]
    blocks = []
    for start in range(0, count, BLOCK):
        part = jax.tree.map(lambda leaf, at=start: _filled(leaf[at : at + BLOCK]), final)
        key = jax.random.fold_in(jax.random.key(seed), start)
        blocks.append(_backward(policy, environment, part, key))
    return _joined(blocks, count)


def total_variation_of_paths(log_z: float, forward: Paths, backward: Paths) -> Estimate:
    """`TV(p_F, mu)` of the laws of trajectories, `mu(tau) = pi(x) p_B(tau | x)`, without bias.

    With `f = log(p_F / mu)` it is the mean of `tanh(|f| / 2)` under `(p_F + mu) / 2`. It is at
    least the distance of the terminal laws, and equals it where each `x` has one trajectory.
    (N5''.)

    Args:
        log_z: the true `log Z`.
        forward: drawn from `p_F`.
        backward: drawn from `mu`, as many.
    """
    parts = [
        np.tanh(np.abs(paths.log_path_ratio - paths.log_reward + log_z) / 2)
        for paths in (forward, backward)
    ]
    return mean_of((parts[0] + parts[1]) / 2)


def estimated_fcs(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    final: Any,
    log_rewards: Floats,
    backward: int,
    seed: int,
) -> tuple[Estimate, float, Floats]:
    """FCS (eq:fcsa) on given batches, with `p_T(x)` estimated from backward trajectories.

    `p_T(x) = E p_F(tau) / p_B(tau | x)` over `tau ~ p_B(. | x)`; its noise makes FCS too large.

    Args:
        policy: the sampler; its `p_B` must not read latents.
        environment: the environment.
        final: `FCS_BATCHES * FCS_SIZE` terminal states, batch by batch.
        log_rewards: of them.
        backward: trajectories per state; one is exact where each state has one trajectory.
        seed: of the trajectories.

    Returns:
        the estimate; by how much it falls from half the trajectories to all, which shows the size
        of the bias; and the estimates of `log p_T`, in nats.
    """
    ratios = np.stack(
        [
            backward_paths(policy, environment, final, seed + i).log_path_ratio
            for i in range(backward)
        ]
    )
    batches = np.arange(len(log_rewards)).reshape(-1, min(FCS_SIZE, len(log_rewards)))
    target = np.exp(log_rewards - log_rewards.max())

    def fcs(rows: Floats) -> tuple[Estimate, Floats]:
        largest = rows.max(0)
        log_p = largest + np.log(np.exp(rows - largest).mean(0))
        return fcs_estimate(np.exp(log_p - log_p.max()), target, batches), log_p

    whole, log_p = fcs(ratios)
    half = fcs(ratios[: backward // 2])[0].mean if backward > 1 else whole.mean
    return whole, half - whole.mean, log_p


def estimated_report(
    policies: list[Policy],
    learned_log_z: list[float] | None,
    environment: AbstractEnvironment[Any],
    closed_form: ClosedForm[Hashable] | None,
    seed: int,
    samples: int,
) -> tuple[Report, Floats, Floats]:
    """Measures samplers by samples alone; also `p_T` and `R` of the FCS states, normalised.

    Args:
        policies: the trained policies, one per seed.
        learned_log_z: their `log Z`, if the loss learns it.
        environment: the environment.
        closed_form: the exact answer of the problem, if there is one.
        seed: of all samples.
        samples: trajectories each way, `SAMPLES` at most; with fewer, as many times fewer backward
            trajectories for each of the FCS states.
    """
    count = min(max(samples, 2), SAMPLES)
    final = random_terminals(environment, FCS_BATCHES * FCS_SIZE, seed)
    log_rewards = np.asarray(jax.vmap(environment.log_reward)(final), np.float64)
    backward = 1 if environment.parents == 1 else max(2, BACKWARD * count // SAMPLES)
    exact = None if closed_form is None else exact_terminals(environment, closed_form, count, seed)
    log_z = None if closed_form is None else closed_form.log_z().value
    law: list[Floats] = []
    biases: list[float] = []

    def measured(policy: Policy, seed: int, learned: float | None = None) -> Figures:
        forward = forward_paths(policy, environment, count, seed)
        fcs, bias, log_p = estimated_fcs(policy, environment, final, log_rewards, backward, seed)
        law.append(np.exp(log_p - log_p.max()))
        biases.append(bias)
        tv, kl = None, None
        if exact is not None and log_z is not None:
            back = backward_paths(policy, environment, exact, seed)
            tv = total_variation_of_paths(log_z, forward, back)
            kl = float(np.mean(back.log_reward - log_z - back.log_path_ratio))
        elbo = mean_of(forward.log_reward - forward.log_path_ratio)
        return Figures(
            tv,
            fcs,
            kl,
            elbo if learned is None else Estimate(learned, 0.0),
            _best(forward.final, forward.log_reward),
        )

    learned = tuple(
        measured(policy, seed + 1 + i, learned_log_z[i] if learned_log_z else None)
        for i, policy in enumerate(policies)
    )
    report = Report(
        learned=learned,
        uniform=measured(uniform_policy(policies[0]), seed),
        exact=_exact_figures(environment, exact, log_z),
        method=f"{count:,} trajectories each way",
        tv_kind="unknown" if exact is None else "of trajectories",
        log_z=log_z,
        log_z_is_learned=learned_log_z is not None,
        notes=(
            f"FCS: p_T from {backward} backward trajectories a state; from half as many it is "
            f"{max(biases):+.4f} higher at most",
        ),
        drawn=min(count, TOP_SAMPLES),
    )
    target = np.exp(log_rewards - log_rewards.max())
    return (
        report,
        np.stack(law[:-1]) / np.stack(law[:-1]).sum(1, keepdims=True),
        (target / target.sum()),
    )


def curve_value(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    closed_form: ClosedForm[Hashable] | None,
    exact: Any,
    seed: int,
) -> float | None:
    """TV of trajectories, for a training curve; None without a closed form."""
    if closed_form is None:
        return None
    forward = forward_paths(policy, environment, CURVE_SAMPLES, seed)
    backward = backward_paths(policy, environment, exact, seed)
    return total_variation_of_paths(closed_form.log_z().value, forward, backward).mean


def random_terminals(environment: AbstractEnvironment[Any], count: int, seed: int) -> Any:
    """A batch of terminal states, independent and uniform on `X`."""
    keys = jax.random.split(jax.random.key(seed), count)
    return jax.tree.map(np.asarray, _uniform(environment, keys))


def exact_terminals(
    environment: AbstractEnvironment[Any],
    closed_form: ClosedForm[Hashable],
    count: int,
    seed: int,
) -> Any:
    """A batch of independent samples of the target."""
    states = [environment.encode(label) for label in closed_form.sample(count, seed)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def _exact_figures(
    environment: AbstractEnvironment[Any], exact: Any, log_z: float | None
) -> Figures | None:
    if exact is None or log_z is None:
        return None
    log_rewards = np.asarray(jax.vmap(environment.log_reward)(exact), np.float64)
    none = Estimate(0.0, 0.0)
    return Figures(none, none, 0.0, Estimate(log_z, 0.0), _best(exact, log_rewards))


def _best(final: Any, log_rewards: Floats) -> float:
    rows = [leaf.reshape(len(log_rewards), -1)[:TOP_SAMPLES] for leaf in jax.tree.leaves(final)]
    return mean_best(np.concatenate(rows, axis=1), log_rewards[:TOP_SAMPLES])


@eqx.filter_jit
def _uniform(environment: AbstractEnvironment[Any], keys: jax.Array) -> Any:
    return jax.vmap(environment.random_terminal)(keys)


@eqx.filter_jit
def _forward(
    policy: Policy, environment: AbstractEnvironment[Any], key: jax.Array
) -> tuple[Any, ...]:
    drawn, steps = rollout(policy, environment, key, BLOCK)
    return log_path_ratio(steps), drawn.log_reward, drawn.final


@eqx.filter_jit
def _backward(
    policy: Policy, environment: AbstractEnvironment[Any], final: Any, key: jax.Array
) -> tuple[Any, ...]:
    draws = uniforms(key, environment, BLOCK)
    drawn = sample_backward(policy, environment, final, draws)
    steps = evaluate(policy, environment, drawn)
    return log_path_ratio(steps), drawn.log_reward, final


def _filled(leaf: Any) -> Any:
    """A block of full size, its last row repeated: one program is compiled."""
    missing = BLOCK - len(leaf)
    return jnp.asarray(np.pad(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1), mode="edge"))


def _joined(blocks: list[Any], count: int) -> Paths:
    ratio, reward, final = jax.tree.map(
        lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves])[:count], *blocks
    )
    return Paths(ratio.astype(np.float64), reward.astype(np.float64), final)
