"""The change of TV that each thing brings, task by task, from the stored results.

Two cells that differ in one thing are compared by the rule of verdicts, paired by seed. Imports no
JAX.
"""

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pdai.experiments.base import Cell, Experiment
from pdai.experiments.definitions import pairs_of_gains
from pdai.experiments.frames import Results
from pdai.experiments.verdicts import DECIDED, Comparison, Difference, Standing

BOTH = ("before", "after")
# The things, with their colour and marker.
THINGS = {
    "encoding": ("#D55E00", "s"),
    "biases": ("#E69F00", "P"),
    "form": ("#0072B2", "o"),
    "memory": ("#009E73", "^"),
    "steps": ("#882255", "D"),
    "loss": ("#CC79A7", "v"),
    "likelihood": ("#8C510A", "<"),
    "exploration": ("#222222", "X"),
}
LINEAR = 0.001
LABEL = "gains"
AXIS = "gain: TV (0 to 1) without the thing, less TV with it"
SUFFIX = ", as printed"
SIDES = ("At a rate of 0.01 with biases, unless named", "As printed: no biases, a rate of 0.001")
LEGEND = (
    "Right of 0: nearer to the target. Line: 95 %. Pale: does not count. "
    "Axis: linear to 0.001, then logarithmic."
)


class Gain(NamedTuple):
    """The gain by one thing in one task.

    Attributes:
        task: the task.
        thing: the thing.
        gap: the TV without it less the TV with it, positive where it is nearer; with its interval.
        standing: better, worse or neither, by the rule.
    """

    task: str
    thing: str
    gap: Difference
    standing: Standing


def gains(every: Sequence[Results]) -> list[Gain]:
    """All gains, in the order of their definition."""
    answers = []
    for pairs, thing, both in trained(tuple(every)):
        if both.gap and both.standing:
            mean, low, high, chance = both.gap
            gap = Difference(-mean, -high, -low, chance)
            answers.append(Gain(pairs["task"], thing, gap, both.standing))
    return answers


@lru_cache(maxsize=1)
def trained(every: tuple[Results, ...]) -> list[tuple[dict[str, Any], str, Comparison]]:
    """The pairs of each task, the thing in which two cells differ, and their comparison."""
    by_label = {results.experiment.label: results for results in every}
    answers = []
    named = [(pairs, thing) for pairs in pairs_of_gains() for thing in THINGS if thing in pairs]
    for pairs, thing in named:
        row, runs = f"{pairs['task']}, {thing}", []
        for model, place in zip(BOTH, pairs[thing], strict=True):
            label, before, column = place.split("; ")
            stored = by_label[label].at(before, column).run if label in by_label else ()
            runs += [dataclasses.replace(run, row=row, model=model) for run in stored]
        cells = tuple(Cell(row, model, None) for model in BOTH)
        experiment = Experiment(LABEL, "", "", "tv", cells, compared=BOTH)
        answers.append((pairs, thing, Comparison(Results(experiment, runs), row, BOTH)))
    return answers


def picture(every: Sequence[Results]) -> Figure:
    """The gains of each task with their intervals; pale where they do not count."""
    answers = gains(every)
    tasks = dict.fromkeys(gain.task for gain in answers)
    sides = [[task for task in tasks if is_printed == (SUFFIX in task)] for is_printed in (0, 1)]
    figure = Figure(figsize=(15, 0.36 * max(map(len, sides)) + 1.6), layout="constrained")
    places: dict[str, tuple[Any, int]] = {}
    for axes, names, title in zip(figure.subplots(1, 2), sides, SIDES, strict=True):
        places |= {task: (axes, y) for y, task in enumerate(names)}
        for line in range(1, len(names)):
            axes.axhline(line - 0.5, color="0.9", lw=0.8)
        axes.axvline(0, color="k", lw=1)
        axes.set_xscale("symlog", linthresh=LINEAR)
        axes.set_yticks(range(len(names)), [name.removesuffix(SUFFIX) for name in names])
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel=AXIS, title=title)
    shifts = {thing: (k - (len(THINGS) - 1) / 2) * 0.12 for k, thing in enumerate(THINGS)}
    for task, thing, gap, standing in answers:
        (axes, y), (colour, marker) = places[task], THINGS[thing]
        style: Any = {"color": colour, "lw": 1, "alpha": 1 if standing in DECIDED else 0.3}
        axes.plot([gap.low, gap.high], [y + shifts[thing]] * 2, **style)
        axes.plot(gap.mean, y + shifts[thing], marker, ms=5, mew=0, **style)
    marks = [
        Line2D([], [], color=colour, marker=marker, ls="", label=thing)
        for thing, (colour, marker) in THINGS.items()
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=len(THINGS), title=LEGEND)
    return figure
