"""What to say when a device runs out of memory: how large a batch would fit."""

import math
import os
import re
from collections.abc import Callable

import jax

from reference.errors import InputError

# The share of a device's memory that the arrays of a step may take: what else the process holds,
# and gaps between them, need the rest.
USABLE = 0.8


def out_of_memory(
    error: jax.errors.JaxRuntimeError, batch: int, multiple: int, needed: Callable[[int], int]
) -> str | None:
    """The message for an error of JAX: what to change if memory ran out, None if it did not.

    Args:
        error: what JAX raised.
        batch: how many trajectories were asked for.
        multiple: what the batch must be a multiple of.
        needed: the bytes that a batch of a size needs, by compiling for it; an `InputError` if
            there can be no such batch.
    """
    if "RESOURCE_EXHAUSTED" not in str(error):
        return None
    wanted = re.search(r"allocat\w+ ([\d.]+ ?\w*)", str(error))
    amount = f" (asked for {wanted[1]} at once)" if wanted else ""
    return (
        f"a batch of {batch:,} trajectories does not fit into the device's memory{amount}; "
        f"{_advice(batch, multiple, needed)}"
    )


def _advice(batch: int, multiple: int, needed: Callable[[int], int]) -> str:
    try:
        fitting = fitting_batch(batch, multiple, device_memory(), needed)
    except InputError:
        # The small batches that the estimate tries can break a rule that the one asked for keeps.
        return "make it smaller, with --batch, or the network, with --parameters"
    if fitting is None:
        return "not even the smallest would fit: make the network smaller, with --parameters"
    return f"about --batch {fitting} would fit"


def fitting_batch(
    batch: int, multiple: int, available: int, needed: Callable[[int], int]
) -> int | None:
    """The largest batch that fits into `available` bytes, at most half of one that did not.

    What a step holds is a constant and a share of each trajectory; both are read off two sizes.
    None if there is no room for two trajectories.
    """
    small = max(2, batch // 64 // multiple) * multiple
    large = 8 * small
    least = needed(small)
    share = max(1.0, (needed(large) - least) / (large - small))
    most = min(small + math.floor((USABLE * available - least) / share), batch // 2)
    fitting = most - most % multiple
    return fitting if fitting >= 2 else None


def device_memory() -> int:
    """Bytes of memory of the first device of this process; of a CPU, those of the machine."""
    device = jax.local_devices()[0]
    statistics = device.memory_stats() or {}
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(statistics.get("bytes_limit", physical))


def compiled_bytes(function: Callable[..., object], *arguments: object) -> int:
    """The bytes that a function needs on a device: arguments, results and all in between.

    0 where the compiler does not tell.
    """
    shapes = jax.eval_shape(lambda *shaped: shaped, *arguments)
    analysis = jax.jit(function).lower(*shapes).compile().memory_analysis()
    if analysis is None:
        return 0
    return int(
        analysis.argument_size_in_bytes
        + analysis.output_size_in_bytes
        + analysis.temp_size_in_bytes
    )
