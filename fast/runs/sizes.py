"""The memory a run needs, checked before work begins; and the message when it runs out."""

import re
from typing import Any

import jax

from fast.dynamics.base import DynamicsOptions
from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Precision
from reference.contract.errors import InputError, plain
from reference.contract.files import memory_of_machine

# A lower bound of the bytes of a state in Python: its label, its number and its children.
BYTES_PER_STATE = 200
# Copies per parameter: value, gradient, two moments of Adam.
COPIES = 4


def device_memory() -> int:
    """Bytes of memory of the first device of this process; for a CPU, of the machine."""
    statistics = jax.local_devices()[0].memory_stats() or {}
    return int(statistics.get("bytes_limit", memory_of_machine()))


def check_sizes(parts: dict[str, int], seeds: int) -> None:
    """Checks that the arrays that a run must hold at once fit into memory, by `least_memory`.

    That is a lower bound, for what is too large to be compiled; `check_program` has the whole.
    Raises InputError if it does not fit; the message names the largest part.
    """
    memory, largest = device_memory(), max(parts, key=lambda name: parts[name])
    if seeds * sum(parts.values()) > memory:
        several = f", for each of {plain(seeds)} seeds" if seeds > 1 else ""
        raise InputError(
            f"{largest}{several}, take at least {_gigabytes(seeds * parts[largest])}, and there "
            f"are {_gigabytes(memory)} of memory: choose fewer --seeds, or a smaller --batch, "
            "--replay-capacity, --latent-size or --parameters"
        )


def least_memory(
    environment: AbstractEnvironment,
    dynamics: DynamicsOptions[Any],
    precision: Precision,
    batch: int,
    capacity: int,
) -> dict[str, int]:
    """The bytes that a training of one seed needs at least, from shapes, by what they hold.

    These are parameters and their copies, the states of the replay buffer, and, for each step of a
    batch, the states, logits and latents that the gradient needs.

    Args:
        environment: the state graph as array code.
        dynamics: the dynamics, with their sizes.
        precision: that of all numbers.
        batch: the number of trajectories.
        capacity: the number of states that are replayed.
    """
    steps, number = environment.horizon + 1, {"float32": 4, "float64": 8}[precision]
    initial = jax.tree.leaves(jax.eval_shape(environment.initial))
    state = sum(leaf.size * leaf.dtype.itemsize for leaf in initial)
    latent = getattr(dynamics, "latent_size", 0)
    weights = max(dynamics.parameters, latent * latent)
    replay = capacity * (state + number)
    step = state + (environment.actions + latent) * number
    return {
        f"{plain(weights)} parameters": weights * COPIES * number,
        f"a replay buffer of {_gigabytes(replay)}": replay,
        f"batches of {plain(batch)} trajectories of up to {steps:,} states": batch * steps * step,
    }


def check_program(size: int, batch: int) -> str:
    """Refuses a compiled program of training whose bytes do not fit into memory; else says so."""
    memory = device_memory()
    if size > memory:
        raise InputError(
            f"steps with batches of {batch:,} trajectories take {_gigabytes(size)} of memory as "
            f"compiled, and there are {_gigabytes(memory)}: choose a smaller --batch or "
            "--parameters"
        )
    return f"training takes {size / 1e6:,.1f} MB of memory, of {memory / 1e6:,.0f}"


def check_states(states: int, most: int) -> None:
    """Refuses states that do not fit into memory, by a bound of their number; 0 is no bound."""
    memory = memory_of_machine()
    if states <= most and states * BYTES_PER_STATE > memory:
        raise InputError(
            f"{plain(states)} states, which --max-states lets be enumerated, take at least "
            f"{_gigabytes(states * BYTES_PER_STATE)}, and there are {_gigabytes(memory)} of "
            "memory: choose a smaller --max-states, so that samples are measured instead"
        )


def out_of_memory(error: jax.errors.JaxRuntimeError, batch: int) -> str | None:
    """The message for an error of JAX by which memory ran out; None for others."""
    if "RESOURCE_EXHAUSTED" not in str(error):
        return None
    wanted = re.search(r"allocat\w+ ([\d.]+ ?\w*)", str(error))
    amount = f" (asked for {wanted[1]} at once)" if wanted else ""
    return (
        f"a batch of {batch:,} trajectories does not fit into the device's memory{amount}: make it "
        "smaller, with --batch, or the network, with --parameters"
    )


def _gigabytes(size: int) -> str:
    return f"{size // 2**30:,} GiB" if size >= 2**30 else f"{size // 2**20:,} MiB"
