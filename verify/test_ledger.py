"""The ledger, the tests and the notes agree: no claim without a check, a control and a note."""

import ast
import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from pdai.experiments import results
from pdai.experiments.verdicts import Outcome
from verify.claims.record import Claim, Reading, Severity
from verify.lib.ledger import CLAIMS, FOLDER, markdown, marked_tests, scopes_of
from verify.lib.notes import with_head
from verify.lib.report import summary
from verify.lib.results import result_of

NOTES = FOLDER.parent / "proofs_notes"


def test_every_claim_has_a_check_and_a_control() -> None:
    found = {(test.claim, test.kind) for test in marked_tests()}
    wanted = {(c.id, kind) for c in CLAIMS if c.is_tested for kind in ("claim", "control")}
    assert wanted - found == set()


def test_every_marked_test_names_a_claim_of_the_ledger() -> None:
    assert {test.claim for test in marked_tests()} <= {claim.id for claim in CLAIMS}


def unnamed(file: str, docstring: str, labels: set[str]) -> set[str]:
    """The labels that are neither in the name of the file nor in the first line of its docstring.

    If none of them is in the name, all are unnamed: a file is called after a claim that it checks.
    """
    in_name = {
        label
        for label in labels
        if re.search(rf"_{re.sub('[:.-]', '_', label)}(_|$)", Path(file).stem)
    }
    words = {word.strip("(),:") for word in docstring.split("\n")[0].split()}
    return labels - in_name - words if in_name else labels


def test_a_file_of_tests_is_called_after_its_claim_and_names_the_others_it_checks() -> None:
    labels = defaultdict(set)
    for test in marked_tests():
        labels[test.file].add(test.claim)
    docstrings = {
        file: ast.get_docstring(ast.parse((FOLDER / file).read_text())) or "" for file in labels
    }
    assert {
        file: missing
        for file in labels
        if (missing := unnamed(file, docstrings[file], labels[file]))
    } == {}


def test_control_a_label_that_is_nowhere_is_found() -> None:
    assert unnamed("test_N1.py", "N1, N2: drawn.", {"N1", "N2"}) == set()
    assert unnamed("test_eq_a_b.py", "", {"eq:a", "eq:a.b"}) == set()
    assert unnamed("test_N12.py", "N12: drawn.", {"N12", "N1"}) == {"N1"}
    assert unnamed("test_N1.py", "N1: drawn.\n\nAs in N2.", {"N1", "N2"}) == {"N2"}
    assert unnamed("test_cor_a.py", "cor:a, col:a: drawn.", {"col:a"}) == {"col:a"}
    assert unnamed("test_col_A.py", "col:a: drawn.", {"col:a"}) == {"col:a"}


def test_a_claim_that_no_test_decides_has_none() -> None:
    others = {claim.id for claim in CLAIMS if not claim.is_tested}
    assert others & {test.claim for test in marked_tests()} == set()
    assert not [claim.id for claim in CLAIMS if claim.experiment and claim.open]


def test_the_outcome_of_an_empirical_claim_is_the_verdict_of_the_stored_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    empirical = {claim.id: claim for claim in CLAIMS if claim.experiment}
    outcomes = {name: result_of(claim) for name, claim in empirical.items()}
    assert all(outcomes.values())
    assert not [claim.id for claim in CLAIMS if not claim.experiment and result_of(claim)]
    # Without a run nothing came out: it is no number of the ledger's own.
    monkeypatch.setattr(results, "stored", lambda experiment: [])
    result_of.cache_clear()
    empty = {result_of(claim) for claim in empirical.values()}
    decided = {outcome.value for outcome in Outcome if outcome is not Outcome.OPEN}
    assert all("not run" in str(told) for told in empty)
    assert not [told for told in empty for word in decided if word in str(told)]
    assert [told for told in outcomes.values() for word in decided if word in str(told)]
    result_of.cache_clear()


