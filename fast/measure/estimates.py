"""Samplers measured by samples alone, where states cannot be enumerated."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Floats
from fast.laws.paths import UNOPTIMISED, Paths, backward_paths, forward_paths
from fast.measure.report import (
    FCS_BATCHES,
    FCS_SIZE,
    TOP_SAMPLES,
    Figures,
    Report,
    figures_of_all,
    mean_best,
)
from fast.measure.weights import Weights, mean_of, scaled
from fast.policies.policy import Policy, uniform_policy
from reference.metrics import Estimate, fcs_estimate
from reference.problems import ClosedForm
from reference.problems.base import is_ours

# The most backward trajectories per state at the end of a run. Their number is doubled until FCS
# falls by less than this share of itself from half of them to all; below eight, by a tenth of that,
# as so few show their own error badly. A short run has no more, beyond eight, than makes four times
# the trajectories that it trained on: else measuring takes longer than training.
BACKWARD, FEW, ENOUGH = 64, 8, 0.1
# Trajectories each way, at the end of a run; the standard error of TV is then below 0.004. A curve
# has fewer, as TV is estimated at every evaluation.
SAMPLES, CURVE_SAMPLES = 16_384, 4_096

UNSEEN = (
    "Z is unknown: figures are of what the samplers drew, and none of them sees a mode where no "
    "trajectory ended; `pdai certify` bounds TV"
)

TOLD = "figures take log_z() and sample of the problem as they are, and nothing proves them"
TOO_HIGH = "a KL below 0 says that log_z() is too high, or that sample does not draw the target"


class _Samples:
    """The states on which samplers are measured where nothing is enumerated, and their figures.

    Attributes:
        count: trajectories each way.
        log_z: the true `log Z`, or None.
        is_told: whether it is what a user's problem says.
        is_refuted: whether a KL divergence below 0 has shown that it is wrong.
        laws: the estimates of `p_T` at the FCS states, up to a factor, one row per policy.
        biases: the estimated bias of FCS, one per policy.
        drawn: the backward trajectories of each state, one number per policy.
    """

    def __init__(
        self,
        environment: AbstractEnvironment,
        closed_form: ClosedForm[Hashable] | None,
        seed: int,
        samples: int,
        trained: float,
        policies: Sequence[Policy],
    ):
        self.count = min(max(samples, 2), SAMPLES)
        self.environment, self.size = environment, FCS_SIZE
        self.exact, self.log_z = None, None
        self.is_told = closed_form is not None and not is_ours(closed_form)
        self.is_refuted = False
        if closed_form is None:
            # A posterior has no mass at most states, so uniformly drawn states would show nothing.
            self.final, self.size = drawn_batches(policies, environment, self.count, seed)
        else:
            self.final = random_terminals(environment, FCS_BATCHES * FCS_SIZE, seed)
            self.exact = exact_terminals(environment, closed_form, self.count, seed)
            self.log_z = closed_form.log_z().value
        self.log_rewards = self._log_rewards(self.final)
        most = BACKWARD * self.count // SAMPLES
        while most > FEW and most * len(self.log_rewards) > 4 * trained:
            most //= 2
        self.backward = max(2, most)
        self.laws: list[Floats] = []
        self.biases: list[float] = []
        self.drawn: list[int] = []

    def _log_rewards(self, states: Any) -> Floats:
        return np.asarray(jax.vmap(self.environment.log_reward)(states), np.float64)

    def measured(self, policy: Policy, seed: int, learned: float | None) -> Figures:
        """The figures of a policy; `log Z` is estimated if it is not learned."""
        environment = self.environment
        forward = forward_paths(policy, environment, self.count, seed)
        fcs, bias, log_p, drawn = estimated_fcs(
            policy, environment, self.final, self.log_rewards, self.size, self.backward, seed
        )
        self.laws.append(scaled(log_p))
        self.biases.append(bias)
        self.drawn.append(drawn)
        log_weights = forward.log_reward - forward.log_ratio
        elbo = mean_of(log_weights)
        log_z = elbo if learned is None else Estimate(learned, 0.0)
        best = _best(forward.ends, forward.log_reward)
        if self.log_z is None:
            return Figures(None, fcs, None, log_z, best, weights=Weights.of(log_weights))
        back = backward_paths(policy, environment, self.exact, seed)
        tv = total_variation_of_paths(self.log_z, forward, back)
        kl = mean_of(back.log_reward - self.log_z - back.log_ratio)
        # With weights that are all equal, the rounding of sums along trajectories is left.
        unit = np.finfo(np.float32).eps * environment.horizon
        rounding = unit * float((np.abs(back.log_reward) + np.abs(back.log_ratio)).max())
        self.is_refuted |= bool(kl.mean < -5 * kl.standard_error - rounding)
        return Figures(tv, fcs, kl.mean, log_z, best)

    def exact_figures(self) -> Figures | None:
        """The figures of exact samples; None without them, or if only the user says so."""
        if self.log_z is None or self.is_told:
            return None
        zero = Estimate(0.0, 0.0)
        best = _best(self.exact, self._log_rewards(self.exact))
        return Figures(zero, zero, 0.0, Estimate(self.log_z, 0.0), best)


def estimated_report(
    policies: list[Policy],
    learned_log_z: list[float] | None,
    environment: AbstractEnvironment,
    closed_form: ClosedForm[Hashable] | None,
    seed: int,
    samples: int,
    trained: float = math.inf,
) -> tuple[Report, Floats, Floats]:
    """Measures samplers by samples alone; also `p_T` and `R` of the FCS states, normalised.

    There are at most 16,384 trajectories each way; with fewer, in proportion fewer backward
    trajectories at most for each of the FCS states.

    Args:
        policies: the samplers, one for each seed of training.
        learned_log_z: log Z of each sampler, in nats; None if the loss learns none.
        environment: the state graph as array code.
        closed_form: the exact Z of the problem, where it has one.
        seed: the seed of every draw.
        samples: trajectories to draw forwards; at most 16,384 are used each way.
        trained: trajectories that each sampler was trained on; after few, FCS is of fewer.
    """
    on = _Samples(environment, closed_form, seed, samples, trained, policies)
    uniform = uniform_policy(policies[0])
    learned, untrained = figures_of_all(on.measured, policies, uniform, learned_log_z, seed)
    law, target = np.stack(on.laws[: len(policies)]), scaled(on.log_rewards)
    paths = " to ".join(map(str, sorted({min(on.drawn), max(on.drawn)})))
    report = Report(
        learned=learned,
        uniform=untrained,
        exact=on.exact_figures(),
        method=f"{on.count:,} trajectories each way",
        tv_kind="unknown" if on.log_z is None else "of trajectories",
        log_z=on.log_z,
        log_z_is_learned=learned_log_z is not None,
        notes=(
            f"FCS: p_T from {paths} backward trajectories a state"
            + ("" if paths == "1" else f"; from half, {max(on.biases):+.4f} higher at most"),
            *([] if on.log_z is not None else [UNSEEN]),
            *([TOLD] if on.is_told else []),
            *([TOO_HIGH] if on.is_refuted else []),
        ),
        drawn=min(on.count, TOP_SAMPLES),
        fcs_states="uniform" if on.log_z is not None else "drawn",
    )
    return report, law / law.sum(1, keepdims=True), target / target.sum()


def curve_value(
    policy: Policy,
    environment: AbstractEnvironment,
    closed_form: ClosedForm[Hashable] | None,
    exact: Any,
    seed: int,
) -> float | None:
    """TV of trajectories, for a training curve; None without a closed form.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        closed_form: the exact Z of the problem, where it has one.
        exact: a batch of independent samples of the target.
        seed: the seed of every draw.
    """
    if closed_form is None:
        return None
    forward = forward_paths(policy, environment, CURVE_SAMPLES, seed)
    backward = backward_paths(policy, environment, exact, seed)
    return total_variation_of_paths(closed_form.log_z().value, forward, backward).mean


def total_variation_of_paths(log_z: float, forward: Paths, backward: Paths) -> Estimate:
    """`TV(p_F, mu)` of the laws of trajectories, `mu(tau) = pi(x) p_B(tau | x)`, without bias.

    With `f = log(p_F / mu)` it is the mean of `tanh(|f| / 2)` under `(p_F + mu) / 2`. It is at
    least the distance of the terminal laws, and equals it where each `x` has one trajectory.
    (Claim loss-tv-bound.) As many trajectories are drawn forwards, from `p_F`, as from `mu`.

    Args:
        log_z: the exact log Z, in nats.
        forward: trajectories from p_F.
        backward: as many trajectories from mu.
    """
    parts = [
        np.tanh(np.abs(paths.log_ratio - paths.log_reward + log_z) / 2)
        for paths in (forward, backward)
    ]
    return mean_of((parts[0] + parts[1]) / 2)


def estimated_fcs(
    policy: Policy,
    environment: AbstractEnvironment,
    final: Any,
    log_rewards: Floats,
    size: int,
    backward: int,
    seed: int,
) -> tuple[Estimate, float, Floats, int]:
    """FCS (eq:fcsa) on given batches, with `p_T(x)` estimated from backward trajectories.

    `p_T(x) = E p_F(tau) / p_B(tau | x)` over `tau ~ p_B(. | x)`; its noise makes FCS too large.
    One trajectory is exact where a state has only one. `p_B` must not read latents.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        final: a batch of terminal states, batch by batch of the definition.
        log_rewards: their log R, in nats.
        size: the number of states of a batch of the definition.
        backward: the most trajectories for each state; fewer are drawn where they are enough.
        seed: the seed of every draw.

    Returns:
        the estimate; by how much it falls from half the trajectories to all, which shows the size
        of the bias; the estimates of `log p_T`, in nats; and the number of trajectories.
    """
    batches = np.arange(len(log_rewards)).reshape(-1, size)
    target, first = scaled(log_rewards), backward_paths(policy, environment, final, seed)
    ratios = [first.log_ratio]
    # Where p_B leaves nothing to chance, one trajectory of each state is exact.
    most = backward if first.log_p_b.any() else 1
    count = min(2, most)

    def fcs(rows: Floats) -> tuple[Estimate, Floats]:
        largest = rows.max(0)
        log_p = largest + np.log(np.exp(rows - largest).mean(0))
        return fcs_estimate(scaled(log_p), target, batches), log_p

    while True:
        ratios += [
            backward_paths(policy, environment, final, seed + i).log_ratio
            for i in range(len(ratios), count)
        ]
        whole, log_p = fcs(np.stack(ratios))
        half = fcs(np.stack(ratios[: count // 2]))[0] if count > 1 else whole
        fall = half.mean - whole.mean
        share = ENOUGH if count >= FEW else ENOUGH / 10
        if count == most or abs(fall) < share * whole.mean:
            return whole, fall, log_p, count
        count = min(2 * count, most)


def random_terminals(environment: AbstractEnvironment, count: int, seed: int) -> Any:
    """A batch of terminal states, independent and uniform on `X`.

    Args:
        environment: the state graph as array code.
        count: how many are drawn.
        seed: the seed of every draw.
    """
    return jax.tree.map(np.asarray, _uniform(environment, np.int64(seed), count))


def drawn_batches(
    policies: Sequence[Policy], environment: AbstractEnvironment, count: int, seed: int
) -> tuple[Any, int]:
    """Batches of different states from so many draws of each sampler, and the size of a batch.

    Args:
        policies: the samplers.
        environment: the state graph as array code.
        count: draws of each sampler.
        seed: the seed of every draw.
    """
    drawn = [forward_paths(policy, environment, count, seed).ends for policy in policies]
    every = jax.tree.map(lambda *leaves: np.concatenate(leaves), *drawn)
    _, first = np.unique(_flat(every), axis=0, return_index=True)
    size, rng = min(FCS_SIZE, len(first)), np.random.default_rng(seed)
    rows = [rng.choice(first, size, replace=False) for _ in range(FCS_BATCHES)]
    return jax.tree.map(lambda leaf: leaf[np.concatenate(rows)], every), size


def exact_terminals(
    environment: AbstractEnvironment, closed_form: ClosedForm[Hashable], count: int, seed: int
) -> Any:
    """A batch of independent samples of the target.

    Args:
        environment: the state graph as array code.
        closed_form: what draws from the target.
        count: how many are drawn.
        seed: the seed of every draw.
    """
    return environment.encode_batch(closed_form.sample(count, seed))


def _best(states: Any, log_rewards: Floats) -> float:
    return mean_best(_flat(states)[:TOP_SAMPLES], log_rewards[:TOP_SAMPLES])


def _flat(states: Any) -> Any:
    """A row of numbers for each state of a batch."""
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in jax.tree.leaves(states)], axis=1)


@eqx.filter_jit(**UNOPTIMISED)
def _uniform(environment: AbstractEnvironment, seed: Any, count: int) -> Any:
    return jax.vmap(environment.random_terminal)(jax.random.split(jax.random.key(seed), count))
