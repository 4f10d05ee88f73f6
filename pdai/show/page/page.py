"""The page: runs side by side by problem, then each run by itself."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from pdai.run import Run
from pdai.show.page.chart import swatch
from pdai.show.page.charts import law_chart, training_charts
from pdai.show.page.elements import document, short, table, tag
from pdai.show.page.entries import Entry
from pdai.show.page.sections import certificate_words, run_section, tv_words
from pdai.solving.solved import Solved
from reference.contract.errors import InputError, check_list, check_type
from reference.contract.files import check_output, replace_file


def report(
    runs: "Run | Solved | str | Path | Sequence[Run | Solved | str | Path]",
    output: str | Path = "report.html",
    *,
    seconds: float | None = 10.0,
) -> Path:
    """Write finished runs into one HTML page that needs no network.

    Runs on one problem stand side by side; runs on different problems share no axis.

    Args:
        runs: a run or its folder, or several.
        output: the file; a link there is replaced, not followed.
        seconds: the time to draw for the certificate of each run, if it is not exact; None to show
            stored results alone, and to import no module that the folders name.

    Raises:
        InputError: if there is no run, one is not finished, or the page cannot be written.
    """
    if isinstance(runs, Run | Solved | str | Path):
        runs = [runs]
    chosen = check_list("report", "runs", runs)
    for run in chosen:
        check_type("report", "a run", run, (Run, Solved, str, Path))
    if not chosen:
        raise InputError("no run folder given: name at least one, as `pdai report runs/...`")
    path = Path(output)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"the report cannot be written to {str(path)!r}: its ending is {path.suffix!r}, but "
            "must be .html"
        )
    check_output(path)
    if seconds is not None and not seconds >= 0:
        raise InputError(f"seconds is {seconds}, but must be at least 0")
    samplers = [run if isinstance(run, Run | Solved) else Path(run) for run in chosen]
    names = _names([run if isinstance(run, Path) else run.folder for run in samplers])
    entries = [
        Entry(run, name, number, seconds)
        for number, (run, name) in enumerate(zip(samplers, names, strict=True))
    ]
    replace_file(path, page_of(entries))
    return path


def _names(folders: Sequence[Path]) -> list[str]:
    """Names of the folders, numbered where two are the same."""
    names: list[str] = []
    for folder in folders:
        name = short(folder.resolve().name)
        number, unique = 2, name
        while unique in names:
            unique, number = f"{name} ({number})", number + 1
        names.append(unique)
    return names


def page_of(entries: Sequence[Entry]) -> bytes:
    """The page as a file."""
    problems: dict[tuple[tuple[str, str], ...], list[Entry]] = {}
    for entry in entries:
        problems.setdefault(entry.problem, []).append(entry)
    groups = list(problems.values())
    names = _problem_names(groups)
    count = "One run" if len(entries) == 1 else f"{len(entries)} runs"
    title = f"{count}: {', '.join(dict.fromkeys(_task(group) for group in groups))}"
    links = [("#overview", "Overview")]
    links += [(f"#problem-{i}", name) for i, name in enumerate(names)]
    links += [(f"#run-{entry.number}", entry.name) for entry in entries]
    sections = [_overview(entries)]
    sections += [_problem(i, name, groups[i]) for i, name in enumerate(names)]
    sections += [run_section(entry) for entry in entries]
    return document(title, links, sections, "report")


def _task(group: Sequence[Entry]) -> str:
    """A problem in a few words."""
    options = group[0].options
    own = options.get("problem") or options.get("environment")
    return short(own if own else options.get("task"))


def _problem_names(groups: Sequence[Sequence[Entry]]) -> list[str]:
    """Names of the problems: the task, and the options that differ among problems of that task."""
    names = []
    for group in groups:
        alike = [other[0] for other in groups if _task(other) == _task(group)]
        differing = [
            f"{key.replace('_', ' ')} {short(value).partition(': ')[0]}"
            for key, value in group[0].problem
            if any(dict(other.problem).get(key) != value for other in alike)
        ]
        names.append(", ".join([_task(group), *differing]))
    return names


def _overview(entries: Sequence[Entry]) -> Element:
    rows = [
        (
            tag("a", swatch(entry.number), " ", entry.name, href=f"#run-{entry.number}"),
            tv_words(entry.report), certificate_words(entry), _task([entry]),
            short(entry.options.get("dynamics")), short(entry.options.get("loss")),
            f"{entry.meta['parameters']:,}", f"{entry.options['steps']:,}",
            len(entry.meta["seeds"]),
        )
        for entry in entries
    ]  # fmt: skip
    # The distance comes first, since a narrow screen cuts columns at the right.
    head = ("run", "TV", "certified", "problem", "dynamics", "loss", "parameters", "steps", "seeds")
    return tag(
        "section",
        tag("h2", "Overview", id="overview", tabindex=-1),
        table("The runs, and how far each is from its target", head, rows),
    )


def _problem(number: int, name: str, group: Sequence[Entry]) -> Element:
    """The runs on one problem, in shared charts."""
    options = [
        f"{key.replace('_', ' ')} {short(value)}"
        for key, value in group[0].problem[1:]
        if value not in ("", None)
    ]
    training = training_charts(group)
    charts = (*training[:1], law_chart(group), *training[1:])
    parts = [
        tag("h2", f"Problem {name}", id=f"problem-{number}"),
        tag("p", "; ".join(options)),
        _legend(group),
        tag("div", *(chart.element() for chart in charts), class_="charts"),
    ]
    if len(group) > 1:
        parts.append(_differences(group))
    return tag("section", *parts, class_="problem")


def _legend(group: Sequence[Entry]) -> Element:
    """The legend: colour, dashes and shape of each run; a click highlights the run."""
    buttons = []
    for entry in group:
        parts, state = (swatch(entry.number), " ", entry.name), {"aria_pressed": "false"}
        button = tag("button", *parts, type="button", data_run=entry.number, **state)
        buttons.append(tag("li", button))
    return tag(
        "ul", *buttons, class_="legend", aria_label="Legend: choose a run to bring it forward"
    )


def _differences(group: Sequence[Entry]) -> Element:
    rows = []
    for name in dict.fromkeys(name for entry in group for name in entry.options):
        values = [short(entry.options.get(name, "-")) for entry in group]
        if len(set(values)) > 1:
            rows.append((name.replace("_", " "), *values))
    if not rows:
        return tag("p", "All options of these runs are the same.")
    return table("What differs between these runs", ("option", *(e.name for e in group)), rows)
