"""The README: its commands work, and its numbers are those of the repository."""

import contextlib
import io
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any
from unittest import mock

import pytest

from benchmarks.harness import cell
from examples.real_samplers import STORED as SAMPLERS
from fast.laws.terminal_law import MAX_HISTORIES
from pdai.experiments import EXPERIMENTS, tables
from pdai.experiments.base import BEST, MARKOVIAN, RESET, STRONGEST, Pair
from pdai.experiments.definitions import SHOWN_DIGITS, outwards
from pdai.experiments.evidence import untrained
from pdai.experiments.forgetting import price
from pdai.experiments.frames import Results
from pdai.experiments.results import stored
from pdai.experiments.tables import claimed
from pdai.experiments.verdicts import Comparison, Difference, Standing
from tests.command_lines import answer
from tests.faults import FAULTS
from tests.project.test_pages import COMMANDS, python_blocks
from tests.reference.test_printed_rewards import DRAWS, sums, sums_of_exponentials
from verify.lib.ledger import CLAIMS
from verify.lib.record import Severity
from verify.test_fig_linestraining import HALF, MOST

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PERFORMANCE, RECORD, FORGETTING, ERRATA = (
    (ROOT / f"{name}.md").read_text()
    for name in (
        "docs/performance",
        "docs/records/performance",
        "docs/forgetting",
        "proofs_notes/errata",
    )
)
TEXT, OF_MEMORY, OF_ERRATA = (" ".join(page.split()) for page in (README, FORGETTING, ERRATA))
EVERY = tuple(Results(experiment, stored(experiment)) for experiment in EXPERIMENTS.values())
LEFT = tables.kept(tables.family(EVERY), tables.by_holm)
OF = {results.experiment.label: results for results in EVERY}
STORED = {line.row: line for line in price.lines()}


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 110
    prose = re.sub(r"```.*?```|^\|.*?$|^#.*?$|\]\([^)]*\)|`", "", README, flags=re.S | re.M)
    sentences = re.split(r"(?<=[.?:;])\s+|\n\n|\n- |\n\d\. ", prose)
    assert [text for text in sentences if len(text.split()) > 25] == []


def test_the_shuffle_is_judged_as_shown() -> None:
    (code,) = python_blocks(README)
    shown = README.split("```\n")[2].strip()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "shuffle.py", "exec"), names := {})
    assert printed.getvalue().strip() == shown
    counts = Counter[str]()
    for others in product(range(3), repeat=3):
        with mock.patch.object(random, "randrange", side_effect=others):
            counts[names["shuffled"](["a", "b", "c"])] += 1
    tv = sum(abs(Fraction(count, 27) - Fraction(1, 6)) for count in counts.values()) / 2
    assert f"The true value here is {tv}, about {float(tv):.4f}" in TEXT


def test_a_real_sampler_is_as_far_off_as_its_sum() -> None:
    rows = json.loads(SAMPLERS.read_text()).values()
    (row,) = (row for row in rows if "3 * 2**29" in row["call"])
    assert f"`{row['call']}` is off by {row['exact']}." in TEXT


def test_the_table_of_patients_is_summed_as_shown() -> None:
    printed = answer("posterior", "examples/patients.csv", cwd=ROOT).stdout.splitlines()
    shown = README.split("```\n")[6].strip().splitlines()
    assert len(shown) == 2
    assert set(shown) <= set(printed)


def test_the_table_and_the_picture_are_of_the_results() -> None:
    names, lines = [MARKOVIAN, BEST, STRONGEST], FORGETTING.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| what the network sees"))
    assert lines[start].endswith(f"| {' | '.join(names)} |")
    shown = lines[start + 2 : lines.index("", start)]
    assert len(shown) == 4
    for cells in (line.strip("| ").split(" | ") for line in shown):
        _, of, trained = STORED[cells[0]]
        likeliest = of.minima["likelihood"][0].high
        means = [mean(trained[name]) for name in names]
        numbers = (*outwards(*of.floor, SHOWN_DIGITS), likeliest, *means)
        assert cells[1:] == [f"{number:.4f}" for number in numbers], cells[0]
        assert {len(trained[name]) for name in names} == {5}
    assert "the mean of five seeds" in OF_MEMORY
    assert "](../pdai/experiments/results/study_aliasing.png)" in FORGETTING


