"""Weights and their sums over all graphs, as files that a proved program or Coq's kernel checks.

`pdai-check` reads

```
pdai-dags 1
posterior NAME
nodes N
Z SUM
w WEIGHT ... | LABEL         a line for each node: the weights of its 2^N sets of parents
m EDGE PATH ... | LABEL      and for each u: the sums with an edge from u, and with a path to u
end
```

and `pdai-dags 2`, where probabilities were computed in floats: the same with `within EDGES PATHS
OVER` after Z, the bounds of their errors, and lines `p EDGE PATH ... | LABEL` before the end, all
over the last number.

Sets come as the binary numbers from 0 on, whose highest digit is the first node. Numbers are
hexadecimal. `proofs_notes/checker/README.md` says what is proved.
"""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

from reference.certificates.theorem import LABEL, library, quoted, unquoted
from reference.contract.errors import TooLargeError
from reference.contract.files import read_file, replace_file
from reference.posterior.graph_posterior import GraphPosterior

# Variables up to which Coq's kernel takes less than half an hour.
MOST_STATED = 10
_HEAD = """\
(* A theorem about a posterior of directed acyclic graphs, for Coq's kernel. It says, and it ends
   with the proof: the sum of all weights, and those over the graphs with each edge and with each
   path, are as they stand below. Their quotients are the probabilities. To check it:
   pdai theorem FILE

   weights_V has the weights of node V, a number for each set of parents: set number i is i in
   binary, whose highest digit is node 0. marginals_V has for each node U the sum over the graphs
   with an edge from U to V, and over those with a path from V to U. The weights come from scores,
   and are taken as they are. Of labels, and of the name of the data, nothing is proved. *)
From Coq Require Import ZArith List String.
From Cert Require Import Dags DagsSound.
Import ListNotations.
Open Scope Z_scope.
"""
_TAIL = """
Definition sums := Claim [{weights}]
  0x{total:x} [{marginals}].

(* What [right] means, as DagSums.v and DagsSound.v have it, which stand with their proofs in
   proofs_notes of pdai. [set V] are the sets of nodes, ['I_n] the numbers below n.

{definitions}*)
Theorem sums_over_graphs : right sums.
Proof. apply check_sound. vm_cast_no_check (eq_refl true). Qed.
Print Assumptions sums_over_graphs.
"""
_NAME = re.compile(rf"Definition (?:data|node_\d+) := {LABEL}%string\.")
_WEIGHTS = re.compile(r"Definition weights_\d+ := \[([^]]*)\]\.")
_MARGINALS = re.compile(r"Definition marginals_\d+ := \[([^]]*)\]\.")
_TOTAL = re.compile(r"\n  0x([0-9a-f]+) \[")


class Sums(NamedTuple):
    """Weights and their sums over all graphs.

    Attributes:
        labels: the name of the data, and those of the nodes.
        weights: the weights of the sets of parents, in order, for each node.
        total: the sum over all graphs.
        marginals: the sums with an edge from each node to this one, and with a path to each.
        floats: the probabilities in the same order, if they were computed in floats.
        bounds: those of the errors of edges and paths, and what these and the floats are over.
    """

    labels: Sequence[str]
    weights: Sequence[Sequence[int]]
    total: int
    marginals: Sequence[Sequence[tuple[int, int]]]
    floats: Sequence[Sequence[tuple[int, int]]] = ()
    bounds: Sequence[int] = ()

    @classmethod
    def of(cls, name: str, law: GraphPosterior) -> Self:
        """Those of a posterior of some data; raises TooLargeError for more than 14 variables."""
        sums, nodes = law.integers, range(law.nodes)
        masks = [int(f"{place:0{law.nodes}b}"[::-1], 2) for place in range(2**law.nodes)]
        return cls(
            [*map(ascii, (name, *law.names))],
            [[row[mask] for mask in masks] for row in sums.weights],
            sums.total,
            [[(sums.edges[u][v], sums.ancestors[v][u]) for u in nodes] for v in nodes],
            *(([], []) if law.is_exact else _reported(law)),
        )

    def certificate(self) -> str:
        """The file for `pdai-check`."""
        name, *labels = self.labels
        lines = [f"posterior {name}", f"nodes {len(labels)}", f"Z {self.total:x}"]
        if self.bounds:
            lines.append("within {:x} {:x} {:x}".format(*self.bounds))
        for row, label in zip(self.weights, labels, strict=True):
            lines.append(" ".join(["w", *(f"{weight:x}" for weight in row), "|", label]))
        for kind, rows in (("m", self.marginals), ("p", self.floats)):
            for pairs, label in zip(rows, labels, strict=bool(rows)):
                numbers = (f"{edge:x} {path:x}" for edge, path in pairs)
                lines.append(" ".join([kind, *numbers, "|", label]))
        version = 2 if self.bounds else 1
        return "".join(f"{line}\n" for line in [f"pdai-dags {version}", *lines, "end"])

    def text(self) -> str:
        """The file for Coq."""
        name, *labels = self.labels
        parts = [_HEAD, f"\nDefinition data := {quoted(name)}%string.\n"]
        rows = zip(labels, self.weights, self.marginals, strict=True)
        for v, (label, weights, pairs) in enumerate(rows):
            parts += [
                f"\nDefinition node_{v} := {quoted(label)}%string.\n",
                f"Definition weights_{v} := [{_listed(f'0x{weight:x}' for weight in weights)}].\n",
                f"Definition marginals_{v} := ",
                f"[{_listed(f'(0x{edge:x}, 0x{path:x})' for edge, path in pairs)}].\n",
            ]
        tail = {
            "weights": "; ".join(f"weights_{v}" for v in range(len(labels))),
            "marginals": "; ".join(f"marginals_{v}" for v in range(len(labels))),
            "total": self.total,
            "definitions": _definitions(),
        }
        return "".join([*parts, _TAIL.format(**tail)])


