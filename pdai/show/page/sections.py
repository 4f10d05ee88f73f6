"""The section of one run: figures, certificate, states, samples, the lift, the configuration."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from rich.table import Table

from fast.measure.report import Figures, Report
from pdai.run import Run
from pdai.show.page.charts import feature_figures, state_tables
from pdai.show.page.elements import folded, number_text, short, table, tag
from pdai.show.page.entries import Entry, or_reason
from pdai.show.page.lifts import lift_of, lift_picture
from pdai.show.tables import expectations_table, report_table
from pdai.solving.hints import exact_beside
from pdai.solving.solved import Solved
from reference.certificates.statement import REGIMES, Certificate, Line
from reference.contract.text import small

SAMPLES = 12


def run_section(entry: Entry) -> Element:
    """The section of a run."""
    parts = [
        tag("h2", f"Run {entry.name}", id=f"run-{entry.number}"),
        _rich(entry, report_table(entry.report)),
        *_features(entry),
        *_certificate(entry),
    ]
    if isinstance(entry.run, Run):
        exact = exact_beside(entry.run.task, entry.options.get("parts", 1))
        parts += [] if exact is None else [tag("p", f"Exact instead: {exact}.", class_="note")]
    states = state_tables(entry)
    parts.append(tag("h3", "Where it is worst and best"))
    if states:
        parts.append(tag("p", "First seed. The share of TV is that of all differences."))
        parts.append(tag("div", *states, class_="states"))
    else:
        parts.append(tag("p", "Its terminal states are too many to be listed one by one."))
    if (run := entry.run) is not None:
        parts += [tag("h3", "Samples"), *_samples(entry, run)]
        lift = or_reason(lambda: lift_of(run))
        parts.append(tag("h3", "The lift and its flows"))
        if isinstance(lift, str):
            parts.append(tag("p", "It is not drawn: ", lift, "."))
        else:
            parts.append(lift_picture(lift, entry.name))
    asked = [(name.replace("_", " "), short(value)) for name, value in entry.options.items()]
    machine = [
        (name, short(entry.meta.get(name))) for name in ("device", "backend", "commit", "versions")
    ]
    parts += [
        tag("h3", "How it was made"),
        folded("Configuration", table(f"{entry.name}: what was asked for", (), asked)),
        folded("Machine and versions", table(f"{entry.name}: where it was trained", (), machine)),
    ]
    return tag("section", *parts, class_="run")


def tv_words(report: Report) -> str:
    """The final TV over seeds, and how it was measured."""
    measured = [figures.tv.mean for figures in report.learned if figures.tv is not None]
    if not measured:
        return "unknown"
    span = number_text(min(measured))
    if len(measured) > 1:
        span += f" to {number_text(max(measured))}"

    def also(name: str, figures: Figures | None) -> list[str]:
        tv = None if figures is None else figures.tv
        return [] if tv is None else [f"{name} {number_text(tv.mean)}"]

    others = also("exact sampling", report.exact) + also("untrained", report.uniform)
    return f"{span} ({'; '.join([report.tv_kind, *others])})"


def certificate_words(entry: Entry) -> str:
    """The certificate in one line."""
    certificate = entry.certificate
    if isinstance(certificate, str):
        return "no certificate" if certificate else "not computed"
    return f"regime {certificate.regime}: {_value(certificate)}"


def _value(certificate: Certificate) -> str:
    if certificate.tv is not None:
        return f"TV = {small(certificate.tv, digits=3)}, {certificate.kind}"
    return f"TV of {certificate.of} in {Line('', certificate.interval, 'bound').text()}"


def _rich(entry: Entry, printed: Table) -> Element:
    """A table as HTML, equal to the one on the terminal."""
    head = [str(column.header) for column in printed.columns]
    rows = zip(*(list(map(str, column.cells)) for column in printed.columns), strict=True)
    shown = table(f"{entry.name}: {printed.title}", head, rows)
    return tag("div", shown, tag("p", str(printed.caption or ""), class_="note"))


def _features(entry: Entry) -> Sequence[Element]:
    """Features that the problem names, such as the edges of a graph."""
    printed = expectations_table(entry.report, most=len(entry.report.expectations))
    if printed is None:
        return ()
    figures = tag("div", *feature_figures(entry), class_="charts")
    return tag("h3", "Features of the answers"), figures, _rich(entry, printed)


def _certificate(entry: Entry) -> Sequence[Element]:
    heading, certificate = tag("h3", "Certificate"), entry.certificate
    if isinstance(certificate, str):
        why = "This page shows stored results only, so no certificate was computed."
        if certificate:
            why = f"There is no certificate: {certificate}."
        return heading, tag("p", why)
    regime = certificate.regime
    words = f"Regime {regime}: {REGIMES[regime]}. {_value(certificate)}."
    if certificate.level:
        words += (
            f" Each bound is wrong with probability at most {certificate.level:g}; "
            f"{certificate.samples:,} trajectories were drawn."
        )
    rows = list(certificate.report.items())
    return (
        heading,
        tag("p", words, class_="finding"),
        table(f"{entry.name}: what the certificate states", ("statement", "value"), rows),
        tag("ul", *[tag("li", note) for note in certificate.notes], class_="note"),
    )


def _samples(entry: Entry, run: Run | Solved) -> Sequence[Element]:
    samples = or_reason(lambda: run.sample(SAMPLES))
    if isinstance(samples, str):
        return [tag("p", "There are no samples: ", samples, ".")]
    scores = {"log R": samples.log_reward}
    # With data, log R is the log score minus that of the best answer, the offset in nats.
    offset = getattr(or_reason(lambda: run.problem), "offset", None)
    if offset is not None:
        score = "log score" if entry.has_networks else "log Bayes factor against no variable"
        scores = {score: samples.log_reward + offset, **scores}
    columns = {**scores, "log p_F of its trajectory": samples.log_p_f}
    numbers = ([f"{x:.4f}" for x in column] for column in columns.values())
    rows = list(zip(map(short, run.task.texts(samples.states)), *numbers, strict=True))
    head = ("state", *(f"{name}, nats" for name in columns))
    prior = entry.options.get("prior")
    note = [tag("p", f"Prior: {prior}.", class_="note")] if prior else []
    return table(f"{entry.name}: {len(rows)} samples of the first seed", head, rows), *note
