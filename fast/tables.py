"""The tables that runs and audits end with."""

import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction

from rich.table import Table

from fast.audit import Audit
from fast.evaluation import FCS_BATCHES, FCS_SIZE, MEAN_BEST, TOP_SAMPLES, Figures, Report
from reference.metrics import Estimate

Cell = Callable[[Figures], "Estimate | float | int | None"]


def report_table(report: Report) -> Table:
    """The final figures of a run, beside the untrained policy and exact sampling."""
    known = report.terminals is not None
    states = f"{report.terminals:,} terminal states" if known else "terminal states not enumerated"
    table = Table(title=f"{states}; learned law: {report.method}")
    runs = len(report.learned)
    names = ["learned" if runs == 1 else f"learned, mean ± sd of {runs}", "untrained (uniform)"]
    columns: list[Sequence[Figures]] = [report.learned, [report.uniform]]
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
    row(
        f"FCS ({FCS_BATCHES} batches of {min(FCS_SIZE, report.terminals or FCS_SIZE)})",
        lambda f: f.fcs,
    )
    bound = " (upper bound)" if report.tv_kind == "of trajectories" else ""
    row(f"KL(target || learned), nats{bound}", lambda f: f.kl)
    row("log Z, nats" + ("" if report.log_z_is_learned else " (mean of -f)"), lambda f: f.log_z)
    row(f"mean log reward of the best {MEAN_BEST} in {TOP_SAMPLES:,} samples", lambda f: f.best)
    if report.top_count is not None:
        row(f"best {report.top_count} states: found in those samples", lambda f: f.top_found, 0)
    true = [] if report.log_z is None else [f"true log Z = {report.log_z:.4f}"]
    table.caption = "; ".join([*true, *report.notes])
    return table


def _summary(values: "Sequence[Estimate | float | int | None]", digits: int) -> str:
    """One figure with its standard error, or the mean and spread over seeds."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    if len(known) == 1:
        return _estimate(known[0], digits)
    means = [value.mean if isinstance(value, Estimate) else float(value) for value in known]
    return f"{statistics.mean(means):.{digits}f} ± {statistics.stdev(means):.{digits}f}"


def _estimate(value: Estimate | float, digits: int) -> str:
    if not isinstance(value, Estimate):
        return f"{value:.{digits}f}"
    if not value.standard_error:
        return f"{value.mean:.{digits}f}"
    return f"{value.mean:.{digits}f} ± {value.standard_error:.{digits}f}"


def audit_table(audit: Audit) -> Table:
    """The certificate of an audit."""
    table = Table(title=f"Audit in {audit.arithmetic}", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    rows = {
        "states of the pointed DAG": f"{audit.states:,}",
        "complete trajectories": f"{audit.trajectories:,}",
        "sum of p_T": _number(audit.total, 15),
        "TV(p_T, target)": _number(audit.tv, 10),
        "KL(target || p_T), nats": f"{audit.kl_forward:.6f}",
        "KL(p_T || target), nats": f"{audit.kl_reverse:.6f}",
        "mass of the backward kernel": (
            f"{_number(audit.backward_mass[0], 15)} to {_number(audit.backward_mass[1], 15)}"
        ),
        "largest |TB residual|, nats": f"{audit.largest_residual:.6f}",
        "TV bound from the residuals alone": f"{audit.certificate:.6f}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _number(value: Fraction | float, digits: int) -> str:
    """A number with its digits; an exact integer as itself."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f"{float(value):.{digits}f} (exact)"
    return f"{value:.{digits}f}"
