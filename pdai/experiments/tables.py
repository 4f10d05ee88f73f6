"""The tables of the report: of one experiment, of all verdicts, and of all rows together."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import product
from math import exp, isnan, log
from statistics import fmean, median
from typing import Any

import pandas as pd
from scipy import stats

from pdai.distributed.plan import Plan
from pdai.experiments.base import (
    BEST,
    FORMS,
    MARKOVIAN,
    PAPERS_PAIR,
    PRINTED,
    RESET,
    STRONGEST,
    Experiment,
    Pair,
)
from pdai.experiments.frames import Results, unshared
from pdai.experiments.gains import trained
from pdai.experiments.trainings import total_steps
from pdai.experiments.verdicts import (
    DECIDED,
    Comparison,
    Standing,
    against,
    compared,
    counts,
    group,
)

# The pairs of models that are compared over all experiments.
PAIRS: tuple[Pair, ...] = (
    (MARKOVIAN, PRINTED),
    (MARKOVIAN, STRONGEST),
    (MARKOVIAN, BEST),
    (MARKOVIAN, RESET),
    (RESET, BEST),
)

# The paper's claim that FCS ranks as TV is about a formula, not about a table or figure.
FORMULA, CLAIMED, FEWEST = "eq:fcsa", 0.9, 10
BOUND = "of trajectories"
# The level of the differences that are kept after a correction.
LEVEL = 0.05
# A function from p-values to p-values that are corrected for their number, in the same order.
Correction = Callable[[Sequence[float]], list[float]]
# Comparisons by pair of models.
Families = dict[Pair, list[Comparison]]


def markdown(head: Iterable[str], body: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table(results: Results) -> Any:
    """A frame of text, one line per row: the paper's numbers, ours as mean ± sd (n), and levels."""
    experiment, digits = results.experiment, results.measure.digits
    quoted = {model for _, model in experiment.quoted}
    number = f"{{:.{digits}f}}".format
    lines = []
    for row in experiment.rows:
        line = {"": row}
        for model in experiment.models:
            if model in quoted:
                paper = experiment.quoted.get((row, model))
                line[f"paper: {model}"] = f"{paper.mean:.3f} ± {paper.spread:.3f}" if paper else "-"
        for model in experiment.models:
            is_defined = (row, model) in experiment.places
            line[model] = results.text(row, model) or (experiment.missing if is_defined else "-")
        # No spread is shown, as this is one sampler, measured with several samples.
        line["uniform policy"] = _ends([results.untrained(row)], number)
        line[experiment.best_name] = _ends([results.best(row)], number)
        if any(isinstance(cell.config, Plan) for cell in experiment.cells):
            allowed = results.at(row).bound
            line["TV that residuals allow (combined-tv-bound)"] = (
                "not run" if allowed.empty
                else number(allowed.mean()) if allowed.any()
                else "too many to check"
            )  # fmt: skip
        for name, bounds in experiment.bounds.items():
            line[name] = _ends(bounds.get(row, ()), number)
        for pair in experiment.comparisons:
            gap = Comparison(results, row, pair).gap
            line[f"{pair[1]} - {pair[0]} [95 %]"] = gap.text(digits) if gap else "-"
        lines.append(line)
    return pd.DataFrame(lines)


def layout(results: Results) -> Any:
    """The table as it is shown: one row per instance, or one per model.

    If models are rows, the best of each kind is bold. Columns without any entry are left out, and
    rows without a run, unless no row has one.
    """
    shown = table(results).set_index("", drop=False)
    shown = shown.loc[results.rows or list(shown.index)]
    is_turned = results.experiment.layout == "models"
    for row in results.experiment.rows if is_turned else ():
        for model in results.leaders(row):
            shown.loc[row, model] = f"**{shown.loc[row, model]}**"
    shown = shown.loc[:, (shown != "-").any()]
    return shown.drop(columns="").T.reset_index(names="") if is_turned else shown


COSTS = ["", "model", "parameters", "steps", "seconds"]


def costs(results: Results) -> list[list[str]]:
    """The cost of each row and model; seconds are of the fastest seed, as the first compiles."""
    lines = []
    for row, model in product(results.rows, results.models):
        if len(of := results.at(row, model)):
            parameters, steps = f"{of.run.iloc[0].parameters:,}", total_steps(of.run.iloc[0].config)
            lines.append([row, model, parameters, steps, f"{of.seconds.min():.0f}"])
    return lines


