"""Compiled programs, which are kept in the user's cache. Imports no JAX by itself."""

import os
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
def kept_programs(*, quiet: bool) -> Iterator[None]:
    """Make JAX keep what it compiles meanwhile, as the command line does, for the next process.

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
