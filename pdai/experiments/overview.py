"""The verdicts as tables: of one experiment by row, and of all of them by what came out."""

from collections.abc import Sequence

from pdai.experiments.base import MEASURES, Experiment
from pdai.experiments.results import Run
from pdai.experiments.tables import markdown
from pdai.experiments.verdicts import Group, Judged, Outcome, counts, group, judged_rows

HEAD = ["", "compared", "rows", "size here", "in the paper"]
Stored = Sequence[tuple[Experiment, Sequence[Run]]]


def overview(stored: Stored) -> str:
    """All experiments, by what their rows say together; those without a claim last.

    An experiment of two forms of a model is where the one belongs that was run and is judged last.
    """
    members: dict[Group, list[tuple[Experiment, Sequence[Run]]]] = {kind: [] for kind in Group}
    for experiment, runs in stored:
        if experiment.claim:
            members[_group(experiment, runs)].append((experiment, runs))
    found = {kind: of_kind for kind, of_kind in members.items() if of_kind}
    told = "; ".join(f"**{len(of_kind)}** {_inside(kind)}" for kind, of_kind in found.items())
    parts = [f"Claims of the paper, by what their rows say together: {told}."]
    for kind, of_kind in found.items():
        lines = [line for experiment, runs in of_kind for line in _lines(experiment, runs)]
        parts.append(f"### {kind.value}\n\n{markdown(HEAD, lines)}")
    others = [_link(experiment) for experiment, _ in stored if not experiment.claim]
    if others:
        parts.append(f"### No claim of the paper\n\n{', '.join(others)}.")
    return "\n\n".join(parts)


def verdict(experiment: Experiment, runs: Sequence[Run]) -> str:
    """The verdict of an experiment, row by row, for each form that is judged."""
    if experiment.not_testable:
        return f"Verdict: not testable as stated. {experiment.not_testable}"
    parts = []
    for pair in _pairs(experiment, runs):
        rows = judged_rows(experiment, runs, pair)
        told = counts([row.outcome for row in rows])
        parts.append(f"Verdict, {pair[1]} against {pair[0]}: {told}.")
        parts.append(markdown(["", "verdict", *_size_names(experiment)], _by_row(experiment, rows)))
    return "\n\n".join(parts)


def in_a_line(experiment: Experiment, runs: Sequence[Run]) -> str:
    """The verdict of an experiment in a line, such as "SRWM against Markovian: opposite in 2"."""
    if experiment.not_testable:
        return "not testable as stated"
    return "; ".join(
        f"{pair[1]} against {pair[0]}: "
        + counts([row.outcome for row in judged_rows(experiment, runs, pair)])
        for pair in _pairs(experiment, runs)
    )


def anchor(experiment: Experiment) -> str:
    """The anchor that Markdown gives to the heading of a section."""
    heading = f"{experiment.label}: {experiment.title}".lower()
    return "".join(c for c in heading if c.isalnum() or c in " -_").replace(" ", "-")


def _pairs(experiment: Experiment, runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The judged pairs that were run, or the first."""
    models = {run.model for run in runs}
    found = [pair for pair in experiment.judged if set(pair) <= models]
    return found or [experiment.compared]


def _group(experiment: Experiment, runs: Sequence[Run]) -> Group:
    last = judged_rows(experiment, runs, _pairs(experiment, runs)[-1])
    return group([row.outcome for row in last])


def _lines(experiment: Experiment, runs: Sequence[Run]) -> list[list[str]]:
    """A line for each judged form, the first with the name of the experiment."""
    found: list[list[str]] = []
    for pair in _pairs(experiment, runs):
        rows = judged_rows(experiment, runs, pair)
        name = _link(experiment) if not found else ""
        here = [row.size for row in rows if row.outcome is not Outcome.NO_HEADROOM]
        sizes = (_span(experiment, here), _span(experiment, [row.paper for row in rows]))
        told = counts([row.outcome for row in rows])
        found.append([name, f"{pair[1]} against {pair[0]}", told, *sizes])
    return found


def _inside(kind: Group) -> str:
    """The name of a group inside a sentence."""
    return kind.value[0].lower() + kind.value[1:]


def _link(experiment: Experiment) -> str:
    return f"[{experiment.label}](details.md#{anchor(experiment)})"


def _size_names(experiment: Experiment) -> list[str]:
    if MEASURES[experiment.metric].higher_is_better:
        return ["difference here", "in the paper"]
    return ["ratio here", "in the paper"]


def _by_row(experiment: Experiment, rows: Sequence[Judged]) -> list[list[str]]:
    """Where there is no headroom, a ratio is one of noise, and not shown."""
    return [
        [
            row.row,
            row.outcome.value,
            _span(experiment, [] if row.outcome is Outcome.NO_HEADROOM else [row.size]),
            _span(experiment, [row.paper]),
        ]
        for row in rows
    ]


def _span(experiment: Experiment, sizes: Sequence[float | None]) -> str:
    """The least and the largest of the sizes of an effect."""
    known = sorted(size for size in sizes if size is not None)
    if not known:
        return "-"
    sign = "+" if MEASURES[experiment.metric].higher_is_better else ""
    ends = dict.fromkeys(_digits(size, sign) for size in (known[0], known[-1]))
    return " to ".join(ends)


def _digits(size: float, sign: str) -> str:
    """Three digits, or two below one, where more would be noise."""
    if sign or abs(size) >= 100:
        return f"{size:{sign},.{4 if sign else 0}f}"
    return f"{size:#.{3 if abs(size) >= 1 else 2}g}"
