"""What a reader of a report should do about it, where the figures alone do not say."""

import numpy as np

from fast.measure.report import Report
from fast.runs.setup import Setup
from reference.inspection import ONE_TERMINAL

# Nats between neighbours in float32 from which on log R is told to be too coarse.
COARSE = 1e-3


def hints(setup: Setup, report: Report) -> tuple[str, ...]:
    """One sentence for each thing that can be had, or that is likely a mistake."""
    found = []
    if report.terminals == 1:
        found.append(ONE_TERMINAL)
    dynamics = setup.config.dynamics
    unsummed = setup.enumeration is not None and report.tv_kind != "exact"
    if unsummed and not dynamics.is_markovian:
        found.append(
            f"the trajectories of {setup.config.name_of('dynamics')} are too many to sum; the law "
            "of a Markovian policy (--dynamics markov) is summed exactly here"
        )
    best = max(abs(figures.best) for figures in report.learned)
    spacing = float(np.spacing(np.float32(best)))
    if setup.config.run.precision == "float32" and spacing >= COARSE:
        found.append(
            f"log R is about {best:,.0f} nats in size where the sampler ends, which float32 "
            f"resolves to {spacing:.1g}: take a constant off log R, or use --precision float64"
        )
    return tuple(found)
