"""The README: its commands work, and its numbers are those of the repository."""

import contextlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from benchmarks.harness import cell
from fast.laws.terminal_law import MAX_HISTORIES
from pdai.experiments import EXPERIMENTS, price, tables
from pdai.experiments.base import BEST, MARKOVIAN, RESET, STRONGEST, Pair
from pdai.experiments.definitions import SHOWN_DIGITS, outwards
from pdai.experiments.evidence import untrained
from pdai.experiments.frames import Results
from pdai.experiments.results import stored
from pdai.experiments.tables import claimed
from pdai.experiments.verdicts import Comparison, Difference, Standing
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
        r"(Certificate\(regime E, TV of terminals )(\S+)( \(exact for float64 input\), of "
        r"runs/necklaces-gru-0: some set of terminals is )\2 more or less likely than it "
        r"should be\)"
    )
    here, stated = (re.fullmatch(pattern, text.strip()) for text in (printed.getvalue(), shown))
    assert here is not None
    assert stated is not None
    # Float32 differs by machine, and training makes of it what it will.
    assert float(here[2]) < 10 * float(stated[2])


STORED = {line.row: line for line in price.lines()}


def test_the_table_and_the_picture_are_of_the_results() -> None:
    names = [MARKOVIAN, BEST, STRONGEST]
    start = next(i for i, line in enumerate(LINES) if line.startswith("| what the network sees"))
    assert LINES[start].endswith(f"| {' | '.join(names)} |")
    shown = LINES[start + 2 : LINES.index("", start)]
    assert len(shown) == 4
    for cells in (line.strip("| ").split(" | ") for line in shown):
        _, of, trained = STORED[cells[0]]
        likeliest = of.minima["likelihood"][0].high
        means = [mean(trained[name]) for name in names]
        numbers = (*outwards(*of.floor, SHOWN_DIGITS), likeliest, *means)
        assert cells[1:] == [f"{number:.4f}" for number in numbers], cells[0]
        assert {len(trained[name]) for name in names} == {5}
    assert "the mean of five seeds" in TEXT
    assert "](pdai/experiments/results/study_aliasing.png)" in README


def test_on_the_grid_memoryless_policies_are_level_or_ahead() -> None:
    (twos, of_twos), (fours, of_fours) = (
        (STORED[row].price.floor.high, STORED[row].trained)
        for row in ("grid, blocks of 2", "grid, blocks of 4")
    )
    assert twos < min(mean(of_twos[name]) for name in (BEST, STRONGEST)) + 0.005
    assert fours < min(mean(of_fours[name]) for name in (BEST, STRONGEST))
    assert "a memoryless policy is within 0.005 of both means" in TEXT
    assert "with blocks of 4 one beats both" in TEXT
    stay = [tv for name in (BEST, STRONGEST) for tv in of_fours[name] if tv > 0.76]
    assert 0.77 < min(stay) <= max(stay) < 0.79
    first, second = sorted(tv for tv in of_fours[STRONGEST] if tv not in stay)
    (gru,) = (tv for tv in of_fours[BEST] if tv not in stay)
    assert f"(SRWM+ to {first:.3f} and {second:.3f}, GRU+ to {gru:.3f})" in TEXT


def test_the_share_of_memory_is_above_the_floors() -> None:
    shares = []
    for row in ("bits, last 4", "bits, last 2"):
        _, of, trained = STORED[row]
        markovian, gru = (mean(trained[name]) for name in (MARKOVIAN, BEST))
        shares.append(100 * (of.floor.low - gru) / (markovian - gru))
    assert f"at least {int(shares[0])} % (last 4) and {int(shares[1])} % (last 2)" in TEXT
    ends = [
        abs(mean(trained[MARKOVIAN]) - of.minima["on policy"][0].high)
        for row, of, trained in STORED.values()
        if not row.startswith("SIX6")
    ]
    assert 0.003 < max(ends) < 0.004
    assert "within 0.004 of its [minimum]" in TEXT


def test_untrained_policies_and_rows_whose_state_is_seen_are_counted() -> None:
    every = [Results(experiment, stored(experiment)) for experiment in EXPERIMENTS.values()]
    assert untrained(every).startswith("In 5 of 15 rows.")
    rows = [row for row in claimed(every)[MARKOVIAN, BEST] if not row.is_of_integers()]
    ahead = [row.row for row in rows if row.standing is Standing.BETTER]
    assert ahead == ["rings", "sinusoid, repaired"]
    gaps = [row.gap.mean for row in rows if row.gap and row.row not in ahead]
    assert min(gaps) > -0.001
    assert f"no gain above 0.001 in {len(rows) - 2} of {len(rows)} rows of the paper's" in TEXT


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
    assert f"in each of {DRAWS} draws of utilities" in TEXT
    assert f"on the draw ({nearer[0]} and {nearer[1]} of {DRAWS}), 64 bits on the exponent" in TEXT


