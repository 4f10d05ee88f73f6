"""`pdai.load`: the run in a folder, trained or solved."""

from pathlib import Path
from typing import TYPE_CHECKING

from fast.runs.records import is_solved
from pdai.solving.solved import Solved
from reference.errors import InputError, check_type, naming_extras

if TYPE_CHECKING:
    from pdai.run import Run


def load(folder: str | Path, *, accept_changed: bool = False, context: str = "") -> "Run | Solved":
    """The run in a folder.

    Args:
        folder: the run folder.
        accept_changed: whether parts of your own may have changed since; stderr and certificates
            then say so.
        context: the context in which the run of a conditional problem is looked at.

    Raises:
        InputError: if the folder is not a run, or a file of it or a part of your own was changed.
    """
    check_type("load", "folder", folder, (str, Path))
    check_type("load", "accept_changed", accept_changed, bool)
    check_type("load", "context", context, str)
    if is_solved(Path(folder)):
        if context:
            raise InputError(
                f"context is {context!r}, but {str(folder)!r} was solved on one problem: leave it "
                "out, or solve with --context"
            )
        return Solved(Path(folder), accept_changed=accept_changed)
    # Imported here, as it loads JAX, which a solved run does not need.
    with naming_extras():
        from pdai.run import Run

    return Run(Path(folder), accept_changed=accept_changed, context=context)
