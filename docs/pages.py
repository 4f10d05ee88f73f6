"""Pages that are made: the paper by sections, the command line, sources that a link leads to."""

import json
import os
import posixpath
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from fractions import Fraction
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

import reference as r
from examples.losses.vectors import FOLDER, policy_of
from examples.necklaces import Necklaces
from pdai.parsing import COMMANDS, parse
from reference.looking.inspection import inspect_problem
from reference.looking.show import svg
from verify.lib.ledger import CLAIMS, NOTES, files_of_tests, result_of
from verify.lib.record import Claim, Severity

ROOT = Path(__file__).parents[1]
SECTIONS = tomllib.loads((ROOT / "docs" / "paper.toml").read_text())["section"]
# What a command needs before it shows its options.
CHOSEN = {"train": ["six6"], "distribute": ["sets"], "stream": ["preference"]}
# The counterexamples that are drawn, by the names of their pictures.
WRONG = {
    "hole": "replay-local-search-a-teacher-a-hole-in-the-support",
    "ppo": "plain-ppo-or-a2c-with-an-entropy-bonus-a-tree-of-three-equal-rewards",
    "prefix": "raptb-chain-of-stops",
    "ways": "soft-rl-without-correction-pcl-sql-several-ways",
}
# Larger files, such as results, are told by their size.
MOST_SHOWN = 200_000
LANGUAGES = {".py": "python", ".v": "coq", ".ml": "ocaml", ".toml": "toml", ".json": "json"}


def setup(app: Sphinx) -> None:
    """Write what is made before Sphinx looks for its sources; add the pages of files at the end."""
    for name, text in {**paper(), **pictures(), "command_line.md": command_line()}.items():
        path = ROOT / "docs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("doctree-read", link_sources)
    app.connect("html-collect-pages", sources)


def paper() -> dict[str, str]:
    """A page for each section of the paper and for our results, and the index of all claims."""
    printed = [claim for claim in CLAIMS if claim.printed]
    count = Counter(claim.severity for claim in printed)
    grades = ", ".join(f"{grade.label} {count[grade]}" for grade in Severity)
    index = (
        f"# The paper\n\nOf the paper's {len(printed)} claims {count[None]} hold as printed, are "
        f"open or are settled by training only. The others, by what fails: {grades}. The "
        "[errata](../../proofs_notes/errata.md) say what, and what holds instead.\n\n"
        "| place | claim | about | verdict |\n| --- | --- | --- | --- |\n"
    )
    pages = {}
    for section in [*SECTIONS, {"number": None, "title": "Results of ours"}]:
        number, title = section["number"], section["title"]
        claims = [claim for claim in CLAIMS if claim.section == number]
        name = f"section-{number.lower().replace('.', '-')}.md" if number else "ours.md"
        head = title if number in (None, title) else f"{number} {title}"
        pages[f"paper/{name}"] = f"# {head}\n\n" + "".join(map(entry, claims))
        for claim in claims:
            link = f"[{claim.id}]({name}#{anchor(claim)})"
            index += f"| {claim.place or 'ours'} | {link} | {claim.title} | {claim.verdict} |\n"
    return {"paper/index.md": index, **pages}


def anchor(claim: Claim) -> str:
    """The anchor of a claim on its page."""
    return re.sub("[:.]", "-", claim.id).lower()


def entry(claim: Claim) -> str:
    """One claim: what is printed, how it is read, its verdict, code, proof and tests."""
    text = f"({anchor(claim)})=\n## {claim.id}: {claim.title}\n\n"
    text += f"{claim.place + ': ' if claim.place else ''}**{claim.verdict}**"
    text += f" ({claim.severity.label}).\n\n" if claim.severity else ".\n\n"
    text += "".join(f"> {plain(line)}\n>\n" for line in (claim.printed or "").splitlines())
    note = (NOTES / claim.note).read_text()
    code = re.findall(r"(?<![\w/])((?:reference|fast|verify/lib)/[\w/]+\.py)\b", note)
    proofs = {f"proofs_notes/{claim.note}": "note"} | {
        f"proofs_notes/{file}": ", ".join(names) for file, names in claim.proofs.items()
    }
    rows = {
        "readings": "; ".join(f"*{one.outcome}*: {plain(one.text)}" for one in claim.readings),
        "outcome": plain(result_of(claim) or claim.open or ""),
        "code": links({path: path for path in dict.fromkeys(code)}),
        "proof": links(proofs),
        "tests": links({f"verify/{file}": Path(file).stem for file in files_of_tests(claim)}),
        "control": plain(claim.control),
    }
    return text + "\n" + "".join(f"- {name}: {row}\n" for name, row in rows.items() if row) + "\n"


