"""The README: its commands work, and its numbers are those of the repository."""

import contextlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness import cell
from fast.laws.terminal_law import MAX_HISTORIES
from pdai.experiments import EXPERIMENTS, tables
from pdai.experiments.base import BEST, LEAST, LEAST_LOSS, LIKELIEST, MARKOVIAN, STRONGEST
from pdai.experiments.evidence import untrained
from pdai.experiments.frames import Results
from pdai.experiments.results import stored
from pdai.experiments.tables import claimed
from pdai.experiments.verdicts import Comparison, Standing
from tests.faults import FAULTS
from tests.project.test_pages import COMMANDS, python_blocks, run_page
from tests.reference.test_printed_rewards import DRAWS, sums, sums_of_exponentials
from verify.lib.ledger import CLAIMS
from verify.lib.record import Severity
from verify.test_fig_linestraining import HALF, MOST

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text()
LINES = README.splitlines()
TEXT = " ".join(README.split())


def test_the_readme_is_short() -> None:
    assert len(LINES) <= 150
    first = LINES[2].removesuffix(".")
    assert ". " not in first
    assert len(first.split()) <= 20


@pytest.mark.long
def test_the_example_trains_and_certifies_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = python_blocks(README)
    shown = README.split("```\n")[2].strip()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run_page(code, "necklaces_of_the_readme", "", tmp_path, monkeypatch)
    pattern = (
        r"(Certificate\(regime E, TV of terminals )(\S+)( \(exact\), of runs/necklaces-gru-0: some "
        r"set of terminals is )\2 more or less likely than it should be\)"
    )
    here, stated = (re.fullmatch(pattern, text.strip()) for text in (printed.getvalue(), shown))
    assert here is not None
    assert stated is not None
    # Float32 differs by machine, and training makes of it what it will.
    assert float(here[2]) < 10 * float(stated[2])


def test_the_table_and_the_picture_are_of_the_results() -> None:
    experiment = EXPERIMENTS["study:aliasing"]
    runs = stored(experiment)
    table = tables.table(Results(experiment, runs))
    head, body = [*table], table.to_numpy().tolist()
    names = [name.strip() for name in LINES[_table_line()].strip("| ").split("|")][1:]
    least, likeliest = (experiment.bounds[name] for name in (LEAST, LIKELIEST))
    shown_rows = LINES[_table_line() + 2 : _table_line() + 2 + len(body)]
    for shown, line in zip(shown_rows, body, strict=True):
        row, *cells = (cell.strip() for cell in shown.strip("| ").split("|"))
        assert row == line[0]
        expected = dict(zip(head, (cell.split(" ±")[0] for cell in line), strict=True))
        computed = (*least[row], likeliest[row][1])
        expected |= dict(zip(names, (f"{number:.4f}" for number in computed), strict=False))
        assert cells == [expected[name] for name in names], row
    assert "](pdai/experiments/results/study_aliasing.png)" in README
    seeds = {run.seed for run in runs}
    assert "mean of three seeds" in README
    assert len(seeds) == 3


def _table_line() -> int:
    return next(i for i, line in enumerate(LINES) if line.startswith("| what the network sees"))


@pytest.mark.parametrize("row", ["grid, blocks of 2", "grid, blocks of 4"])
def test_on_the_grid_memoryless_policies_are_level_or_ahead(row: str) -> None:
    dial = EXPERIMENTS["study:aliasing"]
    results = Results(dial, stored(dial))
    gru, srwm = (float(results.values(row, model).mean()) for model in (BEST, STRONGEST))
    attained, likeliest = dial.bounds[LEAST][row][1], dial.bounds[LIKELIEST][row][1]
    if row == "grid, blocks of 2":
        assert attained < min(gru, srwm) + 0.005
        assert "with blocks of 2 a memoryless policy is within 0.005 of both" in TEXT
    else:
        assert attained < min(gru, srwm)
        assert likeliest < gru
        assert "with blocks of 4 one is ahead of both means, and that of maximum" in TEXT


def test_the_share_of_memory_is_between_the_floors() -> None:
    dial = EXPERIMENTS["study:aliasing"]
    results = Results(dial, stored(dial))
    shares = []
    for row in ("bits, last 4", "bits, last 2"):
        trained, gru = (float(results.values(row, m).mean()) for m in (MARKOVIAN, BEST))
        shares += [(end - gru) / (trained - gru) for end in dial.bounds[LEAST][row]]
    assert f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of its gain" in TEXT
    ends = [
        abs(float(results.values(row, MARKOVIAN).mean()) - dial.bounds[LEAST_LOSS][row][1])
        for row in dial.rows
    ]
    assert 0.003 < max(ends) < 0.004
    assert "within 0.004 of its [minimum]" in TEXT


