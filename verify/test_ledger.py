"""The ledger, the tests and the notes agree: no claim without a check, a control and a note."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from pdai.experiments import results
from pdai.experiments.verdicts import Outcome
from reference.contract.errors import InputError
from verify.lib.ledger import CLAIMS, FOLDER, NOTES, markdown, marks_of_claims, result_of, scopes_of
from verify.lib.notes import with_head
from verify.lib.record import Claim, Reading, Severity, Tier, read_claim
from verify.lib.report import Finding, controls, summary

needs_checkout = pytest.mark.skipif(
    NOTES.parent == FOLDER, reason="stored results and Coq proofs are not part of a wheel"
)


def test_every_claim_has_a_check_and_a_control() -> None:
    marked = {(test.label, test.kind) for test in marks_of_claims()}
    wanted = {(c.id, kind) for c in CLAIMS if c.is_tested for kind in ("claim", "control")}
    assert wanted - marked == set()


def test_the_list_of_controls_has_one_for_every_tested_claim() -> None:
    lines = controls(CLAIMS).splitlines()
    claims = [line.partition(": ")[0] for line in lines if not line.startswith(" ")]
    assert claims == [claim.id for claim in CLAIMS if claim.is_tested]
    tests = [line.strip() for line in lines if line.startswith(" ")]
    marked = [f"verify/{t.file}::{t.name}" for t in marks_of_claims() if t.kind == "control"]
    assert Counter(tests) == Counter(marked)


def test_every_marked_test_names_a_claim_of_the_ledger() -> None:
    assert {test.label for test in marks_of_claims()} <= {claim.id for claim in CLAIMS}


def is_called_after(file: str, labels: set[str]) -> bool:
    """True if one of the labels is in the name of the file."""
    return any(
        re.search(rf"_{re.sub('[:.-]', '_', label)}(_|$)", Path(file).stem) for label in labels
    )


def test_a_file_of_tests_is_called_after_a_claim_that_it_checks() -> None:
    labels = defaultdict(set)
    for test in marks_of_claims():
        labels[test.file].add(test.label)
    assert [file for file in labels if not is_called_after(file, labels[file])] == []


def test_control_a_name_without_a_label_is_found() -> None:
    assert is_called_after("test_h_transform.py", {"h-transform", "col:b"})
    assert is_called_after("test_eq_a_b.py", {"eq:a.b"})
    assert is_called_after("test_eq_a_reach.py", {"eq:a"})
    assert not is_called_after("test_eq_ab.py", {"eq:a"})
    assert not is_called_after("test_col_A.py", {"col:a"})


def test_a_claim_that_no_test_decides_has_none() -> None:
    others = {claim.id for claim in CLAIMS if not claim.is_tested}
    assert others & {test.label for test in marks_of_claims()} == set()
    assert not [claim.id for claim in CLAIMS if claim.experiment and claim.open]


@needs_checkout
def test_the_outcome_of_an_empirical_claim_is_the_verdict_of_the_stored_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    empirical = {claim.id: claim for claim in CLAIMS if claim.experiment}
    outcomes = {name: result_of(claim) for name, claim in empirical.items()}
    assert all(outcomes.values())
    assert not [claim.id for claim in CLAIMS if not claim.experiment and result_of(claim)]
    # Without a run nothing came out: it is no number of the ledger's own.
    monkeypatch.setattr(results, "stored", lambda experiment: [])
    empty = {result_of.__wrapped__(claim) for claim in empirical.values()}
    decided = {outcome.value for outcome in Outcome if outcome is not Outcome.OPEN}
    assert all("not run" in str(result) for result in empty)
    assert not [result for result in empty for word in decided if word in str(result)]
    assert [result for result in outcomes.values() for word in decided if word in str(result)]


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

    claims = [claim("a", Severity.FALSE), claim("b", Severity.MISPRINT), claim("c", None)]
    text = summary(claims, {})
    assert text.startswith("3 claims: 2 refuted as printed; repaired, then verified, 1 verified.")
    assert f"1 false ({Severity.FALSE.value}); 0 vacuous" in text
    assert f"1 misprint ({Severity.MISPRINT.value})." in text
    failed = Finding(Counter({("claim", "passed"): 6, ("claim", "failed"): 1}))
    text = summary(claims, {"b": failed, "c": failed})
    assert re.match("3 claims: 2 not confirmed in this run, 1 .*; 0 misprint ", text)


def test_the_names_of_claims_are_distinct() -> None:
    names = [name for claim in CLAIMS for name in (claim.id, *claim.also.split())]
    assert [name for name, n in Counter(names).items() if n > 1] == []


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


def test_a_tier_follows_from_theorems_and_from_what_tests_look_at() -> None:
    claim = Claim("eq:a", "b", "c", (Reading("d", "true"),), "e")
    assert claim.tier == Tier.BY_HAND
    assert replace(claim, checks=Tier.RANDOM).tier == Tier.RANDOM
    proved = replace(claim, checks=Tier.RANDOM, theorems=("F.v:g",))
    assert proved.tier == Tier.MACHINE_PROVED
    assert replace(proved, half="its first part").tier == Tier.HALF_MACHINE_PROVED
    reals = replace(proved, theorems=("F.v:g", "coq_reals/F.v:h"))
    assert reals.tier == Tier.MACHINE_PROVED_OVER_THE_REALS
    assert replace(reals, half="its first part").tier == Tier.HALF_MACHINE_PROVED
    assert replace(proved, open="why").tier is None


def test_only_a_claim_with_a_theorem_says_which_part_is_proved() -> None:
    assert [c.id for c in CLAIMS if c.half and not c.theorems] == []
    assert [c.id for c in CLAIMS if c.checks and c.theorems and not c.half] == []


def without_reason(claims: Iterable[Claim]) -> list[str]:
    """The claims whose proof in Coq is not whole and that name no lemma, or that are and do."""
    whole = (Tier.MACHINE_PROVED, Tier.MACHINE_PROVED_OVER_THE_REALS)
    return [claim.id for claim in claims if (claim.tier in whole) == bool(claim.unproved)]


def test_a_claim_names_the_lemma_that_its_proof_in_coq_lacks() -> None:
    assert without_reason(CLAIMS) == []


def test_control_a_claim_without_a_missing_lemma_is_found() -> None:
    by_tier = {claim.tier: claim for claim in CLAIMS if claim.missing}
    assert len(by_tier) >= 3
    bare = [replace(claim, missing=None) for claim in by_tier.values()]
    assert without_reason(bare) == [claim.id for claim in bare]
    proved = next(claim for claim in CLAIMS if claim.tier is Tier.MACHINE_PROVED)
    assert without_reason([replace(proved, missing="a lemma")]) == [proved.id]
    assert without_reason([replace(proved, half="its first part")]) == [proved.id]


def test_control_the_head_of_a_note_follows_its_record_and_the_rest_stays() -> None:
    record = '```toml\nid = "eq:a"\n```\n'
    claim = Claim("eq:a", "b", "c", (Reading("d", "true"),), "e", ("F.v:g", "F.v:h"))
    note = with_head(f"{record}\n## Proof\n", claim)
    assert note.startswith(f"# eq:a: b\n\n{record}\nVerdict: verified.")
    assert "`g`, `h` in [F.v](coq/F.v)." in note
    assert note.endswith("\n## Proof\n")
    assert with_head(note, claim) == note
    assert with_head(note, replace(claim, title="B")) == note.replace("# eq:a: b", "# eq:a: B")
    assert with_head("## Proof\n", claim) == "## Proof\n"


RECORD = """
id = "eq:a"
title = "b"
order = 1
readings = [["false", "c"], ["true", '''
    d
    e''']]