def test_on_the_grid_memoryless_policies_are_level_or_ahead() -> None:
    (twos, of_twos), (fours, of_fours) = (
        (STORED[row].price.floor.high, STORED[row].trained)
        for row in ("grid, blocks of 2", "grid, blocks of 4")
    )
    assert twos < min(mean(of_twos[name]) for name in (BEST, STRONGEST)) + 0.005
    assert fours < min(mean(of_fours[name]) for name in (BEST, STRONGEST))
    assert "within 0.005 of both means with memory; with blocks of 4 one beats both" in OF_MEMORY
    stay = [tv for name in (BEST, STRONGEST) for tv in of_fours[name] if tv > 0.76]
    assert 0.77 < min(stay) <= max(stay) < 0.79
    first, second = sorted(tv for tv in of_fours[STRONGEST] if tv not in stay)
    (gru,) = (tv for tv in of_fours[BEST] if tv not in stay)
    assert f"(SRWM+ to {first:.3f} and {second:.3f}, GRU+ to {gru:.3f})" in OF_MEMORY


def test_the_share_of_memory_is_above_the_floors() -> None:
    shares = []
    for row in ("bits, last 4", "bits, last 2"):
        _, of, trained = STORED[row]
        markovian, gru = (mean(trained[name]) for name in (MARKOVIAN, BEST))
        shares.append(100 * (of.floor.low - gru) / (markovian - gru))
    assert f"at least {int(shares[0])} % (last 4) and {int(shares[1])} % (last 2)" in OF_MEMORY
    ends = [
        abs(mean(trained[MARKOVIAN]) - of.minima["on policy"][0].high)
        for row, of, trained in STORED.values()
        if row.startswith("bits")
    ]
    assert 0.0007 < max(ends) < 0.0009
    assert "within 0.0009 of its [minimum]" in OF_MEMORY


def test_untrained_policies_and_rows_whose_state_is_seen_are_counted() -> None:
    assert Counter(re.findall(r"(yes|no) \|$", untrained(EVERY), re.M)) == {"yes": 5, "no": 10}
    rows = [row for row in claimed(EVERY)[MARKOVIAN, BEST] if not row.is_of_integers()]
    ahead = [row.row for row in rows if row.standing is Standing.BETTER]
    assert ahead == ["rings", "sinusoid, repaired"]
    assert min(row.gap.mean for row in rows if row.gap and row.row not in ahead) > -0.001
    assert {row.place for row in rows}.isdisjoint(one.place for one in LEFT)
    assert "Corrected for all comparisons (Holm), none of the 2 and the 5 stays." in TEXT
    of = Counter(row.standing for row in rows)
    silent = of[Standing.UNDECIDED] + of[Standing.NO_HEADROOM]
    said = f"2 of {len(rows)} rows of the paper's tables and behind in {of[Standing.WORSE]}"
    assert f"ahead in {said}; {of[Standing.LEVEL]} are level, and {silent} undecided" in OF_MEMORY
    assert f"is shown ahead in {said}. {of[Standing.LEVEL]} are level" in TEXT
    assert f"{of[Standing.UNDECIDED]} undecided, and {of[Standing.NO_HEADROOM]} cannot tell" in TEXT
    bits, grid = OF["study:aliasing"], OF["fig:gridsa"]
    ends = [f"{bits.values('bits, last 2', name).mean():.3f}" for name in (MARKOVIAN, BEST)]
    assert f"it takes TV from {' to '.join(ends)}" in TEXT
    places = (
        ("integers", MARKOVIAN, 2),
        ("sines and cosines", MARKOVIAN, 3),
        ("integers", BEST, 2),
    )
    ends = [f"{grid.values(row, name).mean():.{digits}f}" for row, name, digits in places]
    assert f"take TV from {ends[0]} to {ends[1]}, a GRU to {ends[2]}" in TEXT


