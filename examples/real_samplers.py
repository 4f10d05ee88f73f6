"""Samplers of kept libraries, judged: each with its law, its draws and a verdict.

Where the law of the sampler can be summed, its TV is exact, by a sum that shares nothing with the
verdict. A library that is not installed is named, and its rows of the table stay as they were.

    python -m examples.real_samplers           # all, in some minutes
    python -m examples.real_samplers random    # those of a library, or by a part of their name
"""

import json
import math
import random
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib.metadata import version
from itertools import accumulate, combinations, pairwise, permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pdai

STORED = Path(__file__).with_suffix(".json")
PAGE, MARKS = Path(__file__).parents[1] / "docs" / "real_samplers.md", ("real samplers", "end")
Law = Mapping[Any, Fraction]


class Asked(NamedTuple):
    """A law, draws of a sampler that should have it, and its TV, if it can be summed."""

    law: Law
    draws: list[Any]
    tv: Fraction | None = None


class Case(NamedTuple):
    """A sampler of a library, by the name of its distribution, and the question."""

    package: str
    call: str
    question: str
    ask: Callable[[], Asked]

    @property
    def name(self) -> str:
        """The question in few letters."""
        return self.ask.__name__


CASES: list[Case] = []


def case(package: str, call: str, question: str) -> Callable[[Callable[[], Asked]], Any]:
    """Adds a function to the cases."""

    def add(ask: Callable[[], Asked]) -> Callable[[], Asked]:
        CASES.append(Case(package, call, question, ask))
        return ask

    return add


def uniform(values: Any) -> Law:
    """The uniform law."""
    values = [*values]
    return dict.fromkeys(values, Fraction(1, len(values)))


def distance(one: Law, other: Law) -> Fraction:
    """The total variation of two laws."""
    gaps = (abs(one.get(x, 0) - other.get(x, 0)) for x in {*one, *other})
    return sum(gaps, start=Fraction(0)) / 2


@case("python", "random.choices", "weights 1, 2, 3, 4")
def python_choices() -> Asked:
    """`bisect` of k / 2^53, times the sum of weights: the floats below each bound are counted."""
    weights, whole = [1, 2, 3, 4], 2**53
    law = {x: Fraction(w, 10) for x, w in enumerate(weights)}
    bounds = accumulate(weights)
    ends = [bisect_left(range(whole), c, key=lambda k: k / whole * 10.0) for c in bounds]
    drawn = {x: Fraction(b - a, whole) for x, (a, b) in enumerate(pairwise([0, *ends]))}
    draws = random.Random(0).choices(range(4), weights, k=100_000)
    return Asked(law, draws, distance(law, drawn))


@case("python", "random.shuffle", "uniform on the 24 orders of four")
def python_shuffle() -> Asked:
    """The shuffle that README's first example lacks."""
    rng, draws = random.Random(0), []
    for _ in range(100_000):
        rng.shuffle(cards := [0, 1, 2, 3])
        draws.append(tuple(cards))
    return Asked(uniform(permutations(range(4))), draws)


CHANCES = [Fraction(n, 10) for n in (4, 3, 2, 1)]
# One draw after the other, each in proportion to what is left.
SUCCESSIVE = {
    (i, j): CHANCES[i] * CHANCES[j] / (1 - CHANCES[i]) for i, j in permutations(range(4), 2)
}


def pairs_of_numpy() -> list[tuple[int, int]]:
    """Pairs that are drawn without replacement, with unequal weights."""
    rng, p = np.random.default_rng(0), [float(chance) for chance in CHANCES]
    return [tuple(rng.choice(4, 2, replace=False, p=p).tolist()) for _ in range(40_000)]


@case("numpy", "Generator.choice(replace=False, p=...)", "one draw after the other")
def numpy_successive() -> Asked:
    """As its documentation says."""
    return Asked(SUCCESSIVE, pairs_of_numpy())


@case("numpy", "Generator.choice(replace=False, p=...)", "a pair in proportion to its product")
def numpy_products() -> Asked:
    """As many take it: the weight of a set is the product of those of its members."""
    sets = [*combinations(range(4), 2)]
    total = sum(CHANCES[i] * CHANCES[j] for i, j in sets)
    law = {(i, j): CHANCES[i] * CHANCES[j] / total for i, j in sets}
    drawn = {(i, j): SUCCESSIVE[i, j] + SUCCESSIVE[j, i] for i, j in sets}
    draws = [(min(pair), max(pair)) for pair in pairs_of_numpy()]
    return Asked(law, draws, distance(law, drawn))


