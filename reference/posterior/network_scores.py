"""Local scores of networks: log marginal likelihoods of a variable given its parents, in nats.

Both are score equivalent: `score(v | P) = f(P + v) - f(P)` with f a function of sets of variables.
"""

import math
from collections.abc import Callable
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from reference.contract.errors import InputError, plain, shown
from reference.contract.tables import DECIMAL
from reference.posterior.columns import (
    NUMBER_ELSEWHERE,
    Floats,
    Ints,
    Table,
    check_positive,
    standard_columns,
)

# f of all sets of a size: the sets, one per row, and then one number per set.
OfSets = Callable[[Ints], Floats]
# The scores by name; `auto` is `bge`, but refuses a table that looks like categories.
Score = Literal["auto", "bge", "bdeu"]


def numbers_to_score(table: Table, score: Score) -> Floats:
    """The values of a table as numbers, for a score.

    Raises InputError if one is none, or if no score was chosen and they look like codes.
    """
    if score == "auto" and (coded := table.coded()):
        name, values = next(iter(coded.items()))
        raise InputError(
            f"{table.source}: {', '.join(map(repr, coded))} may hold numbers or the codes of "
            f"categories ({name!r} is always one of {plain(', '.join(values))}): choose `--score "
            "bdeu` for categories, or `--score bge` for numbers"
        )
    return table.numbers(
        "leave the column out, cut numbers into classes with `--bins 3`, or score categories with "
        "`--score bdeu`"
    )


class ChosenScore(NamedTuple):
    """A score and why it is taken."""

    name: Literal["bge", "bdeu"]
    reason: str


def choose_score(table: Table, score: Score) -> ChosenScore:
    """The score of a table; with `auto` it is `bdeu` if every column is text, or cut.

    Raises InputError as `numbers_to_score` does, or if no column holds plain decimal numbers, and
    one holds numbers that are written in another way.
    """
    if table.cuts is not None:
        if score == "bge":
            raise InputError(
                f"{table.source}: score is 'bge', which is for numbers, but bins and levels make "
                "categories: leave one of them out"
            )
        return ChosenScore("bdeu", "as bins or levels are given")
    if score != "auto":
        return ChosenScore(score, "as asked for")
    if not any(DECIMAL.fullmatch(cell) for row in table.rows for cell in row):
        for name, column in table.columns.items():
            if all(map(NUMBER_ELSEWHERE.fullmatch, column)):
                raise InputError(
                    f"{table.source}: {name!r} holds values such as {column[0]!r}, which look like "
                    "numbers: write plain decimal ones, such as 1234.5, or choose `--score bdeu` "
                    "for categories"
                )
        return ChosenScore("bdeu", "as no column holds numbers")
    numbers_to_score(table, score)
    return ChosenScore("bge", "as all columns hold numbers; categories need bdeu")


def table_scores(table: Table, score: Literal["bge", "bdeu"], max_parents: int) -> Floats:
    """The local scores of a table with the usual hyperparameters, as `StructureLearning` has them.

    Args:
        table: the data.
        score: the name of the score.
        max_parents: the largest number of parents of a node.

    Raises:
        InputError: as `standard_columns` and `levels` do.
    """
    if score == "bdeu":
        return bdeu_scores(table.codes(), max_parents)
    numbers = numbers_to_score(table, score)
    return bge_scores(standard_columns(table.source, numbers, table.names), max_parents)


