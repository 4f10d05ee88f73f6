"""The figures a run ends with, each beside the untrained policy and exact sampling."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

import jax.numpy as jnp
import numpy as np

from fast.environments import AbstractEnvironment
from fast.measure.enumeration import Enumeration, Floats
from fast.measure.laws import MAX_HISTORIES, TerminalLaw, exact_law, sample_terminals, sampled_law
from fast.policies.policy import Policy, uniform_policy
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

FCS_BATCHES, FCS_SIZE = 64, 128
TOP_SHARE, TOP_SAMPLES = 0.005, 10_000
MEAN_BEST = 20
LAW_SAMPLES, CURVE_SAMPLES = 2**18, 2**15
# From this `|log R|` on rewards are scaled first: e^709 is the largest float, their sum is larger.
FAR = 600


@dataclass(frozen=True)
class Figures:
    """What is measured of one sampler; None where it cannot be had.

    Attributes:
        tv: total variation distance to the target, of the kind that `Report.tv_kind` says.
        fcs: FCS (eq:fcsa), uniform batches of 128 terminals.
        kl: `KL(pi || p_T)` in nats, or an upper bound of it; infinite if a state was missed.
        log_z: an estimate of `log Z`: the learned one, else the mean of `-f(tau)`, whose
            expectation is at most `log Z`.
        best: the mean log reward of the 20 best states among `Report.drawn` samples.
        top_found: how many of the best 0.5 % of terminals those samples contain.
    """

    tv: Estimate | None
    fcs: Estimate | None
    kl: float | None
    log_z: Estimate
    best: float
    top_found: int | None = None


@dataclass(frozen=True)
class Report:
    """The end of a run.

    Attributes:
        learned: the trained samplers, one per seed.
        uniform: the policy that chooses uniformly among the legal actions.
        exact: samples from the target itself, where something is sampled; None if the target
            cannot be sampled.
        method: how the learned law was obtained, in words.
        tv_kind: "exact"; "sampled", so that it has a floor; "of trajectories", an upper bound of
            the distance between terminal laws; or "unknown".
        log_z: the true `log Z`, or None.
        log_z_is_learned: whether the learned `log_z` is a parameter or a flow.
        drawn: how many samples the best states are looked for in.
        terminals: `|X|`, or None if not enumerated.
        top_count: how many terminals the best 0.5 % are, ties included.
        notes: what a reader of the figures must know.
    """

    learned: tuple[Figures, ...]
    uniform: Figures
    exact: Figures | None
    method: str
    tv_kind: str
    log_z: float | None
    log_z_is_learned: bool
    drawn: int
    terminals: int | None = None
    top_count: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, str]:
        """How each figure is known; `TV` and the divergence as sums in float64, if exact."""
        known = "float64" if self.tv_kind == "exact" else "estimate"
        return {
            "tv": known,
            "kl": known,
            "fcs": "estimate",
            "log_z": "learned" if self.log_z_is_learned else "estimate",
            "best": "estimate",
            "top_found": "estimate",
        }

    def to_json(self) -> dict[str, Any]:
        """As plain data; an infinite divergence, which JSON cannot hold, becomes null."""
        data = asdict(self)
        data["kinds"] = self.kinds
        for column in (*data["learned"], data["uniform"], data["exact"]):
            if column and column["kl"] is not None and not math.isfinite(column["kl"]):
                column["kl"] = None
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Report":
        """What `to_json` made; a divergence that it could not hold is infinite again."""

        def figures(column: dict[str, Any]) -> Figures:
            values = dict(column)
            for name in ("tv", "fcs", "log_z"):
                values[name] = values[name] and Estimate(**values[name])
            # Where TV is known, the divergence is.
            if values["kl"] is None and values["tv"] is not None:
                values["kl"] = math.inf
            return Figures(**values)

        known = {field.name for field in fields(cls)}
        # Reports of before the number was stored are of so many.
        values: dict[str, Any] = {"drawn": 10_000}
        values |= {name: value for name, value in data.items() if name in known}
        values["learned"] = tuple(map(figures, values["learned"]))
        values["uniform"] = figures(values["uniform"])
        values["exact"] = values["exact"] and figures(values["exact"])
        values["notes"] = tuple(values["notes"])
        return cls(**values)


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


def has_exact_law(policy: Policy, enumeration: Enumeration) -> bool:
    """Whether `exact_law` is feasible."""
    return policy.is_markovian or enumeration.dag.trajectory_count <= MAX_HISTORIES


def law_of(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    *,
    final: bool,
    seed: int,
    samples: int = LAW_SAMPLES,
) -> TerminalLaw:
    """The terminal law: exact where feasible, else from samples.

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
    return sampled_law(policy, environment, enumeration, count, seed)


def enumerated_report(
    policies: list[Policy],
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
    target = target_law(enumeration)
    batches = uniform_batches(len(target), FCS_SIZE, FCS_BATCHES, seed=0)
    threshold = np.sort(enumeration.log_rewards)[-max(1, math.ceil(TOP_SHARE * len(target)))]
    top = np.flatnonzero(enumeration.log_rewards >= threshold)
    terminals = np.array(enumeration.dag.terminals)
    rng = np.random.default_rng(seed)

    def figures(p: Floats, drawn: Any, log_z: Estimate) -> Figures:
        rewards = enumeration.log_rewards[np.searchsorted(terminals, drawn)]
        return Figures(
            Estimate(total_variation(p.tolist(), target.tolist()), 0.0),
            fcs_estimate(p, target, batches),
            kl_divergence(target.tolist(), p.tolist()),
            log_z,
            mean_best(drawn, rewards),
            int(np.isin(terminals[top], drawn).sum()),
        )

    def measured(policy: Policy, p: Floats, seed: int, learned: float | None = None) -> Figures:
        blocks = list(sample_terminals(policy, environment, enumeration, TOP_SAMPLES, seed))
        drawn = np.concatenate([block.terminal for block in blocks])
        ratio = np.concatenate([block.log_p_f - block.log_p_b for block in blocks])
        minus_f = enumeration.log_rewards[np.searchsorted(terminals, drawn)] - ratio
        log_z = mean_of(minus_f) if learned is None else Estimate(learned, 0.0)
        return figures(p, drawn, log_z)

    learned = tuple(
        measured(
            policy, law.probabilities, seed + 1 + i, learned_log_z[i] if learned_log_z else None
        )
        for i, (policy, law) in enumerate(zip(policies, laws, strict=True))
    )
    walk = uniform_law(enumeration)
    samples = laws[0].samples
    exact_p = rng.multinomial(samples, target) / samples if samples else target
    drawn = terminals[rng.choice(len(target), TOP_SAMPLES, p=target)]
    notes = ("exact sampling is the floor of the sampled figures",) if samples else ()
    return Report(
        learned=learned,
        uniform=measured(uniform_policy(policies[0]), walk, seed),
        exact=figures(exact_p, drawn, Estimate(enumeration.log_z, 0.0)),
        method=laws[0].method,
        tv_kind="sampled" if samples else "exact",
        log_z=enumeration.log_z,
        log_z_is_learned=learned_log_z is not None,
        drawn=TOP_SAMPLES,
        terminals=len(target),
        top_count=len(top),
        notes=notes,
    )


def mean_of(values: Floats) -> Estimate:
    """The mean of independent values, with its standard error."""
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))


def mean_best(states: Any, log_rewards: Floats) -> float:
    """The mean log reward of the best distinct states, in nats."""
    _, first = np.unique(states, axis=0, return_index=True)
    return float(np.sort(log_rewards[first])[-MEAN_BEST:].mean())
