"""Theorems: the table of a certificate as a file for Coq, whose kernel is to check what it states.

The file is text of which nothing but names, numbers and the claim varies. A reader therefore writes
it again from what was read, and refuses it if a character differs: no file runs other commands.
"""

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reference.certificates.check import Walk
from reference.certificates.format import Inner, Row, Terminal, open_certificate
from reference.contract.errors import TooLargeError
from reference.contract.files import read_file, replace_file

# The modules of Coq that the file needs, in the order in which they are compiled.
MODULES = ("Spec", "Trie", "Check", "Numbers", "Sound", "Stated")
# Rows in one definition: a longer term is slower to read.
_BLOCK = 64
# A bound has so many decimals, and masses are multiples of 1 / SCALE.
_DECIMALS = 12
_SCALE = 2**60
# Bits of the scale, and bits times edges, up to which no mass is rounded, and TV is one fraction.
_MOST_BITS = 2_000
_MOST_WORK = 20_000_000
# Digits up to which a fraction is written into the words above a table.
_SHORT = 20
# Edges up to which the kernel takes minutes; its seconds and gigabytes for each further million.
MOST_EDGES = 1_000_000
_SECONDS, _GIGABYTES = 650, 15

_HEAD = """\
(* A theorem about one sampler, for Coq's kernel. It says, and it ends with the proof:
   {claim}
   from the target whose rewards stand in that table. To check it: pdai theorem FILE

   Node 0 is the initial state. Nodes are numbered as they come, and have a label:
     inner LABEL D (to V N;; ...)   from here to node V with the probability N / D
     terminal LABEL W               a terminal state of the reward W / {common}
   {closed}
   Of labels, and of the name of the problem, nothing is proved: what they mean is up to the reader.
   A label that comes twice is one state, reached in two ways that the sampler tells apart. *)
From Coq Require Import QArith.
From Cert Require Import Stated.
Open Scope Q_scope.
"""
_CLOSED = {
    False: "All numbers were given as fractions, and are as they were given.",
    True: "Some numbers were floats: each is the fraction that it stands for, but the largest\n"
    "   number of a row of floats, which is one minus the others, so that the row has the sum 1.",
}
_TAIL = """
(* What the words below mean: definitions of Spec.v and Stated.v, of which the latter also has the
   theorem [{by}]. Both stand with their proofs in proofs_notes/checker of pdai. To check this file
   by hand, compile there, with coqc -Q . Cert: {modules}; then this file.

{definitions}*)
Theorem total_variation :
  is_sampler table /\\ is_target table /\\ partition table == ratio {whole} {common} /\\
  exists p_T, law table p_T /\\ {statement}.
Proof. apply ({by} table {arguments}). vm_cast_no_check (eq_refl true). Qed.
Print Assumptions total_variation.
"""
LABEL = r'"((?:[^"]|"")+)"'
STEPS = r"\(((?:to \d+ \d+;; )*)done\)"
_ROW = re.compile(
    rf"\(\* \d+ \*\) (?:inner {LABEL} (\d+) {STEPS}"
    rf"|terminal {LABEL} (\d+));;"
)
_TABLE = re.compile(rf"Definition table := Table {LABEL} (\d+) \(")
_PROOF = re.compile(r"Proof\. apply \((exactly|between) table ([\d ]+)\)\.")


class Theorem(NamedTuple):
    """The content of a file: a table, and bounds of its total variation, which may be equal.

    Attributes:
        problem: the name of the problem.
        common: the denominator of the rewards.
        rows: the rows, in the order of the nodes.
        scale: masses are rounded outward to multiples of `1 / scale`.
        whole: the sum of the numerators of the rewards.
        low, high: the bounds.
        closed: True if some numbers were floats.
    """

    problem: str
    common: int
    rows: Sequence[Row]
    scale: int
    whole: int
    low: Fraction
    high: Fraction
    closed: bool

    @property
    def claim(self) -> str:
        """The bounds in words."""
        tv = "the sampler whose table follows has a total variation"
        if self.low == self.high:
            digits = len(str(self.low.denominator))
            about = f"the fraction of {digits} digits at the end, {float(self.low):.9g}..."
            return f"{tv} of exactly {self.low if digits <= _SHORT else about}"
        return f"{tv} between {decimal(self.low)} and {decimal(self.high)}"

    def text(self) -> str:
        """The file."""
        a, b = self.low.as_integer_ratio()
        by, numbers, statement = "exactly", [a, b], f"TV table p_T == {a} # {b}"
        if self.low < self.high:
            unit = 10**_DECIMALS
            by, numbers = "between", [int(self.low * unit), unit, int(self.high * unit), unit]
            statement = f"{decimal(self.low)} <= TV table p_T <= {decimal(self.high)}"
        head = _HEAD.format(claim=self.claim, common=self.common, closed=_CLOSED[self.closed])
        blocks, whole = in_blocks("rows", [_term(row) for row in self.rows])
        table = f"Table {quoted(self.problem)} {self.common} ({whole}no_more)"
        tail = {
            "by": by,
            "modules": " ".join(f"{module}.v" for module in MODULES),
            "definitions": _definitions(),
            "whole": self.whole,
            "common": self.common,
            "statement": statement,
            "arguments": " ".join(map(str, (len(self.rows), self.scale, self.whole, *numbers))),
        }
        return f"{head}{blocks}\nDefinition table := {table}.\n{_TAIL.format(**tail)}"


def decimal(bound: Fraction) -> str:
    """A bound in decimals, or as a fraction if it is no multiple of the last of them."""
    if (bound * 10**_DECIMALS).denominator > 1:
        return str(bound)
    whole, part = divmod(int(bound * 10**_DECIMALS), 10**_DECIMALS)
    return f"{whole}.{part:0{_DECIMALS}}"