def bge_scores(
    data: Floats, max_parents: int, alpha_mu: float = 1.0, alpha_w: float | None = None
) -> Floats:
    """The BGe score of Gaussian data, shape (n, 2^n), NaN where P contains v or is too large.

    The mean has the prior `N(0, (alpha_mu Lambda)^-1)`, the precision `Lambda` the Wishart law with
    `alpha_w` degrees of freedom and the scale `T^-1`, where `T = t I` and
    `t = alpha_mu (alpha_w - n - 1) / (alpha_mu + 1)` (Geiger and Heckerman, 2002; with the
    determinants as corrected by Kuipers, Moffa and Heckerman, 2014).

    Args:
        data: columns of mean 0 and variance 1, for which it is meant, shape (N, n).
        max_parents: the largest number of parents of a node.
        alpha_mu: the weight of the prior mean, positive.
        alpha_w: above `n + 1`; by default `n + alpha_mu + 1`.

    Raises:
        InputError: if a hyperparameter breaks its rule.
    """
    rows, n = data.shape
    check_positive("BGe", "alpha_mu", alpha_mu)
    alpha_w = n + alpha_mu + 1 if alpha_w is None else alpha_w
    check_positive("BGe", "alpha_w", alpha_w)
    if not n + 1 < alpha_w:
        raise InputError(
            f"BGe: alpha_w is {shown(alpha_w)}, but must be above n + 1 = {n + 1}: leave it out"
        )
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    mean = data.mean(axis=0)
    scatter = t * np.eye(n) + (data - mean).T @ (data - mean)
    scatter += rows * alpha_mu / (rows + alpha_mu) * np.outer(mean, mean)

    def log_likelihoods(sets: Ints) -> Floats:
        size = sets.shape[1]
        prior = alpha_w - n + size
        constant = size / 2 * math.log(alpha_mu / (rows + alpha_mu))
        constant -= size * rows / 2 * math.log(math.pi)
        for i in range(size):
            constant += math.lgamma((rows + prior - i) / 2) - math.lgamma((prior - i) / 2)
        constant += prior / 2 * size * math.log(t)
        log_det = np.linalg.slogdet(scatter[sets[:, :, None], sets[:, None, :]])[1]
        return np.asarray(constant - (rows + prior) / 2 * log_det, np.float64)

    return _local_scores(n, max_parents, log_likelihoods)


def bdeu_scores(codes: Ints, max_parents: int, sample_size: float = 1.0) -> Floats:
    """The BDeu score of discrete data, shape (n, 2^n), NaN where P contains v or is too large.

    The configurations of a set of variables are the combinations of its members' levels, with a
    Dirichlet prior that shares `sample_size` equally (Heckerman, Geiger and Chickering, 1995).

    Args:
        codes: the level of each value, from 0 on, shape (N, n); the largest of each column is that
            of a row.
        max_parents: the largest number of parents of a node.
        sample_size: the equivalent sample size of the prior, positive.
    """
    check_positive("BDeu", "sample_size", sample_size)
    levels: list[int] = (codes.max(axis=0) + 1).tolist()

    def log_likelihood(members: Ints) -> float:
        share = sample_size / math.prod(levels[v] for v in members)
        configurations = np.zeros(len(codes), np.int64)
        for v in members:
            # Renumbered after each variable, so that the numbers stay small.
            mixed = configurations * levels[v] + codes[:, v]
            configurations = np.unique(mixed, return_inverse=True)[1]
        counts = np.bincount(configurations).tolist()
        return math.fsum(math.lgamma(share + k) - math.lgamma(share) for k in counts)

    def log_likelihoods(sets: Ints) -> Floats:
        return np.array([log_likelihood(row) for row in sets])

    return _local_scores(codes.shape[1], max_parents, log_likelihoods)


def _local_scores(nodes: int, max_parents: int, of_sets: OfSets) -> Floats:
    """`f(P + v) - f(P)` for all v and P, shape (n, 2^n), NaN where undefined."""
    values = np.full(2**nodes, np.nan)
    for size in range(min(nodes, max_parents + 1) + 1):
        every = list(combinations(range(nodes), size))
        sets = np.array(every, np.int64).reshape(len(every), size)
        values[(1 << sets).sum(axis=1)] = of_sets(sets)
    masks = np.arange(2**nodes)
    sizes = np.bitwise_count(masks)
    scores = np.full((nodes, 2**nodes), np.nan)
    for v in range(nodes):
        parents = masks[(masks >> v & 1 == 0) & (sizes <= max_parents)]
        scores[v, parents] = values[parents | 1 << v] - values[parents]
    return scores
