"""Training steps and sampled trajectories: milliseconds, rates, and what a step does."""

import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from benchmarks.on_device.budget import Row
from benchmarks.on_device.machine import per_call
from benchmarks.on_device.program import cost
from benchmarks.on_device.targets import inferred
from fast.environments import AbstractEnvironment, make_environment
from fast.policies.policy import Policy
from fast.runs.sizes import device_memory
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.training.compose import TrainConfig, configure
from fast.training.trainer import make_trainer, program_memory

# In the order of their importance: what gfnx publishes first.
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "hypergrid 8^2": ("grid", {"side": 8, "dimension": 2}),
    "hypergrid 16^4": ("grid", {"side": 16, "dimension": 4}),
    "SIX6": ("six6", {"parameters": 40_000, "table_rows": 0}),
    "hypergrid 32^4": ("grid", {"side": 32, "dimension": 4}),
    "bits, 120 in words of 8": ("bits", {"length": 120, "word": 8, "build": "append"}),
    "Ising, 36 spins": ("ising", {}),
    "structure, 5 nodes": ("structure", {}),
    "Syn-32": ("syn", {"length": 32, "parameters": 62_000}),
}
POLICIES = {"Markovian": "markov", "GRU": "gru", "minGRU": "mingru", "SRWM": "srwm"}
# Where the smallest policy has more parameters than the task's default.
LEAST = {
    ("hypergrid 32^4", "GRU"): 15_563,
    ("bits, 120 in words of 8", "GRU"): 373_857,
    ("bits, 120 in words of 8", "minGRU"): 247_361,
    ("bits, 120 in words of 8", "SRWM"): 127_170,
}
BATCHES = (128, 512, 32, 4_096, 32_768, 262_144)
# How late each task, policy and batch comes, beside the first of its kind.
LATER = {"task": 1.0, "policy": 2.0, "batch": 3.0}


# The share of a device's memory that the arrays of a step may take: other allocations and gaps
# between them need the rest.
USABLE = 0.8


class Ready(NamedTuple):
    """A compiled pair of training and sampling, and the seconds that compiling took.

    Attributes:
        training: several steps; None if they do not fit.
        steps: how many.
        sampling: a batch.
        state: where training begins, as NumPy arrays.
        environment: the state graph.
        needs: bytes.
        seconds: of compilation.
    """

    training: Any
    steps: int
    sampling: Any
    state: Any
    environment: AbstractEnvironment[Any]
    needs: int
    seconds: tuple[float, float]


def configuration(task: str, policy: str, batch: int) -> TrainConfig:
    """The trainings: each task by its defaults, but by trajectory balance."""
    name, options = TASKS[task]
    if least := LEAST.get((task, policy)):
        options = {**options, "parameters": least}
    return configure(name, dynamics=POLICIES[policy], loss="tb", batch=batch, **options)


@functools.cache
def environment_of(task: str) -> AbstractEnvironment[Any]:
    """The state graph of a task."""
    return make_environment(configuration(task, "Markovian", 32).problem())


@functools.cache
def initial(task: str, policy: str) -> Any:
    """A first state, as NumPy arrays: it does not depend on the batch."""
    trainer = make_trainer(configuration(task, policy, 32), environment_of(task))
    return jax.tree.map(np.asarray, trainer.init())


def prepare(task: str, policy: str, batch: int) -> Ready:
    """Compiles training and sampling of a batch, unless it cannot fit."""
    config, environment = configuration(task, policy, batch), environment_of(task)
    trainer, steps = make_trainer(config, environment), max(1, min(20, 16_384 // batch))
    state = initial(task, policy)
    started = time.perf_counter()
    advance = jax.jit(trainer.advance, static_argnums=1, donate_argnums=0)
    training = advance.lower(state, steps).compile()
    trained = time.perf_counter()
    needs = program_memory(training)
    if needs > USABLE * device_memory():
        seconds = (trained - started, 0.0)
        return Ready(None, steps, None, state, environment, needs, seconds)

    def sample(policy: Policy, environment: Any, key: Any) -> tuple[Any, Any]:
        drawn, _ = sample_trajectories(policy, environment, uniforms(key, environment, batch))
        return drawn.active.sum() / batch, drawn.log_reward

    arguments = (state.policy(0), environment, jax.random.key(1))
    sampling = jax.jit(sample).lower(*arguments).compile()
    seconds = (trained - started, time.perf_counter() - trained)
    return Ready(training, steps, sampling, state, environment, needs, seconds)


def measure(task: str, policy: str, batch: int, rate: float, ready: Ready) -> list[dict[str, Any]]:
    """One row.

    Args:
        task: of `TASKS`.
        policy: of `POLICIES`.
        batch: trajectories per step.
        rate: of matrices, GFLOP/s.
        ready: what `prepare` gave.
    """
    row: dict[str, Any] = {"task": task, "policy": policy, "batch": batch}
    row["needs MiB"] = round(ready.needs / 2**20, 1)
    if ready.training is None:
        return [row | {"note": "does not fit"}]
    network, key = jax.device_put((ready.state.policy(0), jax.random.key(1)))
    length = float(ready.sampling(network, ready.environment, key)[0])
    sampled, _ = per_call(lambda: ready.sampling(network, ready.environment, key), 0.5)
    box = [jax.tree.map(jax.numpy.asarray, ready.state)]

    def train() -> Any:
        box[0], info = ready.training(box[0])
        return info

    wall, cpu = (seconds / ready.steps for seconds in per_call(train, 0.5))
    loss = np.asarray(train().loss)
    if not np.isfinite(loss).all():
        row["note"] = "loss is no number"
    costs = cost(ready.training.as_text())
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))
    # Once forwards, twice backwards; the first state, which is evaluated once, counts for each.
    flops = 3 * 2 * weights * batch * length
    return [
        row
        | {
            "ms per step": 1e3 * wall,
            "CPU ms per step": 1e3 * cpu,
            **inferred(jax.devices()[0].device_kind, costs, ready.steps),
            "trajectories/s": batch / sampled,
            "actions": length,
            "share of matrix rate": flops / wall / 1e9 / rate,
            "kernels per step": costs.kernels / ready.steps,
            "MB moved per step": costs.bytes / ready.steps / 1e6,
            "loops of unknown length": costs.unknown,
            "cost_analysis bytes": cost_analysis(ready.training).get("bytes accessed"),
            "compile training s": ready.seconds[0],
            "compile sampling s": ready.seconds[1],
        }
    ]


def cost_analysis(compiled: Any) -> dict[str, float]:
    """The costs of a program by XLA, each loop's body counted once; empty where it says nothing."""
    costs = compiled.cost_analysis() or {}
    return costs[0] if isinstance(costs, list) else costs


def rows(
    rate: list[float], tasks: Sequence[str], policies: Sequence[str], batches: Sequence[int]
) -> Iterator[Row]:
    """Every task, policy and batch.

    Args:
        rate: the matrix rate in GFLOP/s, in its first place once it is measured.
        tasks: names in `TASKS`.
        policies: names in `POLICIES`.
        batches: in the order of their importance.
    """
    for t, task in enumerate(tasks):
        for p, policy in enumerate(policies):
            for b, batch in enumerate(batches):
                cell = (task, policy, batch)
                late = LATER["task"] * t + LATER["policy"] * p + LATER["batch"] * b
                # Before the last rows of one dimension come the first of the others.
                yield Row(
                    "training",
                    f"{task}, {policy}, batch {batch:,}",
                    100 + late,
                    functools.partial(prepare, *cell),
                    lambda ready, cell=cell: measure(*cell, rate[0], ready),  # type: ignore[misc]
                )