def in_blocks(name: str, terms: Sequence[str]) -> tuple[str, str]:
    """Definitions that hold the lines of a list, and what they are put together by."""
    parts, starts = list[str](), range(0, len(terms), _BLOCK)
    for start in starts:
        parts.append(f"\nDefinition {name}_{start} rest :=\n")
        block = enumerate(terms[start : start + _BLOCK], start)
        parts += [*(f"(* {number} *) {term};;\n" for number, term in block), "rest.\n"]
    return "".join(parts), "".join(f"{name}_{start};; " for start in starts)


def quoted(label: str) -> str:
    """A label as a text of Coq."""
    return '"' + label.replace('"', '""') + '"'


def unquoted(text: str) -> str:
    """The label in a text of Coq, without the marks around it."""
    return text.replace('""', '"')


def _term(row: Row) -> str:
    """A row as a term of Coq."""
    if isinstance(row, Terminal):
        return f"terminal {quoted(row.label)} {row.reward}"
    return f"inner {quoted(row.label)} {row.denominator} ({steps_term(row.steps)})"


def steps_term(pairs: Iterable[tuple[int, int]]) -> str:
    """Pairs of numbers as a term of Coq."""
    return "".join(f"to {first} {second};; " for first, second in pairs) + "done"


def steps_in(text: str) -> tuple[tuple[int, int], ...]:
    """The pairs of a term of Coq."""
    numbers = [int(word) for word in re.findall(r"\d+", text)]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def library() -> Path:
    """The folder of the proofs, in a checkout or in an installed package."""
    root = Path(__file__).parents[2]
    places = root / "proofs_notes", root / "verify" / "notes"
    return next(place / "checker" for place in places if (place / "checker" / "Spec.v").exists())


@cache
def _definitions() -> str:
    """The definitions that a theorem uses, as they stand in the proofs."""
    spec, stated = (read_file(library() / f"{name}.v").decode() for name in ("Spec", "Stated"))
    ratio = spec[spec.index("Definition ratio") : spec.index("Definition holds")]
    meaning = spec[spec.index("Section Meaning") : spec.index("Record right")]
    says = stated[stated.index("Inductive steps") : stated.index("(* Quotients")]
    return f"{ratio}\n{meaning}{says}"


def write_theorem(path: Path | str, certificate: Path | str, *, closed: bool) -> Theorem:
    """Writes the theorem about the table of a certificate, and returns it.

    Args:
        path: the file, which replaces an old one.
        certificate: the certificate of a table.
        closed: whether some of its numbers were floats.

    Raises:
        TooLargeError: if the kernel would take hours.
        MalformedError: if the certificate is none of a table.
    """
    with open_certificate(certificate) as (header, lines):
        rows = [*lines]
    edges = sum(len(row.steps) for row in rows if isinstance(row, Inner))
    if edges > MOST_EDGES:
        minutes, gigabytes = (edges * x / 1e6 for x in (_SECONDS / 60, _GIGABYTES))
        raise TooLargeError(
            f"the theorem would have {len(rows):,} rows and {edges:,} edges, which would take Coq "
            f"some {minutes:,.0f} minutes and {gigabytes:,.0f} GB: at most {MOST_EDGES:,} edges "
            "are written; take a smaller instance, or --certificate, which pdai-check reads "
            "in seconds"
        )
    scale = _whole_scale(rows, min(_MOST_BITS, _MOST_WORK // max(edges, 1)))
    walk = Walk(len(rows), header.reward_sum, scale or _SCALE)
    for row in rows:
        walk.step(row)
    low, high = walk.total_variation()
    if low < high:
        unit = 10**_DECIMALS
        low, high = Fraction(math.floor(low * unit), unit), Fraction(math.ceil(high * unit), unit)
    sums = scale or _SCALE, header.reward_sum
    theorem = Theorem(header.problem, header.reward_denominator, rows, *sums, low, high, closed)
    replace_file(Path(path), theorem.text().encode("ascii"))
    return theorem


def _whole_scale(rows: Iterable[Row], most_bits: int) -> int | None:
    """The least scale of which all masses are multiples; None if it has too many bits."""
    scale, masses = 1, {0: Fraction(1)}
    for node, row in enumerate(rows):
        mass = masses.pop(node)
        if isinstance(row, Terminal):
            continue
        for child, numerator in row.steps:
            part = mass * Fraction(numerator, row.denominator)
            masses[child] = masses.get(child, Fraction(0)) + part
            scale = math.lcm(scale, part.denominator)
            if scale.bit_length() > most_bits:
                return None
    return scale


def read_theorem(text: str) -> Theorem | None:
    """The content of a text, some of which may not be as `Theorem` writes it; None for another."""
    rows: list[Row] = []
    for inner, denominator, steps, end, reward in _ROW.findall(text):
        if end:
            rows.append(Terminal(unquoted(end), int(reward)))
        else:
            rows.append(Inner(unquoted(inner), int(denominator), steps_in(steps)))
    table, proof = _TABLE.search(text), _PROOF.search(text)
    numbers = [int(word) for word in proof[2].split()] if proof else []
    if table is None or proof is None or len(numbers) not in (5, 7) or 0 in numbers[4::2]:
        return None
    low, high = Fraction(*numbers[3:5]), Fraction(*numbers[-2:])
    name, closed = unquoted(table[1]), _CLOSED[True] in text
    scale, whole = numbers[1:3]
    return Theorem(name, int(table[2]), rows, scale, whole, low, high, closed)
