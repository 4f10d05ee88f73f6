"""What bounds are computed from; the bounds themselves are checked in `verify/test_n5.py`."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from reference import (
    FLOAT64,
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    History,
    InputError,
    enumerate_dag,
    gamma,
    lift,
    log_tb_residuals,
    path_sums,
    pointed_dag,
)
from reference.bounds import (
    kl_bound,
    residual_spread,
    roundings,
    tv_bound,
    tv_bound_from_loss,
)
from reference.problems import Grid
from verify.small_scope import lifts, pointed_dags

FORK = pointed_dag({"o": ["x", "y"], "x": [], "y": []})


class Instance(NamedTuple):
    forward: ForwardPolicy[Fraction]
    backward: BackwardPolicy[Fraction]
    rewards: tuple[Fraction, ...]


def instances(count: int = 400, spread: int = 1000) -> Iterator[Instance]:
    rng = random.Random(1)
    dags = list(pointed_dags(5))
    for _ in range(count):
        dag = rng.choice(list(lifts(rng.choice(dags)))).dag

        def weights(n: int) -> list[int]:
            return [rng.choice([1, 2, 3, rng.randint(1, spread)]) for _ in range(n)]

        yield Instance(
            ForwardPolicy.from_weights(dag, RATIONAL, weights(len(dag.edges))),
            BackwardPolicy.from_weights(dag, RATIONAL, weights(len(dag.edges))),
            tuple(map(Fraction, weights(len(dag.terminals)))),
        )


def test_the_spread_without_trajectories_encloses_the_enumerated_one_tightly() -> None:
    for instance in instances(100):
        deltas = [delta for _, delta in log_tb_residuals(*instance, 0.5)]
        spread = residual_spread(*instance, 0.5)
        assert spread.least <= min(deltas)
        assert max(deltas) <= spread.largest
        assert spread.oscillation == pytest.approx(max(deltas) - min(deltas), abs=1e-12)


def test_floats_stay_within_the_roundings_of_the_graph() -> None:
    for dag in (enumerate_dag(Grid(6, 2)), lift(enumerate_dag(Grid(4, 2)), History()).dag):
        rng = random.Random(0)
        exact = ForwardPolicy.from_weights(
            dag, RATIONAL, [2 ** rng.randint(0, 3) for _ in dag.edges]
        )
        rounded = ForwardPolicy(dag, FLOAT64, [float(v) for v in exact.values])
        # The rounded policy itself as rationals: only the sums round.
        given = [Fraction(v) for v in rounded.values]
        sums = [Fraction(0)] * len(dag.labels)
        sums[0] = Fraction(1)
        for (u, v), value in zip(dag.edges, given, strict=True):
            sums[v] += sums[u] * value
        bound = Fraction(gamma(roundings(dag)))
        for value, truth in zip(path_sums(rounded), sums, strict=True):
            assert abs(Fraction(value) - truth) <= bound * truth


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tv_bound(-0.1), "number >= 0"),
        (lambda: tv_bound(math.nan), "number >= 0"),
        (lambda: kl_bound("1"), "number >= 0"),  # type: ignore[arg-type]
        (lambda: tv_bound_from_loss(1.0, 0.0), r"coverage c is 0.0"),
        (lambda: tv_bound_from_loss(1.0, 1.5), r"coverage c is 1.5, but must lie in \(0, 1\]"),
        (
            lambda: residual_spread(
                ForwardPolicy(FORK, RATIONAL, [Fraction(1), Fraction(0)]),
                BackwardPolicy.uniform(FORK, RATIONAL),
                (Fraction(1), Fraction(1)),
            ),
            "need all positive",
        ),
    ],
)
def test_bounds_refuse_what_they_cannot_bound(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