def test_what_does_not_hold_as_printed_is_graded_and_nothing_else() -> None:
    failing = {c.id for c in CLAIMS if c.is_tested and c.verdict != "verified"}
    assert {claim.id for claim in CLAIMS if claim.severity} == failing
    vacuous = {c.id for c in CLAIMS if c.readings[0].outcome == "vacuous"}
    assert {c.id for c in CLAIMS if c.severity is Severity.VACUOUS} == vacuous
    # What is false has no reading of the text that saves it: the first is literal, and false.
    false = [c for c in CLAIMS if c.severity is Severity.FALSE]
    assert false
    assert all(claim.readings[0].outcome == "false" for claim in false)


def test_the_summary_counts_a_misprint_apart_from_a_false_statement() -> None:
    def claim(name: str, severity: Severity | None) -> Claim:
        readings = (Reading("", "false"), Reading("", "true"))
        return Claim(name, "", "", readings if severity else readings[1:], "", severity=severity)

    told = summary([claim("a", Severity.FALSE), claim("b", Severity.MISPRINT), claim("c", None)])
    assert told.startswith("3 claims: 2 refuted as printed; repaired, then verified, 1 verified.")
    assert f"1 false ({Severity.FALSE.value}); 0 vacuous" in told
    assert f"1 misprint ({Severity.MISPRINT.value})." in told


def test_the_names_of_claims_are_distinct() -> None:
    assert [name for name, n in Counter(claim.id for claim in CLAIMS).items() if n > 1] == []


def test_a_claim_that_fails_as_printed_says_what_holds_instead() -> None:
    for claim in CLAIMS:
        assert claim.readings
        assert not claim.is_tested or claim.readings[-1].outcome == "true", claim.id


def test_verdicts_follow_from_the_readings() -> None:
    def verdict(*outcomes: str) -> str:
        readings = tuple(Reading("", outcome) for outcome in outcomes)  # type: ignore[arg-type]
        return Claim("", "", "", readings, "").verdict

    assert verdict("true") == "verified"
    assert verdict("false", "true") == "refuted as printed; repaired, then verified"
    assert verdict("vacuous", "true") == "vacuous as printed; repaired, then verified"
    assert verdict("ill-defined") == "ill-defined as printed"


def test_control_a_head_follows_its_record_and_leaves_the_rest_of_the_note() -> None:
    claim = Claim("eq:a", "b", "c", (Reading("d", "true"),), "e", ("F.v:g", "F.v:h"))
    note = with_head("\n## Proof\n", claim)
    for line in ("# eq:a: b", "Printed: c", "True: d", "Control: e", "## Proof"):
        assert line in note.splitlines()
    assert "`g`, `h` in [F.v](coq/F.v)." in note
    assert with_head(note, claim) == note
    changed = with_head(note, replace(claim, printed="1\n2"))
    assert changed == note.replace("Printed: c\n", "Printed: 1\n  2\n")


needs_notes = pytest.mark.skipif(not NOTES.is_dir(), reason="notes are not part of a wheel")


@needs_notes
def test_every_claim_has_a_note_and_every_note_a_claim() -> None:
    notes = {path.name for path in NOTES.glob("*.md")} - {"README.md", "errata.md", "mutation.md"}
    assert notes == {claim.note for claim in CLAIMS}


@needs_notes
def test_the_head_of_every_note_is_the_record_of_its_claim() -> None:
    for claim in CLAIMS:
        note = (NOTES / claim.note).read_text()
        assert note == with_head(note, claim), "run `pdai verify --write-notes` as for the table"


@needs_notes
def test_theorems_of_the_ledger_are_in_the_files_they_name() -> None:
    for claim in CLAIMS:
        for theorem in claim.theorems:
            file, name = theorem.split(":")
            words = (NOTES / "coq" / file).read_text().split()
            assert name in words or f"{name}:" in words, theorem


@needs_notes
def test_the_table_of_the_notes_is_the_ledger() -> None:
    text = (NOTES / "README.md").read_text()
    table = "".join(line for line in text.splitlines(keepends=True) if line.startswith("| "))
    assert table == markdown(scopes_of(table)), (
        "run `pdai verify --write-notes proofs_notes/README.md`"
    )
