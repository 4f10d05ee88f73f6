"""`pdai verify` as a command: what it prints, and how it exits."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pdai.cli import main
from verify.lib.report import Finding

ROOT = Path(__file__).parents[2]


def verify(capture: Any, *arguments: str, expect: int = 0) -> tuple[str, str]:
    """The two outputs of the command, whose tests are a process of their own."""
    with pytest.raises(SystemExit) as end:
        main(["verify", *arguments])
    out, err = capture.readouterr()
    assert end.value.code == expect, err
    return out, err


@pytest.mark.parametrize(
    ("claim", "verdict", "says"),
    [
        ("eq:marginal", "verified", "outcomes"),
        # Without a test, they say why.
        pytest.param("fig:apx:m", "empirical", "outcome", marks=pytest.mark.long),
        pytest.param("cyclic", "open", "open", marks=pytest.mark.long),
    ],
)
def test_one_claim_is_checked_and_reported_as_json(
    claim: str, verdict: str, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (record,) = json.loads(verify(capfd, "--claim", claim, "--json")[0])
    assert (record["claim"], record["verdict"], record["as_expected"]) == (claim, verdict, True)
    assert record[says]
    assert bool(record["outcome"]) == (verdict == "empirical")
    ran = {"claim passed", "control passed"} if verdict == "verified" else set()
    assert set(record["outcomes"]) == ran


def test_controls_are_listed_without_a_run(capfd: pytest.CaptureFixture[str]) -> None:
    listed, _ = verify(capfd, "--controls")
    assert "\ntrees: " in listed
    assert "    verify/test_trees.py::" in listed
    assert "passed" not in listed


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("prop:nothing", "'prop:nothing': did you mean prop:lines?"),
        ("N5", "N5 belongs to residual-tv-bound"),
        ("eq:tb", "eq:tb belongs to col:tb"),
    ],
)
def test_an_unknown_claim_is_named_with_those_that_exist(
    claim: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    _, said = verify(capfd, "--claim", claim, expect=2)
    assert words in said


@pytest.mark.long
def test_the_table_is_begun_where_there_is_none_and_notes_get_heads(tmp_path: Path) -> None:
    notes, trees = tmp_path / "notes.md", tmp_path / "trees.md"
    trees.write_text("```toml\ntitle = 1\n```\n\n## Proof\n")
    command = [sys.executable, "-m", "pytest", "verify/test_trees.py", "-k", "nothing"]
    command += ["--ledger-notes", str(notes), "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "| [prop:markovian](" in notes.read_text()
    assert trees.read_text().startswith("# trees: lifts of trees\n\n```toml\ntitle = 1\n")
    assert trees.read_text().endswith("\n## Proof\n")


PASSED = {("claim", "passed"): 2, ("control", "passed"): 1}
OTHERS = (("claim", "failed"), ("control", "skipped"), ("claim", "error"))


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (PASSED, True),
        *(({key: 2}, False) for key in PASSED),
        *((PASSED | {(kind, ending): 1}, False) for kind, ending in OTHERS),
        ({}, False),
    ],
)
def test_a_claim_is_as_expected_if_checks_and_controls_ran_and_all_passed(
    outcomes: dict[tuple[str, str], int], expected: bool
) -> None:
    assert Finding(Counter(outcomes)).as_expected() is expected
