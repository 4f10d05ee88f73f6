"""The exact posterior of a table: against all graphs, against integers, and as a command."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
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
from scipy.stats import multivariate_t

import pdai
from pdai.cli import main
from pdai.posteriors.answers import GraphAnswer, SelectionAnswer, table_from
from reference.posterior import HyperGPrior, StructureLearning, VariableSelection, ZellnerPrior
from reference.posterior.best_graphs import best_graph, best_within
from reference.posterior.columns import standard_columns
from reference.posterior.dag_floats import DagFloats, sum_error
from reference.posterior.dag_sums import DagSums
from reference.posterior.graph_posterior import GraphPosterior
from reference.posterior.network_scores import bdeu_scores, bge_scores
from reference.posterior.networks import Network, all_ancestors
from reference.posterior.random_networks import GraphLaw, random_network
from reference.posterior.regression_priors import residual_sums
from reference.posterior.variables import Selection
from reference.posterior.weights import _dyadic_weights, dyadic_exponentials
from tests.refusals import refused
from verify.lib.all_dags import Parents, all_dags, families, is_acyclic, random_weights, weighted

Floats = npt.NDArray[np.float64]


def written(folder: Path, text: str) -> Path:
    path = folder / "my.csv"
    path.write_text(text, encoding="utf-8")
    return path


def made_up(nodes: int, seed: int, text: bool, folder: Path) -> Path:
    """A CSV file of a random network, as numbers or as words."""
    data = random_network(nodes, 40, seed).data
    names = "abcde"[:nodes]
    cell = (lambda x: "hi" if x > 0 else "lo") if text else repr
    cells = [map(cell, row) for row in data.tolist()]
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
    # All pairs that the first sentence counts are named, and a few in any case.
    either = (answer.edges + answer.edges.T).to_numpy()[np.triu_indices(nodes, 1)]
    assert len(answer.words()) == 2 + max(min(3, len(either)), (either >= 0.05).sum())


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
    refused("best: count is -1", lambda: answer.best(-1))
    drawn = answer.sample(200, seed=3)
    assert drawn["c -> b"].all()
    assert not drawn["b -> a"].any()


@pytest.mark.catches(
    "One of the required parents of a node suffices.",
    "reference/posterior/graph_posterior.py",
    "(masks & needed == needed)",
    "((masks & needed != 0) | (needed == 0))",
)
def test_a_node_has_all_its_required_parents() -> None:
    noise = pandas.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("ABC"))
    edges = pdai.posterior(noise, require=["A -> C", "B -> C"]).edges
    assert edges.loc["A", "C"] == edges.loc["B", "C"] == 1
    assert 0 < edges.loc["A", "B"] < 1


@pytest.mark.catches(
    "The expected number of edges counts paths.",
    "reference/posterior/graph_posterior.py",
    "math.fsum(self.edges.flat)",
    "math.fsum(self.ancestors.flat) - self.nodes",
)
def test_the_expected_number_of_edges_is_that_of_all_graphs(tmp_path: Path) -> None:
    path = made_up(3, 0, False, tmp_path)
    law = law_of(path, "bge", 3)
    counted = sum(weight * sum(mask.bit_count() for mask in g) for g, weight in law.items())
    expected = float(counted / sum(law.values()))
    answer: Any = pdai.posterior(path)
    assert answer.posterior.expected_edges == pytest.approx(expected, abs=1e-14)
    # Control: paths are more.
    assert answer.ancestors.to_numpy().sum() - 3 > expected + 0.01


def dirichlet(rows: list[str], sizes: list[int], v: int, mask: int) -> Fraction:
    """The marginal likelihood of a column given its parents, by BDeu, in fractions.

    Counts of a configuration have the Dirichlet law of equal parameters, which sum to one over all
    cells of column and parents.
    """
    parents = [u for u in range(len(sizes)) if mask >> u & 1]

    def rising(members: list[int]) -> Fraction:
        share = Fraction(1, math.prod(sizes[u] for u in members))
        counts = Counter(tuple(row[u] for u in members) for row in rows).values()
        return math.prod((share + i for k in counts for i in range(k)), start=Fraction(1))

    return rising([*parents, v]) / rising(parents)


@pytest.mark.catches(
    "Levels that no row has are not counted.",
    "reference/posterior/columns.py",
    "column += max(0, len(declared.get(name, ())) - 1 - column.max())",
    "column += 0",
)
@pytest.mark.parametrize(
    ("levels", "sizes", "third"),
    [
        ({}, [2, 3, 2], "pppqqqpqppqp"),
        ({"C": [*"pqrs"]}, [2, 3, 4], "pppqqqpqppqp"),
        # As texts, and where a single level has rows.
        (["A=no,x,y", "C = p , q"], [3, 3, 2], "pppppppppppp"),
    ],
)
def test_declared_levels_count_though_no_row_has_them(
    levels: Any, sizes: list[int], third: str
) -> None:
    rows = ["".join(row) for row in zip("xxxyyyxyxyxx", "iijkjkijkjii", third, strict=True)]
    law = {
        graph: math.prod(dirichlet(rows, sizes, v, mask) for v, mask in enumerate(graph))
        for graph in all_dags(3)
    }
    frame = pandas.DataFrame([[*row] for row in rows], columns=list("ABC"))
    answer: Any = pdai.posterior(frame, levels=levels)
    # Three weights are rounded to 24 bits.
    assert answer.edges.to_numpy() == pytest.approx(shares(law, law), abs=2e-7)
    assert ("declared levels" in answer.facts) == bool(levels)


@pytest.mark.parametrize(
    "wrong", [{"b": 4}, {"b": "pq"}, "b=p,q", 5, [("b", "pq")], ["b=p,q", "b=p,q,r"]]
)
def test_levels_in_another_form_are_refused(wrong: Any, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    words = "must be a sequence|levels are declared (of|2 times of) "
    refused(words, lambda: pdai.posterior(path, levels=wrong))


@pytest.mark.parametrize("seed", range(2))
def test_inclusions_and_best_sets_are_those_of_all_sets(seed: int, tmp_path: Path) -> None:
    path = made_up(5, seed, False, tmp_path)
    problem = VariableSelection.from_csv(path, "c")
    pairs = zip(problem.mantissas, problem.exponents, strict=True)
    weights = [m * Fraction(2) ** e for m, e in pairs]
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
        (12, "weak"),
        *(pytest.param(nodes, "weak", marks=pytest.mark.long) for nodes in (13, 14)),
        LARGEST,
    ],
)
def test_sums_in_floats_are_those_in_integers_within_the_bound(nodes: int, kind: str) -> None:
    law = GraphPosterior(scores_of(nodes, kind))
    law.is_exact = True
    exact, floats, bounds = law._sums, DagFloats(law.scores), sum_error(nodes)
    for placed in range(0, 2**nodes, 1 if nodes < 9 else 37):
        outside = [v for v in range(nodes) if not placed >> v & 1]
        truth = Fraction(exact.above[placed], 2 ** sum(law._integers[1][v] for v in outside))
        assert abs(number(floats.above, placed) - truth) <= Fraction(bounds[len(outside)]) * truth
    assert np.abs(floats.edges - law.edges).max() <= floats.edge_error
    assert np.abs(floats.ancestors - law.ancestors).max() <= floats.ancestor_error
    assert floats.closed[-1] == pytest.approx(1, abs=1e-12)


@pytest.mark.catches(
    "the compiled fold leaves out what is lost in the difference of two high parts.",
    "reference/posterior/dag_compiled.py",
    "rest = (first_low[i] - error) + (",
    "rest = (first_low[i] - error) + 0.0 * (",
)
@pytest.mark.parametrize("nodes", [3, 9])
def test_compiled_sums_are_those_in_numpy_to_the_bit(nodes: int) -> None:
    pytest.importorskip("numba", reason="the extra compiled is not installed")
    scores = GraphPosterior(scores_of(nodes, "strong")).scores
    both = DagFloats(scores), DagFloats(scores)
    compiled, plain = both
    assert not plain.is_compiled
    compiled.is_compiled = True
    for name in ("firsts", "above", "closed", "edges", "ancestors"):
        one, other = (getattr(law, name) for law in both)
        assert np.array_equal(one, other), name
    assert compiled.draw(Random(0)) == plain.draw(Random(0))


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
    refused(r"frame.*line 3: the value of 'b' is missing", table_from, frame)


GOOD = "a,b\nx,p\ny,q\nx,q\ny,p\n"
REFUSED = [
    (GOOD.replace("p", ""), [], "the value of 'b' is missing"),
    (GOOD.replace(",", ";").replace("x;p", "x"), [], "without a comma: separate the values by"),
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
    (GOOD.replace(",", " ").replace("x p", "x y p"), [], "without a comma: separate the values"),
    (GOOD, ["--bins", "1"], "bins is 1, but must be"),
    (GOOD, ["--bins", "3", "--score", "bge"], "score is 'bge', which is for numbers"),
    (GOOD, ["--outcome", "b", "--bins", "3"], "bins is 3, but is for graphs"),
    (GOOD, ["--levels", "z=x,y"], "levels are declared of 'z', but the columns"),
    (GOOD, ["--levels", "a=x,z"], "must be all values of the column, such as 'y', each once"),
    (GOOD, ["--levels", "a=x,y,x"], "must be all values of the column, each once"),
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


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
@pytest.mark.parametrize("least", [0, 1])
def test_the_heaviest_graph_is_the_heaviest_of_all(nodes: int, least: int) -> None:
    weights = random_weights(nodes, seed=nodes, least=least)
    graphs = dict(weighted(weights))
    integers = [np.array(row, object) for row in weights]
    exact = best_graph(integers, times=np.multiply, one=1)
    assert graphs[exact.parents] == exact.log_weight == max(graphs.values())
    logs = [np.array([math.log(w) if w else -math.inf for w in row]) for row in weights]
    assert graphs[best_graph(logs).parents] == max(graphs.values())


def test_the_best_part_of_each_set_is_found() -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    for mask, best in enumerate(best_within(np.array(values))):
        assert best == max(values[m] for m in range(8) if not m & ~mask)


class Scripted(Random):
    """Goes through all numbers that it may be asked for, in turn."""

    def __init__(self) -> None:
        super().__init__(0)
        self.path: list[list[int]] = []
        self.at = 0

    def randrange(self, *ends: int) -> int:
        if self.at == len(self.path):
            self.path.append([0, ends[0]])
        self.at += 1
        return self.path[self.at - 1][0]

    def advance(self) -> bool:
        """To the next sequence of numbers, if there is one."""
        while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
            self.path.pop()
        if self.path:
            self.path[-1][0] += 1
        self.at = 0
        return bool(self.path)


def test_graphs_are_drawn_by_integers_without_bias() -> None:
    weights = ((2, 0, 1, 0), (1, 3, 0, 0))
    sums, law, rng = DagSums(weights), {}, Scripted()
    while True:
        graph = sums.draw(rng)
        share = 1.0
        for _, end in rng.path[: rng.at]:
            share /= end
        law[graph] = law.get(graph, 0.0) + share
        if not rng.advance():
            break
    assert law == pytest.approx({g: w / sums.total for g, w in weighted(weights)}, rel=1e-12)


# Sums of some hundred terms of order one, in float64.
CLOSE = 1e-9


def normal_wishart(data: Any, alpha_mu: float, alpha_w: float, t: float) -> float:
    """The log marginal likelihood of Gaussian rows, by the predictive t law of each after those
    before it; `alpha_w` is that of these columns alone."""
    size = data.shape[1]
    kappa, nu, mean, scale = alpha_mu, alpha_w, np.zeros(size), t * np.eye(size)
    total = 0.0
    for row in data:
        df = nu - size + 1
        law = multivariate_t(mean, scale * (kappa + 1) / (kappa * df), df)
        total += float(law.logpdf(row))
        off = row - mean
        scale = scale + kappa / (kappa + 1) * np.outer(off, off)
        mean = mean + off / (kappa + 1)
        kappa, nu = kappa + 1, nu + 1
    return total


def every_family(nodes: int) -> Iterator[tuple[int, int, list[int]]]:
    """A node, a set of others as a bit mask, and as a list."""
    for v in range(nodes):
        for mask in families(nodes, v):
            yield v, mask, [u for u in range(nodes) if mask >> u & 1]


@pytest.mark.parametrize(("alpha_mu", "alpha_w"), [(1.0, None), (0.5, 9.0)])
def test_bge_is_the_ratio_of_marginal_likelihoods_row_by_row(alpha_mu: float, alpha_w: Any) -> None:
    data = np.random.default_rng(1).normal(size=(12, 4)) @ np.triu(np.ones((4, 4)))
    scores, n = bge_scores(data, 3, alpha_mu, alpha_w), 4
    whole = n + alpha_mu + 1 if alpha_w is None else alpha_w
    t = alpha_mu * (whole - n - 1) / (alpha_mu + 1)

    def of(members: list[int]) -> float:
        if not members:
            return 0.0
        return normal_wishart(data[:, members], alpha_mu, whole - n + len(members), t)

    for v, mask, parents in every_family(n):
        expected = of([*parents, v]) - of(parents)
        assert scores[v, mask] == pytest.approx(expected, rel=CLOSE)
    # Control: with another prior they are others.
    other = bge_scores(data, 3, 2 * alpha_mu, whole + 1)
    assert not np.allclose(other[~np.isnan(scores)], scores[~np.isnan(scores)], rtol=CLOSE)


def test_bdeu_is_the_product_of_predictions_row_by_row() -> None:
    levels, n, sample_size = (2, 3, 2), 3, 1.5
    codes = np.random.default_rng(2).integers(0, levels, size=(20, n))
    scores = bdeu_scores(codes, 2, sample_size)
    for v, mask, parents in every_family(n):
        each = sample_size / (math.prod(levels[u] for u in parents) * levels[v])
        seen: Counter[tuple[int, ...]] = Counter()
        expected = 0.0
        for row in codes.tolist():
            family = tuple(row[u] for u in parents)
            whole = sum(seen[*family, k] + each for k in range(levels[v]))
            expected += math.log((seen[*family, row[v]] + each) / whole)
            seen[*family, row[v]] += 1
        assert scores[v, mask] == pytest.approx(expected, rel=CLOSE)


def test_only_families_within_the_limit_are_scored() -> None:
    data = np.random.default_rng(3).normal(size=(9, 4))
    all_of, few = bge_scores(data, 3), bge_scores(data, 1)
    sizes = np.bitwise_count(np.arange(16))
    assert np.array_equal(np.isnan(few), np.isnan(all_of) | (sizes > 1))
    assert np.nanmax(abs(few - all_of)) == 0


def test_g_prior_is_the_marginal_likelihood_of_the_regression() -> None:
    rng = np.random.default_rng(4)
    rows, p, g = 15, 3, 7.0
    data = rng.normal(size=(rows, p)) @ np.triu(np.ones((p, p)))
    y = data[:, 0] + rng.normal(size=rows) + 3
    problem = VariableSelection.regression(data, y, prior=ZellnerPrior(g))
    # A flat intercept leaves the centred outcome; with `beta = N(0, g s (X'X)^-1)` and the prior
    # `1 / s` of the variance, the density of its direction is `|V|^-1/2 (y' V^-1 y)^(-(N-1)/2)`,
    # `V = 1 + g H` on the space that is orthogonal to the constant, H the projection on X.
    centred, target = data - data.mean(axis=0), y - y.mean()
    logs = []
    for mask in range(2**p):
        x = centred[:, [j for j in range(p) if mask >> j & 1]]
        v = np.eye(rows) + g * (x @ np.linalg.pinv(x))
        inverse = np.linalg.inv(v)
        log_det = np.linalg.slogdet(v)[1]
        logs.append(-log_det / 2 - (rows - 1) / 2 * math.log(target @ inverse @ target))
    rewards = [float(m * Fraction(2) ** e) for m, e in zip(problem.mantissas, problem.exponents)]  # noqa: B905
    expected = np.exp(np.array(logs) - max(logs))
    assert rewards == pytest.approx(expected.tolist(), rel=2.0**-23)
    assert problem.offset == pytest.approx(max(logs) - logs[0], rel=CLOSE)


@pytest.mark.catches(
    "The hyper-g factor of variables that explain nothing has the exponent of one more.",
    "reference/posterior/regression_priors.py",
    "np.log(sizes + self.a - 2)",
    "np.log(sizes + self.a - 1)",
)
def test_hyper_g_is_the_mean_of_zellners_factor_over_the_law_of_g() -> None:
    a, rows = 3.5, 20
    data = np.random.default_rng(7).normal(size=(rows, 3))
    outcome = data[:, 0] + np.random.default_rng(8).normal(size=rows)
    sizes = np.array([0, 1, 1, 2, 3, 1, 1, 3])
    unexplained = np.array([1.0, 0.3, 0.999, 0.05, 0.6, 1 - 1e-11, 1.0, 1.0])
    logs = HyperGPrior(a).log_factors(rows, sizes, unexplained)
    # Where variables explain nothing, the mean of (1 + g)^(-k/2) is (a - 2) / (a - 2 + k).
    nothing = sizes[unexplained == 1]
    assert logs[unexplained == 1] == pytest.approx(np.log((a - 2) / (a - 2 + nothing)), rel=1e-14)
    # By the trapezoidal rule in log g, where the terms vanish at both ends.
    g = np.exp(np.arange(-40, 60, 0.05))
    density = 0.05 * g * (a - 2) / 2 * (1 + g) ** (-a / 2)
    for size, left, value in zip(sizes, unexplained, logs, strict=True):
        factor = (1 + g) ** ((rows - 1 - size) / 2) * (1 + g * left) ** (-(rows - 1) / 2)
        assert value == pytest.approx(math.log(float(factor @ density)), abs=1e-9)
    assert logs[0] == 0.0
    # Control: another law of g is another factor.
    assert abs(HyperGPrior(3.0).log_factors(rows, sizes, unexplained)[1] - logs[1]) > 1e-2
    problems = [
        VariableSelection.regression(data, outcome, prior=prior)
        for prior in (HyperGPrior(), ZellnerPrior())
    ]
    assert problems[0].inclusion_probabilities() != problems[1].inclusion_probabilities()


@pytest.mark.parametrize("apart", [1.0, 1e-6])
def test_residual_sums_of_squares_are_those_of_each_regression(apart: float) -> None:
    data = np.random.default_rng(5).normal(size=(20, 5))
    data[:, 1] = data[:, 0] + apart * data[:, 1]
    sums = residual_sums(data)
    for mask in range(16):
        x = data[:, [j for j in range(4) if mask >> j & 1]]
        rest = data[:, 4] - x @ np.linalg.lstsq(x, data[:, 4], rcond=None)[0]
        assert sums[mask] == pytest.approx(rest @ rest, rel=CLOSE)


def test_inclusion_probabilities_and_mode_are_those_enumerated() -> None:
    problem = VariableSelection.random(4, rows=25)
    rewards = {s: problem.reward(Selection(s, True)) for s in product((False, True), repeat=4)}
    for i, probability in enumerate(problem.inclusion_probabilities()):
        held = sum(reward for chosen, reward in rewards.items() if chosen[i])
        assert probability == held / problem.z()
    assert problem.reward(problem.mode()) == max(rewards.values()) == 1


def test_variables_that_matter_are_found_and_drawn_as_often() -> None:
    problem = VariableSelection.random(12, rows=400)
    chosen = [float(p) for p in problem.inclusion_probabilities()]
    # Those that matter, one in three, are found.
    assert min(chosen[::3]) > 0.9 > max(chosen[1::3])
    draws = problem.sample(4000, seed=0)
    for i, probability in enumerate(chosen):
        share = sum(x.chosen[i] for x in draws) / len(draws)
        assert abs(share - probability) <= 5 * math.sqrt(0.25 / len(draws))


def test_dyadic_weights_are_within_a_unit_whatever_their_size() -> None:
    logs = np.array([0.0, -1.0, 1.0, -5000.0, -0.5 * math.log(2), 3000.25])
    rounded = dyadic_exponentials(logs)
    for log, m, e in zip(logs, *map(np.ndarray.tolist, rounded), strict=True):
        assert 2**23 <= m < 2**24
        assert math.log(m) + e * math.log(2) == pytest.approx(log, abs=2.0**-23)
    (first, none, last), shift = _dyadic_weights(np.array([0.0, -math.inf, -2000.0]))
    assert none == 0
    assert first == 2**shift
    assert last > 0


@pytest.mark.parametrize("graphs", ["erdos-renyi", "scale-free"])
def test_random_networks_are_acyclic_and_their_data_follow_them(graphs: GraphLaw) -> None:
    edges = []
    for seed in range(200):
        parents = random_network(6, 2, seed, graphs).parents
        assert is_acyclic(parents)
        edges.append(sum(mask.bit_count() for mask in parents))
    # Six edges, or five where the first node has nobody to follow.
    assert abs(np.mean(edges) - (6 if graphs == "erdos-renyi" else 5)) < 0.5
    one, two = (random_network(6, 2, 7, graphs) for _ in range(2))
    assert one.parents == two.parents
    assert np.array_equal(one.data, two.data)


def test_the_graph_of_much_data_is_found_up_to_its_equivalence_class() -> None:
    network = random_network(5, 3000, 1)
    problem = StructureLearning.gaussian(network.data)

    def skeleton(parents: tuple[int, ...]) -> set[frozenset[int]]:
        pairs = product(range(5), enumerate(parents))
        return {frozenset((u, v)) for u, (v, mask) in pairs if mask >> u & 1}

    assert skeleton(problem.mode().parents) == skeleton(network.parents)
    # Many observations, and still what float32 resolves.
    assert 0 <= problem.log_z().value < 20
    assert problem.offset < -10_000


def test_equivalent_graphs_have_equal_rewards() -> None:
    problem = StructureLearning.random(3, rows=50, seed=4)
    chain, fork, collider = (problem.initial._replace(parents=p, stopped=True) for p in (
        (0, 0b001, 0b010), (0b010, 0, 0b010), (0, 0b101, 0)))  # fmt: skip
    same = problem.reward(chain) / problem.reward(fork)
    assert float(same) == pytest.approx(1, rel=6 * 2.0**-24)
    assert not 0.999 < float(problem.reward(chain) / problem.reward(collider)) < 1.001
