"""Rows in the order of their importance, for as long as there is time; the device and its clock."""

import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import jax

from benchmarks import harness
from benchmarks.harness import Table
from fast.runs.sizes import device_memory

# Seconds a row is expected to take before one of its kind was seen.
UNKNOWN = 15.0


class Row(NamedTuple):
    """A row, or several that belong together.

    Attributes:
        kind: its table.
        name: in words.
        importance: the smaller, the earlier; rows of the last are dropped first.
        prepare: compiles what it needs.
        measure: what it finds, given that.
    """

    kind: str
    name: str
    importance: float
    prepare: Callable[[], Any]
    measure: Callable[[Any], list[dict[str, Any]]]


class Budget:
    """So many seconds.

    Args:
        seconds: all in all.
        together: how many rows are compiled in threads, before they are measured one by one.

    Attributes:
        failed: whether a number was wrong.
    """

    def __init__(self, seconds: float, together: int):
        self._end, self._together = time.monotonic() + seconds, together
        self._taken: dict[str, float] = {}
        self.failed = False

    def spend(self, rows: Sequence[Row], table: Table) -> None:
        """Measures rows until there is no time for another."""
        waiting = deque(sorted(rows, key=lambda row: row.importance))
        with ThreadPoolExecutor(self._together) as pool:
            while waiting:
                group: list[tuple[Row, Future[Any]]] = []
                while waiting and len(group) < self._together:
                    row = waiting.popleft()
                    if self._fits(row):
                        group.append((row, pool.submit(row.prepare)))
                    else:
                        table.dropped.append(row.name)
                # A compiler tries its kernels on the device, which would disturb what is measured.
                left = max(0.0, self._end - time.monotonic())
                wait((prepared for _, prepared in group), timeout=left)
                for row, prepared in group:
                    self._measure(row, prepared, table)
            table.write()

    def _fits(self, row: Row) -> bool:
        return self._taken.get(row.kind, UNKNOWN) < self._end - time.monotonic()

    def _measure(self, row: Row, prepared: Future[Any], table: Table) -> None:
        before = time.monotonic()
        if not (prepared.done() and self._fits(row)):
            prepared.cancel()
            table.dropped.append(row.name)
            return
        try:
            measured = row.measure(prepared.result())
        except Exception as error:
            # One row that a device refuses must not cost the others.
            measured = [{"error": f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"}]
        taken = time.monotonic() - before
        self._taken[row.kind] = max(taken, self._taken.get(row.kind, 0.0))
        print(f"{taken:6.1f} s  {row.kind}: {row.name}", flush=True)
        for values in measured:
            table.add({"name": row.name, **values}, row.kind)
            # Of a comparison `error` is how far it is off, of other rows why there is no number.
            self.failed |= not values.get("right", "error" not in values)


def chosen(kind: str | None) -> Any:
    """The first device of a kind; of any, if none is asked for. Float32 is float32 from here on."""
    if kind == "cpu":
        jax.config.update("jax_platforms", "cpu")
    try:
        device = jax.devices(kind)[0]
    except RuntimeError as error:
        sys.exit(f"device is {kind!r}, but JAX has none: {error}")
    if device.platform != "cpu":
        # As training does (fast.runs.frozen.arithmetic), for all threads.
        jax.config.update("jax_default_matmul_precision", "float32")
    return device


def facts(device: Any) -> dict[str, Any]:
    """Versions and hardware that the numbers depend on."""
    host = harness.machine("jax", "jaxlib", "equinox")
    name = cores = host.pop("device")
    if device.platform != "cpu":
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
