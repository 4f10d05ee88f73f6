"""The verdicts of the experiments that empirical claims name, from their stored results.

The experiments are imported when they are asked for: they bring pandas and matplotlib, which a run
of one claim's tests does not need.
"""

from functools import cache

from reference.errors import InputError
from verify.lib.record import Claim


@cache
def result_of(claim: Claim) -> str | None:
    """The verdict of the claim's experiment, as the report has it; None if it names none."""
    if claim.experiment is None:
        return None
    try:
        from pdai.experiments import EXPERIMENTS, correlation
        from pdai.experiments.frames import Results
        from pdai.experiments.results import stored
        from pdai.experiments.verdicts import in_a_line

        if claim.experiment == correlation.LABEL:
            return correlation.verdict([Results(e, stored(e)) for e in EXPERIMENTS.values()])
        experiment = EXPERIMENTS[claim.experiment]
        return in_a_line(Results(experiment, stored(experiment)))
    except InputError as error:
        return str(error)