@case("jax", "jax.random.randint(key, shape, 0, 3 * 2**29)", "each third equally likely")
def jax_randint() -> Asked:
    """The law where 32 random bits are taken modulo a range: some remainders come three times.

    The multiplier of the other 32 bits is 2^16 squared, which is 0 in 32 bits.
    """
    import jax

    size, third = 3 * 2**29, 2**29
    draws = jax.random.randint(jax.random.key(0), (100_000,), 0, size) // third
    # How many of all 2^32 numbers end in each third.
    whole, rest = divmod(2**32, size)
    counts = [whole * third + min(max(rest - i * third, 0), third) for i in range(3)]
    drawn = {i: Fraction(count, 2**32) for i, count in enumerate(counts)}
    law = uniform(range(3))
    return Asked(law, np.asarray(draws).tolist(), distance(law, drawn))


@case("jax", "jax.random.choice(key, 7_000_000, p=p)", "uniform on five million of seven")
def jax_choice() -> Asked:
    """Cumulative sums and uniforms in float32: 2^23 numbers cannot be shared out evenly."""
    import jax
    import jax.numpy as jnp

    inside = 5_000_000
    p = jnp.where(jnp.arange(7_000_000) < inside, 1 / inside, 0)
    keys = jax.random.split(jax.random.key(0), 20)
    draws = np.concatenate([jax.random.choice(k, 7_000_000, (100_000,), p=p) for k in keys])
    sums, bits = np.asarray(jnp.cumsum(p)), np.arange(2**23, dtype=np.float32)
    places = np.searchsorted(sums, sums[-1] * (1 - bits / np.float32(2**23)))
    counts = np.bincount(places, minlength=inside)
    gaps = abs(counts[:inside] * inside - 2**23).sum() + inside * counts[inside:].sum()
    return Asked(uniform(range(inside)), draws.tolist(), Fraction(int(gaps), 2 * inside * 2**23))


@case("networkx", "random_spanning_tree", "uniform on the 15 trees of a grid of 2 x 3")
def networkx_trees() -> Asked:
    """Trees take a millisecond each."""
    import networkx

    from examples.samplers import EDGES, TREES

    rng, draws = random.Random(0), []
    for _ in range(4_000):
        tree = networkx.random_spanning_tree(networkx.Graph(EDGES), seed=rng)
        draws.append(frozenset((min(edge), max(edge)) for edge in tree.edges))
    return Asked(uniform(TREES), draws)


@case("networkx", "random_regular_graph(3, 6)", "uniform on the 70 cubic graphs of six nodes")
def networkx_cubic() -> Asked:
    """It is known to be uniform as graphs grow; of six nodes nobody says."""
    import networkx

    pairs, rng = [*combinations(range(6), 2)], random.Random(0)
    cubic = [x for x in combinations(pairs, 9) if set(Counter(sum(x, ())).values()) == {3}]
    graphs = (networkx.random_regular_graph(3, 6, seed=rng) for _ in range(40_000))
    draws = [tuple(sorted((min(edge), max(edge)) for edge in graph.edges)) for graph in graphs]
    return Asked(uniform(x for x in cubic if len(set(sum(x, ()))) == 6), draws)


@case("scipy", "stats.random_table", "tables of fixed sums, hypergeometric")
def scipy_tables() -> Asked:
    """The probability is a product of factorials over that of the sum and of all cells."""
    from scipy.stats import random_table

    rows, columns = (3, 2), (2, 2, 1)
    law = {}
    for first in product(*(range(c + 1) for c in columns)):
        if sum(first) == rows[0]:
            cells = (*first, *(c - x for c, x in zip(columns, first, strict=True)))
            top = math.prod(map(math.factorial, rows + columns))
            law[cells] = Fraction(top, math.factorial(5) * math.prod(map(math.factorial, cells)))
    tables = random_table(rows, columns, seed=0).rvs(size=100_000)
    return Asked(law, [tuple(x) for x in tables.reshape(len(tables), -1).astype(int).tolist()])


@case("scikit-learn", "sample_without_replacement(method='reservoir_sampling')", "ordered pairs")
def sklearn_reservoir() -> Asked:
    """Sets are equally likely; the order is that of the reservoir, and no random one."""
    from sklearn.utils.random import sample_without_replacement

    ask = {"method": "reservoir_sampling", "random_state": np.random.RandomState(0)}
    samples = (sample_without_replacement(5, 2, **ask) for _ in range(40_000))
    draws = [tuple(pair.tolist()) for pair in samples]
    drawn = Counter[tuple[int, ...]]()
    for places in product(range(3), range(4), range(5)):
        kept = [0, 1]
        for item, place in enumerate(places, 2):
            kept[place : place + 1] = [item] if place < 2 else []
        drawn[tuple(kept)] += 1
    law = uniform(permutations(range(5), 2))
    return Asked(law, draws, distance(law, {x: Fraction(n, 60) for x, n in drawn.items()}))


