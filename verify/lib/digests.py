"""Digests of what is stated in Coq and in the paper, so that a change of a statement is seen.

`python -m verify.lib.digests` writes them anew, after one has looked at what changed. A theorem's
digest is over its statement, the variables and hypotheses of its sections, and every definition
that these name, directly or not; one of the paper is over the environment that holds the label.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reference.contract.files import read_file, replace_file
from verify.lib.ledger import CLAIMS, NOTES

DIGESTS = NOTES / "digests.toml"
# The paper's LaTeX is not part of the repository.
PAPER = Path(os.environ.get("PDAI_PAPER", NOTES.parents[1] / "shared" / "paper"))
STATED = ("Theorem", "Lemma", "Corollary")
LIBRARIES = {"Pdai": "coq", "PdaiReals": "coq_reals", "Cert": "checker"}
DEFINED = ("Definition", "Fixpoint", "Record", "Inductive")
ASSUMED = ("Variable", "Variables", "Hypothesis", "Hypotheses", "Implicit", "Let")


class Stated(NamedTuple):
    """A definition or theorem, with what its sections assume."""

    kind: str
    name: str
    text: str


def digest(text: str) -> str:
    """Sixteen hexadecimal digits of a text, whose runs of white space count as one space."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def stated_in(source: str) -> Iterator[Stated]:
    """The definitions and theorems of a Coq file, in order."""
    source = re.sub(r"\(\*.*?\*\)", " ", source, flags=re.DOTALL)
    sections: list[list[str]] = []
    for sentence in re.split(r"\.(?=\s)", source):
        words = sentence.split()
        match words:
            case ["Section", _]:
                sections.append([])
            case ["End", _] if sections:
                sections.pop()
            case [kind, *_] if kind in ASSUMED and sections:
                sections[-1].append(sentence)
            case [kind, name, *_] if kind in (*STATED, *DEFINED):
                assumed = [line for section in sections for line in section]
                yield Stated(kind, name.rstrip(":"), "\n".join([*assumed, sentence]))


@cache
def read_proofs(file: str) -> tuple[tuple[Stated, ...], frozenset[str]]:
    """The statements of a file of `proofs_notes`, and all files that it imports."""
    source = read_file(NOTES / file, follow=True).decode()
    imported = {file}
    ours = "|".join(LIBRARIES)
    for library, names in re.findall(rf"From ({ours}) Require (?:Import )?([\w\s]+)\.\s", source):
        for name in names.split():
            imported |= read_proofs(f"{LIBRARIES[library]}/{name}.v")[1]
    return tuple(stated_in(source)), frozenset(imported)


@cache
def definitions(file: str) -> dict[str, list[str]]:
    """By name, the texts that define it for a file; a record defines its fields too."""
    texts: dict[str, list[str]] = {}
    for imported in sorted(read_proofs(file)[1]):
        for kind, name, text in read_proofs(imported)[0]:
            if kind in DEFINED:
                fields = re.findall(r"(\w+) :", text) if kind == "Record" else []
                for word in {name, *fields}:
                    texts.setdefault(word, []).append(text)
    return texts


def theorem_digest(file: str, name: str) -> str:
    """The digest of a theorem in a file of `proofs_notes`."""
    stated, _ = read_proofs(file)
    texts = [text for kind, theorem, text in stated if kind in STATED and theorem == name]
    for text in texts:
        named = [t for word in re.findall(r"\w+", text) for t in definitions(file).get(word, [])]
        texts.extend(t for t in dict.fromkeys(named) if t not in texts)
    return digest("\n".join(texts))


def label_digest(label: str, latex: str) -> str | None:
    """The digest of the environment that holds a label; None without such a label."""
    at = latex.find(f"\\label{{{label}}}")
    begun = list(re.finditer(r"\\begin{([^}]+)}", latex[: max(at, 0)]))
    for begin in reversed(begun):
        if begin[1] == "document":
            return None
        end = latex.find(f"\\end{{{begin[1]}}}", begin.end())
        if end > at:
            return digest(latex[begin.start() : end])
    return None


def coq_digests() -> dict[str, str]:
    """By name, of the theorems in the ledger."""
    return {
        f"{file}:{name}": theorem_digest(file, name)
        for claim in CLAIMS
        for file, names in claim.proofs.items()
        for name in names
    }


def paper_digests() -> dict[str, str]:
    """By label, of the claims whose names are labels, and of the whole text; it must be there."""
    files = sorted(PAPER.glob("*.tex"))
    if not files:
        raise FileNotFoundError(f"no LaTeX in {PAPER}: set PDAI_PAPER to the folder that has it")
    latex = "\n".join(read_file(path, follow=True).decode() for path in files)
    labels = {claim.id: label_digest(claim.id, latex) for claim in CLAIMS if claim.printed}
    return {label: made for label, made in labels.items() if made} | {"whole": digest(latex)}


def stored() -> dict[str, dict[str, str]]:
    """The digests that were written: `coq` and `paper`."""
    return tomllib.loads(read_file(DIGESTS).decode())


def _write() -> None:
    tables = {"coq": coq_digests(), "paper": paper_digests()}
    lines = ["# Written by `python -m verify.lib.digests`: look at what changed before."]
    for table, made in tables.items():
        lines += ["", f"[{table}]"]
        lines += [f"{json.dumps(name)} = {json.dumps(made[name])}" for name in sorted(made)]
    replace_file(DIGESTS, ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    _write()