def overview(every: Sequence[Results]) -> str:
    """A line for each claim, with a word and a ratio for each form."""
    body = []
    for results in (one for one in every if one.experiment.claim):
        experiment, cells = results.experiment, dict.fromkeys((PAPERS_PAIR, *FORMS), "-")
        for column, pair in experiment.forms.items():
            rows = compared(results, pair)
            size = _middle([row.size for row in rows if row.has_size()], results)
            word = group([row.outcome for row in rows]).value
            cells[column] = ", ".join(filter(None, [word, size]))
        first, *_ = experiment.compared
        sizes = [row.papers_size for row in compared(results, experiment.compared)]
        papers = _middle([size for size in sizes if size is not None], results)
        count = str(len(experiment.rows))
        link = f"[{experiment.label}](details.md#{anchor(experiment)})"
        body.append([link, first, *cells.values(), papers or "-", count])
    return markdown(["", "against", PAPERS_PAIR, *FORMS, "in the paper", "rows"], body)


def _middle(sizes: Sequence[float], results: Results) -> str:
    """The median of some sizes, of two ratios the geometric mean, as text; "" if there is none."""
    sized = [size for size in sizes if not isnan(size)]
    if sized and results.sign > 0:
        sized = [exp(median(map(log, sized)))]
    return _digits(median(sized), is_difference=results.sign < 0) if sized else ""


def verdict(results: Results) -> str:
    """The verdict of an experiment, row by row, for each form of the overview that has runs."""
    pairs = [pair for pair in results.experiment.forms.values() if set(pair) <= set(results.models)]
    columns = {pair: compared(results, pair) for pair in pairs or [results.experiment.compared]}
    said = [
        f"{against(pair)}: {counts([row.outcome for row in rows])}"
        for pair, rows in columns.items()
    ]
    kind = "ratio" if results.sign > 0 else "difference"
    digits = partial(_digits, is_difference=results.sign < 0)
    body: dict[str, dict[Pair, str]] = {}
    papers: dict[str, str] = {}
    for pair, rows in columns.items():
        for row in rows:
            size = f", {_ends([row.size], digits)}" if row.has_size() else ""
            body.setdefault(row.row, {})[pair] = f"{row.outcome.value}{size.removesuffix(', -')}"
            papers.setdefault(row.row, _ends([row.papers_size], digits))
    lines = [
        [row, *(cells.get(pair, "-") for pair in columns), papers[row]]
        for row, cells in body.items()
    ]
    table = markdown([f"verdict, {kind}", *map(against, columns), "in the paper"], lines)
    return f"Verdict, {'; '.join(said)}.\n\n{table}"


def anchor(experiment: Experiment) -> str:
    """The anchor that Markdown gives to the heading of a section."""
    heading = f"{experiment.label}: {experiment.title}".lower()
    return "".join(c for c in heading if c.isalnum() or c in " -_").replace(" ", "-")


def _ends(values: Iterable[float | None], form: Callable[[float], str]) -> str:
    """The smallest and the largest of some numbers, as text; "-" if none is known."""
    numbers = pd.Series(list(values), dtype=float).dropna()
    ends = [] if numbers.empty else [numbers.min(), numbers.max()]
    return " to ".join(dict.fromkeys(map(form, ends))) or "-"


def _digits(size: float, is_difference: bool) -> str:
    """A number with three digits, or two below one; more would be noise."""
    if is_difference:
        return f"{size:+,.4f}"
    # Beside a TV of 1e-7 a ratio says no more.
    if abs(size) > 1_000:
        return "> 1,000"
    return f"{size:,.0f}" if abs(size) >= 100 else f"{size:#.{3 if abs(size) >= 1 else 2}g}"


def all_rows(every: Sequence[Results]) -> str:
    """The tables of all rows of claims together."""
    return tallied(claimed(every), every)


def tallied(families: Families, every: Sequence[Results]) -> str:
    """Rows of each pair by standing; what corrections for the whole report leave; and ratios."""
    tests = family(tuple(every))
    corrected = [kept(tests, rule) for rule in (by_benjamini_hochberg, by_holm)]
    counted, measured = [], []
    for pair, rows in families.items():
        of = Counter(row.standing for row in rows)
        counts_of = [f"{len(rows)}", *(f"{of[kind]}" for kind in Standing)]
        counted.append([against(pair), *(counts_of if rows else ["not run", *"-" * len(Standing)])])
        # Without headroom a ratio compares noise, and zero has no logarithm.
        sized = [row for row in rows if row.standing is not Standing.NO_HEADROOM and row.size > 0]
        plain = [row for row in sized if not row.is_of_integers()]
        averages = ((median, sized), (fmean, plain))
        ratios = [
            f"{exp(average([log(row.size) for row in some])):.2f}" if some else "-"
            for average, some in averages
        ]
        decided = []
        for some in (rows, *corrected):
            places = {row.place for row in some}
            of = Counter(row.standing for row in rows if row.place in places)
            both = f"{of[Standing.BETTER]}, {of[Standing.WORSE]}"
            decided.append(both if rows else "-")
        measured.append([against(pair), *decided, *ratios])
    head = ["", "better, worse", "after Benjamini-Hochberg", "after Holm"]
    head += ["median ratio", "mean ratio without integers"]
    standings = [standing.value for standing in Standing]
    return f"{markdown(['', 'rows', *standings], counted)}\n\n{markdown(head, measured)}"