def test_untrained_policies_are_counted_over_draws_of_the_utilities() -> None:
    sequences, sets = EXPERIMENTS["tab:sequences"].quoted, EXPERIMENTS["tab:sets"].quoted
    for length in (16, 32):
        printed = sequences[f"Syn-{length}, literal", MARKOVIAN].mean
        assert sum(fcs < printed for fcs in sums(length)) == DRAWS
    fewer, more = (
        sum(
            fcs < sets[f"K = {size}, literal", MARKOVIAN].mean for fcs in sums_of_exponentials(size)
        )
        for size in (16, 24)
    )
    assert "(Syn-16, Syn-32) are worse than an untrained policy's under the printed" in OF_ERRATA
    assert f"in each of {DRAWS} draws of uniform utilities" in OF_ERRATA
    assert f"on the draw ({fewer} and {more} of {DRAWS}), 64 bits on the exponent" in OF_ERRATA


@pytest.mark.catches(
    "the errata prove too large a TV",
    "proofs_notes/errata.md",
    "[TV is at least 0.311]",
    "[TV is at least 0.411]",
)
def test_the_proved_distance_of_laplace_mixtures_is_that_of_its_test() -> None:
    assert f"with 0, [TV is at least {int(1000 * (HALF - MOST)) / 1000:.3f}](" in OF_ERRATA


def compared(label: str, row: str, pair: Pair) -> Comparison:
    return Comparison(OF[label], row, pair)


def _gap(label: str, row: str, pair: Pair) -> Difference:
    gap = compared(label, row, pair).gap
    assert gap is not None
    return gap


@pytest.mark.catches(
    "the page on forgetting says that memory still gains after 6,000 steps",
    "docs/forgetting.md",
    "after 6,000 steps that is gone",
    "after 6,000 steps that stays",
)
def test_what_memory_brings_is_of_the_results() -> None:
    walk, later = ("rings", "sinusoid"), ("rings, 6,000 steps", "sinusoid, 6,000 steps")
    rings, waves = (_gap("study:walk", row, (RESET, BEST)) for row in walk)
    assert (
        f"by {-rings.mean:.3f} of TV [{-rings.high:.3f}, {-rings.low:.3f}] "
        f"and {-waves.mean:.3f} [{-waves.high:.3f}, {-waves.low:.3f}]" in OF_MEMORY
    )
    standings = {compared("study:walk", row, (RESET, BEST)).standing for row in later}
    assert standings == {Standing.UNDECIDED, Standing.WORSE}
    assert "after 6,000 steps that is gone" in OF_MEMORY
    shares = []
    for row in walk + later:
        form, whole = (compared("study:walk", row, (MARKOVIAN, name)) for name in (RESET, BEST))
        assert form.standing is Standing.BETTER
        assert len(form.paired.T) == 10
        shares.append((1 - form.size) / (1 - whole.size))
    assert f"{100 * shares[0]:.0f} and {100 * shares[1]:.0f} % of the gain is its form" in OF_MEMORY
    assert min(shares[2:]) > 1
    ahead = [-_gap("study:walk", row, (MARKOVIAN, BEST)).mean for row in later]
    assert f"ahead of the Markovian network by {ahead[0]:.3f} and {ahead[1]:.3f}" in OF_MEMORY
    seeds = OF["study:walk"].values
    for row in walk:
        assert seeds(f"{row}, sines and cosines", MARKOVIAN).mean() < seeds(row, BEST).mean()
    cells = (("rings", MARKOVIAN), ("rings", BEST), ("rings, sines and cosines", MARKOVIAN))
    one_hot, gru, sines = (f"{seeds(*cell).mean():.3f}" for cell in cells)
    assert f"has {sines} on rings, beside {one_hot} one-hot and {gru} of the one-hot" in OF_MEMORY
    left_to_right = compared("tab:sequences", "SIX6", (MARKOVIAN, BEST))
    assert left_to_right.standing is Standing.UNDECIDED
    pair = (MARKOVIAN, "GRU")
    assert compared("study:dags", "SIX6, both ends", pair).standing is Standing.WORSE
    six6 = _gap("study:dags", "SIX6, both ends", pair)
    assert f"the GRU is behind by {six6.mean:.3f} of TV" in OF_MEMORY


