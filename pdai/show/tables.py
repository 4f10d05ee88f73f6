"""Tables printed at the end of runs."""

import html
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from rich.table import Table
from rich.text import Text

from fast.measure.report import FCS_BATCHES, FCS_SIZE, MEAN_BEST, Expectation, Figures, Report
from pdai.distributed.comparison import Comparison
from pdai.distributed.plan import DIRECT
from reference.metrics import Estimate

# The most rows in a table of expectations, and the bound of a small probability.
MOST_FEATURES, SMALL = 24, 0.05

Cell = Callable[[Figures], "Estimate | float | int | None"]


def report_table(report: Report) -> Table:
    """The final figures of a run, of the untrained policy and of exact sampling."""
    states = "terminal states not enumerated"
    if report.terminals is not None:
        states = f"{report.terminals:,} terminal states"
    table = Table(title=f"{states}; learned law: {report.method}")
    _add_figures(table, report, {"learned": report.learned})
    true = [] if report.log_z is None else [f"true log Z = {report.log_z:.4f}"]
    table.caption = "; ".join([*true, *report.notes])
    return table


def comparison_table(comparison: Comparison) -> Table:
    """A combined sampler and one trained on the product, at equal numbers of trajectories."""
    combined, direct = comparison.reports[comparison.combined], comparison.reports[DIRECT]
    drawn = comparison.trajectories
    alone = sum(drawn.values()) - drawn[DIRECT]
    table = Table(title=f"{comparison.combined}, and trained on the product itself")
    columns = {comparison.combined: combined.learned, "on the product": direct.learned}
    _add_figures(table, combined, columns)
    table.add_row("trajectories drawn in all", f"{alone:,}", f"{drawn[DIRECT]:,}")
    if comparison.predicted is not None and comparison.direct_bound is not None:
        # Rounded up, as bounds are.
        bounds = [
            _summary([math.ceil(tv * 10**4) / 10**4 for tv in tvs], 4)
            for tvs in (comparison.predicted, comparison.direct_bound)
        ]
        table.add_row("TV that residuals allow", *bounds)
        table.caption = "bounds of TV: claims combined-tv-bound and residual-tv-bound"
    else:
        table.caption = "too many trajectories to bound TV by the residuals of all"
    return table


def parts_table(comparison: Comparison) -> Table:
    """The runs that were combined, each against its own target."""
    table = Table(title="The runs, each against its own target")
    for name in ("", "TV", "untrained", "trajectories", "oscillation of residuals, nats"):
        table.add_column(name, justify="right" if name else "left")
    for name, report in comparison.reports.items():
        oscillations = comparison.oscillations
        table.add_row(
            name,
            _summary([figures.tv for figures in report.learned], 4),
            _summary([report.uniform.tv], 4),
            f"{comparison.trajectories[name]:,}",
            "-" if oscillations is None else _summary(oscillations[name], 4),
        )
    return table


def _add_figures(table: Table, report: Report, learned: Mapping[str, Sequence[Figures]]) -> None:
    """Adds columns for learned samplers, the untrained one and exact sampling; a row per figure."""
    columns: list[Sequence[Figures]] = [*learned.values(), [report.uniform]]
    names = [
        name if len(column) == 1 else f"{name}, mean ± sd of {len(column)}"
        for name, column in learned.items()
    ]
    names.append("untrained (uniform)")
    if report.exact is not None:
        names.append("exact sampling")
        columns.append([report.exact])
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")

    def row(name: str, cell: Cell, digits: int = 4) -> None:
        cells = [_summary([cell(figures) for figures in column], digits) for column in columns]
        table.add_row(name, *cells)

    row(f"TV to the target ({report.tv_kind})", lambda f: f.tv)
    # Estimates of TV are left out if TV is exact.
    exact = report.tv_kind == "float64"
    size = min(FCS_SIZE, report.terminals or FCS_SIZE)
    of = " uniform states" if report.fcs_states == "uniform" else " drawn states"
    if not exact:
        row(f"FCS ({FCS_BATCHES} batches of {size}{of})", lambda f: f.fcs)
    bound = " (upper bound)" if report.tv_kind == "of trajectories" else ""
    row(f"KL(target || learned), nats{bound}", lambda f: f.kl)
    row(
        "log Z, nats" + ("" if report.log_z_is_learned else " (mean of log R p_B/p_F)"),
        lambda f: f.log_z,
    )
    if report.uniform.weights is not None:
        _add_weights(row, report.uniform.weights.drawn)
    if exact:
        return
    best = f"mean log reward of the best {MEAN_BEST} in {report.drawn:,} samples"
    row(f"{best} (right: as exact sampling, not higher)", lambda f: f.best)
    if report.top_count is not None:
        row(f"best {report.top_count} states: found in those samples", lambda f: f.top_found, 0)


