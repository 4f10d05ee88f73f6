"""Numbers of the results in the texts of the report: none is written by hand twice.

A text names a number as `{label; row; name; form}`: the mean of a column, `GRU+`; the paired
difference of two with its interval, `GRU+ - Markovian`; its size alone, `GRU+ ~ Markovian`; the
ratio of their means, `GRU+ / Markovian`; or `untrained`. The form is Python's, such as `.3f`. A
label with `@tv` behind it has the TV of an experiment whose metric is another. `all rows` with a
standing in place of a row counts the rows of all claims, as does `rows`. `{by TV}` is a table of
`evidence`.
"""

import dataclasses
import re
from collections.abc import Sequence
from functools import cache
from math import isnan

from pdai.experiments.base import Experiment, Metric
from pdai.experiments.frames import Results
from pdai.experiments.tables import claimed
from pdai.experiments.verdicts import Comparison
from reference.errors import InputError

PLACE = re.compile(r"\{([^{};]+);([^{};]+);([^{};]+);([^{};]+)\}")


def filled(text: str, every: Sequence[Results]) -> str:
    """A text with the numbers that it names.

    Raises:
        InputError: if it names a row or column that has no runs.
    """
    known = {results.experiment.label: results for results in every}
    families = cache(lambda: claimed(every))

    def number(place: re.Match[str]) -> str:
        label, row, name, form = (" ".join(part.split()) for part in place.groups())
        label, _, metric = label.partition("@")
        try:
            if label == "all rows":
                second, first = name.split(" - ")
                standings = [one.standing for one in families()[first, second]]
                return format(sum(row in ("rows", s.value) for s in standings if s), form)
            results = in_metric(known[label], "tv") if metric else known[label]
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
    changes = {"metric": metric, "cells": cells, "not_run": ()}
    experiment: Experiment = dataclasses.replace(results.experiment, **changes)  # type: ignore[arg-type]
    return Results(experiment, results.runs)


def _text(results: Results, row: str, name: str, form: str) -> str:
    """One number as text."""
    for sign in (" - ", " ~ ", " / "):
        if sign in name:
            second, first = name.split(sign)
            both = Comparison(results, row, (first, second))
            if both.gap is None:
                if sign == " / ":
                    return _known(both.size, form)
                raise ValueError("fewer than three seeds")
            if sign == " - ":
                return " ".join(
                    [_known(both.gap.mean, f"+{form}"), _interval(both.gap[1:], f"+{form}")]
                )
            return _known(abs(both.gap.mean) if sign == " ~ " else both.size, form)
    if name == "untrained":
        return _known(results.untrained(row), form)
    return _known(float(results.values(row, name).mean()), form)


def _interval(ends: Sequence[float], form: str) -> str:
    return f"[{', '.join(_known(end, form) for end in ends)}]"


def _known(value: float, form: str) -> str:
    if isnan(value):
        raise ValueError("no number")
    return format(value, form)
