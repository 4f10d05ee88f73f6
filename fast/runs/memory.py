"""What to say when a device runs out of memory."""

import os
import re

import jax

# The share of a device's memory that the arrays of a step may take: what else the process holds,
# and gaps between them, need the rest.
USABLE = 0.8


def out_of_memory(error: jax.errors.JaxRuntimeError, batch: int) -> str | None:
    """The message for an error of JAX: what to change if memory ran out, None if it did not.

    Args:
        error: what JAX raised.
        batch: how many trajectories were asked for.
    """
    if "RESOURCE_EXHAUSTED" not in str(error):
        return None
    wanted = re.search(r"allocat\w+ ([\d.]+ ?\w*)", str(error))
    amount = f" (asked for {wanted[1]} at once)" if wanted else ""
    return (
        f"a batch of {batch:,} trajectories does not fit into the device's memory{amount}: make it "
        "smaller, with --batch, or the network, with --parameters"
    )


def device_memory() -> int:
    """Bytes of memory of the first device of this process; of a CPU, those of the machine."""
    device = jax.local_devices()[0]
    statistics = device.memory_stats() or {}
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(statistics.get("bytes_limit", physical))
