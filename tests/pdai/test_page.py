"""The report as a page: what it shows, that names stay text, and that a browser can use it."""

import json
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from fast.runs.job import train
from fast.runs.records import read_json, save_law, seal_run, write_json
from fast.training.compose import IS, configure
from pdai.commands.look import ReportRuns
from pdai.show.page.chart import Chart
from pdai.show.page.charts import law_chart, state_tables
from pdai.show.page.elements import table, tag, written
from pdai.show.page.entries import Entry
from pdai.show.page.sections import certificate_words
from pdai.show.progress import QUIET
from reference.certificates.betting import Interval
from reference.certificates.statement import Certificate
from tests.browser import WHY_NOT, Browser
from tests.refusals import refused, refuses

pytestmark = pytest.mark.long

SMALL: dict[str, Any] = {"batch": 8, "steps": 200, "evaluations": 2}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "one": ("lines", {"length": 3, "dynamics": "markov", "parameters": 0, "seeds": 2}),
    "two": ("lines", {"length": 3, "dynamics": "rnn", "parameters": 0, "latent_size": 4}),
    "grid": ("grid", {"side": 2, "dynamics": "markov", "parameters": 0, "loss": "log_variance"}),
}
# How many lines the name of a loss takes in the overview.
LINES = """
const cell = [...document.querySelectorAll('td')].find(td => td.textContent === 'log_variance');
const range = document.createRange();
range.selectNodeContents(cell);
return new Set([...range.getClientRects()].map(box => box.top)).size"""
EVIL = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>\"'&amp;"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name, (task, options) in RUNS.items():
        train(configure(task, **SMALL, **options, out=folder / name), display=QUIET)
    return {name: folder / name for name in RUNS}


@pytest.fixture(scope="module")
def entry(runs: dict[str, Path]) -> Entry:
    return Entry(runs["one"], "one", 0, None)


@pytest.fixture(scope="module")
def page(runs: dict[str, Path]) -> Path:
    return pdai.report(list(runs.values()), runs["one"].parent / "report.html", seconds=0.2)


class Seen(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, name: str) -> list[dict[str, str]]:
        return [attributes for element, attributes in self.elements if element == name]


def seen(page: Path) -> Seen:
    return Seen(page.read_text(encoding="utf-8"))


def test_the_page_has_what_a_report_has(page: Path, runs: dict[str, Path]) -> None:
    shown = seen(page)
    for words in (
        "3 runs: lines, grid", "Total variation while training", "untrained 0", "there is no floor",
        "Learned against target", "all states, the worst first", "12 samples of the first seed",
        "Regime E: everything is enumerated: exact", "What differs between these runs",
        "How it was made", "what was asked for", "true log Z",
    ):  # fmt: skip
        assert words in shown.text, words
    # First what one comes for: a narrow screen shows no more.
    assert re.search(r"run</th><th[^>]*>TV</th><th[^>]*>certified</th>", page.read_text())
    made = pdai.certify(runs["one"])
    assert any(note.startswith("seed 0, of the run's seeds 0 to 1") for note in made.notes)
    exact = made.tv
    assert f"TV = {float(exact):.3g}, exact for float64 input" in shown.text
    state = next(a["data-told"] for _, a in shown.elements if "data-told" in a)
    assert re.match(r"state p0\nvisited with probability 1\nto q0: p_F [0-9.e-]+, flow ", state)


