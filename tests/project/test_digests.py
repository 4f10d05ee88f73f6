"""Statements in Coq and in the paper are those that were last looked at."""

import shutil
from pathlib import Path

import pytest

from verify.lib import digests
from verify.lib.digests import coq_digests, label_digest, paper_digests, stored, theorem_digest

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


def test_a_label_stands_for_the_environment_around_it() -> None:
    latex = "\\begin{a}\\begin{b}\\label{c} d\\end{b}\\end{a} e"
    assert label_digest("c", latex) == digests.digest("\\begin{b}\\label{c} d")
    assert label_digest("c", latex.replace(" d", "   d")) == label_digest("c", latex)
    assert label_digest("c", latex.replace("d", "f")) != label_digest("c", latex)
    assert label_digest("none", latex) is None
