"""The rates of a device: products of matrices, training and sampling, and exact laws."""

import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.on_device.budget import Row, per_call
from benchmarks.on_device.program import cost, inferred
from fast.environments import AbstractEnvironment, make_environment
from fast.laws.enumeration import Enumeration, enumerate_environment
from fast.laws.terminal_law import exact_law
from fast.policies.policy import Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.training.build import make_policy
from fast.training.compose import TrainConfig, configure
from fast.training.trainer import make_trainer, program_memory
from reference.problems import TableSequences

TASKS: dict[str, dict[str, Any]] = {
    "hypergrid 8^2": {"task": "grid", "side": 8, "dimension": 2},
    "hypergrid 8^4": {"task": "grid", "side": 8, "dimension": 4},
    "hypergrid 16^4": {"task": "grid", "side": 16, "dimension": 4},
    "hypergrid 32^4": {"task": "grid", "side": 32, "dimension": 4},
    "SIX6": {"task": "six6", "parameters": 40_000, "table_rows": 0},
    "bits, 120 in words of 8": {"task": "bits", "length": 120, "word": 8, "build": "append"},
    "Ising, 36 spins": {"task": "ising"},
}
POLICIES = {"Markovian": "markov", "GRU": "gru", "minGRU": "mingru", "SRWM": "srwm"}
# In the order of their importance: what gfnx publishes first.
TRAININGS = (
    ("hypergrid 8^2", "Markovian", 128),
    ("hypergrid 16^4", "Markovian", 128),
    ("hypergrid 8^2", "GRU", 128),
    ("SIX6", "Markovian", 128),
    ("hypergrid 8^2", "Markovian", 512),
    ("hypergrid 16^4", "GRU", 128),
    ("hypergrid 32^4", "Markovian", 128),
    ("hypergrid 8^2", "minGRU", 128),
    ("hypergrid 16^4", "Markovian", 512),
    ("SIX6", "GRU", 128),
    ("bits, 120 in words of 8", "Markovian", 128),
    ("hypergrid 8^2", "GRU", 512),
    ("hypergrid 16^4", "minGRU", 128),
    ("SIX6", "Markovian", 512),
    ("Ising, 36 spins", "Markovian", 128),
    ("hypergrid 8^2", "Markovian", 32),
    ("hypergrid 32^4", "Markovian", 512),
    ("SIX6", "SRWM", 128),
)
# The form of their names.
NAME = "{}, {}, batch {:,}"
SMALLEST = (("hypergrid 8^2", "Markovian", 32), ("hypergrid 8^2", "minGRU", 32))


def matrix_rate(size: int, precision: str) -> float:
    """GFLOP/s of products of square matrices of float32, one after the other."""
    a = jax.random.normal(jax.random.key(0), (size, size)) / size**0.5

    @jax.jit
    def chain(x: Any) -> Any:
        return lax.fori_loop(0, 8, lambda _, y: jnp.dot(y, a, precision=precision), x)

    wall, _ = per_call(lambda: chain(a), 0.6)
    return 8 * 2 * size**3 / wall / 1e9


def configuration(task: str, policy: str, batch: int, seeds: int = 1) -> TrainConfig:
    """The configuration of a training: the task's defaults, but by trajectory balance.

    Args:
        task: a name of `TASKS`.
        policy: a name of `POLICIES`.
        batch: trajectories per step.
        seeds: trainings side by side.
    """
    return configure(**TASKS[task], dynamics=POLICIES[policy], loss="tb", batch=batch, seeds=seeds)


@functools.cache
def environment_of(task: str) -> AbstractEnvironment:
    """The state graph of a task."""
    return make_environment(configuration(task, "Markovian", 32).problem())


class _Programs(NamedTuple):
    """Compiled training (several steps) and sampling (a batch), and the seconds that each took."""

    training: Any
    steps: int
    sampling: Any
    state: Any
    environment: AbstractEnvironment
    seconds: tuple[float, float]