def formula() -> tuple[list[list[int]], list[tuple[int, ...]]]:
    """Clauses of three literals over 16 variables, and all solutions, of all assignments."""
    rng = random.Random(0)
    picks = [rng.sample(range(1, 17), 3) for _ in range(30)]
    clauses = [[rng.choice((-1, 1)) * v for v in pick] for pick in picks]
    bits = np.arange(2**16)[:, None] >> np.arange(16) & 1
    holds = [np.any([bits[:, abs(x) - 1] == (x > 0) for x in c], axis=0) for c in clauses]
    solutions = np.where(bits[np.all(holds, axis=0)], 1, -1) * np.arange(1, 17)
    return clauses, [tuple(x) for x in solutions.tolist()]


@case("python-sat", "Solver('minisat22').set_phases(coins)", "uniform on the solutions")
def pysat_phases() -> Asked:
    """The usual way to solutions that vary: a fresh solver, and a coin for each variable.

    Nothing else in the solver is random, so that all 2^16 coins are summed.
    """
    from pysat.solvers import Solver

    clauses, solutions = formula()

    def solved(coins: int) -> tuple[int, ...]:
        with Solver("minisat22", bootstrap_with=clauses) as solver:
            solver.set_phases([v if coins >> v & 1 else -v for v in range(1, 17)])
            solver.solve()
            return tuple(solver.get_model())

    law, whole = uniform(solutions), 2**16
    by_coins = [solved(2 * coins) for coins in range(whole)]
    drawn = {x: Fraction(count, whole) for x, count in Counter(by_coins).items()}
    return Asked(law, random.Random(0).choices(by_coins, k=40_000), distance(law, drawn))


@case("pycmsgen", "Solver(seed=n)", "uniform on the solutions")
def cmsgen() -> Asked:
    """A sampler that is called uniform-like, with a fresh seed for each draw."""
    from pycmsgen import Solver

    (clauses, solutions), draws = formula(), []
    for seed in range(40_000):
        solver = Solver(seed=seed + 1)
        solver.add_clauses(clauses)
        _, model = solver.solve()
        draws.append(tuple(v if model[v] else -v for v in range(1, 17)))
    return Asked(uniform(solutions), draws)


@case("torch", "torch.multinomial", "weights 1, 2, 3, 4")
def torch_multinomial() -> Asked:
    """In float32, by its generator."""
    import torch

    weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
    draws = torch.multinomial(weights, 100_000, True, generator=torch.Generator().manual_seed(0))
    return Asked({x: Fraction(x + 1, 10) for x in range(4)}, draws.tolist())


def judged(case: Case) -> dict[str, Any]:
    """The row of a case, whose library must be installed."""
    is_python = case.package == "python"
    number = ".".join(map(str, sys.version_info[:3])) if is_python else version(case.package)
    law, draws, tv = case.ask()
    low, high = pdai.certify(draws, law=law).interval
    return {
        "library": f"{case.package} {number}",
        "call": case.call,
        "question": case.question,
        "draws": len(draws),
        "interval": [low, high],
        "exact": None if tv is None else str(tv),
    }


def table(rows: Mapping[str, Any]) -> list[str]:
    """The table of the page."""
    lines = ["| sampler | asked | draws | certified TV | exact TV | verdict |", "|---" * 6 + "|"]
    for row in rows.values():
        low, high = row["interval"]
        cells = [
            f"{row['library']}, `{row['call']}`",
            f"{row['question']}",
            f"{row['draws']:,}",
            f"{low:.4f} to {high:.4f}",
            "" if row["exact"] is None else _number(Fraction(row["exact"])),
            f"wrong, by {low:.4f} at least" if low > 0 else f"right within {high:.4f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _number(tv: Fraction) -> str:
    return str(tv) if len(str(tv)) < 9 else f"{float(tv):.6g}"


def main(words: list[str]) -> None:
    """Judges the cases that have one of the words, and stores them."""
    rows = json.loads(STORED.read_text()) if STORED.exists() else {}
    for one in CASES:
        if words and not any(word in f"{one.package} {one.name}" for word in words):
            continue
        try:
            rows[one.name] = judged(one)
            print(table({one.name: rows[one.name]})[-1], flush=True)
        except ImportError as error:
            print(f"SKIPPED: {one.package}, {one.call}: {error}", file=sys.stderr)
        rows = {one.name: rows[one.name] for one in CASES if one.name in rows}
        STORED.write_text(json.dumps(rows, indent=1) + "\n")
    first, last = (f"<!-- {mark} -->" for mark in MARKS)
    top, _, rest = PAGE.read_text().partition(first)
    lines = "\n".join([first, *table(rows), last])
    PAGE.write_text(top + lines + rest.partition(last)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