def test_the_baseline_as_printed_is_counted() -> None:
    firm = {one.row for one in LEFT if one.pair == (MARKOVIAN, "SRWM")}
    ends = defaultdict[tuple[str, Standing], list[tuple[bool, Comparison]]](list)
    for study, row in ((one, row) for one in EVERY if one.experiment.beside for row in one.rows):
        standing = Comparison(study, row, (MARKOVIAN, "SRWM")).standing
        if standing and (kind := re.sub(r"K = ..", "sets", row.split(", ", 1)[1])):
            biases = Comparison(study, row, ("SRWM", "Markovian, biases"))
            ends[kind, standing].append((row in firm, biases))
    front = (ROOT / "pdai" / "experiments" / "README.md").read_text()
    kinds = (Standing.BETTER, Standing.WORSE, Standing.UNDECIDED)
    places = [x + ten for ten in ("", ", 20,000 steps") for x in ("integers", "one-hot", "sets")]
    counts = [[len(ends[place, kind]) for kind in kinds] for place in places]
    assert counts == [[7, 1, 6], [1, 7, 5], [0, 1, 1], [8, 1, 5], [1, 2, 8], [0, 0, 1]]
    for place in places:
        total = sum(len(ones) for (its, _), ones in ends.items() if its == place)
        ahead, behind = ([firm for firm, _ in ends[place, kind]] for kind in kinds[:2])
        shown = f"{total} | {len(ahead)} | {len(behind)} | {sum(ahead)}, {sum(behind)}"
        assert f"| SRWM | as printed, {place} | {shown} |" in front
    for name in ("SRWM", STRONGEST, BEST):
        shown = re.escape(name) + r" against Markovian \| \d, \d \| \d, \d \| (\d, \d) "
        (after,) = re.findall(shown, front)
        assert re.search(rf"^\| {re.escape(name)} \| (with|as ab).* \| {after} \|$", front, re.M)
        strings = OF["study:integers"]
        of = [Comparison(strings, row, (MARKOVIAN, name)).standing for row in strings.rows]
        assert [of.count(kind) for kind in kinds[:2]] == [4, 0]
    first, later = ends["integers", kinds[0]], ends["integers, 20,000 steps", kinds[0]]
    for ones, more in ((first, 5), (later, 6), (later + ends[places[3], kinds[2]], 10)):
        assert sum(biases.standing is kinds[0] for _, biases in ones) == more
        assert sum(biases.size < 1 for _, biases in ones) == len(ones) - 1
    pair, rows = ("Markovian, biases", "SRWM, biases"), OF["study:biases"].rows
    of = {row: compared("study:biases", row, pair).standing for row in rows if "sets" not in row}
    assert [[*of.values()].count(kind) for kind in kinds[:2]] == [3, 4]
    assert {one.row for one in LEFT if one.pair == pair} == {"sets, K = 16"}
    assert "| SRWM | both with biases, integers (study:biases) | 14 | 3 | 4 | 0, 0 |" in front
    assert "ahead on integers in 7 tasks of 14, behind in 1; one-hot in 1 and 7. After" in TEXT
    assert "With biases in both networks, on integers, it is ahead in 3, behind in 4." in TEXT
    assert "it is ahead on integers in 8, behind in 1; one-hot in 1 and 2. In 6 of" in TEXT
    ahead = [row for row, standing in of.items() if standing is kinds[0]]
    assert ahead == ["Syn-16, integers", "Syn-32, integers", "Laplace Lines, integers"]
    assert "leads stay: Syn-16, Syn-32 and Laplace Lines." in " ".join(front.split())


@pytest.mark.catches(
    "the page on forgetting has the control without a latent gain half as much",
    "docs/forgetting.md",
    "a block without a latent gains 0.0046",
    "a block without a latent gains 0.0028",
)
def test_the_controls_at_the_papers_rate_disagree() -> None:
    row = "sets, K = 24, 20,000 steps"
    models = ("SRWM, block", "Markovian, block", "SRWM, block, reset")
    block, around, reset = (-_gap("study:paper_rate", row, (MARKOVIAN, m)).mean for m in models)
    assert f"on sets of 24, by {block:.4f}" in OF_MEMORY
    assert f"without a latent gains {around:.4f}, the block reset {reset:.4f}" in OF_MEMORY
    assert [one for one in LEFT if one.place[0] in ("study:paper_rate", "study:integers")] == []
    assert "no difference there survives Holm's correction" in OF_MEMORY


