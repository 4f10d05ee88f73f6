"""The section of one run: figures, certificate, states, samples, the lift, the configuration."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from rich.table import Table

from fast.measure.report import Figures, Report
from pdai.show.page.chart import Chart, Point, Series, figure, number_text
from pdai.show.page.elements import folded, short, table, tag
from pdai.show.page.entries import Computed, Entry
from pdai.show.page.heat_map import heat_map
from pdai.show.page.laws import state_tables
from pdai.show.page.lifts import lift_picture
from pdai.show.plotting import MOST_BARS
from pdai.show.posterior_plots import edge_matrices
from pdai.show.tables import expectations_table, report_table
from reference.certificates.statement import REGIMES, Certificate, Line
from reference.contract.text import small


def run_section(entry: Entry) -> Element:
    """The section of a run."""
    parts = [
        tag("h2", f"Run {entry.name}", id=f"run-{entry.number}"),
        _rich(entry, report_table(entry.report)),
        *_features(entry),
        *_certificate(entry),
    ]
    if entry.computed is not None and entry.computed.exact is not None:
        parts.append(tag("p", f"Exact instead: {entry.computed.exact}.", class_="note"))
    states = state_tables(entry)
    parts.append(tag("h3", "Where it is worst and best"))
    if states:
        parts.append(tag("p", "First seed. The share of TV is that of all differences."))
        parts.append(tag("div", *states, class_="states"))
    else:
        parts.append(tag("p", "Its terminal states are too many to be listed one by one."))
    if entry.computed is not None:
        parts += _samples(entry, entry.computed)
        parts += _lift(entry, entry.computed)
    asked = [(name.replace("_", " "), short(value)) for name, value in entry.options.items()]
    made = [
        (name, short(entry.meta.get(name))) for name in ("device", "backend", "commit", "versions")
    ]
    parts += [
        tag("h3", "How it was made"),
        folded("Configuration", table(f"{entry.name}: what was asked for", (), asked)),
        folded("Machine and versions", table(f"{entry.name}: where it was trained", (), made)),
    ]
    return tag("section", *parts, class_="run")


def tv_words(report: Report) -> str:
    """The final TV over seeds, and how it was measured."""
    known = [figures.tv.mean for figures in report.learned if figures.tv is not None]
    if not known:
        return "unknown"
    span = number_text(min(known))
    if len(known) > 1:
        span += f" to {number_text(max(known))}"

    def also(name: str, figures: Figures | None) -> list[str]:
        tv = None if figures is None else figures.tv
        return [] if tv is None else [f"{name} {number_text(tv.mean)}"]

    others = also("exact sampling", report.exact) + also("untrained", report.uniform)
    return f"{span} ({'; '.join([report.tv_kind, *others])})"


def certificate_words(entry: Entry) -> str:
    """The certificate in one line."""
    if entry.computed is None:
        return "not computed"
    certificate = entry.computed.certificate
    if isinstance(certificate, str):
        return "no certificate"
    return f"regime {certificate.regime}: {_value(certificate)}"


def _value(certificate: Certificate) -> str:
    if certificate.tv is not None:
        return f"TV = {small(certificate.tv, digits=3)}, {certificate.kind}"
    return f"TV of {certificate.of} in {Line('', certificate.interval, 'bound').text()}"


def _rich(entry: Entry, printed: Table) -> Element:
    """A table as HTML, equal to the one on the terminal."""
    head = [str(column.header) for column in printed.columns]
    rows = zip(*(list(map(str, column.cells)) for column in printed.columns), strict=True)
    made = table(f"{entry.name}: {printed.title}", head, rows)
    return tag("div", made, tag("p", str(printed.caption or ""), class_="note"))


def _features(entry: Entry) -> Sequence[Element]:
    """Features that the problem names, such as the edges of a graph."""
    printed = expectations_table(entry.report, most=len(entry.report.expectations))
    if printed is None:
        return ()
    figures = tag("div", *feature_figures(entry), class_="charts")
    return tag("h3", "Features of the answers"), figures, _rich(entry, printed)


def _certificate(entry: Entry) -> Sequence[Element]:
    heading = tag("h3", "Certificate")
    if entry.computed is None:
        return heading, tag(
            "p", "This page shows stored results only, so no certificate was computed."
        )
    certificate = entry.computed.certificate
    if isinstance(certificate, str):
        return heading, tag("p", "There is no certificate: ", certificate, ".")
    regime = certificate.regime
    words = f"Regime {regime}: {REGIMES[regime]}. {_value(certificate)}."
    if certificate.level:
        words += (
            f" Each bound is wrong with probability at most {certificate.level:g}; "
            f"{certificate.samples:,} trajectories were drawn."
        )
    rows = list(certificate.report.items())
    notes = [tag("li", note) for note in certificate.notes]
    return (
        heading,
        tag("p", words, class_="finding"),
        table(f"{entry.name}: what the certificate states", ("statement", "value"), rows),
        tag("ul", *notes, class_="note"),
    )


def _samples(entry: Entry, computed: Computed) -> Sequence[Element]:
    heading, samples = tag("h3", "Samples"), computed.samples
    if isinstance(samples, str):
        return heading, tag("p", "There are no samples: ", samples, ".")
    # With data, log R is the log score minus that of the best answer, the offset.
    scores = {"log R": samples.log_reward}
    if computed.offset is not None:
        score = "log score" if entry.has_networks else "log Bayes factor against no variable"
        scores = {score: samples.log_reward + computed.offset, **scores}
    columns = {**scores, "log p_F of its trajectory": samples.log_p_f}
    numbers = ([f"{x:.4f}" for x in column] for column in columns.values())
    rows = list(zip(map(short, samples.states), *numbers, strict=True))
    head = ("state", *(f"{name}, nats" for name in columns))
    prior = entry.options.get("prior")
    note = [tag("p", f"Prior: {prior}.", class_="note")] if prior else []
    made = table(f"{entry.name}: {len(rows)} samples of the first seed", head, rows)
    return heading, made, *note


def _lift(entry: Entry, computed: Computed) -> Sequence[Element]:
    heading, lift = tag("h3", "The lift and its flows"), computed.lift
    if isinstance(lift, str):
        return heading, tag("p", "It is not drawn: ", lift, ".")
    return heading, lift_picture(lift, entry.name)


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
