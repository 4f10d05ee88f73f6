"""Rows in the order of their importance, for as long as there is time."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
        ahead: how many rows are compiled in threads while another is measured; 0 on a CPU, where
            compiling would disturb what is measured.

    Attributes:
        failed: whether a number was wrong.
    """

    def __init__(self, seconds: float, ahead: int):
        self._end, self._ahead = time.monotonic() + seconds, ahead
        self._taken: dict[str, float] = {}
        self.failed = False

    def spend(self, rows: Sequence[Row], table: Table) -> None:
        """Measures rows until there is no time for another."""
        waiting = deque(sorted(rows, key=lambda row: row.importance))
        started: deque[tuple[Row, Future[Any]]] = deque()
        with ThreadPoolExecutor(max(1, self._ahead)) as pool:
            while waiting or started:
                while waiting and len(started) <= self._ahead:
                    row = waiting.popleft()
                    if self._fits(row):
                        started.append((row, pool.submit(row.prepare)))
                    else:
                        table.dropped.append(row.name)
                if started:
                    self._measure(*started.popleft(), table)
        table.write()

    def _fits(self, row: Row) -> bool:
        return time.monotonic() + self._taken.get(row.kind, UNKNOWN) < self._end

    def _measure(self, row: Row, prepared: Future[Any], table: Table) -> None:
        before = time.monotonic()
        try:
            measured = row.measure(prepared.result(timeout=max(0.0, self._end - before)))
        except TimeoutError:
            prepared.cancel()
            table.dropped.append(row.name)
            return
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
