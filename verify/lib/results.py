"""What came out of the experiments that empirical claims name, from their stored results."""

from functools import cache

from pdai.experiments import EXPERIMENTS, Experiment, correlation
from pdai.experiments.overview import in_a_line
from pdai.experiments.report import RESULTS
from pdai.experiments.results import Run, load, wanted
from verify.claims.record import Claim


def result_of(claim: Claim) -> str | None:
    """The verdict of the claim's experiment, as the report has it; None if it names none."""
    if claim.experiment is None:
        return None
    if claim.experiment == correlation.LABEL:
        return correlation.verdict([(e, _stored(label)) for label, e in EXPERIMENTS.items()])
    experiment = EXPERIMENTS[claim.experiment]
    return in_a_line(experiment, _stored(experiment.label))


@cache
def _stored(label: str) -> list[Run]:
    experiment: Experiment = EXPERIMENTS[label]
    return wanted(experiment, load(RESULTS / f"{experiment.slug}.json"))