def _add_weights(row: Callable[..., None], drawn: int) -> None:
    def cell(name: str) -> Cell:
        return lambda f: None if f.weights is None else getattr(f.weights, name)

    row(f"effective number of {drawn:,} trajectories (ESS)", cell("effective"), 0)
    row("Pareto k of the weights (above 0.7: do not rely on means)", cell("pareto_k"), 2)
    row("log Z from below: mean log weight, nats", cell("log_z_below"))
    row("log mean weight, nats", cell("log_mean"))


def expectations_table(report: Report, most: int = MOST_FEATURES) -> Table | None:
    """Expectations of features under the sampler of the first seed; None without features.

    Features farthest from the target, or else from the weighted estimate, come first.
    """

    def gap(one: Expectation) -> float:
        others = (one.target, one.weighted, one.sampler.mean)
        return abs(one.sampler.mean - next(x for x in others if x is not None))

    every = sorted(report.expectations, key=gap, reverse=True)
    if not every:
        return None
    title = f"expectations of {len(every)} features under the first seed, farthest off first"
    table = Table(title=title)
    caption = [] if len(every) <= most else [f"the first {most}; all of them: report.json"]
    table.caption = Text("; ".join([*caption, *_small_and_off(every)]))
    columns = {
        "": [one.name for one in every],
        "sampler": [_estimate(one.sampler, 4) for one in every],
        "weighted": [_summary([one.weighted], 4) for one in every],
        "target": [_summary([one.target], 4) for one in every],
    }
    shown = {name: cells for name, cells in columns.items() if set(cells) != {"-"}}
    for name in shown:
        table.add_column(name, justify="right" if name else "left")
    for row in islice(zip(*shown.values(), strict=True), most):
        # Brackets in a name are no markup.
        table.add_row(Text(row[0]), *row[1:])
    return table


def _small_and_off(every: Sequence[Expectation]) -> list[str]:
    """A sentence about small probabilities that are wrong by a factor above 2, if any are."""
    ratios = {
        one: max(one.sampler.mean / one.target, one.target / max(one.sampler.mean, 1e-300))
        for one in every
        if one.target and one.target <= SMALL and 0 <= one.sampler.mean <= 1
    }
    off = [one for one, ratio in ratios.items() if ratio > 2]
    if not off:
        return []
    worst = max(off, key=ratios.__getitem__)
    return [
        f"{len(off)} of the {len(ratios)} with a target of at most {SMALL} are off by a factor "
        f"above 2, most {worst.name}: {worst.sampler.mean:.2g} for {worst.target:.2g}"
    ]


def _summary(values: "Sequence[Estimate | float | int | None]", digits: int) -> str:
    """One figure with its standard error, or the mean and spread over seeds."""
    present = [value for value in values if value is not None]
    if not present:
        return "-"
    if len(present) == 1:
        return _estimate(present[0], digits)
    means = [value.mean if isinstance(value, Estimate) else float(value) for value in present]
    infinite = sum(map(math.isinf, means))
    if infinite:
        return f"infinite in {infinite} of {len(means)}"
    return f"{_digits(statistics.mean(means), digits)} ± {_digits(statistics.stdev(means), digits)}"


def _estimate(value: Estimate | float, digits: int) -> str:
    if not isinstance(value, Estimate):
        return _digits(value, digits)
    # Equal values differ by the rounding of their sums.
    if value.standard_error <= 1e-12 * abs(value.mean):
        return _digits(value.mean, digits)
    return f"{_digits(value.mean, digits)} ± {_digits(value.standard_error, digits)}"


def _digits(value: float, digits: int) -> str:
    """A number with `digits` decimals, or in scientific notation if it would round to zero."""
    return f"{value:.1e}" if 0 < abs(value) < 10.0**-digits else f"{value:.{digits}f}"


def html_of(table: Table) -> str:
    """A table as HTML, for notebooks."""

    def row(cells: Iterable[object], tag: str) -> str:
        text = "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells)
        return f"<tr>{text}</tr>"

    head = row((column.header for column in table.columns), "th")
    rows = zip(*(column.cells for column in table.columns), strict=True)
    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><caption>{html.escape(str(table.title or ''))}</caption>{head}{body}</table>"
