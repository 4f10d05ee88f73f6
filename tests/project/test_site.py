"""The site: what is made of the ledger and of the command line."""

import posixpath
import re
from collections import Counter
from functools import cache
from pathlib import Path

from docs import pages
from pdai.parsing import COMMANDS
from verify.lib.ledger import CLAIMS, files_of_tests

ROOT = Path(__file__).parents[2]
paper = cache(pages.paper)


def test_every_claim_of_the_paper_has_a_section_and_every_section_a_claim() -> None:
    sections = [section["number"] for section in pages.SECTIONS]
    of_paper = [claim.section for claim in CLAIMS if claim.printed is not None]
    assert list(dict.fromkeys(of_paper)) == sections


def test_the_places_are_in_the_order_of_the_paper() -> None:
    main = [claim for claim in CLAIMS if (claim.section or "").startswith(tuple("2345"))]
    for kind in ("Definition", "Proposition", "Corollary", "Equation", "Figure", "Table"):
        places = [
            tuple(map(int, number.split(".")))
            for claim in main
            for number in re.findall(rf"^{kind} ([\d.]+)", claim.place)
        ]
        assert places == sorted(places), kind


def test_the_paper_s_pages_lead_to_files() -> None:
    for name, text in paper().items():
        linked = re.findall(r"\]\(([^)#]+)", text)
        paths = {posixpath.normpath(posixpath.join("docs/paper", link)) for link in linked}
        pages_of_paper = {f"docs/{other}" for other in paper()}
        assert [path for path in paths - pages_of_paper if not (ROOT / path).is_file()] == [], name
    for claim in CLAIMS:
        entry = pages.entry(claim)
        assert f"(../../proofs_notes/{claim.note})" in entry
        for file in files_of_tests(claim):
            assert f"(../../verify/{file})" in entry


def test_the_index_has_every_claim_once_with_an_anchor() -> None:
    index = paper()["paper/index.md"]
    anchors = re.findall(r"\]\((\S+)\.md#(\S+)\)", index)
    assert max(Counter(anchors).values()) == 1
    assert len(anchors) == len(CLAIMS)
    assert all(f"({anchor})=\n" in paper()[f"paper/{name}.md"] for name, anchor in anchors)


def test_the_command_line_page_has_every_command() -> None:
    page = pages.command_line()
    for name in COMMANDS:
        assert f"## pdai {name}" in page
        assert f"usage: pdai {name}" in page


def test_pictures_are_drawn() -> None:
    drawn = pages.pictures()
    assert all(text.startswith("<svg") for text in drawn.values())
    assert all((ROOT / "docs" / path).read_text() == text for path, text in drawn.items())
    # The lift has two states above c.
    assert "s→a→c" in drawn["pictures/lift.svg"]
    assert "s→a→c" not in drawn["pictures/graph.svg"]
