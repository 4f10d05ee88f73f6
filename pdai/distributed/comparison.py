"""The combined sampler of an experiment, compared with one trained on the product itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax

from fast.laws.enumeration import enumerate_environment
from fast.measure.report import Report
from fast.runs.frozen import load_policy
from fast.training.compose import TrainConfig
from pdai.distributed.certificates import MAX_TRAJECTORIES, oscillations, path_ratios
from pdai.distributed.plan import DIRECT, Plan
from reference.bounds import combined_tv_bound, tv_bound

# Oscillations by run, one for each seed.
Spreads: TypeAlias = dict[str, list[float]]


@dataclass(frozen=True)
class Comparison:
    """The figures of all runs, and the bounds that their residuals give.

    Attributes:
        combined: the name of the run whose law is to be the product.
        reports: the report of every run, in the order of their beginnings; the direct one is last.
        trajectories: the number of trajectories that each run drew in training.
        oscillations: `Delta` of each run for every seed, the largest minus the least log residual
            over all trajectories, in nats; None if there are too many to go through.
    """

    combined: str
    reports: dict[str, Report]
    trajectories: dict[str, int]
    oscillations: Spreads | None

    @property
    def predicted(self) -> list[float] | None:
        """The bound of the claim combined-tv-bound on the combined sampler's TV, per seed."""
        if self.oscillations is None:
            return None
        return allowed({n: spread for n, spread in self.oscillations.items() if n != DIRECT})

    @property
    def direct_bound(self) -> list[float] | None:
        """The bound on the TV of the direct run (claim residual-tv-bound)."""
        if self.oscillations is None:
            return None
        return [tv_bound(spread) for spread in self.oscillations[DIRECT]]

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data."""
        reports = {name: report.to_json() for name, report in self.reports.items()}
        bounds = {"predicted": self.predicted, "direct_bound": self.direct_bound}
        return {**vars(self), **bounds, "reports": reports}


def compare(plan: Plan, reports: Mapping[str, Report]) -> Comparison:
    """The comparison of an experiment whose runs are finished."""
    runs = plan.runs()
    drawn = {
        name: run.optimiser.steps * run.sampling.batch * run.run.seeds for name, run in runs.items()
    }
    of_runs = {name: reports[name] for name in runs}
    return Comparison(plan.combined, of_runs, drawn, spreads(plan.config, runs))


def allowed(oscillations: Spreads) -> list[float]:
    """The bound on a combined sampler's TV, per seed, by the oscillations of all its runs."""
    return [combined_tv_bound(of_seed) for of_seed in zip(*oscillations.values(), strict=True)]


def spreads(config: TrainConfig, runs: Mapping[str, TrainConfig]) -> Spreads | None:
    """The oscillations of finished runs, for every seed; None if it is too much to compute.

    `config` is that of the combined sampler; the runs come with all that they are given.
    """
    if config.task.states() > config.run.max_states:
        return None
    most, environment = config.run.max_states, config.make_environment()
    enumeration = enumerate_environment(config.problem(), environment, most)
    if enumeration.dag.trajectory_count > MAX_TRAJECTORIES:
        return None
    names = {run.folder(): name for name, run in runs.items()}
    frozen = {name: tuple(names[path] for path in run.factors.frozen) for name, run in runs.items()}
    policies = {name: load_policy(run) for name, run in runs.items()}
    made: Spreads = {name: [] for name in runs}
    for seed in range(config.run.seeds):
        paths = {
            name: path_ratios(jax.tree.map(lambda leaf, at=seed: leaf[at], policy), enumeration)
            for name, policy in policies.items()
        }
        ratios = {name: log_ratios for name, (_, log_ratios) in paths.items()}
        (ends, _), *_ = paths.values()
        for name, spread in oscillations(runs, frozen, ratios, enumeration, ends).items():
            made[name].append(spread)
    return made