def claimed(every: Sequence[Results]) -> Families:
    """The rows of claims in TV or FCS by pair of models; a training that two figures share once."""
    claims = [results for results in every if results.experiment.claim]
    return {pair: _once(claims, pair) for pair in PAIRS}


def _once(every: Sequence[Results], pair: Pair) -> list[Comparison]:
    some = [one for one in every if one.experiment.metric in ("tv", "fcs")]
    both = [one for one in some if {*pair} <= {*one.experiment.models}]
    rows = unshared(both, lambda runs: runs[runs.model.isin(pair)])
    every_row = [Comparison(results, row, pair) for results, row, _ in rows]
    return [row for row in every_row if row.standing is not None]


def by_holm(chances: Sequence[float]) -> list[float]:
    """The p-values of Holm (1979), which bound the chance of any false difference.

    The i-th smallest of n is multiplied by n + 1 - i, and none is below a smaller one's.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected, least = [0.0] * len(chances), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(chances) - place) * chances[i]))
        corrected[i] = least
    return corrected


def by_benjamini_hochberg(chances: Sequence[float]) -> list[float]:
    """The p-values of Benjamini and Hochberg (1995), which bound the expected share of false ones.

    That is so if they are independent or positively dependent. The i-th smallest of n is multiplied
    by n / i, and none is above a larger one's.
    """
    return list(stats.false_discovery_control(chances)) if chances else []


def by_benjamini_yekutieli(chances: Sequence[float]) -> list[float]:
    """Those of Benjamini and Yekutieli (2001), which bound it however they depend."""
    return list(stats.false_discovery_control(chances, method="by")) if chances else []


@lru_cache(maxsize=1)
def family(every: tuple[Results, ...]) -> list[Comparison]:
    """All comparisons in TV or FCS that the tables of the report show, gains too: one family."""
    by_pair: dict[Pair, list[Results]] = {}
    for one in every:
        of_claims = PAIRS if one.experiment.claim else ()
        for pair in dict.fromkeys([*one.experiment.comparisons, *of_claims]):
            by_pair.setdefault(pair, []).append(one)
    tests = [row for pair, some in by_pair.items() for row in _once(some, pair)]
    in_tables = {frozenset(f"{one.place[0]}; {one.row}; {m}" for m in one.pair) for one in tests}
    of_gains = [
        both
        for pairs, thing, both in trained(every)
        if both.standing and frozenset(pairs[thing]) not in in_tables
    ]
    return tests + of_gains


def kept(rows: Sequence[Comparison], correction: Correction) -> list[Comparison]:
    """The comparisons of a family that are decided, and are so after a correction."""
    corrected = correction([row.gap.chance for row in rows if row.gap])
    return [
        row
        for row, chance in zip(rows, corrected, strict=True)
        if chance <= LEVEL and row.standing in DECIDED
    ]


def correlation(every: Sequence[Results]) -> str:
    """The rank correlation of FCS and TV in each row with both metrics, and the verdict."""
    body = _correlations(every)
    if not body:
        return "Not run yet."
    lines = [[*line[:-1], f"{line[-1]:.3f}"] for line in body]
    shown = markdown(["", "TV", "runs", "Spearman's correlation of FCS and TV"], lines)
    return (
        f"{shown}\n\nVerdict: {correlation_verdict(every)}. Where all samplers are close, FCS "
        "ranks them by its own noise as well."
    )


def correlation_verdict(every: Sequence[Results]) -> str:
    """The number of rows in which the correlation is as high as the paper says, in words."""
    body = _correlations(every)
    if not body:
        return "open: not run yet"
    high = [line for line in body if line[-1] >= CLAIMED]
    lowest = min(body, key=lambda line: line[-1])
    proper, well = (sum(BOUND not in line[1] for line in some) for some in (body, high))
    return (
        f"{CLAIMED} or more in {len(high)} of {len(body)} rows, and in {well} of the "
        f"{proper} where the TV is that of terminals for certain; the lowest is "
        f"{lowest[-1]:.3f} ({lowest[0]})"
    )


def _correlations(every: Sequence[Results]) -> list[list[Any]]:
    """One line for each row of an experiment with enough runs that have both metrics."""

    def with_both(lines: Any) -> Any:
        # With few terminals a batch holds all of them, and FCS is TV.
        return lines.loc[[run.law is None for run in lines.run]].dropna(subset=["tv", "fcs"])

    body = []
    for results, row, lines in unshared(every, with_both):
        if len(lines) >= FEWEST:
            value = float(stats.spearmanr(lines.tv, lines.fcs).statistic)
            name, kinds = f"{results.experiment.label}: {row}", " or ".join(sorted(set(lines.kind)))
            body.append([name, kinds, str(len(lines)), value])
    return body