def links(paths: dict[str, str]) -> str:
    """Links from a page of the paper to files of the repository."""
    return ", ".join(f"[`{name}`](../../{path})" for path, name in paths.items())


def plain(text: str) -> str:
    """A text in which nothing is Markdown."""
    return re.sub(r"[\\`*_{}\[\]<>&#|~^$]", lambda match: f"&#{ord(match[0])};", text)


def command_line() -> str:
    """The help of every command, as it is printed, 100 columns wide."""
    os.environ["COLUMNS"] = "100"
    page = "# Command line\n\nWith `--help-all`, `train` and `certify` show all options.\n\n"
    for words in [[], *([name, *CHOSEN.get(name, [])] for name in COMMANDS)]:
        with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
            parse([*words, "--help"])
        page += f"## {' '.join(['pdai', *words])}\n\n```text\n{printed.getvalue().strip()}\n```\n\n"
    return page


def pictures() -> dict[str, str]:
    """Necklaces; a small graph, its lift and a policy on it; counterexamples of losses: as SVG."""
    children = {"s": ["a", "b"], "a": ["c"], "b": ["c"], "c": ["x", "y"], "x": [], "y": []}
    dag = r.pointed_dag(children)
    lifted = r.lift(dag, r.History())
    p_b = r.BackwardPolicy.uniform(lifted.dag, r.RATIONAL)
    necklaces = inspect_problem(Necklaces())
    drawn = {"graph": dag, "lift": lifted, "necklaces": necklaces}
    drawn["policy"], _ = r.forward_from_backward(p_b, {"x": Fraction(1), "y": Fraction(2)})
    for name, file in WRONG.items():
        drawn[name] = policy_of(json.loads((FOLDER / f"{file}.json").read_text()))
    return {f"pictures/{name}.svg": svg(what) or "" for name, what in drawn.items()}


def escape_bars(app: Sphinx, kind: str, name: str, thing: Any, how: Any, lines: list[str]) -> None:
    """Let `|x|` in a docstring be text: reStructuredText takes it for a substitution."""
    lines[:] = [re.sub(r"(`[^`]*`)|\|", lambda m: m[1] or r"\|", line) for line in lines]


def link_sources(app: Sphinx, doctree: nodes.document) -> None:
    """Turn links to files, which MyST takes for downloads, to pages that show them."""
    here = PurePosixPath(app.env.docname)
    for node in list(doctree.findall(download_reference)):
        path = posixpath.normpath(here.parent / node["reftarget"])
        app.env.metadata[app.env.docname].setdefault("sources", []).append(path)
        target = f"{'../' * (len(here.parts) - 1)}source/{path}.html"
        node.replace_self(nodes.reference("", "", *node.children, refuri=target))


def sources(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The pages of the files that links lead to; of large ones, such as results, the size."""
    paths = {path for page in app.env.metadata.values() for path in page.get("sources", [])}
    for path in sorted(paths):
        size = (ROOT / path).stat().st_size
        if size > MOST_SHOWN or path.endswith((".png", ".gz", ".npz")):
            body = f"<p>A file of {size:,} bytes, in the repository.</p>"
        else:
            text, kind = (ROOT / path).read_text(), LANGUAGES.get(Path(path).suffix, "text")
            body = PygmentsBridge("html").highlight_block(text, kind)
        yield f"source/{path}", {"title": path, "body": f"<h1>{path}</h1>{body}"}, "page.html"