def test_the_claims_are_counted() -> None:
    of_paper = sum(claim.printed is not None for claim in CLAIMS)
    count = Counter(claim.severity for claim in CLAIMS)
    graded = ", ".join(f"{count[grade]} {grade.label}" for grade in Severity).replace(
        "misprint", "misprints"
    )
    failing = sum(count[grade] for grade in Severity)
    assert f"**As printed,** {failing} of {of_paper} claims do not hold ({graded})" in README
    ours = len(CLAIMS) - of_paper
    page = " ".join((ROOT / "docs" / "verification.md").read_text().split())
    assert f"The ledger has {len(CLAIMS)} claims: {of_paper} that the paper makes" in page
    assert f"and {ours} of our own" in page


def test_the_scopes_are_those_of_the_ledger() -> None:
    table = (ROOT / "proofs_notes" / "README.md").read_text()
    assert "all 340 naturally labelled pointed DAGs" in OF_ERRATA
    assert "all 784 deterministic lifts" in OF_ERRATA
    for claim, scope in (("def:normalpointeddag", "340"), ("def:pointeddag", "784")):
        (row,) = (line for line in table.splitlines() if line.startswith(f"| [{claim}]"))
        assert scope in row


def test_the_mistakes_made_on_purpose_are_counted() -> None:
    page = (ROOT / "docs" / "verification.md").read_text()
    (least,) = re.findall(r"more than (\d+) mistakes", page)
    assert len(FAULTS) - 40 <= int(least) < len(FAULTS)


def _stored(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())["rows"]


def _rates(name: str) -> dict[tuple[str, str, int, str], dict[str, Any]]:
    """The rows of each library, by task, state of training, batch and work."""
    cells: dict[tuple[str, str, int, str], dict[str, Any]] = {}
    for row in _stored(name):
        if "library" in row:
            key = row["task"], row.get("state", ""), row["batch"], row["work"]
            cells.setdefault(key, {})[row["library"]] = row
    return cells


def _ratio(libraries: Mapping[str, Any]) -> float:
    """The rate here over that of the better of the others; each ratio is a median of rounds."""
    return min(row["ours / it"]["median"] for name, row in libraries.items() if name != "pdai")


def _range(ratios: Iterable[float], digits: str = ".2f") -> str:
    values = list(ratios)
    return f"{min(values):{digits}} to {max(values):{digits}}"


PEERS = ("pdai", "gfnx", "torchgfn")


def test_rates_beside_peers_are_those_that_are_stored() -> None:
    for key, libraries in _rates("peers-rates").items():
        medians = (cell(libraries[peer]["per CPU second"]["median"]) for peer in PEERS)
        actions = ", ".join(f"{libraries[peer]['actions']:.1f}" for peer in PEERS)
        row = [*key, *medians, f"{_ratio(libraries):.2f}", actions]
        assert f"\n| {' | '.join(map(str, row))} |\n" in RECORD


@pytest.mark.catches(
    "the page on performance has a ratio of untrained policies for that of trained ones",
    "docs/performance.md",
    "trains at 1.68 to 4.11 times",
    "trains at 3.49 to 5.94 times",
)
def test_ratios_to_peers_are_those_that_are_stored() -> None:
    every, page = _rates("peers-rates"), " ".join(PERFORMANCE.split())
    # One policy in all libraries has one mean number of actions.
    pairs = [[v[k]["actions"] for k in ("pdai", "gfnx")] for v in every.values()]
    assert all(abs(a / b - 1) < 0.05 for a, b in pairs)
    trained, short = (
        [
            _range(_ratio(v) for key, v in every.items() if key[3] == work and is_short(*key) == x)
            for work in ("train", "sample")
        ]
        for x in (False, True)
    )
    assert f"trains at {trained[0]} times the rate of the better of gfnx" in page
    assert f"samples at {trained[1]} times" in page
    assert f"it is {short[0]} and {short[1]} times" in page
    assert f"{trained[0]} times the better of both" in (ROOT / "docs" / "limits.md").read_text()


