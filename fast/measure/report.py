"""The final figures of a run, of the uniform policy and of exact sampling. Imports no JAX."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from fast.laws.samples import Floats
from fast.measure.weights import Weights
from reference.metrics import Estimate

FCS_BATCHES, FCS_SIZE = 64, 128
TOP_SHARE, TOP_SAMPLES = 0.005, 10_000
MEAN_BEST = 20


@dataclass(frozen=True)
class Expectation:
    """The expectation of a feature under the sampler, and under the target where it is known.

    That under the sampler has no standard error if the law is summed, or estimated from backward
    trajectories, whose error in TV the report has; `weighted` is the mean by importance weights.
    """

    name: str
    sampler: Estimate
    weighted: float | None = None
    target: float | None = None


@dataclass(frozen=True)
class Figures:
    """The figures of one sampler; None where a figure is unknown.

    Attributes:
        tv: total variation distance to the target, of kind `Report.tv_kind`.
        fcs: FCS (eq:fcsa) on batches of 128 terminals, chosen as `Report.fcs_states` says.
        kl: `KL(pi || p_T)` in nats, or an upper bound of it; infinite if a state was missed.
        log_z: an estimate of `log Z`: the learned one, else the mean of `-f(tau)`, whose
            expectation is at most `log Z`.
        best: the mean log reward of the 20 best states among `Report.drawn` samples.
        top_found: the number of the best 0.5 % of terminals among those samples.
        weights: figures of importance weights, where `log Z` is unknown.
    """

    tv: Estimate | None
    fcs: Estimate | None
    kl: float | None
    log_z: Estimate
    best: float
    top_found: int | None = None
    weights: Weights | None = None


@dataclass(frozen=True)
class Report:
    """The figures of all samplers of a run, and how they were obtained.

    Attributes:
        learned: the trained samplers, one per seed.
        uniform: the policy that chooses uniformly among the legal actions.
        exact: samples from the target itself; None if the target cannot be sampled.
        method: the way the learned law was obtained, in words.
        tv_kind: "float64", a sum over all terminal states; "estimated" by backward trajectories,
            with its error in the notes; "sampled", with a floor; "of trajectories", an upper bound
            of the distance between terminal laws; or "unknown".
        log_z: the true `log Z`, or None.
        log_z_is_learned: whether the learned `log_z` is a parameter or a flow.
        drawn: the number of samples among which the best states are searched.
        terminals: `|X|`, or None if not enumerated.
        top_count: the number of terminals in the best 0.5 %, ties included.
        notes: caveats of the figures.
        fcs_states: the states of FCS: "uniform", or "drawn" by the trained samplers, where `Z` is
            unknown.
        expectations: the expectations of features of terminal states, under the sampler of the
            first seed.
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
    fcs_states: str = "uniform"
    expectations: tuple[Expectation, ...] = ()

    @property
    def kinds(self) -> dict[str, str]:
        """The arithmetic behind each figure: "float64" sums, a "learned" value or an "estimate"."""
        kind = "float64" if self.tv_kind == "float64" else "estimate"
        return {
            "tv": kind,
            "kl": kind,
            "fcs": "estimate",
            "log_z": "learned" if self.log_z_is_learned else "estimate",
            "best": "estimate",
            "top_found": "estimate",
        }

    def to_json(self) -> dict[str, Any]:
        """The report as plain data; JSON has no infinity, so an infinite divergence is null."""
        data = asdict(self)
        data["kinds"] = self.kinds
        for column in (*data["learned"], data["uniform"], data["exact"]):
            if column and column["kl"] is not None and not math.isfinite(column["kl"]):
                column["kl"] = None
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Report":
        """The report that `to_json` wrote; a null divergence is infinite again."""
        values = {part.name: data[part.name] for part in fields(cls)}
        values["learned"] = tuple(map(_figures, data["learned"]))
        values["uniform"] = _figures(data["uniform"])
        values["exact"] = data["exact"] and _figures(data["exact"])
        values["notes"] = tuple(data["notes"])
        values["expectations"] = tuple(
            Expectation(**{**each, "sampler": Estimate(**each["sampler"])})
            for each in data["expectations"]
        )
        return cls(**values)


def _figures(column: dict[str, Any]) -> Figures:
    values = dict(column)
    for name in ("tv", "fcs", "log_z"):
        values[name] = column[name] and Estimate(**column[name])
    # Where TV is known, so is the divergence.
    if column["kl"] is None and column["tv"] is not None:
        values["kl"] = math.inf
    if column["weights"]:
        below = Estimate(**column["weights"]["log_z_below"])
        values["weights"] = Weights(**{**column["weights"], "log_z_below": below})
    return Figures(**values)


def figures_of_all(
    figures: Callable[[Any, int, float | None], Figures],
    samplers: Sequence[Any],
    uniform: Any,
    learned_log_z: Sequence[float] | None,
    seed: int,
) -> tuple[tuple[Figures, ...], Figures]:
    """The figures of trained samplers and of the uniform policy, each on samples of its own.

    Args:
        figures: measures a sampler, from a seed and its learned log Z.
        samplers: the trained samplers.
        uniform: the uniform policy, measured alike.
        learned_log_z: log Z of each sampler, in nats; None if the loss learns none.
        seed: the seed of every draw.
    """
    log_z: Sequence[float | None] = learned_log_z or [None] * len(samplers)
    pairs = enumerate(zip(samplers, log_z, strict=True))
    learned = tuple(figures(sampler, seed + 1 + i, value) for i, (sampler, value) in pairs)
    return learned, figures(uniform, seed, None)


def mean_best(states: Any, log_rewards: Floats) -> float:
    """The mean log reward of the best distinct states, in nats."""
    _, first = np.unique(states, axis=0, return_index=True)
    return float(np.sort(log_rewards[first])[-MEAN_BEST:].mean())
