"""The figures a run ends with, each beside the untrained policy and exact sampling."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from fast.bridge import Enumeration, Floats
from fast.config import TrainConfig
from fast.dynamics import Markov
from fast.environments import AbstractEnvironment
from fast.laws import MAX_HISTORIES, TerminalLaw, exact_law, sample_terminals, sampled_law
from fast.policies import Policy
from fast.training import Sampler
from reference.fields import FLOAT64
from reference.marginals import marginal
from reference.metrics import (
    Estimate,
    fcs_estimate,
    kl_divergence,
    total_variation,
    uniform_batches,
)
from reference.policies import ForwardPolicy

FCS_BATCHES, FCS_SIZE = 64, 128
TOP_SHARE, TOP_SAMPLES = 0.005, 10_000
LAW_SAMPLES, CURVE_SAMPLES = 2**18, 2**15


@dataclass(frozen=True)
class Figures:
    """What is measured of one sampler.

    Attributes:
        tv: total variation distance between `p_T` and the target.
        fcs: FCS (eq:fcsa), uniform batches of 128 terminals; mean and standard error.
        kl: `KL(pi || p_T)` in nats; infinite if sampled and a state was missed.
        log_z: an estimate of `log Z`, with its standard error (0 for a learned parameter).
        top_found: how many of the best 0.5 % of terminals 10,000 samples contain.
    """

    tv: float
    fcs: Estimate
    kl: float
    log_z: Estimate
    top_found: int


@dataclass(frozen=True)
class Report:
    """The end of a run.

    Attributes:
        learned: the trained sampler.
        uniform: the policy that chooses uniformly among the legal actions.
        exact: samples from the target itself, where something is sampled.
        method: how the learned law was obtained.
        sampled_law: whether it was estimated from samples, so that TV and FCS have a floor.
        terminals: `|X|`.
        top_count: how many terminals the best 0.5 % are, ties included.
        log_z_is_learned: whether the learned `log_z` is a parameter.
    """

    learned: Figures
    uniform: Figures
    exact: Figures
    method: str
    sampled_law: bool
    terminals: int
    top_count: int
    log_z_is_learned: bool

    def to_json(self) -> dict[str, Any]:
        """As plain data; an infinite divergence, which JSON cannot hold, becomes null."""
        data = asdict(self)
        for column in ("learned", "uniform", "exact"):
            if not math.isfinite(data[column]["kl"]):
                data[column]["kl"] = None
        return data


def target_law(enumeration: Enumeration) -> Floats:
    """`pi(x) = R(x) / Z`, one per terminal, in float64."""
    weights = np.array([float(reward) for reward in enumeration.rewards])
    return weights / math.fsum(weights)


def has_exact_law(policy: Policy, enumeration: Enumeration) -> bool:
    """Whether `exact_law` is feasible."""
    return isinstance(policy.dynamics, Markov) or (
        enumeration.dag.trajectory_count <= MAX_HISTORIES
    )


def law_of(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    *,
    final: bool,
    seed: int,
) -> TerminalLaw:
    """The terminal law: exact where feasible, else from samples.

    Args:
        policy: the policy.
        environment: its environment.
        enumeration: the enumerated problem.
        final: in float64, or with many samples; else the quick form for a training curve.
        seed: of the samples.
    """
    if has_exact_law(policy, enumeration):
        return exact_law(policy, enumeration, float64=final)
    samples = LAW_SAMPLES if final else CURVE_SAMPLES
    return sampled_law(policy, environment, enumeration, samples, seed)


def make_report(
    config: TrainConfig,
    sampler: Sampler,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    law: TerminalLaw,
) -> Report:
    """Measures a trained sampler, the uniform policy and the target alike."""
    target = target_law(enumeration)
    batches = uniform_batches(len(target), FCS_SIZE, FCS_BATCHES, seed=0)
    best = np.sort(enumeration.log_rewards)[-max(1, math.ceil(TOP_SHARE * len(target)))]
    top = np.flatnonzero(enumeration.log_rewards >= best)
    terminals = np.array(enumeration.dag.terminals)
    rng = np.random.default_rng(config.seed)

    def figures(p: Floats, log_z: Estimate, drawn: Any) -> Figures:
        return Figures(
            total_variation(p.tolist(), target.tolist()),
            fcs_estimate(p, target, batches),
            kl_divergence(target.tolist(), p.tolist()),
            log_z,
            int(np.isin(terminals[top], drawn).sum()),
        )

    def sampled(policy: Policy, seed: int) -> tuple[Any, Estimate]:
        blocks = list(sample_terminals(policy, environment, enumeration, TOP_SAMPLES, seed))
        drawn = np.concatenate([block.terminal for block in blocks])
        log_ratio = np.concatenate([block.log_p_f - block.log_p_b for block in blocks])
        minus_f = enumeration.log_rewards[np.searchsorted(terminals, drawn)] - log_ratio
        error = float(minus_f.std(ddof=1)) / math.sqrt(len(minus_f))
        return drawn, Estimate(float(minus_f.mean()), error)

    drawn, log_z = sampled(sampler.policy, config.seed + 1)
    if config.loss == "tb":
        log_z = Estimate(float(sampler.log_z), 0.0)
    learned = figures(law.probabilities, log_z, drawn)
    drawn, log_z = sampled(_uniform(sampler.policy), config.seed + 2)
    walk = np.array(marginal(ForwardPolicy.uniform(enumeration.dag, FLOAT64)))
    uniform = figures(walk, log_z, drawn)
    drawn = terminals[rng.choice(len(target), TOP_SAMPLES, p=target)]
    exact_p = rng.multinomial(law.samples, target) / law.samples if law.samples else target
    true_log_z = Estimate(enumeration.log_z, 0.0)
    return Report(
        learned=learned,
        uniform=uniform,
        exact=figures(exact_p, true_log_z, drawn),
        method=law.method,
        sampled_law=law.samples > 0,
        terminals=len(target),
        top_count=len(top),
        log_z_is_learned=config.loss == "tb",
    )


def _uniform(policy: Policy) -> Policy:
    """The same network with all logits zero: the policy before any learning."""
    return eqx.tree_at(  # type: ignore[no-any-return]
        lambda p: (p.head.weights[-1], p.head.biases[-1]), policy, replace_fn=jnp.zeros_like
    )
