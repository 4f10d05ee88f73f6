"""Compiled programs, which are kept in the user's cache. Imports no JAX by itself."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def cache_folder() -> Path | None:
    """The folder of compiled programs; None without a home folder.

    By the XDG Base Directory Specification, an empty or relative variable counts as not set.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            return None
        base = os.path.join(home, ".cache")
    return Path(base) / "pdai"


@contextmanager
def kept_by_command() -> Iterator[None]:
    """Make JAX, before it is imported, keep compiled programs.

    If it cannot, that is one warning instead of many.
    """
    folder = cache_folder()
    # JAX reads these when it is imported; settings of the user stay.
    if folder is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    # Small programs too: a run has a hundred of them, which together take seconds.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    usual, shown = warnings.showwarning, list[str]()

    def once(message: Any, *rest: Any, **more: Any) -> None:
        if "persistent compilation cache" not in str(message):
            usual(message, *rest, **more)
        elif not shown:
            shown.append(str(message))
            print(
                "pdai: programs kept in "
                f"{os.environ.get('JAX_COMPILATION_CACHE_DIR')!r} cannot be read or written; they "
                "are compiled anew, which takes longer and gives the same: remove that folder, or "
                "make it writable",
                file=sys.stderr,
            )

    warnings.showwarning = once
    try:
        yield
    finally:
        warnings.showwarning = usual


@contextmanager
def kept_programs(*, quiet: bool) -> Iterator[None]:
    """Make JAX, as Python has imported it, keep what it compiles meanwhile.

    A folder that the user has set for JAX stands. Unless `quiet`, the first use says where.
    """
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    options: Any = jax.config
    folder, usual = cache_folder(), options.jax_persistent_cache_min_compile_time_secs
    if folder is None or options.jax_compilation_cache_dir is not None:
        yield
        return
    if not (quiet or folder.exists()):
        print(f"compiled programs are kept in {str(folder)!r}, so that the next start is faster")

    def keep(where: str | None, seconds: float) -> None:
        options.update("jax_compilation_cache_dir", where)
        options.update("jax_persistent_cache_min_compile_time_secs", seconds)
        # JAX asks once in a process whether it keeps any.
        reset_cache()

    keep(str(folder), 0.0)
    try:
        yield
    finally:
        keep(None, usual)
