"""`pdai.load`: the run in a folder, trained or solved."""

from pathlib import Path
from typing import TYPE_CHECKING

from fast.runs.records import is_solved
from pdai.solving.solved import Solved
from reference.contract.errors import check_type, naming_extras

if TYPE_CHECKING:
    from pdai.run import Run


def load(folder: str | Path, *, accept_changed: bool = False) -> "Run | Solved":
    """The run in a folder.

    Args:
        folder: the run folder.
        accept_changed: whether parts of your own may have changed since; stderr and certificates
            then say so.

    Raises:
        InputError: if the folder is not a run, or a file of it or a part of your own was changed.
    """
    check_type("load", "folder", folder, (str, Path))
    check_type("load", "accept_changed", accept_changed, bool)
    if is_solved(Path(folder)):
        return Solved(Path(folder), accept_changed=accept_changed)
    # Imported here, as it loads JAX, which a solved run does not need.
    with naming_extras():
        from pdai.run import Run

    return Run(Path(folder), accept_changed=accept_changed)
