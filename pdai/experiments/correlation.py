"""The rank correlation of FCS and total variation over samplers (eq:fcsa)."""

from collections.abc import Sequence
from typing import Any

from scipy.stats import spearmanr

from pdai.experiments.frames import Results, unshared
from pdai.experiments.tables import markdown

FEWEST = 10
CLAIMED = 0.9

# The paper's claim is about a formula, not about a table or figure.
LABEL = "eq:fcsa"
HEAD = ["", "TV", "runs", "Spearman's correlation of FCS and TV"]
BOUND = "of trajectories"


def section(every: Sequence[Results]) -> str:
    """The section of the report: the correlation in each row with both metrics, and the verdict."""
    body = table(every)
    if not body:
        return "Not run yet."
    return (
        f"{markdown(HEAD, body)}\n\nVerdict: {verdict(every)}. Where all samplers are close, FCS "
        "ranks them by its own noise as well."
    )


def verdict(every: Sequence[Results]) -> str:
    """The number of rows in which the correlation is as high as the paper says, in words."""
    body = table(every)
    if not body:
        return "open: not run yet"
    high = [line for line in body if float(line[-1]) >= CLAIMED]
    lowest = min(body, key=lambda line: float(line[-1]))
    proper, well = (sum(BOUND not in line[1] for line in some) for some in (body, high))
    return (
        f"{CLAIMED} or more in {len(high)} of {len(body)} rows, and in {well} of the "
        f"{proper} where the TV is that of terminals for certain; the lowest is "
        f"{lowest[-1]} ({lowest[0]})"
    )


def table(every: Sequence[Results]) -> list[list[str]]:
    """One line for each row of an experiment with enough runs that have both metrics."""
    body = []
    for results, row, lines in unshared(every, _with_both):
        if len(lines) >= FEWEST:
            value = float(spearmanr(lines.tv, lines.fcs).statistic)
            name, kinds = f"{results.experiment.label}: {row}", " or ".join(sorted(set(lines.kind)))
            body.append([name, kinds, str(len(lines)), f"{value:.3f}"])
    return body


def _with_both(lines: Any) -> Any:
    """The runs with both metrics; with few terminals a batch holds all of them, and FCS is TV."""
    return lines.loc[[run.law is None for run in lines.run]].dropna(subset=["tv", "fcs"])
