"""Does FCS rank samplers as total variation does (eq:fcsa)?"""

import json
from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

from pdai.experiments.base import Experiment
from pdai.experiments.results import Run
from pdai.experiments.tables import markdown

FEWEST = 10
CLAIMED = 0.9

# The claim is on a formula, not of a table or figure.
LABEL = "eq:fcsa"
HEAD = ["", "TV", "runs", "Spearman's correlation of FCS and TV"]

INTRODUCTION = """\
## eq:fcsa: FCS as a stand-in for TV

The paper: FCS has a Spearman correlation of over 90 % with TV. Here over all models and seeds of a
row, for which the range of quality is narrow: samplers of different tasks are ranked easily. Rows
of at most 64 terminals are left out, as there a batch holds all of them and FCS is TV, and rows
all of whose runs are those of rows before. The TV of trajectories is that of terminals on trees,
and a bound of it elsewhere."""

BOUND = "of trajectories"


def section(stored: Sequence[tuple[Experiment, Sequence[Run]]]) -> str:
    """The correlation within each row, where both are known."""
    body = table(stored)
    if not body:
        return f"{INTRODUCTION}\n\nNot run yet."
    finding = (
        f"Verdict: {verdict(stored)}. Where all samplers are close, FCS ranks them by its own "
        "noise as well."
    )
    return f"{INTRODUCTION}\n\n{markdown(HEAD, body)}\n\n{finding}"


def verdict(stored: Sequence[tuple[Experiment, Sequence[Run]]]) -> str:
    """In how many rows the correlation is what the paper says."""
    body = table(stored)
    if not body:
        return "open: not run yet"
    high = sum(float(value) >= CLAIMED for *_, value in body)
    lowest = min(body, key=lambda line: float(line[-1]))
    proper = [line for line in body if BOUND not in line[1]]
    well = sum(float(value) >= CLAIMED for *_, value in proper)
    return (
        f"{CLAIMED} or more in {high} of {len(body)} rows, and in {well} of the "
        f"{len(proper)} where the TV is that of terminals for certain; the lowest is "
        f"{lowest[-1]} ({lowest[0]})"
    )


def table(stored: Sequence[tuple[Experiment, Sequence[Run]]]) -> list[list[str]]:
    """One line for each row of an experiment with enough runs of which both are known."""
    seen: set[str] = set()
    body = []
    for experiment, runs in stored:
        for row in experiment.rows:
            pairs, kinds, trained = [], set(), set()
            for run in runs:
                fcs, tv = run.value("fcs"), run.value("tv")
                if run.row != row or fcs is None or tv is None or run.law is not None:
                    continue
                trained.add(json.dumps(run.config, sort_keys=True))
                pairs.append((tv, fcs))
                kinds.add(run.tv_kind)
            is_new = not trained <= seen
            seen |= trained
            if is_new and len(pairs) >= FEWEST:
                value = float(spearmanr(np.array(pairs)).statistic)
                name, kind = f"{experiment.label}: {row}", " or ".join(sorted(kinds))
                body.append([name, kind, str(len(pairs)), f"{value:.3f}"])
    return body