@pytest.mark.catches(
    "the README proves too large a TV", "README.md", "TV is at least 0.311", "TV is at least 0.411"
)
def test_the_proved_distance_of_laplace_mixtures_is_that_of_its_test() -> None:
    assert f"with 0, [TV is at least {int(1000 * (HALF - MOST)) / 1000:.3f}](" in TEXT


def compared(label: str, row: str, pair: Pair) -> Comparison:
    return Comparison(Results(EXPERIMENTS[label], stored(EXPERIMENTS[label])), row, pair)


def _gap(label: str, row: str, pair: Pair) -> Difference:
    gap = compared(label, row, pair).gap
    assert gap is not None
    return gap


@pytest.mark.catches(
    "the README says that memory still gains after 6,000 steps",
    "README.md",
    "after 6,000 steps that is gone",
    "after 6,000 steps that stays",
)
def test_what_memory_brings_is_of_the_results() -> None:
    walk, later = ("rings", "sinusoid, repaired"), ("rings, 6,000 steps", "sinusoid, 6,000 steps")
    rings, waves = (_gap("fig:apx:lra", row, (RESET, BEST)) for row in walk)
    assert (
        f"by {-rings.mean:.3f} of TV [{-rings.high:.3f}, {-rings.low:.3f}] "
        f"and {-waves.mean:.3f} [{-waves.high:.3f}, {-waves.low:.3f}]" in TEXT
    )
    standings = {compared("study:walk", row, (RESET, BEST)).standing for row in later}
    assert standings == {Standing.UNDECIDED, Standing.WORSE}
    assert "after 6,000 steps that is gone" in TEXT
    shares = []
    for label, row in zip(["fig:apx:lra"] * 2 + ["study:walk"] * 2, walk + later, strict=True):
        form, whole = (compared(label, row, (MARKOVIAN, name)) for name in (RESET, BEST))
        assert form.standing is Standing.BETTER
        shares.append((1 - form.size) / (1 - whole.size))
    assert f"{100 * shares[0]:.0f} and {100 * shares[1]:.0f} % of the gain is its form" in TEXT
    assert min(shares[2:]) > 1
    pair = (MARKOVIAN, "GRU")
    assert compared("study:dags", "SIX6, both ends", pair).standing is Standing.WORSE
    six6 = _gap("study:dags", "SIX6, both ends", pair)
    assert f"ahead of the GRU by {six6.mean:.3f} of TV" in TEXT


@pytest.mark.catches(
    "the README has the control without a latent gain half as much",
    "README.md",
    "a block without a latent gains 0.0046",
    "a block without a latent gains 0.0028",
)
def test_the_controls_at_the_papers_rate_disagree() -> None:
    study = EXPERIMENTS["study:paper_rate"]
    row = "sets, K = 24, 20,000 steps"
    models = ("SRWM, block", "Markovian, block", "SRWM, block, reset")
    block, around, reset = (-_gap("study:paper_rate", row, (MARKOVIAN, m)).mean for m in models)
    assert f"on sets of 24, by {block:.4f}" in TEXT
    assert f"without a latent gains {around:.4f}, the block reset {reset:.4f}" in TEXT
    of_all = [compared(study.label, r, pair) for r in study.rows for pair in study.comparisons]
    kept = [one.row for one in tables.kept([of_all], tables.by_holm)]
    assert kept == ["SIX6"]
    assert "no difference there survives Holm's correction" in TEXT


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
        assert len(FAULTS) - 40 <= int(least) < len(FAULTS)


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


def test_seconds_of_a_start_are_those_that_are_stored() -> None:
    cells: dict[str, list[str]] = {}
    for row in _stored("start"):
        cells.setdefault(row["task"], []).append(f"{row['all']['median']:.1f}")
    assert len(cells) == 6
    for task, seconds in cells.items():
        pairs = [f"{before}, {now}" for before, now in zip(*[iter(seconds)] * 2, strict=True)]
        assert f"| {task} | {' | '.join(pairs)} |" in PERFORMANCE


def test_limits_are_those_of_the_code() -> None:
    assert f"exact up to {MAX_HISTORIES // 10**6} million trajectories" in README


def test_the_readme_shows_nine_commands() -> None:
    assert len(COMMANDS["README.md"]) == 9


def test_the_second_line_to_copy_is_what_ci_runs() -> None:
    blocks = [block.strip() for block in README.split("```\n") if block.startswith(".venv/bin/")]
    assert blocks == [".venv/bin/pytest -n 2"]
    ci = (ROOT / ".ci" / "run").read_text()
    assert "\npytest -n 2\npytest -n 2 -m long\n" in ci
