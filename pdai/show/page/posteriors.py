"""Figures of the features that a problem names: bars, or edges as heat maps."""

from xml.etree.ElementTree import Element

from pdai.show.page.chart import Chart, Point, Series, figure, number_text
from pdai.show.page.elements import short
from pdai.show.page.entries import Entry
from pdai.show.page.heat_map import heat_map
from pdai.show.plotting import MOST_BARS
from pdai.show.posterior_plots import edge_matrices


def feature_figures(entry: Entry) -> list[Element]:
    """Heat maps of edges, or bars of other features; empty if the target's means are unknown."""
    every = entry.report.expectations
    if not every or any(one.target is None for one in every):
        return []
    if entry.has_networks:
        names, target, learned = edge_matrices(every)
        return [
            heat_map("Edges: exact posterior", names, target, 1.0),
            heat_map("Edges: sampler", names, learned, 1.0),
            heat_map("Sampler minus posterior", names, learned - target, None),
        ]
    if len(every) > MOST_BARS:
        return []
    bars, marks = [], []
    for i, one in enumerate(every):
        assert one.target is not None
        bars.append(Point(i, one.target, f"target of {one.name}: {number_text(one.target)}"))
        marks.append(Point(i, one.sampler.mean, f"{one.name}: {number_text(one.sampler.mean)}"))
    about = "A bar for the expectation under the target, and a mark for that under the sampler."
    series = [Series(entry.name, entry.number, marks)]
    names = [short(one.name) for one in every]
    return [figure(Chart("Expectations", about, "feature", "mean", series, bars=bars, names=names))]
