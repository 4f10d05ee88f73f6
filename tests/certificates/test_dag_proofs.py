"""Files of weights and their sums over all graphs, which the verified program computes again."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pdai.certifying.theorems import CLOSED, check_theorem
from pdai.cli import main
from reference import TooLargeError
from reference.certificates import run_checker
from reference.posterior.dag_proof import write_dags, write_sums_theorem
from reference.posterior.dag_sums import DagSums
from reference.posterior.graph_posterior import GraphPosterior
from tests.certificates.mutants import build
from tests.certificates.test_certificates_program import needs_ocaml
from tests.certificates.test_theorems import needs_coq
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
    "(sums.edges[u][v], sums.ancestors[v][u])",
    "(sums.edges[u][v], sums.ancestors[u][v])",
)
@pytest.mark.parametrize("nodes", [2, 3, 5, 8])
def test_the_program_computes_all_sums_again(nodes: int, checker: Path, path: Path) -> None:
    assert status(checker, path, text_of(path, nodes)) == "accepted"


@needs_ocaml
@pytest.mark.catches(
    "The bound of edges is written for that of paths too.",
    "reference/posterior/dag_proof.py",
    "[(law.error, law.ancestor_error)]",
    "[(law.error, law.error)]",
)
@pytest.mark.parametrize(
    "nodes", [2, 5, 11, *(pytest.param(nodes, marks=pytest.mark.long) for nodes in (12, 13, 14))]
)
def test_the_program_confirms_the_bounds_of_floats(nodes: int, checker: Path, path: Path) -> None:
    """They are those that are reported, and one float that is off by twice its bound is refused."""
    law = posterior(nodes)
    law.is_exact = False
    write_dags(path, "my.csv", law)
    assert run_checker(path, checker).status == "accepted"
    lines = path.read_text().splitlines()
    *bounds, over = [int(word, 16) for word in lines[FIRST_ROW].split()[1:]]
    assert [bound / over for bound in bounds] == [law.error, law.ancestor_error]
    floats = next(number for number, line in enumerate(lines) if line.startswith("p "))
    for place, bound in enumerate(bounds if nodes < 12 else [], 3):
        words = lines[floats].split()
        words[place] = f"{int(words[place], 16) + 2 * bound:x}"
        other = [*lines[:floats], " ".join(words), *lines[floats + 1 :]]
        assert status(checker, path, other) == "refused"


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
    refused("15 variables.* at most 10", write_sums_theorem, path, "x", law, kind=TooLargeError)


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The proofs are compiled once, in a fresh folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@needs_coq
@pytest.mark.catches(
    "A theorem has the paths in the place of edges.",
    "reference/posterior/dag_proof.py",
    "f'(0x{edge:x}, 0x{path:x})'",
    "f'(0x{path:x}, 0x{edge:x})'",
    by="refusal",
)
def test_the_kernel_proves_the_sums_of_five_columns(path: Path) -> None:
    write_sums_theorem(path, 'a "quoted" *) name', posterior(5))
    answer = check_theorem(path)
    assert (answer.accepted, answer.assumptions, answer.reason) == (True, CLOSED, "")
    assert answer.statement == "Theorem sums_over_graphs : right sums."


@needs_coq
@pytest.mark.parametrize("place", [0, 1, 6, 7, 8, 16])
def test_the_kernel_refuses_a_changed_number(place: int, path: Path) -> None:
    """Weights of sets of parents that a graph may have, edges, paths and Z."""
    write_sums_theorem(path, "x", posterior(2))
    text = path.read_text()
    numbers = [*re.finditer("0x[0-9a-f]+", text)]
    assert len(numbers) == 2 * (4 + 4) + 1
    start, end = numbers[place].span()
    path.write_text(f"{text[:start]}{int(text[start:end], 16) ^ 1:#x}{text[end:]}")
    assert not check_theorem(path).accepted


def test_another_text_is_not_given_to_coq(path: Path) -> None:
    write_sums_theorem(path, "x", posterior(2))
    path.write_text(path.read_text().replace("Proof. apply check_sound.", "Proof. admit."))
    refused(r"line \d+ differs from what its numbers give", check_theorem, path)
