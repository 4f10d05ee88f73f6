"""What came out of the experiments that empirical claims name, from their stored results.

The experiments are imported when they are asked for: they bring JAX and matplotlib, which a run of
one claim's tests does not need.
"""

from functools import cache
from typing import TYPE_CHECKING

from verify.claims.record import Claim

if TYPE_CHECKING:
    from pdai.experiments.results import Run


@cache
def result_of(claim: Claim) -> str | None:
    """The verdict of the claim's experiment, as the report has it; None if it names none."""
    if claim.experiment is None:
        return None
    from pdai.experiments import EXPERIMENTS, correlation
    from pdai.experiments.overview import in_a_line

    if claim.experiment == correlation.LABEL:
        return correlation.verdict([(e, stored(label)) for label, e in EXPERIMENTS.items()])
    return in_a_line(EXPERIMENTS[claim.experiment], stored(claim.experiment))


@cache
def stored(label: str) -> "list[Run]":
    """The stored runs of an experiment."""
    from pdai.experiments import EXPERIMENTS
    from pdai.experiments.report import RESULTS
    from pdai.experiments.results import load, wanted

    experiment = EXPERIMENTS[label]
    return wanted(experiment, load(RESULTS / f"{experiment.slug}.json"))
