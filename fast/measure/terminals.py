"""Samplers measured on every terminal of an enumerated problem."""

import math
from collections.abc import Sequence

import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats, Ints
from fast.laws.paths import drawn_nodes
from fast.laws.terminal_law import TerminalLaw, target_law, uniform_law
from fast.measure.report import (
    FCS_BATCHES,
    FCS_SIZE,
    TOP_SAMPLES,
    TOP_SHARE,
    Figures,
    Report,
    figures_of_all,
    mean_best,
)
from fast.measure.weights import mean_of
from fast.policies.policy import AnyPolicy, uniform_policy
from reference.metrics import (
    Estimate,
    fcs_estimate,
    kl_divergence,
    total_variation,
    uniform_batches,
)


class _Terminals:
    """The terminals of an enumerated problem, and the figures of samplers on them."""

    def __init__(self, environment: AbstractEnvironment, enumeration: Enumeration):
        self.environment, self.enumeration = environment, enumeration
        self.nodes = np.array(enumeration.dag.terminals)
        self.target = target_law(enumeration)
        self.batches = uniform_batches(len(self.target), FCS_SIZE, FCS_BATCHES, seed=0)
        rank = max(1, math.ceil(TOP_SHARE * len(self.target)))
        self.top = self.nodes[enumeration.log_rewards >= np.sort(enumeration.log_rewards)[-rank]]

    def figures(self, p: Floats, drawn: Ints, log_z: Estimate) -> Figures:
        """The figures of a law, and of terminals drawn from it, by number."""
        target = self.target.tolist()
        return Figures(
            Estimate(total_variation(p.tolist(), target), 0.0),
            fcs_estimate(p, self.target, self.batches),
            kl_divergence(target, p.tolist()),
            log_z,
            mean_best(drawn, self.enumeration.log_rewards[drawn]),
            int(np.isin(self.top, self.nodes[drawn]).sum()),
        )

    def measured(
        self, sampler: tuple[AnyPolicy, TerminalLaw], seed: int, learned: float | None
    ) -> Figures:
        """The figures of a policy and its law; without a learned `log Z` its mean from below.

        Terminals are drawn from the law, and trajectories only where that is not summed.
        """
        policy, law = sampler
        log_z = law.log_z_below if learned is None else learned
        if log_z is not None and not law.samples and not law.error:
            p = law.probabilities / law.probabilities.sum()
            drawn = np.random.default_rng(seed).choice(len(p), TOP_SAMPLES, p=p)
            return self.figures(law.probabilities, drawn, Estimate(log_z, 0.0))
        paths = drawn_nodes(policy, self.environment, self.enumeration, TOP_SAMPLES, seed)
        estimate = mean_of(paths.log_reward - (paths.log_p_f - paths.log_p_b))
        return self.figures(
            law.probabilities,
            np.searchsorted(self.nodes, paths.ends),
            estimate if learned is None else Estimate(learned, 0.0),
        )

    def exact(self, samples: int, seed: int) -> Figures:
        """The figures of the target, or of a histogram of samples from it."""
        rng = np.random.default_rng(seed)
        p = rng.multinomial(samples, self.target) / samples if samples else self.target
        drawn = rng.choice(len(self.target), TOP_SAMPLES, p=self.target)
        return self.figures(p, drawn, Estimate(self.enumeration.log_z, 0.0))


def enumerated_report(
    policies: Sequence[AnyPolicy],
    learned_log_z: list[float] | None,
    environment: AbstractEnvironment,
    enumeration: Enumeration,
    laws: list[TerminalLaw],
    seed: int,
) -> Report:
    """Measures trained samplers, the uniform policy and the target alike, on every terminal.

    Args:
        policies: the trained samplers.
        learned_log_z: log Z of each sampler, in nats; None if the loss learns none.
        environment: the state graph as array code.
        enumeration: the listed states, with their features and rewards.
        laws: their terminal laws.
        seed: the seed of every draw.
    """
    terminals = _Terminals(environment, enumeration)
    learned, uniform = figures_of_all(
        terminals.measured,
        list(zip(policies, laws, strict=True)),
        (uniform_policy(policies[0]), uniform_law(enumeration)),
        learned_log_z,
        seed,
    )
    samples, error = max(law.samples for law in laws), max(law.error for law in laws)
    kind = "sampled" if samples else "estimated" if error else "float64"
    notes = {
        "sampled": ("exact sampling is the floor of the sampled figures",),
        "estimated": (f"the TV of an estimated law is off by about {error:.1g} at most",),
        "float64": (),
    }
    return Report(
        learned=learned,
        uniform=uniform,
        exact=terminals.exact(samples, seed),
        method=" or ".join(dict.fromkeys(law.method for law in laws)),
        tv_kind=kind,
        log_z=enumeration.log_z,
        log_z_is_learned=learned_log_z is not None,
        drawn=TOP_SAMPLES,
        terminals=len(terminals.nodes),
        top_count=len(terminals.top),
        notes=notes[kind],
    )
