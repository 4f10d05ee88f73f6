"""The site: what is made of the ledger and of the command line, and links that are turned."""

import re
from collections import Counter
from pathlib import Path

import pytest

from docs.hooks import api, command_line, links, paper, pictures
from docs.hooks.doctests import fenced
from docs.hooks.site import network_addresses
from docs.hooks.sources import page_name, source_page
from pdai.parsing import COMMANDS
from verify.lib.ledger import CLAIMS, files_of_tests

ROOT = Path(__file__).parents[2]


def test_every_claim_of_the_paper_has_a_section_and_every_section_a_claim() -> None:
    sections = [section["number"] for section in paper.sections()]
    of_paper = [claim.section for claim in CLAIMS if claim.printed is not None]
    assert list(dict.fromkeys(of_paper)) == sections


def test_the_places_are_in_the_order_of_the_paper() -> None:
    for kind in ("Definition", "Proposition", "Corollary", "Equation", "Figure", "Table"):
        main = [s for s in paper.sections() if s["number"][:1] in "2345"]
        places = [
            tuple(map(int, number.split(".")))
            for section in main
            for claim in section["claims"]
            for number in re.findall(rf"^{kind} ([\d.]+)", claim.place)
        ]
        assert places == sorted(places), kind


@pytest.mark.parametrize("name", paper.names())
def test_the_paper_s_pages_lead_to_files(name: str) -> None:
    text = paper.pages()[name]
    made = {f"docs/paper/{other}" for other in paper.pages()}
    linked = links.targets(text, f"docs/paper/{name}")
    assert linked
    assert [path for path in sorted(linked - made) if not (ROOT / path).exists()] == []
    for claim in CLAIMS:
        if f"{{ #{paper.anchor(claim.id)} }}" in text:
            assert f"({'../../proofs_notes/'}{claim.note})" in text
            for file in files_of_tests(claim):
                assert f"(../../verify/{file})" in text


def test_the_anchors_of_claims_differ() -> None:
    assert max(Counter(paper.anchor(claim.id) for claim in CLAIMS).values()) == 1


def test_most_tested_claims_name_our_code() -> None:
    tested = [claim for claim in CLAIMS if claim.is_tested]
    without = [claim.id for claim in tested if not paper.code_of(claim)]
    assert len(without) < len(tested) / 5


def test_the_command_line_page_has_every_command() -> None:
    page = command_line.command_line_page()
    for name in COMMANDS:
        assert f"## pdai {name}" in page
        assert f"usage: pdai {name}" in page


def test_the_api_has_every_room() -> None:
    pages = api.pages()
    assert {"pdai.md", "reference.md", "fast.balance.md", "fast.dynamics.md"} <= pages.keys()
    assert "::: reference.balance\n" in pages["reference.md"]


def test_pictures_are_drawn() -> None:
    drawn = pictures.pictures()
    names = {"graph", "lift", "policy", "hole", "ppo", "prefix", "ways"}
    assert set(drawn) == {f"{name}.svg" for name in names}
    assert all(text.startswith("<svg") for text in drawn.values())
    # The lift has two states above c.
    assert "s→a→c" in drawn["lift.svg"]
    assert "s→a→c" not in drawn["graph.svg"]


def test_links_are_turned_to_pages() -> None:
    pages = {"verify/test_a.py": "source/verify/test_a.py.md", "docs/certify.md": "certify.md"}
    text = "[a](../verify/test_a.py), `[b](../verify/test_a.py)`, [c](certify.md#how), [d](#e)"
    turned = links.rewritten(text, "docs/index.md", "index.md", pages.get)
    assert turned == (
        "[a](source/verify/test_a.py.md), `[b](../verify/test_a.py)`, [c](certify.md#how), [d](#e)"
    )
    deeper = links.rewritten("[a](b.md)", "proofs_notes/c.md", "proofs_notes/c.md", pages.get)
    assert deeper == "[a](b.md)"
    linked = links.targets("[a](../x.py) [b](https://a.org)\n```\n[c](d.py)\n```", "docs/a.md")
    assert linked == {"x.py"}


def test_doctests_are_shown_as_code() -> None:
    text = "What.\n\n>>> f()[0]\n[1]\n\nMore.\n"
    assert fenced(text) == "What.\n\n```pycon\n>>> f()[0]\n[1]\n```\n\nMore.\n"
    assert fenced("No `>>>` here.") == "No `>>>` here."


def test_a_source_s_page_shows_it() -> None:
    assert page_name("verify/test_trees.py") == "source/verify/test_trees.py.md"
    assert (ROOT / "verify/test_trees.py").read_text() in source_page(ROOT, "verify/test_trees.py")
    assert "[renyi.py](renyi.py)" in source_page(ROOT, "examples")
    assert "bytes, in the repository" in source_page(ROOT, "proofs_notes/six6.png")


def test_control_what_a_page_loads_from_the_network_is_seen() -> None:
    assert network_addresses('<script src="assets/a.js"></script><a href="https://a.org">') == []
    loaded = '<link rel="stylesheet" href="https://a.org/b.css"><script src="//a.org/c.js">'
    assert network_addresses(loaded) == ["https://a.org/b.css", "//a.org/c.js"]
