"""Certificates of bare samples beside a uniform law, and the usual tests at the same level.

    python -m benchmarks.bare_samples --part intervals --out benchmarks/results/bare_samples
    python -m benchmarks.bare_samples --part errors --out benchmarks/results/bare_samples-errors
    python -m benchmarks.bare_samples --part verdicts --out benchmarks/results/bare_samples-verdicts

Intervals of TV for five samplers; p-values of Pearson's chi-square and of the likelihood ratio
(scipy), and of exact binomial tests of each value, times the number of values. Then how often each
errs at a loose level, of many repetitions. The last part counts refusals for dependence of chains
and of independent draws, and the answers of `assert_law`.
"""

from fractions import Fraction
from functools import partial
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.harness import Table, machine, parser
from pdai.testing import UndecidedError, assert_law
from reference.certificates.bare import against_law
from reference.certificates.independence import SHARE, DependentError, check_independent

LEVEL, LOOSE = 1e-6, 0.05
# Seven values of 15,625, and one in 78, as in the hardware that asked for this.
HEAVY, MISSING, TIMES = 2_232, 78, 52
# The sampler, the values and the samples of the repeated part.
SMALL = (("perfect", 20, 300), ("perfect", 100, 1_000), ("weights 1.2 and 0.8", 20, 300))

# Laws of independent draws, by their weights.
LAWS = {
    **{f"uniform on {values:,}": np.ones(values) for values in (2, 10, 1_000, 100_000)},
    "1 / k, 1,000 values": 1 / np.arange(1, 1_001),
    "0.99 and 0.01": np.array([99, 1]),
}

Floats = Any
SAMPLERS = (
    "perfect",
    "some 52 times too often",
    "weights 1.2 and 0.8",
    "one in 78 missing",
    "correlated",
)


