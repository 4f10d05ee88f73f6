"""Notes hold together: they have their parts, lead where they say, and state what was looked at."""

import posixpath
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from verify.lib import digests
from verify.lib.digests import coq_digests, label_digest, paper_digests, stored, theorem_digest
from verify.lib.ledger import CLAIMS
from verify.lib.record import Severity, Tier

LABELS = {grade.label for grade in Severity}
ROOT = Path(__file__).parents[2]
NOTES = ROOT / "proofs_notes"
VERIFICATION = ROOT / "docs" / "verification.md"
FRONT = [ROOT / f"{name}.md" for name in ("README", "PROMISE", "CONTRIBUTING", "CHANGELOG")]
PAGES = (*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "records").glob("*.md"))
TEXTS = (*FRONT, *sorted(PAGES), *sorted(NOTES.rglob("*.md")))
# Made with the site.
MADE = ("docs/paper/", "docs/api/", "docs/command_line.md")


def broken_links(file: Path, text: str) -> list[str]:
    """The paths that links of a Markdown text lead to, and that are no files."""
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "code", text, flags=re.DOTALL | re.MULTILINE)
    here = file.relative_to(ROOT).parent
    links = re.findall(r"\]\((?!\w+:)([^)\s#]+)", prose)
    paths = sorted({posixpath.normpath(here / link) for link in links})
    return [path for path in paths if not (path.startswith(MADE) or (ROOT / path).is_file())]


def missing_paths(text: str) -> list[str]:
    """The paths in backticks that are not in the repository, with the name after a colon."""
    spans = re.findall(r"`((?:reference|fast|verify|tests|proofs_notes)/[\w./]+(?::\w+)?)`", text)
    named = [span for span in spans if not re.search("NAME|LABEL|SECTION", span)]
    return [span for span in named if not _is_there(*span.split(":"))]


def _is_there(path: str, name: str = "") -> bool:
    if name:
        return (ROOT / path).is_file() and f"def {name}(" in (ROOT / path).read_text()
    return (ROOT / path).exists()


def test_links_lead_to_files() -> None:
    assert {
        file.name: broken for file in TEXTS if (broken := broken_links(file, file.read_text()))
    } == {}


def test_paths_that_are_named_exist() -> None:
    assert {
        file.name: missing for file in TEXTS if (missing := missing_paths(file.read_text()))
    } == {}


def test_every_note_says_what_holds_and_what_is_not_checked() -> None:
    checked = {"What holds", "Proof", "What is checked", "What is not checked"}
    empirical = {"What would settle it", "Status"}
    for claim in CLAIMS:
        headings = set(re.findall(r"^## (.*)$", (NOTES / claim.note).read_text(), re.MULTILINE))
        assert (checked if claim.is_tested else empirical) <= headings, claim.id


def test_the_claims_are_counted_by_verdict() -> None:
    text = VERIFICATION.read_text()
    count = Counter(claim.verdict for claim in CLAIMS)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()]
    stated = {row[0]: int(row[1].split(",")[0]) for row in rows if row[0] in count}
    assert stated == count
    assert f"The ledger has {len(CLAIMS)} claims" in text


def test_what_does_not_hold_as_printed_is_counted_by_severity() -> None:
    rows = [line.strip("| ").split(" | ") for line in VERIFICATION.read_text().splitlines()]
    stated = {row[0]: (int(row[1]), row[2]) for row in rows if row[0] in LABELS and len(row) == 3}
    count = Counter(claim.severity for claim in CLAIMS)
    assert stated == {grade.label: (count[grade], grade.value) for grade in Severity}


def test_claims_are_counted_by_what_they_rest_on() -> None:
    labels = {tier.label for tier in Tier}
    rows = [line.strip("| ").split(" | ") for line in VERIFICATION.read_text().splitlines()]
    stated = {row[0]: (int(row[1]), row[2]) for row in rows if row[0] in labels}
    count = Counter(claim.tier for claim in CLAIMS)
    assert stated == {tier.label: (count[tier], tier.value) for tier in Tier}


def ungraded(errata: str) -> set[str]:
    """The claims that no row of the errata with a link to their note grades as the ledger does."""
    rows = [line for line in errata.splitlines() if re.match(r"\| [A-Z] \|", line)]
    return {
        claim.id
        for claim in CLAIMS
        if claim.severity
        and not any(row[2] == claim.severity.name[0] and f"]({claim.note})" in row for row in rows)
    }


def test_the_errata_grade_what_does_not_hold_as_the_ledger_does() -> None:
    text = (NOTES / "errata.md").read_text()
    assert ungraded(text) == set()
    assert set(re.findall(r"^\| ([A-Z]) \|", text, re.MULTILINE)) == {g.name[0] for g in Severity}
    legend = [f"- **{g.name[0]}**, {g.label}: {g.value}." for g in Severity]
    assert [line for line in text.splitlines() if line.startswith("- **")] == legend
    count = Counter(claim.severity for claim in CLAIMS)
    false, vacuous, loose, misprints = (count[grade] for grade in Severity)
    failing = sum(count[grade] for grade in Severity)
    of = sum(claim.printed is not None for claim in CLAIMS)
    sentence = (
        f"Of the {of} claims of the paper in the ledger, {failing} do not hold as printed: {false} "
        f"are false, {vacuous} vacuous, {loose} loose and {misprints} misprints."
    )
    assert sentence in " ".join(text.split())


