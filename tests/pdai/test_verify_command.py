"""`pdai verify` as a command: what it prints, and how it exits."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pdai.commands.verify import Verify
from reference import InputError
from verify.lib.report import Finding

ROOT = Path(__file__).parents[2]


def verify(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pdai", "verify", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_one_claim_is_checked_and_reported_as_json() -> None:
    done = verify("--claim", "eq:marginal", "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    assert record["claim"] == "eq:marginal"
    assert record["verdict"] == "verified"
    assert record["as_expected"] is True
    assert set(record["outcomes"]) == {"claim passed", "control passed"}


def test_an_unknown_claim_is_named_with_those_that_exist() -> None:
    done = verify("--claim", "prop:nothing")
    assert done.returncode == 2
    assert "prop:nothing" in done.stderr
    assert "prop:markovian" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("claim", "verdict", "says"),
    [("fig:apx:m", "empirical", "outcome"), ("cyclic", "open", "open")],
)
def test_a_claim_without_a_test_says_why(claim: str, verdict: str, says: str) -> None:
    done = verify("--claim", claim, "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    assert (record["verdict"], record["as_expected"]) == (verdict, True)
    assert record[says]
    assert bool(record["outcome"]) == (verdict == "empirical")


def test_notes_that_would_lose_claims_or_have_no_folder_are_refused_before_any_check(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("| kept |\n")
    refused = verify("--claim", "eq:marginal", "--write-notes", str(notes))
    assert refused.returncode == 2
    assert refused.stderr.startswith("pdai: --write-notes")
    assert "leave --claim away" in refused.stderr
    assert refused.stdout == ""
    assert notes.read_text() == "| kept |\n"
    for path in (tmp_path / "no" / "notes.md", tmp_path):
        with pytest.raises(InputError, match="name a file"):
            Verify(write_notes=path).run()


@pytest.mark.long
def test_the_table_is_begun_where_there_is_none_and_the_notes_beside_it_get_heads(
    tmp_path: Path,
) -> None:
    notes, trees = tmp_path / "notes.md", tmp_path / "trees.md"
    trees.write_text("```toml\ntitle = 1\n```\n\n## Proof\n")
    command = [sys.executable, "-m", "pytest", "verify/test_trees.py", "-k", "nothing"]
    command += ["--ledger-notes", str(notes), "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "| [prop:markovian](" in notes.read_text()
    assert trees.read_text().startswith("# trees: lifts of trees\n\n```toml\ntitle = 1\n")
    assert trees.read_text().endswith("\n## Proof\n")


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({("claim", "passed"): 2, ("control", "passed"): 1}, True),
        ({("claim", "passed"): 2}, False),
        ({("control", "passed"): 2}, False),
        ({("claim", "passed"): 2, ("control", "passed"): 1, ("claim", "failed"): 1}, False),
        ({("claim", "passed"): 2, ("control", "passed"): 1, ("control", "skipped"): 1}, False),
        ({("claim", "passed"): 2, ("control", "passed"): 1, ("claim", "error"): 1}, False),
        ({}, False),
    ],
)
def test_a_claim_is_as_expected_if_checks_and_controls_ran_and_all_passed(
    outcomes: dict[tuple[str, str], int], expected: bool
) -> None:
    assert Finding(Counter(outcomes)).as_expected() is expected
