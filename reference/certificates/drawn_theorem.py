"""Theorems about samples: a statistical certificate as a file for Coq, as `theorem` has tables."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reference.certificates import refuted, sampled
from reference.certificates.refuted import BareHeader, Value, open_bare
from reference.certificates.sampled import Sample, SamplesHeader, open_samples
from reference.certificates.theorem import (
    LABEL,
    STEPS,
    decimal,
    in_blocks,
    library,
    quoted,
    steps_in,
    steps_term,
    unquoted,
)
from reference.contract.errors import TooLargeError
from reference.contract.files import read_file, replace_file

# Bits of capital, beyond those of the level.
_BITS = 40
# Samples up to which the kernel takes an hour, and its seconds for each.
_MOST = 20_000
_SECONDS = 0.04

_HEAD = """\
(* A theorem about samples, for Coq's kernel. If those that follow are independent draws of one
   sampler, {given}
   then {claim},
   but for at most {level} of all such files. To check it: pdai theorem FILE

   {lines}
   That the draws are independent{more} cannot be seen from a file: it is what is assumed.
   Of labels, and of the name of the problem, nothing is proved: a reader knows what they mean. *)
From Cert Require Import Drawn.
"""
_TAIL = """
Definition problem : text := {problem}.
(* The numbers of the file, in this order: {names}. *)
Definition claim := {kind} {numbers}.

(* What the words below mean, as Residuals.v, Betting.v and Drawn.v have it, which stand with their
   proofs in proofs_notes of pdai: the second half of the theorem is about all files that anybody
   writes after looking at draws, and the first says that this is one of those that are accepted.

{definitions}*)
Theorem seldom_wrong :
  {accepted} = true /\\ {meaning}.
