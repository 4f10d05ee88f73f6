"""The price of forgetting: what a policy without memory loses, and to what.

`python -m pdai.experiments.forgetting.price all` computes, for each row of study:forgetting, the
least TV of the class and the TV at the minimum of each loss, stores them with the results, and
writes the tables of docs/records/forgetting.md and the picture of docs/forgetting.md. It takes
about half an hour. With rows as arguments it computes these alone, and without any none. Imports no
JAX.
"""

import json
import sys
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from fast.tasks import Task
from fast.training.compose import TrainConfig
from pdai.experiments.base import MARKOVIAN
from pdai.experiments.definitions import FOLDER, PRICES, SHOWN_DIGITS, define, outwards
from pdai.experiments.forgetting import minors, relaxation
from pdai.experiments.forgetting.minimisers import LOSSES, LossName, Minimum, TiedLoss, minimum
from pdai.experiments.forgetting.nearest import nearest
from pdai.experiments.results import RESULTS, load
from pdai.experiments.tables import markdown
from reference.certificates.betting import Interval
from reference.contract.errors import InputError, no_such
from reference.contract.files import parsed_json, read_file, replace_file
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.coarse import block_of_cell, end_of_string, tied_policies
from reference.looking.show import save_figure
from reference.metrics import normalize
from reference.problems import enumerate_rewards

LABEL = "study:forgetting"
DOCS = FOLDER.parent.parent / "docs"
PAGE = DOCS / "records" / "forgetting.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
SHOWN: dict[LossName, str] = {
    "likelihood": "maximum likelihood",
    "on policy": "TB, log variance on policy",
    "uniform": "the same, uniform",
}
# The costs of raising a probability that are tried, of which the best bound counts.
RAISINGS = (Fraction(3, 10), Fraction(7, 20), Fraction(2, 5), Fraction(9, 20), Fraction(1, 2))
# Beyond so many strings, minors that share cells are not packed, and random starts left out.
MANY = 1_000
MAX_STATES = 200_000
# The length of a search: seconds for its starts, up to minutes for the splits.
STARTS, SPLITS = 8, 1_000
DIGITS = 6


class Price(NamedTuple):
    """The computed numbers of a row.

    Attributes:
        parameters: the number of free logits of the class.
        floor: the least TV without memory.
        with_memory: the least TV with memory of all observations; with own actions too it is 0.
        minima: for each loss its TV there, and whether that interval is proved.
    """

    parameters: int
    floor: Interval
    with_memory: Interval
    minima: dict[LossName, tuple[Interval, bool]]


def settings() -> dict[str, Task]:
    """The task of each row of the study."""
    return {
        cell.row: cell.config.task
        for cell in define(LABEL).cells
        if isinstance(cell.config, TrainConfig)
    }


def observation(task: Any) -> Callable[[Any], Hashable]:
    """The observation of a state by the reference: a block of cells, or the end of a string."""
    if task.name == "grid":
        return partial(block_of_cell, width=task.coarse)
    return partial(end_of_string, last=task.last)


def target_of(problem: Any, tied: TiedPolicies) -> list[Fraction]:
    """The target of a problem, one probability per terminal of the DAG."""
    return [*normalize(enumerate_rewards(problem, tied.dag))]


def _rounded(lower: Fraction, upper: Fraction) -> Interval:
    """The interval, rounded outwards as it is stored."""
    return Interval(*outwards(lower, upper, DIGITS))


def price(task: Task) -> Price:
    """The price of forgetting of a coarse task."""
    problem, observe = task.make_problem(), observation(task)
    tied = tied_policies(problem, observe, max_states=MAX_STATES)
    if tied.count == len(tied.dag.edges):
        # Every positive law is in the class, and each loss is least there.
        nothing = Interval(0.0, 0.0)
        parameters = len(tied.dag.edges) - sum(bool(row) for row in tied.dag.out_edges)
        return Price(parameters, nothing, nothing, dict.fromkeys(LOSSES, (nothing, True)))
    target, random = target_of(problem, tied), np.random.default_rng(0)
    is_large = len(target) > MANY
    starts = [random.normal(size=tied.count) for _ in range(0 if is_large else 4)]
    ends: dict[LossName, Minimum] = {}
    for loss in LOSSES:
        landscape = TiedLoss(tied, target, loss)
        ends[loss] = minimum(landscape, [*starts, *(end.logits for end in ends.values())])
    near = [ends["likelihood"].logits] if is_large else [end.logits for end in ends.values()]
    reached = nearest(tied, target, 0 if is_large else STARTS, near=near)
    least = _rounded(_lower(task, tied, target), reached.distance)
    minima = {
        loss: (_rounded(max(end.distance.lower, Fraction(0)), end.distance.upper), end.proved)
        for loss, end in ends.items()
    }
    return Price(len(landscape.free), least, _with_memory(problem, observe, tied, least), minima)


def _with_memory(problem: Any, observe: Any, tied: TiedPolicies, least: Interval) -> Interval:
    """The least TV of policies that remember their observations."""
    remembering = tied_policies(problem, observe, memory=True, max_states=MAX_STATES)
    edges = len(remembering.dag.edges)
    if remembering.count == edges:
        return Interval(0.0, 0.0)
    if (remembering.count, edges) == (tied.count, len(tied.dag.edges)):
        # A tree whose observations are functions of the present one.
        return least
    reached = nearest(remembering, target_of(problem, remembering), STARTS)
    return _rounded(Fraction(0), reached.distance)


