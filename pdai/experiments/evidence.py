"""The tables behind the questions that a referee asks: each from the stored results.

Every function takes the results of all experiments, and returns Markdown.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pdai.experiments.base import BEST, FORMS, MARKOVIAN
from pdai.experiments.frames import Results
from pdai.experiments.gains import THINGS, gains
from pdai.experiments.tables import (
    by_benjamini_hochberg,
    by_benjamini_yekutieli,
    by_holm,
    claimed,
    family,
    kept,
    markdown,
    tallied,
)
from pdai.experiments.values import in_metric
from pdai.experiments.verdicts import DECIDED, Comparison, Standing, against, compared

Table = Callable[[Sequence[Results]], str]


def gains_table(every: Sequence[Results]) -> str:
    """A line for each task and a column for each thing; what counts is bold."""
    cells: dict[str, dict[str, str]] = {}
    for task, thing, gap, standing in gains(every):
        text = f"**{gap.text(4)}**" if standing in DECIDED else gap.text(4)
        cells.setdefault(task, {})[thing] = text
    body = [[task, *(of.get(thing, "-") for thing in THINGS)] for task, of in cells.items()]
    return markdown(["TV less by", *THINGS], body)


def state_seen(every: Sequence[Results]) -> str:
    """The rows whose input is the state and no raw integer, by the standing of the GRU."""
    rows = [row for row in claimed(every)[MARKOVIAN, BEST] if not row.is_of_integers()]
    body = []
    for standing in Standing:
        of = [row for row in rows if row.standing is standing]
        body.append([standing.value, str(len(of)), "; ".join(map(_place, of)) or "-"])
    return markdown([against((MARKOVIAN, BEST)), "rows", ""], body)


def by_tv(every: Sequence[Results]) -> str:
    """The verdicts that change where TV is taken for FCS."""
    body, count = [], 0
    for results in every:
        if results.experiment.metric != "fcs":
            continue
        for before, row in _both(results, in_metric(results, "tv")):
            if row.gap is None:
                continue
            count += 1
            if before.outcome is not row.outcome:
                body.append([*_change(before, row), row.gap.text(4)])
    table = markdown(["", "compared", "by FCS", "by TV", "difference of TV [95 %]"], body)
    return f"{len(body)} of {count} verdicts change.\n\n{table}"


def by_first_seeds(every: Sequence[Results]) -> str:
    """The verdicts that change if the seeds that were added later are left out."""
    body, count, labels = [], 0, []
    for results in every:
        first = results.experiment.first_seeds
        if first is None:
            continue
        labels.append(results.experiment.label)
        early = Results(results.experiment, [run for run in results.runs if run.seed < first])
        for before, row in _both(early, results):
            if len(row.paired.T) <= first or row.row in results.experiment.at_once:
                continue
            count += 1
            if before.outcome is not row.outcome:
                body.append(_change(before, row))
    table = markdown(["", "compared", "by the first seeds", "by all"], body)
    said = f"{', '.join(labels)}: {len(body)} of {count} verdicts change with the added seeds."
    return f"{said}\n\n{table}"


def _both(before: Results, after: Results) -> Iterator[tuple[Comparison, Comparison]]:
    """Each comparison of an experiment, by other results and by these."""
    for pair in after.experiment.forms.values():
        for row in compared(after, pair):
            yield Comparison(before, row.row, pair), row


def _change(before: Comparison, after: Comparison) -> list[str]:
    return [_place(after), against(after.pair), before.outcome.value, after.outcome.value]


def fragile(every: Sequence[Results]) -> str:
    """The decided comparisons of five seeds that are not decided once a certain one is left out."""
    families = claimed(every).values()
    rows = [row for rows in families for row in rows if row.standing in DECIDED]
    of_five = [row for row in rows if len(row.paired.T) >= 5]
    weak = [row for row in of_five if not _stays(row)]
    listed = "; ".join(f"{_place(row)}, {against(row.pair)}" for row in weak)
    return (
        f"Among {len(rows)} comparisons that are decided, {len(of_five)} have five seeds or more, "
        f"and {len(of_five) - len(weak)} of these stay decided whichever seed is left out. The "
        f"others: {listed or 'none'}."
    )


def untrained(every: Sequence[Results]) -> str:
    """The paper's numbers beside the policy that was never trained, where it was measured."""
    body = []
    for results in (one for one in every if one.experiment.claim):
        quoted = results.experiment.quoted
        seen: list[list[float]] = []
        for row in dict.fromkeys(row for row, _ in quoted):
            ours = results.untrained(row)
            papers = [quoted[row, model].mean for model in results.experiment.compared]
            # Two rows of ours may stand beside one of the paper.
            if np.isnan(ours) or papers in seen:
                continue
            seen.append(papers)
            is_above = "yes" if papers[0] >= ours else "no"
            numbers = [f"{number:.3f}" for number in (*papers, ours)]
            body.append([f"{results.experiment.label}: {row}", *numbers, is_above])
    head = ["", "paper: Markovian", "paper: path-dependent", "never trained, here"]
    return markdown([*head, "Markovian no better"], body)


