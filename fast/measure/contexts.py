"""The report of a sampler in all contexts of a conditional problem: means over the contexts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fast.measure.estimates import TELLING
from fast.measure.report import Figures, Report
from reference.metrics import Estimate

# From certain to unknown, as `Report.tv_kind` has them.
KINDS = ("exact", "estimated", "sampled", "of trajectories", "unknown")
# The note of a context that was not trained on.
HELD_OUT = "held out of training"


def joint_report(reports: Mapping[str, Report], held_out: Sequence[str]) -> Report:
    """The means over the contexts, each with the same weight, and the report of each context.

    The mean of TV over the contexts is the TV between the laws of pairs of a context, which is
    uniform, and a terminal state. Contexts that are held out of training are in no mean.
    """
    within = {name: report for name, report in reports.items() if name not in held_out}
    first, *_ = every = [*within.values()]
    exact = [report.exact for report in every if report.exact is not None]
    log_z = [report.log_z for report in every if report.log_z is not None]
    notes = [f"means over {len(every)} contexts"]
    notes += [note for note in TELLING if any(note in report.notes for report in every)]
    if (worst := _worst(within)) is not None:
        notes.append(f"the largest TV is {within[worst].learned[0].tv.mean:.4f}, in {worst}")  # type: ignore[union-attr]  # it has one
    return replace(
        first,
        learned=tuple(map(_mean, zip(*(report.learned for report in every), strict=True))),
        uniform=_mean([report.uniform for report in every]),
        exact=_mean(exact) if len(exact) == len(every) else None,
        tv_kind=max((report.tv_kind for report in every), key=KINDS.index),
        log_z=math.fsum(log_z) / len(log_z) if len(log_z) == len(every) else None,
        top_count=None,
        notes=(*notes, *dict.fromkeys(note for report in every for note in report.notes)),
        expectations=tuple(
            replace(each, name=f"{name}: {each.name}")
            for name, report in within.items()
            for each in report.expectations
        ),
        contexts={
            name: replace(report, notes=(HELD_OUT, *report.notes)) if name in held_out else report
            for name, report in reports.items()
        },
    )


def _worst(reports: Mapping[str, Report]) -> str | None:
    """The context with the largest TV of the first seed; None where one is unknown."""
    distances = {name: report.learned[0].tv for name, report in reports.items()}
    means = {name: tv.mean for name, tv in distances.items() if tv is not None}
    return max(means, key=means.__getitem__) if len(means) == len(reports) else None


def _mean(figures: Iterable[Figures]) -> Figures:
    """The mean figures of one sampler in several contexts; None where one is unknown."""
    every = [*figures]

    def mean(values: Sequence[Estimate | None]) -> Estimate | None:
        present = [value for value in values if value is not None]
        if len(present) < len(values):
            return None
        error = math.hypot(*(value.standard_error for value in present))
        return Estimate(
            math.fsum(value.mean for value in present) / len(present), error / len(present)
        )

    log_z = mean([each.log_z for each in every])
    assert log_z is not None
    divergences = [each.kl for each in every if each.kl is not None]
    return Figures(
        tv=mean([each.tv for each in every]),
        fcs=mean([each.fcs for each in every]),
        kl=sum(divergences) / len(every) if len(divergences) == len(every) else None,
        log_z=log_z,
        best=math.fsum(each.best for each in every) / len(every),
    )
