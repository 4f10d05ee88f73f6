"""The tables that runs and audits end with."""

from fractions import Fraction

from rich.table import Table

from fast.audit import Audit
from fast.evaluation import FCS_BATCHES, FCS_SIZE, TOP_SAMPLES, Figures, Report
from reference.metrics import Estimate


def report_table(report: Report) -> Table:
    """The final figures of a run, beside the untrained policy and exact sampling."""
    table = Table(title=f"{report.terminals:,} terminal states; learned law: {report.method}")
    for name in ("", "learned", "untrained (uniform)", "exact sampling"):
        table.add_column(name, justify="left" if not name else "right")
    columns = (report.learned, report.uniform, report.exact)

    def row(name: str, cell: "list[str]") -> None:
        table.add_row(name, *cell)

    kind = "sampled" if report.sampled_law else "exact"
    row(f"TV to the target ({kind})", [f"{column.tv:.4f}" for column in columns])
    row(
        f"FCS ({FCS_BATCHES} batches of {min(FCS_SIZE, report.terminals)})",
        [_estimate(column.fcs, 4) for column in columns],
    )
    row("KL(target || learned), nats", [f"{column.kl:.4f}" for column in columns])
    row(
        "log Z, nats" + ("" if report.log_z_is_learned else " (mean of -f)"),
        [_estimate(column.log_z, 4) for column in columns],
    )
    row(
        f"best {report.top_count} states: found in {TOP_SAMPLES:,} samples",
        [f"{column.top_found}" for column in columns],
    )
    table.caption = _caption(report.exact, report)
    return table


def _caption(exact: Figures, report: Report) -> str:
    text = f"true log Z = {exact.log_z.mean:.4f}"
    if report.sampled_law:
        text += "; the learned law is estimated from samples, so exact sampling is its floor"
    return text


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


def _estimate(estimate: Estimate, digits: int) -> str:
    if not estimate.standard_error:
        return f"{estimate.mean:.{digits}f}"
    return f"{estimate.mean:.{digits}f} ± {estimate.standard_error:.{digits}f}"


def _number(value: Fraction | float, digits: int) -> str:
    """A number with its digits; an exact integer as itself."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f"{float(value):.{digits}f} (exact)"
    return f"{value:.{digits}f}"
