"""Samplers measured on every terminal of an enumerated problem."""

import math
from collections.abc import Sequence
from typing import Any, TypeGuard

import jax.numpy as jnp
import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.backward_law import backward_law
from fast.laws.enumeration import Enumeration, Floats
from fast.laws.samples import sample_terminals
from fast.laws.terminal_law import MAX_HISTORIES, TerminalLaw, exact_law, sampled_law
from fast.measure.report import (
    FCS_BATCHES,
    FCS_SIZE,
    TOP_SAMPLES,
    TOP_SHARE,
    Figures,
    Report,
    mean_best,
)
from fast.measure.weights import mean_of
from fast.policies.policy import AnyPolicy, Policy, uniform_policy
from reference.balance import log_float
from reference.fields.field import FLOAT64
from reference.marginals import marginal
from reference.metrics import (
    Estimate,
    fcs_estimate,
    kl_divergence,
    total_variation,
    uniform_batches,
)
from reference.policies import ForwardPolicy

LAW_SAMPLES, CURVE_SAMPLES = 2**18, 2**15
# From this `|log R|` on rewards are scaled first: e^709 is the largest float, their sum is larger.
FAR = 600


def target_law(enumeration: Enumeration) -> Floats:
    """`pi(x) = R(x) / Z`, one per terminal, in float64."""
    rewards = enumeration.rewards
    largest = max(rewards)
    if abs(log_float(largest)) > FAR:
        rewards = tuple(reward / largest for reward in rewards)
    weights = np.array([float(reward) for reward in rewards])
    return weights / math.fsum(weights)


def uniform_law(enumeration: Enumeration) -> Floats:
    """`p_T(x)` of the walk that chooses uniformly among the legal actions, in float64."""
    return np.array(marginal(ForwardPolicy.uniform(enumeration.dag, FLOAT64)))


def has_exact_law(policy: AnyPolicy, enumeration: Enumeration) -> TypeGuard[Policy]:
    """Whether `exact_law` is feasible."""
    few = enumeration.dag.trajectory_count <= MAX_HISTORIES
    return policy.is_summable and (policy.is_markovian or few)


def law_of(
    policy: AnyPolicy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    *,
    final: bool,
    seed: int,
    samples: int = LAW_SAMPLES,
) -> TerminalLaw:
    """The terminal law: exact where feasible, else from trajectories backwards, or from samples.

    Args:
        policy: the policy.
        environment: its environment.
        enumeration: the enumerated problem.
        final: in float64, or with many samples; else the quick form for a training curve.
        seed: of the samples.
        samples: how many at the end of a run; fewer for a curve.
    """
    if has_exact_law(policy, enumeration):
        return exact_law(policy, enumeration, float64=final or jnp.zeros(()).dtype == jnp.float64)
    count = samples if final else min(samples, CURVE_SAMPLES)
    if isinstance(policy, Policy) and not policy.backward.reads_latent:
        found = backward_law(policy, environment, enumeration, count, seed)
        if found is not None:
            return found
    return sampled_law(policy, environment, enumeration, count, seed)


class _Terminals:
    """The terminals of an enumerated problem, and what is measured of laws on them."""

    def __init__(self, environment: AbstractEnvironment[Any], enumeration: Enumeration):
        self.environment, self.enumeration = environment, enumeration
        self.nodes = np.array(enumeration.dag.terminals)
        self.target = target_law(enumeration)
        self.batches = uniform_batches(len(self.target), FCS_SIZE, FCS_BATCHES, seed=0)
        rank = max(1, math.ceil(TOP_SHARE * len(self.target)))
        threshold = np.sort(enumeration.log_rewards)[-rank]
        self.top = self.nodes[enumeration.log_rewards >= threshold]

    def log_rewards(self, drawn: Any) -> Floats:
        """Those of terminal nodes."""
        found: Floats = self.enumeration.log_rewards[np.searchsorted(self.nodes, drawn)]
        return found

    def figures(self, p: Floats, drawn: Any, log_z: Estimate) -> Figures:
        """The figures of a law, and of samples from it."""
        target = self.target.tolist()
        return Figures(
            Estimate(total_variation(p.tolist(), target), 0.0),
            fcs_estimate(p, self.target, self.batches),
            kl_divergence(target, p.tolist()),
            log_z,
            mean_best(drawn, self.log_rewards(drawn)),
            int(np.isin(self.top, drawn).sum()),
        )

    def measured(
        self, policy: AnyPolicy, p: Floats, seed: int, learned: float | None = None
    ) -> Figures:
        """The figures of a policy of that law; `log Z` is estimated if it is not learned."""
        environment, enumeration = self.environment, self.enumeration
        blocks = list(sample_terminals(policy, environment, enumeration, TOP_SAMPLES, seed))
        drawn = np.concatenate([block.terminal for block in blocks])
        ratio = np.concatenate([block.log_p_f - block.log_p_b for block in blocks])
        log_z = mean_of(self.log_rewards(drawn) - ratio)
        return self.figures(p, drawn, log_z if learned is None else Estimate(learned, 0.0))

    def exact(self, samples: int, seed: int) -> Figures:
        """The figures of the target, or of as many samples from it."""
        rng = np.random.default_rng(seed)
        p = rng.multinomial(samples, self.target) / samples if samples else self.target
        drawn = self.nodes[rng.choice(len(self.target), TOP_SAMPLES, p=self.target)]
        return self.figures(p, drawn, Estimate(self.enumeration.log_z, 0.0))


def enumerated_report(
    policies: Sequence[AnyPolicy],
    learned_log_z: list[float] | None,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    laws: list[TerminalLaw],
    seed: int,
) -> Report:
    """Measures trained samplers, the uniform policy and the target alike, on every terminal.

    Args:
        policies: the trained policies, one per seed.
        learned_log_z: their `log Z`, if the loss learns it.
        environment: the environment.
        enumeration: the enumerated problem.
        laws: the terminal laws of the policies.
        seed: of all samples.
    """
    terminals = _Terminals(environment, enumeration)
    log_z: Sequence[float | None] = learned_log_z or [None] * len(policies)
    each = zip(policies, laws, log_z, strict=True)
    samples, error = max(law.samples for law in laws), max(law.error for law in laws)
    known = "sampled" if samples else "estimated" if error else "exact"
    notes = {
        "sampled": ("exact sampling is the floor of the sampled figures",),
        "estimated": (f"the TV of a law so estimated is off by about {error:.1g} at most",),
        "exact": (),
    }
    return Report(
        learned=tuple(
            terminals.measured(policy, law.probabilities, seed + 1 + i, learned)
            for i, (policy, law, learned) in enumerate(each)
        ),
        uniform=terminals.measured(uniform_policy(policies[0]), uniform_law(enumeration), seed),
        exact=terminals.exact(samples, seed),
        method=" or ".join(dict.fromkeys(law.method for law in laws)),
        tv_kind=known,
        log_z=enumeration.log_z,
        log_z_is_learned=learned_log_z is not None,
        drawn=TOP_SAMPLES,
        terminals=len(terminals.nodes),
        top_count=len(terminals.top),
        notes=notes[known],
    )
