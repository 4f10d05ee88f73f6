"""Sizes that the machine cannot hold, refused before work begins."""

from typing import Any

import jax

from fast.environments import AbstractEnvironment
from fast.runs.memory import device_memory
from fast.training.config import TrainConfig
from reference.errors import InputError, plain
from reference.files import memory_of_machine
from reference.problems.base import BYTES_PER_STATE

# Of a trained parameter there are itself, its gradient and two moments of Adam.
COPIES = 4


def check_sizes(config: TrainConfig, environment: AbstractEnvironment[Any]) -> None:
    """Checks that what a run surely holds at once fits into memory, from its shapes alone.

    Counted are parameters and their copies, the states of the replay buffer, and of a batch the
    states, logits and latents of each step, which the gradient needs. It is a lower bound: what
    passes may still be too large, and says so when it runs out of memory.

    Raises:
        InputError: if it does not fit; the message names the largest part.
    """
    number = {"float32": 4, "float64": 8}[config.run.precision]
    state = sum(
        leaf.size * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(jax.eval_shape(environment.initial))
    )
    latent = getattr(config.dynamics, "latent_size", 0)
    check_memory(
        seeds=config.run.seeds,
        weights=max(config.dynamics.parameters, latent * latent),
        batch=config.sampling.batch,
        steps=environment.horizon + 1,
        step=state + (environment.actions + latent) * number,
        replay=config.replay.capacity * (state + number),
        number=number,
    )


def check_memory(
    *, seeds: int, weights: int, batch: int, steps: int, step: int, replay: int = 0, number: int = 4
) -> None:
    """Checks that what a training surely holds at once fits into memory.

    Args:
        seeds: trained side by side; each has all of the rest.
        weights: parameters, at the least.
        batch: trajectories per step.
        steps: states of the longest trajectory.
        step: bytes of each.
        replay: bytes of the replay buffer.
        number: bytes of a parameter.

    Raises:
        InputError: if it does not fit; the message names the largest part.
    """
    parts = {
        f"{plain(weights)} parameters": seeds * weights * COPIES * number,
        f"a replay buffer of {_gigabytes(replay)}": seeds * replay,
        f"batches of {plain(batch)} trajectories of up to {steps:,} states": seeds
        * batch
        * steps
        * step,
    }
    there, (largest, needed) = device_memory(), max(parts.items(), key=lambda part: part[1])
    if sum(parts.values()) > there:
        several = f", for each of {plain(seeds)} seeds" if seeds > 1 else ""
        raise InputError(
            f"{largest}{several}, take at least {_gigabytes(needed)}, and there are "
            f"{_gigabytes(there)} of memory: choose fewer --seeds, or a smaller --batch, "
            "--replay-capacity, --latent-size or --parameters"
        )


def check_states(states: int, most: int) -> None:
    """Checks that as many states as may be enumerated fit into memory.

    Args:
        states: how many there are at most, or 0 if that is not known.
        most: how many the user lets be enumerated.

    Raises:
        InputError: if they do not.
    """
    there = memory_of_machine()
    if states <= most and states * BYTES_PER_STATE > there:
        raise InputError(
            f"{plain(states)} states, which --max-states lets be enumerated, take at least "
            f"{_gigabytes(states * BYTES_PER_STATE)}, and there are {_gigabytes(there)} of memory: "
            "choose a smaller --max-states, so that samples are measured instead"
        )


def _gigabytes(size: int) -> str:
    return f"{size // 2**30:,} GiB" if size >= 2**30 else f"{size // 2**20:,} MiB"
