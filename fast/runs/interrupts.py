"""Ctrl-C, acted on where nothing is lost; and the end of a process whose parent is killed."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Notes the first Ctrl-C instead of raising it; a second one raises `KeyboardInterrupt`.

    An interrupt may be raised inside a callback from compiled code, where Python prints it and
    continues. The body checks for it instead, where it can stop, by a function that is true after a
    Ctrl-C; outside the main thread, which alone gets signals, it never is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    came = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        if came.is_set():
            raise KeyboardInterrupt
        came.set()
        print(
            "\nstopping when this block of steps is done; again to stop at once",
            file=sys.stderr,
            flush=True,
        )

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, previous)


def end_with_parent() -> None:
    """Makes this process end as soon as its parent process has ended.

    An orphan would continue to train in a folder to which a second run of the command writes.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