def _compiled(task: str, policy: str, batch: int) -> _Programs:
    environment, steps = environment_of(task), max(1, min(20, 16_384 // batch))
    trainer = make_trainer(configuration(task, policy, batch), environment)
    state = jax.tree.map(np.asarray, trainer.init())
    started = time.perf_counter()
    advance = jax.jit(trainer.advance, static_argnums=1, donate_argnums=0)
    training = advance.lower(state, steps).compile()
    trained = time.perf_counter()

    def sample(policy: Policy, environment: Any, key: Any) -> tuple[Any, Any]:
        drawn, _ = sample_trajectories(policy, environment, uniforms(key, environment, batch))
        return drawn.active.sum() / batch, drawn.log_reward

    arguments = (state.policy(0), environment, jax.random.key(1))
    sampling = jax.jit(sample).lower(*arguments).compile()
    seconds = (trained - started, time.perf_counter() - trained)
    return _Programs(training, steps, sampling, state, environment, seconds)


def _trained(batch: int, rate: Sequence[float], programs: _Programs) -> list[dict[str, Any]]:
    """One row; the rate of matrices, GFLOP/s, is in the first place of `rate` by then."""
    training, steps = programs.training, programs.steps
    network, key = jax.device_put((programs.state.policy(0), jax.random.key(1)))
    length = float(programs.sampling(network, programs.environment, key)[0])
    sampled, _ = per_call(lambda: programs.sampling(network, programs.environment, key), 0.5)
    box = [jax.tree.map(jnp.asarray, programs.state)]

    def train() -> Any:
        box[0], info = training(box[0])
        return info

    wall, cpu = (seconds / steps for seconds in per_call(train, 0.5))
    costs = cost(training.as_text())
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))
    # Once forwards, twice backwards; the first state, which is evaluated once, counts for each.
    flops = 3 * 2 * weights * batch * length
    row = {
        "needs MiB": round(program_memory(training) / 2**20, 1),
        "ms per step": 1e3 * wall,
        "CPU ms per step": 1e3 * cpu,
        **inferred(jax.devices()[0].device_kind, costs, steps),
        "trajectories/s": batch / sampled,
        "actions": length,
        "share of matrix rate": flops / wall / 1e9 / rate[0],
        "kernels per step": costs.kernels / steps,
        "MB moved per step": costs.bytes / steps / 1e6,
        "loops of unknown length": costs.unknown,
        "compile training s": programs.seconds[0],
        "compile sampling s": programs.seconds[1],
    }
    if not np.isfinite(np.asarray(train().loss)).all():
        row["note"] = "loss is no number"
    return [row]


class Listed(NamedTuple):
    """An enumerated problem with a policy, and the seconds that enumeration took."""

    policy: Policy
    enumeration: Enumeration
    seconds: float


def listed(length: int) -> Listed:
    """Strings of a length over four letters, built at both ends, with random rewards."""
    started = time.perf_counter()
    table = np.random.default_rng(0).normal(size=4**length).astype(np.float32)
    problem = TableSequences("ACGT", length, "prepend-append", table, 3)
    environment = make_environment(problem)
    enumeration = enumerate_environment(problem, environment)
    config = configure("six6", dynamics="gru", parameters=40_000, table_rows=0)
    policy = make_policy(config, environment, key=jax.random.key(0))
    return Listed(policy, enumeration, time.perf_counter() - started)


def _laws(listed: Listed) -> list[dict[str, Any]]:
    """A row for each precision: the second call, without compilation."""
    measured = []
    for float64 in (False, True):
        seconds = []
        for _ in range(2):
            started = time.perf_counter()
            law = exact_law(listed.policy, listed.enumeration, float64=float64)
            seconds.append(time.perf_counter() - started)
        count = listed.enumeration.dag.trajectory_count
        row = {
            "precision": "float64" if float64 else "float32",
            "trajectories": count,
            "seconds": seconds[1],
            "trajectories/s": count / seconds[1],
            "first call s": seconds[0],
            "enumeration s": listed.seconds,
            "sum of p_T - 1": float(law.probabilities.sum() - 1),
        }
        row["right"] = abs(row["sum of p_T - 1"]) < (1e-9 if float64 else 1e-4)
        measured.append(row)
    return measured


def rows(is_cpu: bool, *, smallest: bool) -> Iterator[Row]:
    """Products, trainings, and laws of strings: of length 7 they have 0.9 million trajectories."""
    rate = [float("nan")]

    def matrices(size: int) -> list[dict[str, Any]]:
        measured = [
            {"size": size, "precision": precision, "GFLOP/s": matrix_rate(size, precision)}
            for precision in ("highest", "default")
        ]
        rate[0] = measured[0]["GFLOP/s"]
        return measured

    size = 256 if smallest else 1_024 if is_cpu else 8_192
    yield Row("matrices", "products", 0, lambda: size, matrices)
    for n, cell in enumerate(SMALLEST if smallest else TRAININGS):
        name = NAME.format(*cell)
        measure = functools.partial(_trained, cell[2], rate)
        yield Row("training", name, 100 + n, functools.partial(_compiled, *cell), measure)
    for n, length in enumerate([3] if smallest else [7, 8]):
        name = f"strings of length {length}"
        yield Row("law", name, 102.5 + 4 * n, functools.partial(listed, length), _laws)