Proof. apply {by}. vm_cast_no_check (eq_refl true). Qed.
Print Assumptions seldom_wrong.
"""
_PATH = re.compile(rf"\(\* \d+ \*\) trajectory {LABEL} (\d+) (\d+) {STEPS} {STEPS};;")
_VALUE = re.compile(rf"\(\* \d+ \*\) value {LABEL} (\d+);;")
_DREW = re.compile(r"\(\* \d+ \*\) drew (\d+);;")
_CLAIM = re.compile(
    rf"Definition problem : text := {LABEL}\.\n"
    r"[^*]*\*[^*]*\*\)\nDefinition claim := \w+ ([\d ]+)\."
)


@cache
def _definitions(kind: str) -> str:
    """The definitions that a theorem of a kind uses, as they stand in the proofs."""
    proofs = library().parent / "coq"
    files = proofs / "Residuals.v", proofs / "Betting.v", library() / "Drawn.v"
    residuals, betting, drawn = (read_file(file).decode() for file in files)
    tv = residuals[residuals.index("Definition tv ") :].partition(".\n")[0]
    chances = betting[betting.index("(* The probability that s") : betting.index("Section Draws")]
    means = drawn[drawn.index(f"Definition {kind}") :].partition("<= a.\n")[0]
    return f"{tv}.\n\n{chances}{means}<= a.\n\n"


class Trajectories(NamedTuple):
    """The content of a file of trajectories."""

    header: SamplesHeader
    samples: Sequence[Sample]

    @property
    def claim(self) -> str:
        """The bounds in words."""
        low, high = (decimal(Fraction(x, self.header.tv_den)) for x in self.header[8:10])
        return f"TV of its trajectories to the target's is between {low} and {high}"

    def text(self) -> str:
        """The file."""
        h = self.header
        terms = [
            f"trajectory {quoted(one.label)} {one.reward[0]} {one.reward[1]} "
            f"({steps_term(one.forward)}) ({steps_term(one.backward)})"
            for one in self.samples
        ]
        blocks, whole = in_blocks("samples", terms)
        head = _HEAD.format(
            given=f"and the sum Z of R p_B is between {h.z_low}/{h.z_den} and "
            f"{h.z_high}/{h.z_den},",
            claim=self.claim,
            level=f"{h.level_num}/{h.level_den}",
            lines="trajectory LABEL W D (to N M;; ...) (to N M;; ...)   the reward W / D, and the\n"
            "     probabilities N / M of the steps, under the sampler and under p_B",
            more=", and where Z is,",
        )
        tail = _TAIL.format(
            problem=quoted(h.problem),
            names="bounds of Z, over; the scale\n   of the bets; the level; bounds of TV, over; "
            "samples, weights, and what bets won",
            kind="claimed",
            numbers=" ".join(map(str, [*h[3:6], h.scale, *h[6:11], h.samples, *h[11:]])),
            definitions=_definitions("trajectories_seldom_mislead"),
            accepted="Samples.check claim (samples_of drawn)",
            meaning="trajectories_seldom_mislead (level claim)",
            by="trajectories_bounded",
        )
        return f"{head}{blocks}\nDefinition drawn := {whole}no_trajectory.\n{tail}"


class Draws(NamedTuple):
    """The content of a file of bare samples."""

    header: BareHeader
    values: Sequence[Value]
    samples: Sequence[int]

    @property
    def claim(self) -> str:
        """The bound in words."""
        low = Fraction(self.header.tv_low, self.header.tv_den)
        return f"TV to the law is at least {decimal(low)}"

    def text(self) -> str:
        """The file."""
        h = self.header
        law, all_values = in_blocks(
            "law", [f"value {quoted(one.label)} {one.weight}" for one in self.values]
        )
        drawn, whole = in_blocks("samples", [f"drew {number}" for number in self.samples])
        head = _HEAD.format(
            given="and the law has the values and weights that follow,",
            claim=self.claim,
            level=f"{h.level_num}/{h.level_den}",
            lines="value LABEL W   a value of the law: its probability is W over the sum of all W\n"
            "     drew NUMBER     a sample, by the number of its value, from 0 on",
            more="",
        )
        tail = _TAIL.format(
            problem=quoted(h.problem),
            names="the scale of the bets; the\n   level; the bound of TV, over; samples, their "
            "trace, and what bets won",
            kind="refuted",
            numbers=" ".join(map(str, [*h[3:8], h.samples, *h[8:]])),
            definitions=_definitions("draws_seldom_mislead"),
            accepted="Bare.check claim (weights_of law) (numbers_of drawn)",
            meaning="draws_seldom_mislead (weights_of law) (odds claim)",
            by="draws_bounded",
        )
        lists = f"Definition law := {all_values}no_value.\nDefinition drawn := {whole}no_draw.\n"
        return f"{head}{law}{drawn}\n{lists}{tail}"


def write_drawn_theorem(path: Path, certificate: Path | str) -> Trajectories | Draws:
    """Writes the theorem about the samples of a statistical certificate, and returns it.

    Raises TooLargeError if the kernel would take hours.
    """
    content: Trajectories | Draws
    if read_file(Path(certificate)).startswith(b"pdai-bare"):
        with open_bare(certificate) as (bare, values, numbers):
            drawn, weights = [*numbers], [value.weight for value in values]
            coarse = refuted.with_claim(bare._replace(scale=_scale(bare)), weights, drawn)
            content = Draws(coarse, values, drawn)
    else:
        with open_samples(certificate) as (header, samples):
            paths = [*samples]
            rounded = sampled.with_claim(header._replace(scale=_scale(header)), paths)
            content = Trajectories(rounded, paths)
    if (count := len(content.samples)) > _MOST:
        raise TooLargeError(
            f"the theorem would have {count:,} samples, which would take Coq some "
            f"{count * _SECONDS / 60:,.0f} minutes: at most {_MOST:,} are written; draw fewer, or "
            "take --certificate, which pdai-check reads in seconds"
        )
    replace_file(path, content.text().encode("ascii"))
    return content


def _scale(header: SamplesHeader | BareHeader) -> int:
    """A coarser scale than that of the file: the kernel's time grows with its square."""
    bits = _BITS + (header.level_den // header.level_num).bit_length()
    return min(header.scale, 1 << bits)


def read_drawn_theorem(text: str) -> Trajectories | Draws | None:
    """The content of a text, some of which may not be as it is written; None for another."""
    if (claim := _CLAIM.search(text)) is None:
        return None
    name, numbers = unquoted(claim[1]), [int(word) for word in claim[2].split()]
    if len(numbers) == 13:
        samples = [
            Sample(unquoted(label), (int(a), int(b)), steps_in(forward), steps_in(back))
            for label, a, b, forward, back in _PATH.findall(text)
        ]
        scale, count = numbers.pop(3), numbers.pop(8)
        return Trajectories(SamplesHeader(name, count, scale, *numbers), samples)
    if len(numbers) == 8:
        values = [Value(unquoted(label), int(w)) for label, w in _VALUE.findall(text)]
        count = numbers.pop(5)
        header = BareHeader(name, len(values), count, *numbers)
        return Draws(header, values, [int(number) for number in _DREW.findall(text)])
    return None