control = "f"
"""


def read(folder: Path, record: str) -> Claim:
    note = folder / "eq_a.md"
    note.write_text(f"# heading\n\n```toml{record}```\n\n## Proof\n")
    return read_claim(note)


def test_a_record_is_read_with_its_lines_joined(tmp_path: Path) -> None:
    readings = (Reading("c", "false"), Reading("d e", "true"))
    assert read(tmp_path, RECORD) == Claim("eq:a", "b", None, readings, "f", order=1)
    of_the_paper = 'printed = ["g", "1. h"]\nsection = "2"\nplace = "Equation 3"\n'
    claim = read(tmp_path, RECORD + of_the_paper + 'severity = "loose"\ntheorems = ["F.v:g"]\n')
    assert claim.printed == "g\n1. h"
    assert (claim.section, claim.place) == ("2", "Equation 3")
    assert (claim.severity, claim.theorems) == (Severity.LOOSE, ("F.v:g",))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('control = "f"', "", "control is missing: every record has id, title"),
        ('control = "f"', 'control = " "', "control is ' ', but must be a text"),
        ('control = "f"', 'control = "f', "the record is no TOML"),
        ('control = "f"', 'control = "f"\ncontrols = 1', "no key controls: did you mean control?"),
        ('control = "f"', 'control = "f"\nprinted = "g"', "section is missing"),
        (
            'control = "f"',
            'control = "f"\nseverity = "bad"',
            "severity is 'bad', but must be one of false",
        ),
        (
            'control = "f"',
            'control = "f"\ntheorems = ["g"]',
            "a theorem is 'g', but must be File.v:name",
        ),
        ('control = "f"', 'control = "f"\ntheorems = "g"', "theorems is 'g', but must be an array"),
        ('"false", "c"', '"no", "c"', "the outcome one of true, false, ill-defined, vacuous"),
        ('[["false", "c"]', '["c"', "a reading is 'c', but must be [outcome"),
        ("order = 1", 'order = "1"', "order is '1', but must be a number"),
        ("eq:a", "eq:b", "id is 'eq:b', but must be that of eq_b.md"),
    ],
)
def test_a_broken_record_names_file_key_and_rule(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in RECORD
    with pytest.raises(InputError, match=re.escape(words)) as error:
        read(tmp_path, RECORD.replace(old, new))
    assert "eq_a.md: " in str(error.value)


def test_a_note_without_a_record_is_refused(tmp_path: Path) -> None:
    note = tmp_path / "eq_a.md"
    note.write_text("# eq:a\n")
    with pytest.raises(InputError, match="a note begins with a ```toml block"):
        read_claim(note)


@needs_checkout
def test_the_head_of_every_note_follows_from_its_record() -> None:
    for claim in CLAIMS:
        note = (NOTES / claim.note).read_text()
        assert note == with_head(note, claim), "run `python -m verify.lib.notes`"


@needs_checkout
def test_theorems_of_the_ledger_are_in_the_files_they_name() -> None:
    for claim in CLAIMS:
        for file, names in claim.proofs.items():
            words = (NOTES / file).read_text().split()
            assert [name for name in names if not {name, f"{name}:"} & set(words)] == []


@needs_checkout
def test_the_table_of_the_notes_is_the_ledger() -> None:
    text = (NOTES / "README.md").read_text()
    table = "".join(line for line in text.splitlines(keepends=True) if line.startswith("| "))
    assert table == markdown(scopes_of(table)), "run `python -m verify.lib.notes`"
    controls = {claim.control for claim in CLAIMS if claim.control}
    assert controls.isdisjoint(scopes_of(table).values()), "a row's cells are shifted"