def _lower(task: Task, tied: TiedPolicies, target: Sequence[Fraction]) -> Fraction:
    """The best lower bound on the least TV that is at hand."""
    if task.name == "grid":
        return relaxation.least_distance(tied, target, SPLITS)
    law = {tied.dag.labels[x]: p for x, p in zip(tied.dag.terminals, target, strict=True)}
    last: int = task.last  # type: ignore[attr-defined]
    if len(law) > MANY:
        return minors.paired_distance(law, last)
    bounds = [minors.paired_distance(law, last, share) for share in RAISINGS]
    return max(*bounds, *(minors.least_distance(law, last, share) for share in RAISINGS))


# The networks that are trained on the rows.
NETWORKS = (MARKOVIAN, "GRU+", "SRWM+", "transformer")


class Line(NamedTuple):
    """A row of study:forgetting: its price, and the TV of each trained seed, by network.

    The floor is within those of all classes that see less or more.
    """

    row: str
    price: Price
    trained: dict[str, list[float]]


def lines(path: Path = PRICES) -> list[Line]:
    """The stored prices, in the order of the study, with what was trained.

    A class that sees more contains one that sees less, so that lower bounds of the first hold for
    the second, and what is attained in the second is attained in the first.
    """
    prices = {row: _price(fields) for row, fields in parsed_json(read_file(path)).items()}
    runs = load(RESULTS / "study_forgetting.json")
    priced = []
    for row, price in prices.items():
        family = [other for name, other in prices.items() if name.split()[0] == row.split()[0]]
        more = [other for other in family if other.parameters >= price.parameters]
        less = [other for other in family if other.parameters <= price.parameters]
        lower = max(other.floor.low for other in more)
        least = Interval(lower, min(other.floor.high for other in less))
        trained: dict[str, list[float]] = {network: [] for network in NETWORKS}
        for run in runs:
            if run.row == row and (value := run.value("tv")) is not None:
                trained[run.model].append(value)
        priced.append(Line(row, price._replace(floor=least), trained))
    return priced


def _price(fields: Any) -> Price:
    minima = {loss: (Interval(*ends), bool(is_proved))
              for loss, (ends, is_proved) in fields["minima"].items()}  # fmt: skip
    least, memory = Interval(*fields["floor"]), Interval(*fields["with_memory"])
    return Price(fields["parameters"], least, memory, minima)


def table(rows: Sequence[Line]) -> str:
    """The two tables of docs/records/forgetting.md: without training, and trained."""
    heads = ["sees", "logits", "no policy below", "some policy at", *SHOWN.values()]
    others = ["sees", "trained without memory", "with memory, some policy at"]
    others += [f"trained {name}" for name in NETWORKS[1:]]
    without, trained = [], []
    for row, cost, by_network in rows:
        minima = [
            f"{'' if is_proved else '~'}{ends.high:.4f}" for ends, is_proved in cost.minima.values()
        ]
        means = [
            f"{mean(values):.4f} ± {stdev(values):.4f} ({len(values)})" if values else ""
            for values in by_network.values()
        ]
        ends = (outwards(*interval, SHOWN_DIGITS) for interval in (cost.floor, cost.with_memory))
        lower, upper, _, memory = (f"{end:.4f}" for end in chain.from_iterable(ends))
        without.append([row, f"{cost.parameters:,}", lower, upper, *minima])
        trained.append([row, means[0], memory, *means[1:]])
    return f"{markdown(heads, without)}\n\n{markdown(others, trained)}"


def picture(rows: Sequence[Line]) -> Figure:
    """The prices over what is seen, one panel for each problem."""
    families = list(dict.fromkeys(line.row.split(", ")[0] for line in rows))
    # One below the other, so that all of it can be read on a telephone.
    figure = Figure(figsize=(5.5, 9.5), layout="constrained")
    for axes, family in zip(figure.subplots(len(families), 1), families, strict=True):
        own = [line for line in rows if line.row.startswith(f"{family}, ")]
        if family != "grid":
            own.reverse()
        at = range(len(own))
        bounds = zip(*(line.price.floor for line in own), strict=True)
        axes.fill_between(at, *bounds, color="0.85", label="least TV lies here")
        for loss, mark in zip(LOSSES, "os^", strict=True):
            values = [line.price.minima[loss][0].high for line in own]
            axes.plot(at, values, mark + "-", ms=4, lw=1, label=SHOWN[loss])
        points = [(i, value) for i, line in enumerate(own) for value in line.trained[MARKOVIAN]]
        if points:
            axes.plot(*zip(*points, strict=True), "kx", ms=6, label="trained, each seed")
        axes.set_xticks(at, [line.row.split(", ")[1] for line in own],
                        rotation=45)  # fmt: skip
        axes.set(title=family, ylim=(0, None), ylabel="TV without memory")
    figure.axes[-1].set_xlabel("seen: all at the left, least at the right")
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        marks, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, marks, strict=True))
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=1, fontsize=10)
    return figure


def store(rows: Sequence[str], path: Path = PRICES) -> None:
    """Computes the prices of rows, and stores each."""
    tasks = settings()
    for row in rows:
        if row not in tasks:
            raise InputError(no_such("row of study:forgetting", row, tasks))
        computed = price(tasks[row])._asdict()
        kept = (parsed_json(read_file(path)) if path.exists() else {}) | {row: computed}
        ordered = {name: kept[name] for name in tasks if name in kept}
        replace_file(path, f"{json.dumps(ordered, indent=1)}\n".encode())
        print(f"{row}: {computed}", flush=True)


def page(text: str, rows: Sequence[Line]) -> str:
    """A page with its table made anew."""
    before, _, rest = text.partition(f"{BEGIN}\n")
    return f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    asked = sys.argv[1:]
    try:
        store(list(settings()) if asked == ["all"] else asked)
        stored = lines()
    except InputError as failure:
        sys.exit(str(failure))
    replace_file(PAGE, page(read_file(PAGE).decode(), stored).encode())
    save_figure(picture(stored), DOCS / "forgetting.png", dpi=110)
