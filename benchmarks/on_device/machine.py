"""The device, and how fast it multiplies matrices."""

import statistics
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks import harness
from fast.runs.sizes import device_memory


def chosen(kind: str | None) -> Any:
    """The first device of a kind; of any, if none is asked for. Float32 is float32 from here on."""
    try:
        device = jax.devices(kind)[0] if kind else jax.devices()[0]
    except RuntimeError as error:
        sys.exit(f"device is {kind!r}, but JAX has none: {error}")
    if device.platform != "cpu":
        # As training does (fast.runs.frozen.arithmetic), for all threads.
        jax.config.update("jax_default_matmul_precision", "float32")
    return device


def facts(device: Any) -> dict[str, Any]:
    """Versions and hardware that the numbers depend on."""
    host = harness.machine("jax", "jaxlib", "equinox")
    cores = host.pop("device")
    if device.platform == "cpu":
        name = cores
    else:
        name, host["host"] = device.device_kind, cores
    memory = round(device_memory() / 2**30, 1)
    return {"device": name, "platform": device.platform, "memory_gib": memory, **host}


def per_call(action: Callable[[], Any], seconds: float) -> tuple[float, float]:
    """Seconds of a call on the clock and of the processor: calls are queued, the last awaited.

    The median of three rounds that take about `seconds` together, after one that is not counted.
    """
    jax.block_until_ready(action())
    count, rounds = 1, list[tuple[float, float]]()

    def queued() -> Any:
        for _ in range(count):
            last = action()
        return last

    while len(rounds) < 3:
        wall, cpu = harness.timed(queued)
        if not rounds and wall < seconds / 6 and count < 1_000:
            count *= 4
            continue
        rounds.append((wall / count, cpu / count))
    return statistics.median(w for w, _ in rounds), statistics.median(c for _, c in rounds)


def matrix_rate(size: int, precision: str) -> float:
    """GFLOP/s of products of square matrices of float32, one after the other."""
    a = jax.random.normal(jax.random.key(0), (size, size)) / size**0.5

    @jax.jit
    def chain(x: Any) -> Any:
        return lax.fori_loop(0, 8, lambda _, y: jnp.dot(y, a, precision=precision), x)

    wall, _ = per_call(lambda: chain(a), 0.6)
    return 8 * 2 * size**3 / wall / 1e9
