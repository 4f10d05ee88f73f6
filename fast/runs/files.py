"""Run folders that appear whole, and that one process at a time trains in. Imports no JAX."""

import os
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path

from fast.runs.records import is_solved
from reference.contract.errors import InputError
from reference.contract.files import kind_of, partial_of, refusal, sync_folder

try:
    import fcntl
except ImportError:
    # On Windows, where nothing is locked.
    fcntl = None  # type: ignore[assignment]

# Seconds to wait for a folder in use: a killed process may need some to end.
PATIENCE = 2.0


def free_folder(folder: Path) -> Path:
    """The folder itself or, if it exists, the first free name with a number."""
    names = chain([folder.name], (f"{folder.name}-{number}" for number in count(2)))
    return next(path for path in map(folder.with_name, names) if not path.exists())


def check_free(folder: Path, command: str = "") -> None:
    """Refuses a folder that exists: nothing is overwritten. Call it before any work, too.

    `command` is that of `pdai` which continues such a folder with `--resume`, if any.
    """
    if kind_of(folder):
        resumed = f"continue it with `pdai {command} --resume {shlex.quote(str(folder))}`, or "
        go_on = resumed if command and folder.is_dir() and not is_solved(folder) else ""
        raise InputError(
            f"{str(folder)!r} exists, and nothing is overwritten: {go_on}choose another with --out"
        )


@contextmanager
def new_folder(folder: Path, command: str = "") -> Iterator[Path]:
    """Makes a folder that appears when the body has filled the path: after a kill, all or none.

    Raises InputError as `check_free` does, or if it cannot be made.
    """
    check_free(folder, command)
    partial = partial_of(folder)
    try:
        partial.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise refusal(error, folder, "made") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keeps other processes from training in a run folder; removes partial files of killed ones.

    The lock is on the folder itself: it adds no file, and dies with its process. Where the system
    or the file system has no such locks, the body runs without a lock. Raises InputError if another
    process is training there.
    """
    descriptor = _lock(folder)
    if descriptor is None:
        yield
        return
    try:
        for left in folder.iterdir():
            if left.suffix == ".partial" and kind_of(left) != "a folder":
                left.unlink(missing_ok=True)
        yield
    finally:
        # A process that was forked meanwhile would hold on to a lock that is only closed.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _lock(folder: Path) -> int | None:
    """The descriptor that holds the lock, which no child inherits; None if there are no locks."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise InputError(
                    f"another process is training the run in {str(folder)!r}: wait until it has "
                    "ended, or choose another folder with --out"
                ) from None
            time.sleep(0.05)
        except OSError:
            os.close(descriptor)
            return None
