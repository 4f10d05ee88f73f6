"""The distance of a run to its target: during training, and at its end."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fast.environments.contexts import Contexts
from fast.laws.enumeration import Floats, Precision
from fast.laws.terminal_law import law_of, target_law
from fast.measure.contexts import joint_report
from fast.measure.estimates import CURVE_SAMPLES, curve_value, estimated_report, exact_terminals
from fast.measure.expectations import drawn_expectations, features_of, summed_expectations
from fast.measure.report import Expectation, Report
from fast.measure.terminals import enumerated_report
from fast.policies.policy import Sampler
from fast.runs.setup import Setup
from fast.training.state import TrainState
from reference.inspection import ONE_TERMINAL
from reference.metrics import total_variation
from reference.problems.base import is_ours
from reference.problems.contexts import contexts_of

# More figures for each evaluation: plain data, from a run's objects, its state and its step.
Probe = Callable[[Setup, TrainState, int], dict[str, Any]]

# `log R` is too coarse if neighbours in float32 are this many nats apart.
COARSE = 1e-3


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
        names = setup.contexts.names if setup.contexts else ()
        self._contexts = {name: Meter(setup.at(name)) for name in names}

    def now(self, state: TrainState, step: int) -> list[float] | None:
        """TV of each seed: exact, sampled, or of trajectories; None if unknown.

        The mean over the contexts that are trained on, if there are some.
        """
        if (contexts := self._setup.contexts) is not None:
            within = [*self._contexts.values()][: contexts.trained]
            each = [meter.now(state.at(i), step) for i, meter in enumerate(within)]
            present = [values for values in each if values is not None]
            return np.mean(present, axis=0).tolist() if len(present) == len(each) else None
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

        The last are the labels of all terminals, none for FCS states. With contexts, these are
        pairs of a context, which is uniform, and a terminal.
        """
        if self._setup.contexts is not None:
            return self._jointly(state, self._setup.contexts)
        setup, run = self._setup, self._setup.config.run
        environment, enumeration = setup.environment, setup.enumeration
        policies = setup.policies(state)
        learned_log_z = [
            setup.config.loss.learned_log_z(Sampler(policy, log_z), environment)
            for policy, log_z in zip(policies, state.sampler.log_z, strict=True)
        ]
        # A parameter of a context that was not trained on is NaN.
        log_z = [float(x) for x in learned_log_z if x is not None and not np.isnan(x)] or None
        if enumeration is None or self._target is None:
            report, learned, target = estimated_report(
                policies, log_z, environment, setup.closed_form, run.seed, run.law_samples
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
        expectations = self._expectations(policies[0], learned[0])
        notes = (*report.notes, *hints(setup, report))
        whole = replace(report, expectations=expectations, notes=notes)
        return whole, learned, target, [*map(str, setup.labels)]

    def _jointly(
        self, state: TrainState, contexts: Contexts
    ) -> tuple[Report, Floats, Floats, list[str]]:
        """The result of `final` in every context, joined."""
        reports, learned, target, labels = zip(
            *(meter.final(state.at(i)) for i, meter in enumerate(self._contexts.values())),
            strict=True,
        )
        by_name = dict(zip(contexts.names, reports, strict=True))
        named = zip(contexts.names, labels, strict=True)
        report = joint_report(by_name, contexts.names[contexts.trained :])
        codes = [each.code for each in contexts_of(self._setup.config.problem()).values()]
        if len(set(codes)) < len(codes):
            alike = "contexts with equal features look alike to the network, and get one law"
            report = replace(report, notes=(*report.notes, alike))
        return (
            report,
            np.concatenate(learned, axis=1) / len(reports),
            np.concatenate(target) / len(reports),
            [f"{name}: {label}" for name, some in named for label in some],
        )

    def _expectations(self, policy: Any, law: Floats) -> tuple[Expectation, ...]:
        """Expectations of the problem's features, or of network features if Z is unknown."""
        setup, form = self._setup, self._setup.closed_form
        if setup.enumeration is not None and self._target is not None:
            features = features_of(setup.config.restricted())
            if features is None:
                return ()
            return summed_expectations(features, setup.enumeration, law, self._target)
        features = features_of(setup.environment if form is None else form)
        if form is not None and features is None:
            return ()
        # Nothing proves what a user's problem tells.
        knows: Any = form if is_ours(form) else None
        exact: dict[str, Any] = getattr(knows, "quantity_means", dict)()
        return drawn_expectations(features, policy, setup.environment, exact, setup.config.run.seed)


def hints(setup: Setup, report: Report) -> tuple[str, ...]:
    """One sentence for each figure that can be improved, or that is likely a mistake."""
    sentences = []
    if report.terminals == 1:
        sentences.append(ONE_TERMINAL)
    unsummed = setup.enumeration is not None and report.tv_kind != "exact"
    if unsummed and not setup.config.dynamics.is_markovian:
        sentences.append(
            f"the trajectories of {setup.config.name_of('dynamics')} are too many to sum; the law "
            "of a Markovian policy (--dynamics markov) is summed exactly here"
        )
    best = max(abs(figures.best) for figures in report.learned)
    return (*sentences, *coarse(setup.config.run.precision, best))


def coarse(precision: Precision, size: float) -> tuple[str, ...]:
    """A sentence if a precision does not resolve `log R` of a size in nats, else none."""
    spacing = float(np.spacing(np.float32(size)))
    if precision == "float64" or spacing < COARSE:
        return ()
    return (
        f"log R is about {size:,.0f} nats in size where the sampler ends, which float32 "
        f"resolves to {spacing:.1g}: take a constant off log R, or use --precision float64",
    )