def weights(values: int, name: str) -> Floats:
    """The law of a sampler, which is uniform but for a change of its weights."""
    law = np.ones(values)
    if name == "some 52 times too often":
        law[: max(1, round(values / HEAVY))] = TIMES
    elif name == "weights 1.2 and 0.8":
        law[::2], law[1::2] = 1.2, 0.8
    elif name == "one in 78 missing":
        law[: max(1, values // MISSING)] = 0
    return law / law.sum()


def target_of(values: int, name: str) -> tuple[dict[Any, Fraction], float]:
    """The uniform law, with a value that it has not, and the TV of a sampler to it."""
    target = {**dict.fromkeys(range(values), Fraction(1, values)), "outside": Fraction(0)}
    return target, float(abs(weights(values, name) - 1 / values).sum()) / 2


def draw(random: np.random.Generator, name: str, values: int, size: int) -> Any:
    """Samples as places; correlated ones are the sample before, half of the time."""
    if name in ("perfect", "correlated"):
        places = random.integers(0, values, size)
    else:
        places = random.choice(values, size=size, p=weights(values, name))
    if name == "correlated":
        fresh = np.where(random.random(size) < 0.5, np.arange(size), 0)
        places = places[np.maximum.accumulate(fresh)]
    return places


def tests(places: Any, values: int) -> dict[str, float]:
    """P-values of the usual tests."""
    counts = np.bincount(places, minlength=values)
    tails = stats.binom.sf(counts - 1, len(places), 1 / values)
    tails = np.minimum(tails, stats.binom.cdf(counts, len(places), 1 / values))
    return {
        "chi-square": float(stats.chisquare(counts).pvalue),
        "likelihood ratio": float(stats.power_divergence(counts, lambda_=0).pvalue),
        "exact binomials": min(1.0, 2 * values * float(tails.min())),
    }


def intervals(table: Table, sizes: tuple[int, ...]) -> None:
    """A row for each sampler, number of values and number of samples."""
    random = np.random.default_rng(0)
    for size, values, name in product(sizes, (10**2, 10**4, 10**6), SAMPLERS):
        target, tv = target_of(values, name)
        places = draw(random, name, values, size)
        samples, begun = places.tolist(), process_time()
        low, high = against_law(samples, target, LEVEL)[0]
        row = {
            "values": values,
            "samples": size,
            "sampler": name,
            "TV": round(tv, 6),
            "interval": f"[{low:.4f}, {high:.4f}]",
            "CPU s": process_time() - begun,
        }
        row |= {test: said(p) for test, p in tests(places, values).items()}
        table.add(row, "Intervals")


def said(p: float) -> str:
    """A p-value with the verdict at the level."""
    if p > LEVEL:
        return f"{p:.2g}"
    return f"refused ({f'{p:.0e}' if p > 1e-99 else 'below 1e-99'})"


def errors(table: Table, repetitions: int) -> None:
    """Counts of refusals of a perfect sampler, and of intervals that miss the truth."""
    random = np.random.default_rng(1)
    for name, values, size in SMALL:
        target, tv = target_of(values, name)
        counts = dict.fromkeys(["interval misses TV", "TV > 0 is shown"], 0)
        for _ in range(repetitions):
            places = draw(random, name, values, size)
            low, high = against_law(places.tolist(), target, LOOSE)[0]
            # The truth is rounded by less than this.
            counts["interval misses TV"] += not low <= tv + 1e-12 <= high + 2e-12
            counts["TV > 0 is shown"] += low > 0
            for test, p in tests(places, values).items():
                counts[test] = counts.get(test, 0) + (p <= LOOSE)
        row = {"values": values, "samples": size, "sampler": name, "of": repetitions}
        table.add({**row, **counts}, f"How often, at level {LOOSE}")


def verdicts(table: Table, files: int) -> None:
    """Files refused for dependence; and how often `assert_law` passes, for laws of each TV."""
    random = np.random.default_rng(2)

    def is_refused(samples: Floats, level: float) -> bool:
        try:
            check_independent("samples", samples.tolist(), level)
        except DependentError:
            return True
        return False

    def chain(keep: float) -> Floats:
        fresh = np.where(random.random(20_000) < keep, 0, np.arange(20_000))
        return random.integers(10, size=20_000)[np.maximum.accumulate(fresh)]

    for keep in (0.5, 0.8, 0.9, 0.95, 0.98):
        time = round((1 + keep) / (1 - keep))
        withheld = sum(is_refused(chain(keep), LEVEL) for _ in range(20))
        table.add({"kept": keep, "correlation time": time, "withheld of 20": withheld}, "Chains")
    for name, law in LAWS.items():
        for size in (100, 2_000):
            draws = (random.choice(len(law), size, p=law / law.sum()) for _ in range(files))
            refused = sum(is_refused(x, LOOSE / SHARE) for x in draws)
            row = {"law": name, "samples": size, "files": files, f"refused at {LOOSE}": refused}
            table.add(row, "Independent draws")
    for tv in (0.0, 0.02, 0.045, 0.055, 0.08):
        counts = dict.fromkeys(["passes", "fails", "undecided"], 0)
        sampler = partial(random.choice, [*"abc"], p=[0.25 + tv, 0.25, 0.5 - tv])
        for _ in range(200):
            try:
                assert_law(sampler, {"a": 1, "b": 1, "c": 2}, within=0.05, most=32_000)
                counts["passes"] += 1
            except UndecidedError:
                counts["undecided"] += 1
            except AssertionError:
                counts["fails"] += 1
        table.add({"TV": tv, **counts}, "assert_law, within 0.05, 32,000 draws at most, 200 runs")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--largest", type=int, default=10**7, help="number of samples")
    options.add_argument("--repetitions", type=int, default=10_000)
    options.add_argument(
        "--part", choices=["all", "intervals", "errors", "verdicts"], default="all"
    )
    chosen = options.parse_args()
    table = Table(
        f"python -m benchmarks.bare_samples --part {chosen.part}",
        chosen.out,
        machine("numpy", "scipy"),
    )
    sizes = tuple(10**k for k in range(4, 8) if 10**k <= chosen.largest)
    parts = {
        "intervals": partial(intervals, table, sizes),
        "errors": partial(errors, table, chosen.repetitions),
        "verdicts": partial(verdicts, table, chosen.repetitions),
    }
    for name, part in parts.items():
        if chosen.part in ("all", name):
            part()


if __name__ == "__main__":
    main()
