"""A run on a user's own table: what it draws, keeps, records and shows."""

import csv
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import pdai
from fast.runs.display import announce
from fast.runs.folder import load_config
from fast.runs.identity import check_same_run
from fast.runs.records import read_json
from fast.training.compose import configure
from pdai.posteriors.tasks import StructureTask, VariablesTask
from pdai.show.plotting import figure_of
from pdai.show.progress import QUIET
from pdai.show.tables import expectations_table
from reference.posterior import HyperGPrior, VariableSelection
from tests.command_lines import answer
from tests.refusals import refused

DATA = np.random.default_rng(3).normal(size=(40, 3)) @ np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
OPTIONS = {"dynamics": "markov", "parameters": 2_000, "steps": 300, "batch": 32}


def written(path: Path, data: Any = DATA) -> Path:
    rows = "\n".join(",".join(f"{x:.4f}" for x in row) for row in data)
    path.write_text(f"a,b,c\n{rows}\n")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pdai.Run:
    folder = tmp_path_factory.mktemp("posterior")
    path = written(folder / "mine.csv")
    trained = pdai.train("structure", data=path, out=folder / "run", display=QUIET, **OPTIONS)
    # A run depends on no other file.
    path.unlink()
    return trained


READERS: dict[str, Callable[[Path], Any]] = {
    "csv": lambda path: list(csv.DictReader(path.read_text().splitlines())),
    "json": lambda path: json.loads(path.read_text()),
    "parquet": lambda path: (
        pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
        .read_table(path)
        .to_pylist()
    ),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_table_holds_what_python_draws(run: pdai.Run, kind: str, tmp_path: Path) -> None:
    def printed(options: str) -> str:
        words = f"--count 4 --format {kind} {options}"
        return answer("sample", str(run.folder), *words.split(), cwd=tmp_path).stdout

    printed("--seed 2 --out drawn")
    rows, drawn = READERS[kind](tmp_path / "drawn"), run.sample(4, seed=2)
    names = [re.sub("[012]", lambda i: "abc"[int(i[0])], str(x)) for x in drawn.states]
    assert [row.pop("state") for row in rows] == names
    # A float is printed so that the same one is read.
    numbers = {name: [float(row[name]) for row in rows] for name in rows[0]}
    assert numbers == {
        name: getattr(drawn, name).tolist() for name in ("log_reward", "log_p_f", "log_p_b")
    }
    if kind != "parquet":
        assert printed("--seed 2") == (tmp_path / "drawn").read_text()
        # Control: another seed of the draw.
        assert printed("--seed 0") != printed("--seed 2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--out x.csv", "--out needs --format"),
        ("--format csv --exact", "leave out --exact"),
        ("--format tsv", "lines"),
        ("--format parquet --out x.parquet", "pip install pyarrow"),
    ],
)
def test_formats_that_cannot_be_had_are_refused(
    run: pdai.Run, options: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused = answer("sample", str(run.folder), *options.split(), cwd=tmp_path, expect=2)
    assert message in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_to_draw_enumerates_nothing(run: pdai.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("enumerated")

    monkeypatch.setattr("fast.runs.setup.enumerate_environment", refuse)
    again = pdai.load(run.folder)
    assert again.sample(3).log_p_f.tolist() == run.sample(3).log_p_f.tolist()
    # Control: what needs the law does.
    with pytest.raises(AssertionError, match="enumerated"):
        again.law()


def test_a_run_has_a_copy_of_its_data_and_says_where_they_are_from(run: pdai.Run) -> None:
    meta = read_json(run.folder / "meta.json")
    assert meta["inputs"]["data"].endswith("mine.csv")
    assert not Path(meta["inputs"]["data"]).exists()
    assert set(meta["copies"]) == {"data.csv"}
    assert run.config.problem().names == ("a", "b", "c")


GENERATED = {"nodes": 5, "rows": 100, "graphs": "erdos-renyi", "data_seed": 0}


def test_a_page_says_what_the_data_are_and_nothing_of_a_generator(
    run: pdai.Run, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(run.folder, tmp_path / "run"))
    config = read_json(folder / "config.json")
    assert GENERATED.items() <= config["task"].items()
    page = pdai.report(folder, tmp_path / "page.html", seconds=1.0).read_text()
    text = re.sub(r"<[^>]*>", " ", page)
    digest = hashlib.sha256((folder / "data.csv").read_bytes()).hexdigest()[:16]
    assert f"mine.csv (SHA-256 {digest}): 40 rows of 3 columns, a, b, c" in text
    assert not re.search("nodes 5|erdos|data seed|rows 100", text)
    assert not re.search('row">(nodes|rows|graphs|data seed)', page)
    assert "score bge" in text
    # Columns by name, in the picture of the states and in the advice too.
    assert "state a-&gt;b" in page
    assert not re.search(r"\d-&gt;\d|Network\(", page)
    assert page.count('class="chart heat"') == 3
    # Every edge, the farthest off first.
    order = re.findall(r'<th scope="row">(\w -&gt; \w)</th>', page)
    table = expectations_table(run.report)
    names = [name.replace("-&gt;", "->") for name in order]
    assert names == [*map(str, table.columns[0].cells)]
    assert re.search(r'<th scope="row">[abc]-&gt;[abc]', page)
    assert "log score, nats" in text
    assert "Prior: all graphs equally probable" in text
    assert "a -&gt; b: sampler" in page


def test_data_that_were_changed_are_refused_in_one_line(run: pdai.Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run.folder, folder)
    assert len(pdai.load(folder).sample(2).states) == 2
    changed = DATA.copy()
    changed[0, 0] += 1
    written(folder / "data.csv", changed)
    words = r"data\.csv was changed since the run was finished"
    refused(words, lambda: pdai.load(folder).sample(2))


def test_what_a_file_holds_is_said_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("id,b\n" + "\n".join(f"{i},{i % 4}.5" for i in range(20)))
    announce(StructureTask(data=path))
    score, data, _, warning = capsys.readouterr().err.splitlines()
    assert score.startswith("score: bge, as all columns hold numbers")
    assert data.startswith("data: mine.csv (SHA-256 ")
    assert data.endswith("20 rows of 2 columns, id, b")
    assert warning.startswith("warning: column 'id' has another value in every row")
    announce(VariablesTask(data=path))
    assert "outcome: b\n" in capsys.readouterr().err
    # Nothing is said of what is generated but how it is scored.
    announce(StructureTask())
    assert capsys.readouterr().err == "score: bge\n"


def test_the_same_file_is_the_same_run_and_another_is_not(run: pdai.Run, tmp_path: Path) -> None:
    asked = run.config.changed(data=written(tmp_path / "again.csv"))
    check_same_run(load_config(run.folder), asked)
    written(tmp_path / "again.csv", DATA + np.eye(40, 3))
    refused("other data than", lambda: check_same_run(load_config(run.folder), asked))


def test_metrics_are_one_record_a_step_and_seed(run: pdai.Run) -> None:
    lines = [*map(json.loads, (run.folder / "metrics.jsonl").read_text().splitlines())]
    records = run.metrics()
    assert [line["step"] for line in lines] == [0, 100, 200, 300]
    assert [(one["step"], one["seed"]) for one in records] == [(x["step"], 0) for x in lines]
    assert records[-1]["loss"] == lines[-1]["loss"][0]
    assert all(not isinstance(value, list) for record in records for value in record.values())


def test_a_report_has_the_edges_of_the_sampler_beside_the_exact_ones(run: pdai.Run) -> None:
    expectations = {x.name: x for x in run.report.expectations}
    exact = run.config.problem().quantity_means()
    assert expectations.keys() == exact.keys() == {f"{u} -> {v}" for u, v in permutations("abc", 2)}
    law = run.law()
    for name, value in expectations.items():
        assert value.target == pytest.approx(float(exact[name]), abs=1e-9)
        u, v = ("abc".index(x) for x in name.split(" -> "))
        held = [(u, v) in state.edges for state in law.labels]
        assert value.sampler.mean == pytest.approx(float(law.learned[0] @ held), abs=1e-12)
    table = expectations_table(run.report)
    assert table.row_count == 6
    assert [column.header for column in table.columns] == ["", "sampler", "target"]


def test_a_picture_shows_edges_and_graphs_of_one_run(run: pdai.Run) -> None:
    figure = figure_of([run.folder])
    titles = [axis.get_title() for axis in figure.axes]
    assert "edges: exact posterior" in titles
    # It can stand alone: no legend of one entry, no minus of zero, what was learned and how far.
    caption = figure.get_supxlabel()
    assert "40 rows of 3 columns, a, b, c" in caption
    assert "score bge" in caption
    assert caption.startswith("structure; ")
    assert "seed 0; " in caption
    assert "(float64) after 300 steps" in caption
    tv = run.report.learned[0].tv
    assert f"total variation to the target: {tv.mean:.3g} (float64)" in titles
    loss = next(axis for axis in figure.axes if axis.get_title() == "loss")
    unit = "nats², linear beyond 1 nat"
    assert (loss.get_ylabel(), loss.get_legend()) == (f"log_variance loss, {unit}", None)
    texts = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert not {"-0.00", "-0.000"} & set(texts)
    assert all(axis.has_data() or axis.texts for axis in figure.axes)
    best = run.law().target.max()
    assert sum(title.startswith(f"posterior {best:.3g}, sampler") for title in titles) >= 1
    # Control: of several runs, laws and curves alone.
    both = [axis.get_title() for axis in figure_of([run.folder, run.folder]).axes]
    assert "edges: exact posterior" not in both


def test_hyper_g_is_chosen_by_name(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.csv")
    zellner, hyper = (
        configure("variables", data=path, prior=prior).problem() for prior in ("zellner", "hyper-g")
    )
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    prior, names = HyperGPrior(), ("a", "b")
    expected = VariableSelection.regression(values[:, :2], values[:, 2], names=names, prior=prior)
    assert hyper == expected != zellner


@pytest.mark.long
def test_the_board_of_the_guide_writes_loss_log_z_and_tv(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
    _, _, after = guide.partition("<!-- board -->\n```python\n")
    code = after.partition("```")[0]
    assert len(code.splitlines()) <= 15
    # Stands for TensorBoard, which is no dependency.
    board = MagicMock()
    for name in ("torch", "torch.utils", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, board)
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(pdai, "train", train := MagicMock())
        exec(compile(code, "extending.md", "exec"), {})
    # On a problem whose states are listed at once.
    small = {"length": 4, "dynamics": "markov", "parameters": 500, "batch": 8, "steps": 200}
    report = pdai.train("lines", **train.call_args.kwargs, **small, out=tmp_path / "run")
    writer = board.SummaryWriter.return_value
    written = [call.args for call in writer.add_scalar.call_args_list]
    losses = [(value, step) for what, value, step in written if what == "loss"]
    records = [r for r in report.metrics() if "loss" in r]
    assert losses == [(r["loss"], r["step"]) for r in records]
    assert {what for what, *_ in written} == {"loss", "log_z", "tv"}
