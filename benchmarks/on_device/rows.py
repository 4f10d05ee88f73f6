"""All rows, the most important first."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.on_device import correctness, law, throughput
from benchmarks.on_device.budget import Row
from benchmarks.on_device.machine import matrix_rate


def rows(device: Any, batches: Sequence[int], *, smallest: bool) -> Iterator[Row]:
    """The rows of a device; with `smallest` one of each kind, at a small size."""
    is_cpu = device.platform == "cpu"
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
    if smallest:
        yield from correctness.rows(("grid",), ("gru",))
        yield from throughput.rows(rate, ["hypergrid 8^2"], ["Markovian", "minGRU"], [32])
        yield from law.rows([3])
        return
    kinds = ("gru", "markov", "srwm", "lstm")
    yield from correctness.rows(("synthetic, prepend-append", "grid", "sets"), kinds)
    yield from throughput.rows(rate, list(throughput.TASKS), list(throughput.POLICIES), batches)
    yield from law.rows((7, 8))
