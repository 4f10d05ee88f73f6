"""Numbers of the results in the texts of the report: none is written by hand twice.

A text names a number as `{label; row; name; form}`: the mean of a column, `GRU+`; the paired
difference of two with its interval, `GRU+ - Markovian`; its size alone, `GRU+ ~ Markovian`; the
ratio of their means, `GRU+ / Markovian`; or `untrained`. The form is Python's, such as `.3f`. A
label with `@tv` behind it has the TV of an experiment whose metric is another.

A `*` in a row or column is any text. Before a name, `least`, `most` and `ends` give the smallest
number, the largest, or both, of all that fit: of means, with `each` behind of seeds, or of the two
sides of a computed bound, such as `most least TV without memory`. Without them one number fits.
Other names are `exact`, that of exact sampling, and `seconds of` a column, of its fastest seed.

`all rows` with a standing in place of a row counts the rows of all claims, as does `rows`.
`{by TV}` is a table of `evidence`.
"""

import dataclasses
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from math import isnan

from pdai.experiments.base import Metric
from pdai.experiments.frames import Results
from pdai.experiments.tables import claimed
from pdai.experiments.verdicts import Comparison
from reference.contract.errors import InputError

PLACE = re.compile(r"\{([^{};]+);([^{};]+);([^{};]+);([^{};]+)\}")
_ENDS = re.compile(r"(least|most|ends) (each )?(.*)")


def filled(text: str, every: Sequence[Results]) -> str:
    """A text with the numbers that it names.

    Raises InputError if it names a row or column that has no runs.
    """
    by_label = {results.experiment.label: results for results in every}
    families = cache(lambda: claimed(every))

    def number(place: re.Match[str]) -> str:
        label, row, name, form = (" ".join(part.split()) for part in place.groups())
        label, _, metric = label.partition("@")
        try:
            if label == "all rows":
                second, first = name.split(" - ")
                standings = [one.standing for one in families()[first, second]]
                return format(sum(row in ("rows", s.value) for s in standings if s), form)
            results = in_metric(by_label[label], "tv") if metric else by_label[label]
            return _text(results, row, name, form)
        except (KeyError, ValueError) as error:
            raise InputError(
                f"a text of the report names {place[0]}, of which there are no runs ({error}): "
                "name a label, a row and columns that are stored"
            ) from None

    return PLACE.sub(number, text)


def in_metric(results: Results, metric: Metric) -> Results:
    """The same runs, judged by another metric, in which the paper has no numbers."""
    cells = tuple(dataclasses.replace(cell, paper=None) for cell in results.experiment.cells)
    experiment = dataclasses.replace(results.experiment, metric=metric, cells=cells)
    return Results(experiment, results.runs)


def _text(results: Results, row: str, name: str, form: str) -> str:
    """One number as text, or two."""
    rows = [one for one in results.experiment.rows if fnmatchcase(one, row)]
    ends = _ENDS.fullmatch(name)
    which, each, name = ends.groups() if ends else ("", None, name)
    if " - " in name:
        (gap,) = [both.gap for one in rows for both in _pairs(results, one, name, " - ")]
        if gap is None:
            raise ValueError("fewer than three seeds")
        mean, low, high = (_known(value, f"+{form}") for value in gap[:3])
        return f"{mean} [{low}, {high}]"
    every = [value for one in rows for value in _values(results, one, name, bool(each))]
    if not ends:
        (value,) = every
        return _known(value, form)
    low, high = (_known(end(v for v in every if not isnan(v)), form) for end in (min, max))
    both = low if low == high else f"{low} to {high}"
    return {"least": low, "most": high, "ends": both}[which]


def _values(results: Results, row: str, name: str, each: bool) -> list[float]:
    """The numbers of a row that fit a name, one for each column, or for each of its seeds."""
    if name in results.experiment.bounds:
        return [*results.experiment.bounds[name][row]]
    if name in ("untrained", "exact"):
        return [results.untrained(row) if name == "untrained" else results.best(row)]
    if name.startswith("seconds of "):
        return [float(results.at(row, name.removeprefix("seconds of ")).seconds.min())]
    if " / " in name:
        return [pair.size for pair in _pairs(results, row, name, " / ")]
    if " ~ " in name:
        gaps = [pair.paired[1] - pair.paired[0] for pair in _pairs(results, row, name, " ~ ")]
        return [float(v) for gap in gaps for v in (abs(gap) if each else [abs(gap.mean())])]
    columns = [results.values(row, model) for model in results.models if fnmatchcase(model, name)]
    return [float(v) for of in columns if len(of) for v in (of if each else [of.mean()])]


def _pairs(results: Results, row: str, name: str, sign: str) -> list[Comparison]:
    second, first = name.split(sign)
    names = [model for model in results.models if fnmatchcase(model, second)]
    pairs = [Comparison(results, row, (first, model)) for model in names]
    return [pair for pair in pairs if pair.paired.size]


def _known(value: float, form: str) -> str:
    if isnan(value):
        raise ValueError("no number")
    return format(value, form)
