"""Files of weights and their sums over all graphs, which the verified program computes again."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pdai.cli import main
from reference import TooLargeError
from reference.certificates import run_checker
from reference.posterior.dag_proof import write_dags
from reference.posterior.dag_sums import DagSums
from reference.posterior.graph_posterior import GraphPosterior
from tests.certificates.mutants import build
from tests.certificates.test_certificates_program import needs_ocaml
from tests.refusals import refused
from verify.lib.all_dags import enumerated, has_edge, has_path, random_weights, weighted

FIRST_ROW = 4


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("checker"))


def posterior(nodes: int) -> GraphPosterior:
    return GraphPosterior(np.random.default_rng(nodes).normal(size=(nodes, 2**nodes)))


def text_of(path: Path, nodes: int) -> list[str]:
    write_dags(path, "my.csv", posterior(nodes))
    return path.read_text().splitlines()


def status(checker: Path, path: Path, lines: list[str]) -> str:
    path.write_text("\n".join([*lines, ""]))
    return run_checker(path, checker).status


def changed(lines: list[str], nodes: int) -> Iterator[list[str]]:
    """The lines with one number changed by one, which a graph has: each in turn."""
    for place, line in enumerate(lines[3:-1], 3):
        words = line.split()
        for at, word in enumerate(words):
            # No graph has a node among its own parents.
            idle = line.startswith("w") and at - 1 & 1 << nodes - 1 - (place - FIRST_ROW)
            if re.fullmatch("[0-9a-f]+", word) and not idle:
                other = [*words[:at], f"{int(word, 16) ^ 1:x}", *words[at + 1 :]]
                yield [*lines[:place], " ".join(other), *lines[place + 1 :]]


@needs_ocaml
@pytest.mark.catches(
    "The paths to a node are written for those from it.",
    "reference/posterior/dag_proof.py",
    "{sums.ancestors[v][u]:x}",
    "{sums.ancestors[u][v]:x}",
)
@pytest.mark.parametrize("nodes", [2, 3, 5, 8])
def test_the_program_computes_all_sums_again(nodes: int, checker: Path, path: Path) -> None:
    assert status(checker, path, text_of(path, nodes)) == "accepted"


@needs_ocaml
def test_a_changed_number_is_refused(checker: Path, path: Path) -> None:
    lines = text_of(path, 3)
    others = [*changed(lines, 3)]
    # Z, four weights and three pairs for each of three nodes.
    assert len(others) == 1 + 3 * 4 + 3 * 6
    assert {status(checker, path, other) for other in others} == {"refused"}


@needs_ocaml
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Z ", "Z 0"),
        ("nodes 3", "nodes 2"),
        ("nodes 3", "nodes 4"),
        ("nodes 3", "nodes -3"),
        ("m ", "m 1 "),
        (" | '1'", " | '0'"),
        ("end", "end\nend"),
        ("end", ""),
        ("pdai-dags 1", "pdai-dags 2"),
    ],
)
def test_a_malformed_file_is_no_certificate(old: str, new: str, checker: Path, path: Path) -> None:
    text = "\n".join(text_of(path, 3)).replace(old, new, 1)
    assert status(checker, path, text.split("\n")) == "malformed"


@needs_ocaml
def test_a_row_that_is_too_short_is_refused(checker: Path, path: Path) -> None:
    lines = text_of(path, 3)
    lines[FIRST_ROW] = lines[FIRST_ROW].replace("w ", "w 0 ", 1)
    assert status(checker, path, lines) == "refused"


@needs_ocaml
def test_the_sums_are_those_over_all_graphs(checker: Path, path: Path) -> None:
    """Weights of four nodes, and sums by listing all 543 graphs."""
    law, weights = posterior(4), random_weights(4, seed=0)
    sums = DagSums(weights)
    sums.__dict__["below"] = [0] * 15 + [sum(weight for _, weight in weighted(weights))]
    sums.__dict__["_marginals"] = enumerated(weights, has_edge), enumerated(weights, has_path)
    law.__dict__["_integers"] = sums, (0,) * 4
    write_dags(path, "all", law)
    assert run_checker(path, checker).status == "accepted"


@needs_ocaml
def test_the_command_writes_a_file(checker: Path, path: Path, tmp_path: Path) -> None:
    csv = tmp_path / "my.csv"
    csv.write_text("a,b,c\n" + "hi,lo,hi\nlo,hi,lo\nhi,hi,hi\n" * 9)
    main(["posterior", str(csv), "--proof", str(path)])
    assert path.read_text().startswith("pdai-dags 1\nposterior 'my.csv'\nnodes 3\n")
    run = subprocess.run([checker, path], capture_output=True, text=True, check=True)
    assert "are taken as they are" in run.stdout


def test_too_many_columns_are_refused(path: Path) -> None:
    law = GraphPosterior(np.zeros((15, 2**15)))
    refused(r"15 variables .*3\^15.* at most 14", write_dags, path, "x", law, kind=TooLargeError)
