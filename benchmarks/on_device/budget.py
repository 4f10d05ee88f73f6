"""Rows in the order of their importance, for as long as there is time."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from benchmarks.harness import Table

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
                wait((prepared for _, prepared in group), timeout=self._left())
                for row, prepared in group:
                    self._measure(row, prepared, table)
            table.write()

    def _left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def _fits(self, row: Row) -> bool:
        return self._taken.get(row.kind, UNKNOWN) < self._left()

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
