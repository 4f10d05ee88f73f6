"""The exact posterior of a table: against all graphs, against integers, and as a command."""

import json
import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import networkx
import numpy as np
import numpy.typing as npt
import pandas
import pytest

import pdai
from pdai.answers import GraphAnswer, SelectionAnswer, table_from
from pdai.cli import main
from reference.errors import InputError
from reference.problems import StructureLearning, VariableSelection
from reference.problems.columns import standard_columns
from reference.problems.dag_floats import DagFloats, sum_error
from reference.problems.graph_posterior import GraphPosterior
from reference.problems.network_scores import bge_scores
from reference.problems.networks import Network, all_ancestors
from reference.problems.random_networks import random_network
from verify.lib.all_dags import Parents, all_dags

Floats = npt.NDArray[np.float64]


def written(folder: Path, text: str) -> Path:
    path = folder / "my.csv"
    path.write_text(text, encoding="utf-8")
    return path


def made_up(nodes: int, seed: int, text: bool, folder: Path) -> Path:
    """A CSV file of a random network, as numbers or as words."""
    data = random_network(nodes, 40, seed).data
    names = "abcde"[:nodes]
    cells = [
        ["hi" if x > 0 else "lo" for x in row] if text else map(repr, row) for row in data.tolist()
    ]
    return written(folder, "\n".join(map(",".join, [names, *cells])) + "\n")


def law_of(path: Path, score: Any, nodes: int) -> dict[Parents, Fraction]:
    """The weight of every graph."""
    problem = StructureLearning.from_csv(path, score)
    return {g: problem.reward(Network(g, True)) for g in all_dags(nodes)}


def shares(law: dict[Parents, Fraction], masks: Iterable[Parents]) -> Floats:
    """For each pair of nodes, the probability that the start is in the mask of the end."""
    total = sum(law.values())
    chances = np.array([float(weight / total) for weight in law.values()])
    rows = np.array(list(masks))
    return np.einsum("g,gvu->uv", chances, rows[:, :, None] >> np.arange(rows.shape[1]) & 1)


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize(
    ("nodes", "seed"), [*product((2, 3, 4), range(3)), pytest.param(5, 0, marks=pytest.mark.long)]
)
def test_edges_paths_and_best_graphs_are_those_of_all_graphs(
    nodes: int, seed: int, text: bool, tmp_path: Path
) -> None:
    path, score = made_up(nodes, seed, text, tmp_path), "bdeu" if text else "bge"
    law = law_of(path, score, nodes)
    answer = pdai.posterior(path)
    assert isinstance(answer, GraphAnswer)
    assert "rows of" in repr(answer)
    assert answer.score.name == score
    assert answer.edges.to_numpy() == pytest.approx(shares(law, law), abs=1e-12)
    paths = shares(law, map(all_ancestors, law))
    assert answer.ancestors.to_numpy() == pytest.approx(paths, abs=1e-12)
    total = sum(law.values())
    most = [float(w / total) for w in sorted(law.values(), reverse=True)[:7]]
    best = answer.posterior.best(7)
    assert [one.probability for one in best] == pytest.approx(most, rel=1e-9)
    assert len({one.graph for one in best}) == len(best)
    assert all(float(law[g.parents] / total) == pytest.approx(p) for g, p in best)


def test_rules_of_edges_condition_the_law_on_the_graphs_that_keep_to_them(tmp_path: Path) -> None:
    path = made_up(4, 0, False, tmp_path)
    kept = {
        g: w
        for g, w in law_of(path, "bge", 4).items()
        if g[1] & 4 and not g[0] & 2 and all(mask.bit_count() <= 2 for mask in g)
    }
    answer: Any = pdai.posterior(path, max_parents=2, require=["c -> b"], forbid=[("b", "a")])
    # Another best graph has other roundings of 24 bits.
    assert answer.edges.to_numpy() == pytest.approx(shares(kept, kept), abs=1e-6)
    best = answer.posterior.best(1000)
    assert len(best) == len(kept)
    assert best[-1].probability > 0
    assert answer.posterior.best(1000) == best
    drawn = answer.sample(200, seed=3)
    assert drawn["c -> b"].all()
    assert not drawn["b -> a"].any()