def test_control_a_row_with_another_grade_is_found() -> None:
    text = (NOTES / "errata.md").read_text()
    assert ungraded(text.replace("| M | col:cb |", "| F | col:cb |")) == {"col:cb"}


def test_claims_are_given_the_verdicts_of_the_ledger() -> None:
    text = VERIFICATION.read_text()
    rows = re.findall(r"^\| \[([^]]+)\]\(../proofs_notes/[^|]* \| ([^|]*) \|", text, re.MULTILINE)
    assert len(rows) == 10
    stated = dict(rows)
    assert stated == {claim.id: claim.verdict for claim in CLAIMS if claim.id in stated}


def test_control_what_is_not_there_is_found() -> None:
    text = "[a](coq/none.v), [b](errata.md#none), [c](https://example.org/none), [d](coq)"
    assert broken_links(NOTES / "README.md", text) == [
        "proofs_notes/coq",
        "proofs_notes/coq/none.v",
    ]
    text = "`tests/none.py`, `reference/dag.py`, `reference/dag.py:none`"
    assert missing_paths(text) == ["tests/none.py", "reference/dag.py:none"]


CHANGED = "look at what changed, then run `python -m verify.lib.digests`"


def test_theorems_state_what_they_did() -> None:
    assert coq_digests() == stored()["coq"], CHANGED


def test_the_paper_states_what_it_did() -> None:
    if not any(digests.PAPER.glob("*.tex")):
        pytest.skip("the paper's LaTeX lies outside of the repository: PDAI_PAPER names its folder")
    assert paper_digests() == stored()["paper"], CHANGED


def forget() -> None:
    """Forget what was read of the files."""
    digests.definitions.cache_clear()
    digests.read_proofs.cache_clear()


@pytest.mark.catches(
    "digests of theorems leave out the definitions",
    "verify/lib/digests.py",
    "texts.extend(t for t in dict.fromkeys(named) if t not in texts)",
    "named.clear()",
)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m < low h)) <= a.", "m < low h)) <= a + a."),
        ("chance law (rcons h i) t else 1", "chance law (rcons h i) t else 0"),
        ("law_ge0 : forall h i, 0 <= law h i", "law_ge0 : forall h i, 0 < law h i"),
    ],
)
def test_control_another_statement_definition_or_hypothesis_has_another_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    shutil.copytree(digests.NOTES / "coq", tmp_path / "coq")
    changed = tmp_path / "coq" / "Betting.v"
    assert old in changed.read_text()
    before = theorem_digest("coq/Betting.v", "lower_bound_covers")
    changed.write_text(changed.read_text().replace(old, new))
    monkeypatch.setattr(digests, "NOTES", tmp_path)
    forget()
    try:
        assert theorem_digest("coq/Betting.v", "lower_bound_covers") != before
    finally:
        forget()


def has_reals() -> bool:
    """True where Coq and MathComp-analysis are installed."""
    if shutil.which("coqc") is None:
        return False
    where = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=True)
    return (Path(where.stdout.strip()) / "user-contrib/mathcomp/analysis").is_dir()


@pytest.mark.long
@pytest.mark.skipif(not has_reals(), reason="MathComp-analysis is not installed")
@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("ResidualBound.v", "tv p q <= tanh (D / 4%:R)", "tv p q <= tanh (D / 5%:R)", "Error:"),
        ("assumed", "boolp.propositional_ext", "boolp.another_ext", "> boolp.another_ext"),
    ],
)
def test_a_bound_that_is_too_small_and_an_axiom_that_is_not_listed_are_refused(
    tmp_path: Path, file: str, old: str, new: str, words: str
) -> None:
    for folder in ("coq", "coq_reals"):
        shutil.copytree(NOTES / folder, tmp_path / folder)
    reals = tmp_path / "coq_reals"
    for proof in reals.glob("*.v"):
        if proof.stem not in ("Logs", "ResidualBound"):
            proof.unlink()
    listed = (reals / "_CoqProject").read_text().splitlines()
    kept = [line for line in listed if not line.endswith(".v") or (reals / line).exists()]
    (reals / "_CoqProject").write_text("\n".join(kept) + "\n")
    text = (reals / file).read_text()
    assert text.count(old) == 1
    (reals / file).write_text(text.replace(old, new))
    command = [str(tmp_path / "coq" / "build"), "coq_reals"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode != 0
    assert words in built.stdout + built.stderr


def test_a_label_stands_for_the_environment_around_it() -> None:
    latex = "\\begin{a}\\begin{b}\\label{c} d\\end{b}\\end{a} e"
    assert label_digest("c", latex) == digests.digest("\\begin{b}\\label{c} d")
    assert label_digest("c", latex.replace(" d", "   d")) == label_digest("c", latex)
    assert label_digest("c", latex.replace("d", "f")) != label_digest("c", latex)
    assert label_digest("none", latex) is None