def beside_the_paper(every: Sequence[Results]) -> str:
    """A line for each row of the paper: its numbers if it has some, ours, and why they differ.

    A claim without numbers has a line for each row that was trained.
    """
    body = []
    for results in every:
        experiment = results.experiment
        if not experiment.claim:
            continue
        quoted = experiment.quoted
        rows = dict.fromkeys(row for row, _ in quoted) or experiment.rows
        for place, row in enumerate(rows):
            papers = [f"{quoted[row, m].mean:g}" for m in experiment.compared if (row, m) in quoted]
            why = "as above" if place else experiment.explained
            paper, name = " / ".join(papers) or "no number", f"{experiment.label}: {row}"
            today = Comparison(results, row, experiment.compared).outcome.value
            body.append([name, paper, *_ours(results, row), today, "-", why])
            body += [
                [f"as printed{one.row.removeprefix(start)}", "-", _ours(other, one.row)[0], *"--",
                 one.outcome.value if one.gap else other.experiment.missing, "-"]
                for other in every
                if (start := other.experiment.beside.get(name))
                for one in compared(other, other.experiment.compared)
                if f"{one.row}, ".startswith(f"{start}, ")
            ]  # fmt: skip
    head = ["", "paper: without / with memory", "here, the same two", "here: SRWM+ / GRU+"]
    head += ["verdict", "against the baseline as printed", "explained by"]
    return markdown(head, body)


def _ours(results: Results, row: str) -> list[str]:
    """The means of the compared columns of a row, and of the best forms."""
    experiment, digits = results.experiment, results.measure.digits

    def shown(model: str) -> str:
        values = results.values(row, model)
        return f"{values.mean():.{digits}f}" if len(values) else "not run"

    others = [name for name in FORMS if name not in experiment.compared]
    forms = [name for name in others if name in experiment.models]
    return [" / ".join(map(shown, experiment.compared)), " / ".join(map(shown, forms)) or "-"]


def as_printed(every: Sequence[Results]) -> str:
    """All rows of the baseline as printed."""
    studies = [results for results in every if results.experiment.beside]
    families = {
        pair: [row for results in studies for row in compared(results, pair) if row.standing]
        for pair in studies[0].experiment.comparisons
    }
    return tallied(families, every)


def corrections(every: Sequence[Results]) -> str:
    """A line for each table: its comparisons, and those decided before and after corrections."""
    tests = family(tuple(every))
    some = [tests, [row for row in tests if row.standing in DECIDED]]
    rules = (by_benjamini_hochberg, by_benjamini_yekutieli, by_holm)
    some += [kept(tests, rule) for rule in rules]
    counts = [Counter(row.place[0] for row in rows) for rows in some]
    body = [[label, *(f"{of[label]}" for of in counts)] for label in counts[1]]
    body.append(["all", *(f"{len(rows)}" for rows in some)])
    after = [f"after {name}" for name in ("Benjamini-Hochberg", "Benjamini-Yekutieli", "Holm")]
    return markdown(["", "comparisons", "decided", *after], body)


def _place(row: Comparison) -> str:
    return f"{row.results.experiment.label}: {row.row}"


def _stays(row: Comparison) -> bool:
    """True if a comparison stays decided, with its sign, whichever seed is left out."""
    results = row.results
    runs = [run for run in results.at(row.row).run if run.model in row.pair]
    without = [[run for run in runs if run.seed != seed] for seed in {run.seed for run in runs}]
    rests = [Results(results.experiment, some) for some in without]
    return all(Comparison(rest, row.row, row.pair).standing is row.standing for rest in rests)


# The tables by the names that texts of the report give them.
TABLES: dict[str, Table] = {
    "gains": gains_table,
    "state seen": state_seen,
    "by TV": by_tv,
    "first seeds": by_first_seeds,
    "fragile": fragile,
    "untrained": untrained,
    "beside the paper": beside_the_paper,
    "as printed": as_printed,
    "corrections": corrections,
}