@pytest.mark.parametrize("seed", range(2))
def test_inclusions_and_best_sets_are_those_of_all_sets(seed: int, tmp_path: Path) -> None:
    path = made_up(5, seed, False, tmp_path)
    problem = VariableSelection.from_csv(path, "c")
    weights = [
        m * Fraction(2) ** e for m, e in zip(problem.mantissas, problem.exponents, strict=True)
    ]
    total = sum(weights)
    answer = pdai.posterior(path, "c", prior="zellner")
    assert isinstance(answer, SelectionAnswer)
    inclusion = dict(zip(answer.inclusion["column"], answer.inclusion["probability"], strict=True))
    for i, name in enumerate(problem.names):
        share = sum(w for mask, w in enumerate(weights) if mask >> i & 1) / total
        assert inclusion[name] == float(share)
    assert answer.best(4)["probability"].tolist() == [
        float(w / total) for w in sorted(weights, reverse=True)[:4]
    ]


def scores_of(nodes: int, kind: str) -> Floats:
    """Local scores of columns that depend on each other weakly, strongly or not at all."""
    rows = {"weak": 30, "strong": 3000, "independent": 200}[kind]
    data = random_network(nodes, rows, nodes).data
    if kind == "independent":
        data = np.random.default_rng(nodes).normal(size=(rows, nodes))
    names = [str(v) for v in range(nodes)]
    return bge_scores(standard_columns("data", data, names), nodes - 1)


def number(sums: Any, place: int) -> Fraction:
    """A double-double number with an exponent, exactly."""
    value = Fraction(float(sums.high[place])) + Fraction(float(sums.low[place]))
    return value * Fraction(2) ** int(sums.exponent[place])


# Integers of strongly dependent columns have hundreds of bits and more.
LARGEST = pytest.param(10, "strong", marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("nodes", "kind"),
    [
        *product(range(2, 9), ("weak", "strong", "independent")),
        (10, "independent"),
        (11, "weak"),
        LARGEST,
    ],
)
def test_sums_in_floats_are_those_in_integers_within_the_bound(nodes: int, kind: str) -> None:
    law = GraphPosterior(scores_of(nodes, kind))
    law.is_exact = True
    exact, floats, bounds = law._sums, DagFloats(law.scores), sum_error(nodes)
    for placed in range(0, 2**nodes, 1 if nodes < 9 else 37):
        outside = [v for v in range(nodes) if not placed >> v & 1]
        truth = Fraction(exact.above[placed], 2 ** sum(law._shifts[v] for v in outside))
        assert abs(number(floats.above, placed) - truth) <= Fraction(bounds[len(outside)]) * truth
    assert np.abs(floats.edges - law.edges).max() <= floats.edge_error
    assert np.abs(floats.ancestors - law.ancestors).max() <= floats.ancestor_error
    assert floats.closed[-1] == pytest.approx(1, abs=1e-12)


def test_control_a_weight_changed_or_a_term_dropped_is_seen() -> None:
    scores = GraphPosterior(scores_of(6, "weak")).scores
    floats, bound = DagFloats(scores), sum_error(6)[-1]
    changed = scores.copy()
    changed[2, 9] += 1e-5
    assert abs(number(DagFloats(changed).above, 0) / number(floats.above, 0) - 1) > bound
    within = floats.within
    within.high[0, 0] = 0.0
    dropped = floats._sum_above(None)
    assert abs(number(dropped, 0) / number(DagFloats(scores).above, 0) - 1) > bound


def test_a_bound_is_far_below_one_where_a_sum_in_float64_has_none() -> None:
    assert sum_error(14)[-1] < 1e-12
    assert sum_error(20)[-1] < 1e-6
    # The sizes of the terms, with roundings of float64.
    assert sum_error(20)[-1] * 2.0**53 > 1


def test_draws_in_floats_have_the_law_of_the_edges() -> None:
    law = GraphPosterior(scores_of(5, "weak"))
    law.is_exact = False
    count = 4000
    mean = np.zeros((5, 5))
    for graph in law.sample(count, seed=1):
        for u, v in graph.edges:
            mean[u, v] += 1 / count
    spread = np.sqrt(law.edges * (1 - law.edges) / count)
    assert np.all(np.abs(mean - law.edges) <= 5 * spread + 1e-12)


class Zero(Random):
    """Always the least number."""

    def random(self) -> float:
        return 0.0


