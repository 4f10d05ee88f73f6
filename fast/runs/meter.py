"""How far a run is from its target: during training, and at its end."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats
from fast.measure.estimates import CURVE_SAMPLES, curve_value, estimated_report, exact_terminals
from fast.measure.expectations import (
    Expectation,
    drawn_expectations,
    features_of,
    summed_expectations,
)
from fast.measure.report import Report
from fast.measure.terminals import enumerated_report, law_of, target_law
from fast.policies.policy import Sampler
from fast.runs.hints import hints
from fast.runs.setup import Setup
from fast.training.state import TrainState
from reference.metrics import total_variation

# What else is recorded at each evaluation: plain data, made of a run's objects, its state and step.
Probe = Callable[[Setup, TrainState, int], dict[str, Any]]


class Meter:
    """The distance to the target during training, and at the end."""

    def __init__(self, setup: Setup):
        self._setup = setup
        self._target = None if setup.enumeration is None else target_law(setup.enumeration)
        self._exact = None
        if setup.closed_form is not None:
            self._exact = exact_terminals(
                setup.environment, setup.closed_form, CURVE_SAMPLES, setup.config.run.seed
            )

    def now(self, state: TrainState, step: int) -> list[float] | None:
        """TV of each seed: exact, sampled, or of trajectories; None if it cannot be had."""
        setup, values = self._setup, []
        for policy in setup.policies(state):
            if setup.enumeration is None:
                value = curve_value(policy, setup.environment, setup.closed_form, self._exact, step)
                if value is None:
                    return None
            else:
                assert self._target is not None
                law = law_of(policy, setup.environment, setup.enumeration, final=False, seed=step)
                value = total_variation(law.probabilities.tolist(), self._target.tolist())
            values.append(value)
        return values

    def final(self, state: TrainState) -> tuple[Report, Floats, Floats]:
        """The report; learned and target probabilities, of all terminals or of the FCS states."""
        config, environment = self._setup.config, self._setup.environment
        policies = self._setup.policies(state)
        found = [
            config.loss.learned_log_z(Sampler(policy, log_z), environment)
            for policy, log_z in zip(policies, state.sampler.log_z, strict=True)
        ]
        log_z = [float(value) for value in found if value is not None] or None
        if self._setup.enumeration is None:
            report, learned, target = estimated_report(
                policies,
                log_z,
                environment,
                self._setup.closed_form,
                config.run.seed,
                config.run.law_samples,
            )
        else:
            report, learned, target = self._enumerated(
                policies, log_z, environment, self._setup.enumeration
            )
        told = replace(
            report,
            expectations=self._expectations(policies[0], learned[0]),
            notes=(*report.notes, *hints(self._setup, report)),
        )
        return told, learned, target

    def _enumerated(
        self,
        policies: list[Any],
        log_z: list[float] | None,
        environment: AbstractEnvironment[Any],
        enumeration: Enumeration,
    ) -> tuple[Report, Floats, Floats]:
        run = self._setup.config.run
        assert self._target is not None
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
        return report, np.stack([law.probabilities for law in laws]), self._target

    def _expectations(self, policy: Any, law: Floats) -> tuple[Expectation, ...]:
        """Those of the quantities that the problem names; of what networks see if Z is unknown."""
        setup = self._setup
        if setup.enumeration is not None:
            features = features_of(setup.config.restricted())
            assert self._target is not None
            if features is None:
                return ()
            return summed_expectations(features, setup.enumeration, law, self._target)
        features = features_of(setup.closed_form)
        exact: dict[str, Any] = {}
        if setup.closed_form is not None:
            if features is None:
                return ()
            exact = getattr(setup.closed_form, "quantity_means", dict)()
        else:
            features = features_of(setup.environment)
        return drawn_expectations(features, policy, setup.environment, exact, setup.config.run.seed)
