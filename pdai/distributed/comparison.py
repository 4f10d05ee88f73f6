"""What an experiment ends with: the combined sampler beside one trained on the product itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax

from fast.laws.enumeration import Enumeration, enumerate_environment
from fast.measure.report import Report
from fast.policies.policy import Policy
from fast.runs.frozen import environment_of, load_policy
from fast.training.config import TrainConfig
from pdai.distributed.certificates import all_trajectories, oscillations, path_ratios
from pdai.distributed.plan import DIRECT, Plan
from reference.bounds import combined_tv_bound, tv_bound
from reference.errors import TooLargeError


@dataclass(frozen=True)
class Comparison:
    """The figures of all runs, and what their residuals predict.

    Attributes:
        combined: the name of the run whose law is to be the product.
        reports: of every run, in the order in which they were begun; the direct one is the last.
        trajectories: how many each drew in training.
        oscillations: `Delta` of each run for every seed, the largest minus the least log residual
            over all trajectories, in nats; None if there are too many to go through.
        predicted: the bound `tanh(sum of Delta / 4)` on the combined sampler's TV, per seed (N6).
        direct_bound: the same of the direct run alone (N5).
    """

    combined: str
    reports: dict[str, Report]
    trajectories: dict[str, int]
    oscillations: dict[str, list[float]] | None = None
    predicted: list[float] | None = None
    direct_bound: list[float] | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        reports = {name: report.to_json() for name, report in self.reports.items()}
        return {**vars(self), "reports": reports}


def compare(plan: Plan, reports: Mapping[str, Report]) -> Comparison:
    """The comparison of an experiment whose runs are finished."""
    runs = plan.runs()
    drawn = {
        name: run.optimiser.steps * run.sampling.batch * run.run.seeds for name, run in runs.items()
    }
    ordered = {name: reports[name] for name in runs}
    found = _oscillations(plan.config, runs)
    if found is None:
        return Comparison(plan.combined, ordered, drawn)
    return Comparison(
        plan.combined,
        ordered,
        drawn,
        found,
        _allowed({name: values for name, values in found.items() if name != DIRECT}),
        [tv_bound(value) for value in found[DIRECT]],
    )


def allowed(config: TrainConfig, pieces: Mapping[str, TrainConfig]) -> list[float] | None:
    """The bound on a combined sampler's TV, per seed (N6); None if it is too much to compute.

    Args:
        config: whose problem the combined sampler is for.
        pieces: all runs that it is made of, its own included, finished.
    """
    found = _oscillations(config, pieces)
    return None if found is None else _allowed(found)


def _allowed(oscillations: Mapping[str, list[float]]) -> list[float]:
    return [combined_tv_bound(of_seed) for of_seed in zip(*oscillations.values(), strict=True)]


def _oscillations(
    config: TrainConfig, runs: Mapping[str, TrainConfig]
) -> dict[str, list[float]] | None:
    """Those of every run, for every seed; None if there are too many trajectories."""
    if config.task.states() > config.run.max_states:
        return None
    problem = config.problem()
    environment = config.task.make_environment(problem, config.run.max_states)
    enumeration = enumerate_environment(problem, environment, config.run.max_states)
    try:
        return _oscillations_of(runs, enumeration)
    except TooLargeError:
        return None


def _oscillations_of(
    runs: Mapping[str, TrainConfig], enumeration: Enumeration
) -> dict[str, list[float]]:
    trajectories = all_trajectories(enumeration)
    names = {run.folder(): name for name, run in runs.items()}
    given = {name: tuple(names[path] for path in run.factors.frozen) for name, run in runs.items()}
    ratios = []
    for name, run in runs.items():
        policies = load_policy(run.folder(), run)
        environment = environment_of(run)
        ratios += [
            (name, path_ratios(_one(policies, seed), environment, enumeration, trajectories))
            for seed in range(run.run.seeds)
        ]
    seeds = next(iter(runs.values())).run.seeds
    each = [
        oscillations(runs, given, dict(ratios[seed::seeds]), enumeration, trajectories)
        for seed in range(seeds)
    ]
    return {name: [of_seed[name] for of_seed in each] for name in runs}


def _one(policies: Policy, seed: int) -> Policy:
    policy: Policy = jax.tree.map(lambda leaf: leaf[seed], policies)
    return policy
