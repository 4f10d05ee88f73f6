"""The exact law of a path-dependent policy: trajectories per second."""

import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.on_device.budget import Row
from fast.environments import make_environment
from fast.laws.enumeration import Enumeration, enumerate_environment
from fast.laws.terminal_law import exact_law
from fast.policies.policy import Policy
from fast.training.build import make_policy
from fast.training.compose import configure
from reference.problems import TableSequences


class Ready(NamedTuple):
    """An enumerated problem with a policy, and the seconds that enumeration took."""

    policy: Policy
    enumeration: Enumeration
    seconds: float


def prepare(length: int) -> Ready:
    """Strings of a length over four letters, built at both ends, with random rewards."""
    started = time.perf_counter()
    table = np.random.default_rng(0).normal(size=4**length).astype(np.float32)
    problem = TableSequences("ACGT", length, "prepend-append", table, 3)
    environment = make_environment(problem)
    enumeration = enumerate_environment(problem, environment)
    config = configure("six6", dynamics="gru", parameters=40_000, table_rows=0)
    policy = make_policy(config, environment, key=jax.random.key(0))
    return Ready(policy, enumeration, time.perf_counter() - started)


def measure(length: int, ready: Ready) -> list[dict[str, Any]]:
    """A row for each precision: the second call, without compilation."""
    measured = []
    for float64 in (False, True):
        seconds = []
        for _ in range(2):
            started = time.perf_counter()
            law = exact_law(ready.policy, ready.enumeration, float64=float64)
            seconds.append(time.perf_counter() - started)
        count = ready.enumeration.dag.trajectory_count
        measured.append(
            {
                "length": length,
                "precision": "float64" if float64 else "float32",
                "trajectories": count,
                "seconds": seconds[1],
                "trajectories/s": count / seconds[1],
                "first call s": seconds[0],
                "enumeration s": ready.seconds,
                "sum of p_T - 1": float(law.probabilities.sum() - 1),
                "right": bool(abs(law.probabilities.sum() - 1) < (1e-9 if float64 else 1e-4)),
            }
        )
    return measured


def rows(lengths: Sequence[int]) -> Iterator[Row]:
    """Strings of these lengths: 7 have 0.9 million trajectories, 8 have 7.2."""
    for n, length in enumerate(lengths):
        yield Row(
            "law",
            f"strings of length {length}",
            102.5 + 3.2 * n,
            functools.partial(prepare, length),
            functools.partial(measure, length),
        )