def test_a_page_has_the_finished_runs_of_what_is_named(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """An experiment is its runs, and of several those that are unfinished are left out."""
    inside = runs["one"].parent / "rounds"
    shutil.copytree(runs["two"], inside / "round-1")
    (inside / "rounds.json").touch()
    (shutil.copytree(runs["two"], inside / "round-2") / "seal.json").unlink()
    page = inside / "report.html"
    ReportRuns((inside, runs["grid"]), out=page, stored_only=True).run()
    assert "2 runs: lines, grid" in seen(page).text
    assert "left out, as it is not finished" in capsys.readouterr().err
    refused("is not finished", ReportRuns((inside / "round-2",), out=page).run)


def test_the_page_is_whole_and_can_be_read_aloud(page: Path) -> None:
    parsed = seen(page)
    names = Counter(name for name, _ in parsed.elements)
    assert all(names[landmark] == 1 for landmark in ("header", "nav", "main", "footer", "h1"))
    ids = Counter(a["id"] for _, a in parsed.elements if "id" in a)
    assert set(ids.values()) == {1}
    assert all(a["href"][1:] in ids for a in parsed.named("a"))
    assert names["caption"] == names["table"] > 0
    assert all(a.get("scope") in ("row", "col") for a in parsed.named("th"))
    assert all(a.get("aria-label") or a.get("aria-hidden") for a in parsed.named("svg"))
    assert all(a["aria-label"] for _, a in parsed.elements if a.get("role") in ("img", "button"))
    # The style sheet gives all colours, for light and dark; of a lift it paints over three.
    colours = {a.get(name, "none") for _, a in parsed.elements for name in ("fill", "stroke")}
    assert colours - {"none", "currentColor"} == {"#ffffff", "#a6a6a6", "#4c4c4c"}
    # Nothing is loaded: no address but places in the page.
    assert not any({"src", "xlink:href", "style"} & set(a) for _, a in parsed.elements)
    assert names["link"] == 0
    assert "http" not in page.read_text().replace("http-equiv", "")


def charts(page: Path) -> list[set[str]]:
    """The runs in each chart of a page."""
    parts = page.read_text().split('class="chart"')[1:]
    return [set(re.findall(r'<g class="series c\d" data-run="(\d+)"', part)) for part in parts]


def test_a_small_share_of_tv_is_not_shown_as_none() -> None:
    """With 65,536 states, each had been shown a share of 0.0 %."""
    target = np.full(5_000, 1 / 5_000)
    learned = target + np.where(np.arange(5_000) % 2, 1, -1) / 10_000
    entry: Any = SimpleNamespace(
        name="run", labels=[*map(str, range(5_000))], learned=learned, target=target
    )
    worst, *_ = state_tables(entry)
    assert written(worst).count(b"0.02 %") == 8


def test_problems_share_no_axis(page: Path, runs: dict[str, Path]) -> None:
    by_chart = charts(page)
    assert by_chart == [{"0", "1"}] * 3 + [{"2"}] * 3
    own = {name: Entry(folder, name, 0, None).problem for name, folder in runs.items()}
    assert own["one"] == own["two"] != own["grid"]


def test_control_a_mixed_chart_is_seen(runs: dict[str, Path], tmp_path: Path) -> None:
    entries = [Entry(runs[name], name, i, None) for i, name in enumerate(("one", "grid"))]
    mixed = tmp_path / "mixed.html"
    mixed.write_bytes(written(law_chart(entries).picture()))
    assert charts(mixed) == [{"0", "1"}]


@pytest.fixture
def hostile(entry: Entry, tmp_path: Path) -> Path:
    """A run of a stranger, whose folder, problem and states have names that are markup."""
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    shutil.copytree(entry.folder, folder)
    config = read_json(folder / "config.json")
    config["task"] = {IS: "custom", "problem": f"evil:{EVIL}", "environment": ""}
    config["loss"][IS] = EVIL
    write_json(folder / "config.json", config)
    report = read_json(folder / "report.json")
    write_json(folder / "report.json", {**report, "notes": [EVIL]})
    labels = [f"{EVIL}{i}\u202e\x07\ud800" for i in range(len(entry.target))]
    save_law(folder, np.array([entry.learned]), entry.target, labels)
    seal_run(folder)
    return folder


def test_names_stay_text(hostile: Path, tmp_path: Path) -> None:
    parsed = seen(pdai.report(hostile, tmp_path / "evil.html", seconds=None))
    assert EVIL in parsed.text
    assert len(parsed.named("script")) == 1
    assert parsed.named("img") == []
    assert not any(name.startswith("on") for _, a in parsed.elements for name in a)
    assert "\u202e" not in parsed.text
    assert r"\u202e\x07\ud800" in parsed.text


def test_control_markup_that_is_not_escaped_is_seen() -> None:
    parsed = Seen(f"<p>{EVIL}</p>")
    assert len(parsed.named("script")) == len(parsed.named("img")) == 1
    assert any(name.startswith("on") for _, a in parsed.elements for name in a)


def test_what_a_folder_says_is_shown_without_importing_what_it_names(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = read_json(hostile / "config.json")
    config["task"]["problem"] = "evil:P"
    write_json(hostile / "config.json", config)
    seal_run(hostile)
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    pdai.report(hostile, seconds=None)
    assert (tmp_path / "report.html").exists()
    assert not (tmp_path / "ran").exists()


def test_a_page_is_written_whole_and_follows_no_link(runs: dict[str, Path], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (tmp_path / "report.html").symlink_to(outside)
    made = pdai.report(runs["grid"], tmp_path / "report.html", seconds=None)
    assert not made.is_symlink()
    assert outside.read_text() == "mine"
    # The same runs give the same page.
    again = pdai.report([pdai.load(runs["grid"])], tmp_path / "again.html", seconds=None)
    assert again.read_bytes() == made.read_bytes()


test_bad_input_is_refused_before_anything_is_computed = refuses(
    pdai.report,
    ([], "r.html", "no run folder given"),
    (["nowhere"], "r.html", "'nowhere' does not exist"),
    (["nowhere"], "r.pdf", "its ending is '.pdf', but must be .html"),
    (["nowhere"], "no/r.html", "name a file in a folder that exists"),
)


def test_a_run_that_is_not_finished_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(runs["one"], tmp_path / "cut"))
    (folder / "seal.json").unlink()
    refused(r"cut' is not finished: continue it with", pdai.report, folder, tmp_path / "r.html")


def test_a_certified_interval_is_rounded_outward() -> None:
    made = Certificate("Z", Interval(0.1234567, 0.2345671), "trajectories", 1e-6, 9, (), ())
    entry: Any = SimpleNamespace(certificate=made)
    assert certificate_words(entry).endswith("in [0.123456, 0.234568]")


def test_a_random_latent_has_no_certificate_and_the_page_says_why(tmp_path: Path) -> None:
    options = {**SMALL, "steps": 1, "evaluations": 1, "law_samples": 256}
    config = configure("lines", length=2, dynamics="gaussian", parameters=0, **options)
    folder, _ = train(config.changed(out=tmp_path / "random"), display=QUIET)
    refused(r"has a random latent, .* nothing can be certified", pdai.certify, folder)
    text = seen(pdai.report(folder, tmp_path / "r.html")).text
    assert "There is no certificate: the run" in text
    assert "so none are drawn" in text
    assert "its own floor is higher" in text


def test_parts_of_pages_escape_what_they_are_given() -> None:
    made = written(tag("p", EVIL, tag("b", "x"), EVIL, title=EVIL)).decode()
    # In quotes, a < begins nothing.
    assert [name for name, _ in Seen(made).elements] == ["p", "b"]
    assert Seen(made).named("p") == [{"title": EVIL}]
    cells = written(table(EVIL, [EVIL], [[EVIL, EVIL]])).decode()
    assert {name for name, _ in Seen(cells).elements} == {
        "div", "table", "caption", "thead", "tbody", "tr", "th", "td"
    }  # fmt: skip
    assert tag("p", "a\u202eb\nc").text == "a\\u202eb\nc"


def test_marks_lie_where_their_numbers_are() -> None:
    chart = Chart("t", "a")
    (line,) = chart.axis.semilogy([0, 10], [0.01, 1.0], "o")
    chart.run(line, "run", 0, ["first", "last"])
    marks = [a for a in Seen(written(chart.picture()).decode()).named("path") if "data-tip" in a]
    assert [mark["data-tip"] for mark in marks] == ["run: first", "run: last"]
    (x0, y0), (x1, y1) = [map(float, mark["transform"][10:-1].split()) for mark in marks]
    assert x0 < x1
    # The larger is above.
    assert y0 > y1


def test_the_worst_state_is_first(entry: Entry, page: Path) -> None:
    rows = re.search(r"one: all states, the worst first</caption>.*?<tbody>(.*?)</tbody>",
                     page.read_text(), re.DOTALL)  # fmt: skip
    first = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", rows[1])[:3]
    errors = abs(entry.learned - entry.target)
    assert errors[entry.labels.index(first[0])] == errors.max()


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_a_browser_shows_it_and_the_keyboard_suffices(page: Path, tmp_path: Path) -> None:
    focus = "return document.activeElement.getAttribute('%s')"
    with Browser() as browser:
        browser.open(page)
        pictures = []
        for scheme in ("light", "dark"):
            browser.prefer(prefers_color_scheme=scheme)
            pictures.append(browser.picture())
            (tmp_path / f"{scheme}.png").write_bytes(pictures[-1])
            background = "return getComputedStyle(document.body).backgroundColor"
            shade = json.loads(browser.run(background).replace("rgb(", "[").replace(")", "]"))
            assert (sum(shade) > 600) == (scheme == "light")
        assert pictures[0] != pictures[1]
        assert browser.run(LINES) == 1
        # Control: broken anywhere, in a narrow column.
        broken = "cell.style.overflowWrap = 'anywhere'; cell.style.maxWidth = '1rem';"
        assert browser.run(LINES.replace("const range", f"{broken}\nconst range", 1)) > 1
        # To the first chart, and along its marks.
        browser.press("\ue004")
        assert browser.run("return document.activeElement.textContent") == "Skip to the figures"
        browser.run("document.querySelector('.chart [tabindex=\"0\"]').focus()")
        first = browser.run(focus % "aria-label")
        browser.press("\ue014")
        assert browser.run(focus % "aria-label") != first
        assert browser.run("return document.querySelector('.tip').textContent") == browser.run(
            focus % "aria-label"
        )
        # In the lift: along the heaviest edge, kept by Enter, let go by Escape.
        browser.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
        browser.press("\ue014")
        assert browser.run(focus % "data-node") != "0"
        description = browser.run(focus % "data-told")
        browser.press("\ue007")
        assert browser.run("return document.querySelector('.told').textContent") == description
        assert browser.run(focus % "aria-pressed") == "true"
        browser.press("\ue00c")
        assert browser.run(focus % "aria-pressed") == "false"
        browser.run("document.querySelector('.legend button').click()")
        chosen = "document.querySelectorAll('.series.chosen')"
        assert browser.run(f"return new Set([...{chosen}].map(s => s.closest('svg'))).size") == 3
        assert browser.console() == []


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_a_browser_runs_nothing_that_a_name_says(hostile: Path, tmp_path: Path) -> None:
    made = pdai.report(hostile, tmp_path / "evil.html", seconds=None)
    loose = tmp_path / "loose.html"
    loose.write_text(f"<p>{EVIL}</p>")
    # Even if a name became markup, the policy of the page refuses it.
    injected = tmp_path / "injected.html"
    injected.write_text(made.read_text().replace("<footer>", f"<footer>{EVIL}"))
    with Browser() as browser:
        browser.open(made)
        assert browser.run("return window.hit") is None
        assert browser.console() == []
        browser.open(injected)
        assert browser.run("return window.hit") is None
        assert any("Content Security Policy" in line for line in browser.console())
        # The control: elsewhere it would have run.
        browser.open(loose)
        assert browser.run("return window.hit") == 1