def _reported(law: GraphPosterior) -> tuple[list[list[tuple[int, int]]], list[int]]:
    """Probabilities in floats, and bounds of their errors, as integers over one power of two."""
    tables = law.edges.T, law.ancestors, [(law.error, law.ancestor_error)]
    over = max(x.as_integer_ratio()[1] for table in tables for row in table for x in row)
    edges, paths, (errors,) = (
        [[int(Fraction(x) * over) for x in row] for row in table] for table in tables
    )
    return [[*zip(*rows, strict=True)] for rows in zip(edges, paths, strict=True)], [*errors, over]


def _listed(terms: Iterable[str]) -> str:
    return ";\n  ".join(terms)


@cache
def _definitions() -> str:
    """The definitions that the theorem uses, as they stand in the proofs."""
    sums = read_file(library().parent / "coq" / "DagSums.v").decode()
    sound = read_file(library() / "DagsSound.v").decode()
    graphs = sums[sums.index("Definition parents") : sums.index("Lemma is_dagP")]
    return graphs + sound[sound.index("Section Right.") : sound.index("End Right.")] + "\n"


def write_dags(path: Path | str, name: str, law: GraphPosterior) -> None:
    """Writes the weights of a posterior, its sums, and its floats if it has such, for `pdai-check`.

    Args:
        path: the file, which replaces an old one.
        name: the name of the data, in the file.
        law: the posterior, of at most 14 variables.

    Raises:
        TooLargeError: if it has more.
    """
    replace_file(Path(path), Sums.of(name, law).certificate().encode("ascii"))


def write_sums_theorem(path: Path | str, name: str, law: GraphPosterior) -> None:
    """Writes the same as a theorem for Coq's kernel.

    Args:
        path: the file, which replaces an old one.
        name: the name of the data, in the file.
        law: the posterior, of at most 10 variables.

    Raises:
        TooLargeError: if it has more.
    """
    if law.nodes > MOST_STATED:
        raise TooLargeError(
            f"the theorem would be about {law.nodes} variables, which would take Coq hours: at "
            f"most {MOST_STATED} are taken; leave variables out, or take --proof, which pdai-check "
            "reads in seconds"
        )
    replace_file(Path(path), Sums.of(name, law).text().encode("ascii"))


def read_sums_theorem(text: str) -> Sums | None:
    """The content of a text, some of which may not be as it is written; None for another."""
    total, names = _TOTAL.search(text), _NAME.findall(text)
    if total is None or not names:
        return None
    labels = [*map(unquoted, names)]
    weights = [_numbers(row) for row in _WEIGHTS.findall(text)]
    pairs = map(_numbers, _MARGINALS.findall(text))
    marginals = [[*zip(row[::2], row[1::2], strict=False)] for row in pairs]
    if not len(labels) - 1 == len(weights) == len(marginals):
        return None
    return Sums(labels, weights, int(total[1], 16), marginals)


def _numbers(text: str) -> list[int]:
    return [int(word, 16) for word in re.findall("0x([0-9a-f]+)", text)]
