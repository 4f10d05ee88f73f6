"""The distance of a run to its target: during training, and at its end."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fast.dynamics.base import DynamicsOptions
from fast.laws.enumeration import Floats, Precision
from fast.laws.terminal_law import TerminalLaw, law_of, target_law
from fast.measure.estimates import CURVE_SAMPLES, curve_value, estimated_report, exact_terminals
from fast.measure.expectations import drawn_expectations, features_of, summed_expectations
from fast.measure.report import Expectation, Report
from fast.measure.terminals import enumerated_report
from fast.parts import name_of_part
from fast.policies.policy import Sampler
from fast.runs.setup import Setup
from fast.training.state import TrainState
from reference.looking.inspection import ONE_TERMINAL
from reference.metrics import total_variation
from reference.problems.base import is_ours

# More figures for each evaluation: plain data, from a run's objects and its state.
Probe = Callable[[Setup, TrainState], dict[str, Any]]

# `log R` is too coarse if neighbours in float32 are this many nats apart.
COARSE = 1e-3


class Meter:
    """The distance to the target during training, and at the end."""

    def __init__(self, setup: Setup):
        self._setup, config = setup, setup.config
        self._run, self._loss, self._dynamics = config.run, config.loss, config.dynamics
        self._trained = config.optimiser.steps * config.sampling.batch
        self._target = None if setup.enumeration is None else target_law(setup.enumeration)
        self._exact = None
        if setup.closed_form is not None:
            self._exact = exact_terminals(
                setup.environment, setup.closed_form, CURVE_SAMPLES, self._run.seed
            )

    def now(self, state: TrainState, step: int) -> list[float] | None:
        """TV of each seed: exact, sampled, or of trajectories; None if unknown."""
        values = [self._tv(policy, step) for policy in self._setup.policies(state)]
        measured = [value for value in values if value is not None]
        return measured if len(measured) == len(values) else None

    def _tv(self, policy: Any, step: int) -> float | None:
        setup = self._setup
        if setup.enumeration is None or self._target is None:
            return curve_value(policy, setup.environment, setup.closed_form, self._exact, step)
        law = law_of(policy, setup.environment, setup.enumeration, final=False, seed=step)
        tv: float = total_variation(law.probabilities.tolist(), self._target.tolist())
        return tv

    def final(self, state: TrainState) -> tuple[Report, Floats, Floats, list[str]]:
        """The report; learned and target probabilities, of all terminals or of the FCS states.

        The last are the labels of all terminals, none for FCS states.
        """
        setup, run = self._setup, self._run
        environment, enumeration, form = setup.environment, setup.enumeration, setup.closed_form
        policies = setup.policies(state)
        learned_log_z = [
            self._loss.learned_log_z(Sampler(policy, log_z), environment)
            for policy, log_z in zip(policies, np.asarray(state.sampler.log_z), strict=True)
        ]
        log_z = [float(x) for x in learned_log_z if x is not None] or None
        laws: list[TerminalLaw] = []
        if enumeration is None or self._target is None:
            report, learned, target = estimated_report(
                policies, log_z, environment, form, run.seed, run.law_samples, self._trained
            )
        else:
            laws = [
                law_of(
                    policy,
                    environment,
                    enumeration,
                    final=True,
                    seed=run.seed + i,
                    samples=run.law_samples,
                )
                for i, policy in enumerate(policies)
            ]
            report = enumerated_report(policies, log_z, environment, enumeration, laws, run.seed)
            learned, target = np.stack([law.probabilities for law in laws]), self._target
        expectations = self._expectations(policies[0], laws)
        advice = hints(report, self._dynamics, run.precision, enumeration is not None)
        whole = replace(report, expectations=expectations, notes=(*report.notes, *advice))
        return whole, learned, target, [*map(str, setup.labels)]

    def _expectations(self, policy: Any, laws: list[TerminalLaw]) -> tuple[Expectation, ...]:
        """Expectations of the problem's features, or of network features if Z is unknown."""
        setup, form = self._setup, self._setup.closed_form
        features = features_of(setup.problem)
        if setup.enumeration is not None and self._target is not None:
            if features is None:
                return ()
            return summed_expectations(features, setup.enumeration, laws[0], self._target)
        if form is not None and features is None:
            return ()
        features = features or features_of(setup.environment)
        # Nothing proves what a user's problem tells.
        knows: Any = form if is_ours(form) else None
        exact: dict[str, Any] = getattr(knows, "quantity_means", dict)()
        return drawn_expectations(features, policy, setup.environment, exact, self._run.seed)


def hints(
    report: Report, dynamics: DynamicsOptions[Any], precision: Precision, is_listed: bool
) -> tuple[str, ...]:
    """One sentence for each figure that can be improved, or that is likely a mistake.

    Args:
        report: the figures.
        dynamics: the dynamics.
        precision: that of the run.
        is_listed: whether all states are enumerated.
    """
    sentences = []
    if report.terminals == 1:
        sentences.append(ONE_TERMINAL)
    if is_listed and report.tv_kind != "float64" and dynamics.is_summable:
        sentences.append(
            f"the trajectories of {name_of_part('dynamics', dynamics)} are too many to sum; the "
            "law of a Markovian policy (--dynamics markov) is summed exactly here"
        )
    return (*sentences, *coarse(precision, max(abs(figures.best) for figures in report.learned)))


def coarse(precision: Precision, size: float) -> tuple[str, ...]:
    """A sentence if a precision does not resolve `log R` of a size in nats, else none."""
    spacing = float(np.spacing(np.float32(size)))
    if precision == "float64" or spacing < COARSE:
        return ()
    return (
        f"log R is about {size:,.0f} nats in size where the sampler ends, which float32 "
        f"resolves to {spacing:.1g}: take a constant off log R, or use --precision float64",
    )
