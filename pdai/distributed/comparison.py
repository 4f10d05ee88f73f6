"""The combined sampler of an experiment, compared with one trained on the product itself."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax

from fast.laws.enumeration import enumerate_environment
from fast.measure.report import Report
from fast.runs.frozen import load_policy
from fast.training.compose import TrainConfig
from pdai.distributed.certificates import all_trajectories, oscillations, path_ratios
from pdai.distributed.plan import DIRECT, Plan
from reference.bounds import combined_tv_bound, tv_bound
from reference.errors import TooLargeError


@dataclass(frozen=True)
class Comparison:
    """The figures of all runs, and the bounds that their residuals give.

    Attributes:
        combined: the name of the run whose law is to be the product.
        reports: the report of every run, in the order of their beginnings; the direct one is last.
        trajectories: the number of trajectories that each run drew in training.
        oscillations: `Delta` of each run for every seed, the largest minus the least log residual
            over all trajectories, in nats; None if there are too many to go through.
        predicted: the bound `tanh(sum of Delta / 4)` on the combined sampler's TV, per seed (N6).
        direct_bound: the bound on the TV of the direct run (N5).
    """

    combined: str
    reports: dict[str, Report]
    trajectories: dict[str, int]
    oscillations: dict[str, list[float]] | None = None
    predicted: list[float] | None = None
    direct_bound: list[float] | None = None

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data."""
        reports = {name: report.to_json() for name, report in self.reports.items()}
        return {**vars(self), "reports": reports}


def compare(plan: Plan, reports: Mapping[str, Report]) -> Comparison:
    """The comparison of an experiment whose runs are finished."""
    runs = plan.runs()
    drawn = {
        name: run.optimiser.steps * run.sampling.batch * run.run.seeds for name, run in runs.items()
    }
    comparison = Comparison(plan.combined, {name: reports[name] for name in runs}, drawn)
    spreads = _oscillations(plan.config, runs)
    if spreads is None:
        return comparison
    pieces = {name: of_run for name, of_run in spreads.items() if name != DIRECT}
    direct = [tv_bound(spread) for spread in spreads[DIRECT]]
    return dataclasses.replace(
        comparison, oscillations=spreads, predicted=_allowed(pieces), direct_bound=direct
    )


def allowed(config: TrainConfig, pieces: Mapping[str, TrainConfig]) -> list[float] | None:
    """The bound on a combined sampler's TV, per seed (N6); None if it is too much to compute.

    Args:
        config: the configuration of the combined sampler.
        pieces: all runs that it is made of, its own included; finished.
    """
    spreads = _oscillations(config, pieces)
    return None if spreads is None else _allowed(spreads)


def _allowed(oscillations: Mapping[str, list[float]]) -> list[float]:
    return [combined_tv_bound(of_seed) for of_seed in zip(*oscillations.values(), strict=True)]


def _oscillations(
    config: TrainConfig, runs: Mapping[str, TrainConfig]
) -> dict[str, list[float]] | None:
    """The oscillations of every run, for every seed; None if there are too many trajectories."""
    if config.task.states() > config.run.max_states:
        return None
    problem = config.problem()
    environment = config.task.make_environment(problem, config.run.max_states)
    enumeration = enumerate_environment(problem, environment, config.run.max_states)
    try:
        trajectories = all_trajectories(enumeration)
    except TooLargeError:
        return None
    names = {run.folder(): name for name, run in runs.items()}
    frozen = {name: tuple(names[path] for path in run.factors.frozen) for name, run in runs.items()}
    policies = {name: load_policy(run) for name, run in runs.items()}
    environments = {name: run.make_environment() for name, run in runs.items()}
    spreads: dict[str, list[float]] = {name: [] for name in runs}
    for seed in range(next(iter(runs.values())).run.seeds):
        ratios = {
            name: path_ratios(
                jax.tree.map(lambda leaf, at=seed: leaf[at], policies[name]),
                environments[name],
                enumeration,
                trajectories,
            )
            for name in runs
        }
        of_seed = oscillations(runs, frozen, ratios, enumeration, trajectories)
        for name, spread in of_seed.items():
            spreads[name].append(spread)
    return spreads