def test_the_least_number_draws_a_graph_that_may_be() -> None:
    law = GraphPosterior(scores_of(4, "weak"), require=["0 -> 1"])
    law.is_exact = False
    assert law._floats.draw(Zero())[1] & 1


def test_frames_matrices_and_files_have_one_answer(tmp_path: Path) -> None:
    path = made_up(4, 1, True, tmp_path)
    frame = pandas.read_csv(path)
    file = pdai.posterior(path)
    for same in (frame, frame.astype("category")):
        assert pdai.posterior(same).edges.equals(file.edges)
    unnamed = pdai.posterior(frame.to_numpy())
    assert np.array_equal(unnamed.edges.to_numpy(), file.edges.to_numpy())
    assert [*unnamed.edges.columns] == ["0", "1", "2", "3"]
    frame.loc[1, "b"] = None
    with pytest.raises(InputError, match=r"frame.*line 3: the value of 'b' is missing"):
        table_from(frame)


GOOD = "a,b\nx,p\ny,q\nx,q\ny,p\n"
REFUSED = [
    (GOOD.replace("p", ""), [], "the value of 'b' is missing"),
    (GOOD.replace(",", ";"), [], "separate the values by commas, and not by ';'"),
    ("a,b\n0,1\n1,0\n0,0\n1,1\n", [], "choose `--score bdeu`"),
    (GOOD, ["--require", "a -> b", "--forbid", "a -> b"], "is required and forbidden"),
    (GOOD, ["--require", "a -> b", "b -> a"], "close a cycle"),
    (GOOD, ["--require", "a -> b", "--max-parents", "0"], "1 required parents"),
    (GOOD, ["--forbid", "a -> c"], "two of the columns a, b"),
    (GOOD, ["--forbid", "a b"], "must be written 'a -> b'"),
    (GOOD, ["--draws", "5"], "add --out"),
    (GOOD, ["--best", "0"], "best is 0"),
    (GOOD, ["--prior", "hyper-g"], "but needs an outcome"),
    (GOOD, ["--outcome", "b", "--max-parents", "1"], "max_parents is 1, but is for graphs"),
    (GOOD, ["--outcome", "z"], "outcome is 'z'"),
    (",".join("abcdefghijklmnopqrstu") + "\n" + ",".join(["1.5"] * 21) + "\n", [], "at most 20"),
]


@pytest.mark.parametrize(("text", "options", "message"), REFUSED)
def test_what_cannot_be_answered_is_refused_in_a_line_and_nothing_is_written(
    text: str, options: list[str], message: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, text)
    out = [] if "--draws" in options else ["--out", "answer"]
    with pytest.raises(SystemExit) as end:
        main(["posterior", "my.csv", *options, *out])
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["my.csv"]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert pdai.posterior(path).table.names == ("a", "b")


HOSTILE = '"<script>alert(1)</script>","a ""b"" \\ -> c",d\n'


def test_the_command_writes_files_that_other_programs_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = made_up(3, 2, True, tmp_path).read_text().partition("\n")[2]
    path, out = written(tmp_path, HOSTILE + text), tmp_path / "answer"
    main(["posterior", str(path), "--out", str(out), "--draws", "4", "--best", "2"])
    assert "No causal effect is claimed" in capsys.readouterr().out
    answer = pdai.posterior(path)
    assert isinstance(answer, GraphAnswer)
    names = answer.table.names
    graph = networkx.read_graphml(out / "best-1.graphml")
    assert dict(graph.nodes(data="name")) == {f"n{i}": name for i, name in enumerate(names)}
    best = answer.posterior.best(1)[0].graph.edges
    assert {(u, v) for u, v in graph.edges} == {(f"n{u}", f"n{v}") for u, v in best}
    edges = pandas.read_csv(out / "edges.csv")
    for start, end, p in edges.itertuples(index=False):
        assert p == answer.edges.loc[start, end]
    dot = (out / "edges.dot").read_text()
    assert r'n1 [label="a \"b\" \\ -> c"];' in dot
    record = json.loads((out / "posterior.json").read_text())
    assert record["tables"]["edges"]["probability"] == edges["probability"].tolist()
    page = (out / "posterior.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert (out / "edges.png").read_bytes().startswith(b"\x89PNG")
    assert len(pandas.read_csv(out / "draws.csv")) == 4
    assert sum(math.isnan(x) for x in edges["probability"]) == 0
