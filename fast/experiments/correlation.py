"""Does FCS rank samplers as total variation does (eq:fcsa)?"""

import itertools
import warnings
from collections.abc import Sequence

import numpy as np
from scipy.stats import ConstantInputWarning, spearmanr

from fast.experiments.results import Run
from fast.experiments.tables import markdown

FEWEST = 10
CLAIMED = 0.9

HEAD = ["", "TV", "runs", "Spearman's correlation of FCS and TV"]

INTRODUCTION = """\
## eq:fcsa: FCS as a stand-in for TV

The paper: FCS has a Spearman correlation of over 90 % with TV. Here over all models and seeds of a
row, for which the range of quality is narrow: samplers of different tasks are ranked easily."""


def section(stored: Sequence[Sequence[Run]]) -> str:
    """The correlation within each row, where both are known."""
    found: dict[tuple[str, str], set[tuple[float, float]]] = {}
    kinds: dict[tuple[str, str], str] = {}
    for run in itertools.chain.from_iterable(stored):
        fcs, tv = run.value("fcs"), run.value("tv")
        if fcs is not None and tv is not None:
            # Figures of different landscapes have rows of the same name.
            task = [run.config["problem"], run.config.get("landscape", "")]
            place = (" ".join(filter(None, task)), run.row)
            # A set: some runs belong to several figures.
            found.setdefault(place, set()).add((tv, fcs))
            kinds[place] = run.tv_kind
    body = []
    for (problem, row), pairs in found.items():
        if len(pairs) >= FEWEST:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstantInputWarning)
                value = float(spearmanr(np.array(sorted(pairs))).statistic)
            body.append([f"{problem}: {row}", kinds[problem, row], str(len(pairs)), f"{value:.3f}"])
    if not body:
        return f"{INTRODUCTION}\n\nNot run yet."
    high = sum(float(value) >= CLAIMED for *_, value in body)
    lowest = min(body, key=lambda line: float(line[-1]))
    finding = (
        f"Verdict: {CLAIMED} or more in {high} of {len(body)} rows; the lowest is {lowest[-1]} "
        f"({lowest[0]}). Where all samplers are close, FCS ranks them by its own noise as well."
    )
    return f"{INTRODUCTION}\n\n{markdown(HEAD, body)}\n\n{finding}"