def test_untrained_policies_and_rows_whose_state_is_seen_are_counted() -> None:
    every = [Results(experiment, stored(experiment)) for experiment in EXPERIMENTS.values()]
    assert untrained(every).startswith("In 5 of 15 rows.")
    rows = [row for row in claimed(every)[MARKOVIAN, BEST] if not row.is_of_integers()]
    ahead = [row.row for row in rows if row.standing is Standing.BETTER]
    assert ahead == ["rings", "sinusoid, repaired"]
    assert f"in {len(rows) - 2} of {len(rows)} rows of the paper's tables" in TEXT


def test_untrained_policies_are_counted_over_draws_of_the_utilities() -> None:
    sequences, sets = EXPERIMENTS["tab:sequences"].quoted, EXPERIMENTS["tab:sets"].quoted
    for length in (16, 32):
        printed = sequences[f"Syn-{length}, literal", MARKOVIAN].mean
        assert sum(fcs < printed for fcs in sums(length)) == DRAWS
    nearer = [
        sum(
            fcs < sets[f"K = {size}, literal", MARKOVIAN].mean for fcs in sums_of_exponentials(size)
        )
        for size in (16, 24)
    ]
    assert "(Syn-16, Syn-32) are worse than an untrained policy's under the printed" in TEXT
    assert f"for each of {DRAWS} draws of the utilities" in TEXT
    assert f"for {nearer[0]} and {nearer[1]} of {DRAWS} draws, 64 bits for the exponent" in TEXT


@pytest.mark.catches(
    "the README proves too large a TV", "README.md", "TV is at least 0.311", "TV is at least 0.411"
)
def test_the_proved_distance_of_laplace_mixtures_is_that_of_its_test() -> None:
    assert f"with 0, [TV is at least {int(1000 * (HALF - MOST)) / 1000:.3f}](" in TEXT


def test_what_memory_brings_is_of_the_results() -> None:
    walk, dags = (
        Results(EXPERIMENTS[label], stored(EXPERIMENTS[label]))
        for label in ("fig:apx:lra", "study:dags")
    )
    pair = ("GRU+", "GRU+ reset")
    rings, waves = (Comparison(walk, row, pair).gap for row in ("rings", "sinusoid, repaired"))
    assert rings is not None
    assert waves is not None
    assert (
        f"by {rings.mean:.3f} of TV [{rings.low:.3f}, {rings.high:.3f}] "
        f"and {waves.mean:.3f} [{waves.low:.3f}, {waves.high:.3f}]" in TEXT
    )
    comparison = Comparison(dags, "SIX6, both ends", ("Markovian", "GRU"))
    assert comparison.standing is Standing.WORSE
    gap = comparison.gap
    assert gap is not None
    assert f"ahead of the GRU by {gap.mean:.3f} of TV" in TEXT


def test_the_claims_are_counted() -> None:
    of_paper = sum(claim.printed is not None for claim in CLAIMS)
    count = Counter(claim.severity for claim in CLAIMS)
    graded = ", ".join(f"{count[grade]} {grade.label}" for grade in Severity).replace(
        "misprint", "misprints"
    )
    failing = sum(count[grade] for grade in Severity)
    assert f"{failing} of {of_paper} claims do not hold as printed ({graded})" in README
    ours = len(CLAIMS) - of_paper
    assert f"{len(CLAIMS)} claims, {of_paper} of the paper and {ours} of ours" in README


def test_the_scopes_are_those_of_the_ledger() -> None:
    table = (ROOT / "proofs_notes" / "README.md").read_text()
    assert "all 340 naturally labelled DAGs" in README
    assert "all 784 lifts" in README
    for claim, scope in (("def:normalpointeddag", "340"), ("def:pointeddag", "784")):
        (row,) = (line for line in table.splitlines() if line.startswith(f"| [{claim}]"))
        assert scope in row


def test_the_mistakes_made_on_purpose_are_counted() -> None:
    page = (ROOT / "docs" / "verification.md").read_text()
    for text in (README, page):
        (least,) = re.findall(r"more than (\d+) mistakes", text)
        assert int(least) < len(FAULTS)


def _stored(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())["rows"]


def _rates(name: str) -> dict[tuple[str, int, str], dict[str, Any]]:
    """The rows of each library, by task, batch and work."""
    cells: dict[tuple[str, int, str], dict[str, Any]] = {}
    for row in _stored(name):
        if "library" in row:
            cells.setdefault((row["task"], row["batch"], row["work"]), {})[row["library"]] = row
    return cells


