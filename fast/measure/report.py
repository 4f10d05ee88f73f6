"""The figures a run ends with, each beside the untrained policy and exact sampling."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from fast.laws.enumeration import Floats
from fast.measure.expectations import Expectation
from fast.measure.weights import Weights
from reference.metrics import Estimate

FCS_BATCHES, FCS_SIZE = 64, 128
TOP_SHARE, TOP_SAMPLES = 0.005, 10_000
MEAN_BEST = 20


@dataclass(frozen=True)
class Figures:
    """What is measured of one sampler; None where it cannot be had.

    Attributes:
        tv: total variation distance to the target, of the kind that `Report.tv_kind` says.
        fcs: FCS (eq:fcsa), batches of 128 terminals: of uniform ones, or of such as samplers drew,
            as `Report.fcs_states` says.
        kl: `KL(pi || p_T)` in nats, or an upper bound of it; infinite if a state was missed.
        log_z: an estimate of `log Z`: the learned one, else the mean of `-f(tau)`, whose
            expectation is at most `log Z`.
        best: the mean log reward of the 20 best states among `Report.drawn` samples.
        top_found: how many of the best 0.5 % of terminals those samples contain.
        weights: what importance weights say, where `log Z` is unknown.
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
    """The end of a run.

    Attributes:
        learned: the trained samplers, one per seed.
        uniform: the policy that chooses uniformly among the legal actions.
        exact: samples from the target itself, where something is sampled; None if the target
            cannot be sampled.
        method: how the learned law was obtained, in words.
        tv_kind: "exact"; "estimated" by backward trajectories, whose error the notes tell;
            "sampled", so that it has a floor; "of trajectories", an upper bound of
            the distance between terminal laws; or "unknown".
        log_z: the true `log Z`, or None.
        log_z_is_learned: whether the learned `log_z` is a parameter or a flow.
        drawn: how many samples the best states are looked for in.
        terminals: `|X|`, or None if not enumerated.
        top_count: how many terminals the best 0.5 % are, ties included.
        notes: what a reader of the figures must know.
        fcs_states: where the states of FCS are from: "uniform" ones, or "drawn" by the trained
            samplers, where `Z` is unknown.
        expectations: of features of terminal states, under the sampler of the first seed.
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
            if values.get("weights"):
                below = Estimate(**values["weights"]["log_z_below"])
                values["weights"] = Weights(**{**values["weights"], "log_z_below": below})
            return Figures(**values)

        known = {field.name for field in fields(cls)}
        # Reports of before the number was stored are of so many.
        values: dict[str, Any] = {"drawn": 10_000}
        values |= {name: value for name, value in data.items() if name in known}
        values["learned"] = tuple(map(figures, values["learned"]))
        values["uniform"] = figures(values["uniform"])
        values["exact"] = values["exact"] and figures(values["exact"])
        values["notes"] = tuple(values["notes"])
        values["expectations"] = tuple(
            Expectation(**{**found, "sampler": Estimate(**found["sampler"])})
            for found in values.get("expectations", ())
        )
        return cls(**values)


def figures_of_all(
    figures: Callable[[Any, int, float | None], Figures],
    samplers: Sequence[Any],
    uniform: Any,
    learned_log_z: Sequence[float] | None,
    seed: int,
) -> tuple[tuple[Figures, ...], Figures]:
    """The figures of trained samplers, one per seed, and of the uniform policy.

    Args:
        figures: measures a sampler, from a seed and its learned `log Z`, if there is one.
        samplers: the trained samplers.
        uniform: the uniform policy.
        learned_log_z: the `log Z` of each, if the loss learns it.
        seed: of all samples; each sampler has its own.
    """
    log_z: Sequence[float | None] = learned_log_z or [None] * len(samplers)
    pairs = enumerate(zip(samplers, log_z, strict=True))
    learned = tuple(figures(sampler, seed + 1 + i, value) for i, (sampler, value) in pairs)
    return learned, figures(uniform, seed, None)


def mean_best(states: Any, log_rewards: Floats) -> float:
    """The mean log reward of the best distinct states, in nats."""
    _, first = np.unique(states, axis=0, return_index=True)
    return float(np.sort(log_rewards[first])[-MEAN_BEST:].mean())