def is_short(task: str, state: str, *_: Any) -> bool:
    """True of untrained policies on grids, which soon stop."""
    return state == "untrained" and task.startswith("hypergrid")


@pytest.mark.catches(
    "the page on performance has another ratio on the H100",
    "docs/performance.md",
    "was 2.17 and 5.27",
    "was 2.71 and 5.27",
)
def test_ratios_on_the_gpu_are_those_that_are_stored() -> None:
    ratios = [_ratio(v) for key, v in _rates("device-gpu-peers").items() if key[3] == "train"]
    assert f"was {ratios[0]:.2f} and {ratios[1]:.2f} times as fast as gfnx's" in PERFORMANCE


def test_speeds_are_those_that_are_stored() -> None:
    medians = {}
    for name in ("speed", "exact", "growth"):
        for line in (ROOT / "benchmarks" / "results" / f"{name}.md").read_text().splitlines():
            assert not line.startswith("| ") or line in RECORD
        if name != "growth":
            medians |= {row["what"]: [*row.values()][1]["median"] for row in _stored(name)}
    gru = [median for name, median in medians.items() if ": GRU, two hidden layers, over" in name]
    assert f"A GRU trains at {cell(min(gru))} to {cell(max(gru))} of the rate" in PERFORMANCE
    (summed,) = (name for name in medians if name.endswith("path-dependent policy, float32"))
    assert f"on SIX6 are summed in {cell(medians[summed])} s in float32" in PERFORMANCE


def test_seconds_beside_gfnx_are_those_that_are_stored() -> None:
    rows = [row for row in _stored("time_to_tv-processes") if "kind" not in row]
    for ours, gfnx in zip(rows[::2], rows[1::2], strict=True):
        pairs = [[row[f"TV < {distance}, s"] for distance in (0.05, 0.02)] for row in (ours, gfnx)]
        shares = ", ".join(
            "-" if str in (type(a), type(b)) else f"{a['median'] / b['median']:.2f}"
            for a, b in zip(*pairs, strict=True)
        )
        cells = [", ".join(x if type(x) is str else cell(x["median"]) for x in t) for t in pairs]
        assert f"| {ours['task']} | {' | '.join(cells)} | {shares} |" in PERFORMANCE


def test_seconds_of_a_start_are_those_that_are_stored() -> None:
    cells: dict[str, list[str]] = {}
    for row in _stored("start"):
        if row["code"] == "now":
            cells.setdefault(row["task"], []).append(f"{row['all']['median']:.1f}")
    assert len(cells) == 6
    for task, seconds in cells.items():
        assert f"| {task} | {' | '.join(seconds)} |" in PERFORMANCE
    # What the picture shows of the grid is said beside it.
    first, second, _ = (row for row in _stored("start")[:6] if row["code"] == "now")
    (beside,) = re.findall(r"!\[(.*?)\]\(start\.png\)", PERFORMANCE)
    said = re.findall(r"(\d\.\d)(?: s)? and (\d\.\d)", beside)
    names = list(first)[list(first).index("import") :]
    assert said == [tuple(f"{row[x]['median']:.1f}" for row in (first, second)) for x in names]
    assert len(names) == 7


def test_limits_are_those_of_the_code() -> None:
    limits = (ROOT / "docs" / "limits.md").read_text()
    assert f"exact up to {MAX_HISTORIES // 10**6} million trajectories" in limits


def test_the_readme_shows_a_command_for_each_use() -> None:
    assert {line.split()[0] for line in COMMANDS["README.md"]} == {
        "posterior", "certify", "solve", "train", "check"
    }  # fmt: skip


def test_the_second_line_to_copy_is_what_ci_runs() -> None:
    blocks = [block.strip() for block in README.split("```\n") if block.startswith(".venv/bin/")]
    install = '.venv/bin/pip install -c constraints.txt -e ".[dev]" && .venv/bin/pdai train six6'
    assert blocks == [f"{install}\n.venv/bin/pytest -n 2"]
    # The environment is made once.
    assert README.count("-m venv") == 1
    ci = (ROOT / ".ci" / "run").read_text()
    assert "\npytest -n 2\npytest -n 2 -m long\n" in ci