def _ratio(libraries: Mapping[str, Any]) -> float:
    """The rate here over that of the better of the others; each ratio is a median of rounds."""
    return min(row["ours / it"]["median"] for name, row in libraries.items() if name != "pdai")


def _range(ratios: Iterable[float], digits: str = ".2f") -> str:
    values = list(ratios)
    return f"{min(values):{digits}} to {max(values):{digits}}"


PEERS = ("pdai", "gfnx", "torchgfn")


@pytest.mark.parametrize("name", ["peers-rates", "peers-rates-trained"])
def test_rates_beside_peers_are_those_that_are_stored(name: str) -> None:
    for (task, batch, work), libraries in _rates(name).items():
        medians = (cell(libraries[peer]["per CPU second"]["median"]) for peer in PEERS)
        actions = ", ".join(f"{libraries[peer]['actions']:.1f}" for peer in PEERS)
        row = [task, batch, work, *medians, f"{_ratio(libraries):.2f}", actions]
        assert f"\n| {' | '.join(map(str, row))} |\n" in PERFORMANCE


@pytest.mark.catches(
    "README says another ratio for trajectories that are equally long.",
    "README.md",
    "it is 1.90 to 3.26 and",
    "it is 2.16 to 3.26 and",
)
def test_ratios_to_peers_are_those_that_are_stored() -> None:
    every, trained = _rates("peers-rates"), _rates("peers-rates-trained")
    said = []
    for work in ("train", "sample"):
        cells = {key: libraries for key, libraries in every.items() if key[2] == work}
        # Ours are shorter on 8^4, and no sampler has left the nearest mode on 16^2.
        long = [v for (task, batch, _), v in cells.items() if batch > 16 or task == "bits 32/4"]
        long += [v for key, v in trained.items() if key[2] == work]
        ours, others = ([v[k]["actions"] for v in long] for k in ("pdai", "gfnx"))
        assert all(abs(a / b - 1) < 0.02 for a, b in zip(ours, others, strict=True))
        said.append((_range(map(_ratio, cells.values())), _range(map(_ratio, long))))
    (train, train_long), (sample, sample_long) = said
    assert f"takes {train} times" in TEXT
    assert f"sampling {sample}: most" in TEXT
    assert f"it is {train_long} and {sample_long} times." in TEXT
    page = " ".join(PERFORMANCE.split())
    assert f"pdai trains at {train} times" in page
    assert f"samples at {sample} times" in page
    assert f"equally long, it is {train_long} and {sample_long}." in page


@pytest.mark.catches(
    "README says another ratio on the H100.", "README.md", "2.17 and 5.27", "2.71 and 5.27"
)
def test_ratios_on_the_gpu_are_those_that_are_stored() -> None:
    ratios = [_ratio(v) for key, v in _rates("device-gpu-peers").items() if key[2] == "train"]
    assert f"it trains {ratios[0]:.2f} and {ratios[1]:.2f} times as fast as gfnx there" in TEXT
    assert f"was {ratios[0]:.2f} and {ratios[1]:.2f} times as fast as gfnx's" in PERFORMANCE


def test_speeds_are_those_that_are_stored() -> None:
    medians = {}
    for name in ("speed", "exact"):
        for line in (ROOT / "benchmarks" / "results" / f"{name}.md").read_text().splitlines():
            assert not line.startswith("| ") or line in PERFORMANCE
        medians |= {row["what"]: [*row.values()][1]["median"] for row in _stored(name)}
    gru = [median for name, median in medians.items() if ": GRU, two hidden layers, over" in name]
    assert f"A GRU trains at {cell(min(gru))} to {cell(max(gru))} of the speed" in README
    (summed,) = (name for name in medians if name.endswith("path-dependent policy, float32"))
    what = summed.removeprefix("SIX6: ").removesuffix(", float32").capitalize()
    assert f"{what} on SIX6 are summed in {cell(medians[summed])} s." in README


def test_limits_are_those_of_the_code() -> None:
    assert f"exact up to {MAX_HISTORIES // 10**6} million trajectories" in README


def test_the_readme_shows_nine_commands() -> None:
    assert len(COMMANDS["README.md"]) == 9


def test_the_second_line_to_copy_is_what_ci_runs() -> None:
    blocks = [block.strip() for block in README.split("```\n") if block.startswith(".venv/bin/")]
    assert blocks == [".venv/bin/pytest -n 2"]
    ci = (ROOT / ".ci" / "run").read_text()
    assert "\npytest -n 2\npytest -n 2 -m long\n" in ci
