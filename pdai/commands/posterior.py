"""`pdai posterior`."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pdai.commands.tables import Seldom, say, show, show_rows
from reference.contract.errors import InputError, check_integer, check_seed, printable
from reference.contract.files import check_output
from reference.posterior.network_scores import Score

if TYPE_CHECKING:
    from pdai.posteriors.answers import Answer, Columns, GraphAnswer

# Rows of a table that are printed; files have all.
MOST_ROWS = 20


@dataclass(frozen=True)
class ExactPosterior:
    """Give the exact posterior of a CSV file: edges, paths, best graphs, independent draws.

    With --outcome it gives the columns that explain an outcome. Nothing is trained. Up to 20
    columns; docs/posteriors.md has the seconds.

    Try:
        pdai posterior my.csv
        pdai posterior my.csv --score bdeu --max-parents 3 --out posteriors/mine
        pdai posterior my.csv --forbid "site -> smoke" --require "gene -> site"
        pdai posterior my.csv --bins 3 --levels "stage=I,II,III,IV"
        pdai posterior my.csv --outcome y
        pdai posterior my.csv --proof my.sums
    """

    data: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="TABLE")]
    """A file whose first line names the columns: CSV, parquet or JSON lines, each also .gz."""
    outcome: str | None = None
    """The column that the others explain; without it, the posterior is over graphs."""
    score: Score = "auto"
    """Score of graphs. bge: for numbers; bdeu: for categories; auto: bdeu where all columns are
    text, else bge; refused where numbers look like categories."""
    prior: Literal["zellner", "hyper-g"] = "zellner"
    """Prior of the coefficients of an outcome."""
    max_parents: int | None = None
    """Largest number of parents of a node; no limit by default."""
    forbid: tuple[str, ...] = ()
    """Edges that no graph has, each as "a -> b"."""
    require: tuple[str, ...] = ()
    """Edges that every graph has, each as "a -> b"."""
    bins: int | None = None
    """Cut each column with more different numbers than this into so many classes, at quantiles, and
    score categories: for tables of numbers beside text."""
    levels: tuple[str, ...] = ()
    """Levels of a column, with those that no row has, as "size=small,large"; it is not cut."""
    drop_missing: bool = False
    """Leave out rows with a missing value, and say how many."""
    paths: bool = False
    """Sum paths beyond 16 columns too, which takes minutes."""
    best: int = 5
    """Number of the most probable graphs (or sets) to list."""
    draws: int = 0
    """Number of independent draws to write; needs --out."""
    seed: int = 0
    """Random seed of the draws."""
    out: Path | None = None
    """Write tables, graphs, picture and page to this folder, which must not exist yet."""

    proof: Path | None = None
    """Write weights, Z, edges and paths in integers to this file, which the verified program checks
    with pdai-check FILE; up to 14 columns."""
    theorem: Path | None = None
    """Write the same as a theorem to this file, which Coq's kernel checks: pdai theorem FILE. Up to
    10 columns: 5 take it a second, 8 a minute."""

    def run(self) -> None:
        """Prints the posterior, and writes the files.

        Raises InputError if the file cannot be learned from, or an option breaks a rule.
        """
        from fast.runs.files import check_free
        from pdai.posteriors.answers import GraphAnswer, posterior

        check_integer("posterior", "best", self.best, 1, most=1000)
        check_integer("posterior", "draws", self.draws, 0)
        check_seed("posterior", self.seed)
        if self.draws and self.out is None:
            raise InputError(f"draws is {self.draws}, but there is no folder for them: add --out")
        if self.out is not None:
            check_free(self.out)
        for path in filter(None, (self.proof, self.theorem)):
            check_output(path)
        said = Seldom()
        answer = posterior(
            self.data,
            self.outcome,
            self.score,
            max_parents=self.max_parents,
            forbid=self.forbid,
            require=self.require,
            bins=self.bins,
            levels=self.levels,
            drop_missing=self.drop_missing,
            prior=self.prior,
            progress=lambda share, word: said(f"{word}: {share:.0%} of the terms"),
        )
        for option in ("paths", "proof", "theorem"):
            if getattr(self, option) and not isinstance(answer, GraphAnswer):
                raise InputError(
                    f"--{option} is for graphs, and there is an outcome: leave one out"
                )
        if isinstance(answer, GraphAnswer):
            answer.has_paths |= self.paths
        for remark in answer.remarks:
            print(printable(f"warning: {remark}"), file=sys.stderr)
        if isinstance(answer, GraphAnswer):
            self._prove(answer)
        if self.out is not None:
            from pdai.posteriors.files import write

            write(answer, self.out, best=self.best, draws=self.draws, seed=self.seed)
        self._print(answer)

    def _prove(self, answer: "GraphAnswer") -> None:
        from reference.posterior.dag_proof import write_dags, write_sums_theorem

        for path, write in ((self.proof, write_dags), (self.theorem, write_sums_theorem)):
            if path is not None:
                write(path, self.data.name, answer.posterior)

    def _print(self, answer: "Answer") -> None:
        facts = answer.facts.items()
        show_rows("exact posterior", {name: text for name, text in facts if name != "warnings"})
        for title, columns in answer.tables().items():
            _show_columns(title, columns, MOST_ROWS)
        _show_columns("most probable", answer.best_columns(self.best), self.best)
        for sentence in answer.words():
            say(sentence)
        given = "checks; scores are taken as given"
        if self.proof is not None:
            say(f"proof: {self.proof}, which pdai-check FILE {given}")
        if self.theorem is not None:
            say(f"theorem: {self.theorem}, which pdai theorem FILE {given}")
        if self.out is not None:
            say(f"folder: {self.out}")


def _show_columns(title: str, columns: "Columns", most: int) -> None:
    from rich.table import Table

    count = len(next(iter(columns.values())))
    few = f", the first {most} of {count}" if count > most else ""
    table = Table(*columns, title=f"{title}{few}")
    for row in list(zip(*columns.values(), strict=True))[:most]:
        table.add_row(*(f"{x:.4g}" if isinstance(x, float) else str(x) for x in row))
    show(table)
