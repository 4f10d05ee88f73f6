"""What a user names as `module:Name`: problems, losses, networks, environments of one's own."""

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from reference.errors import InputError
from reference.problems.base import check_members


def load_object(spec: str, kind: str, example: str) -> Any:
    """The object that `module:Name` names. `Name` may have dots; modules here are found.

    Args:
        spec: `module:Name`.
        kind: what it should be, as messages call it, such as "problem".
        example: a name of that kind.

    Raises:
        InputError: if there is no such module or name.
    """
    module_name, colon, path = spec.partition(":")
    if not (module_name and colon and path):
        raise InputError(
            f"{spec!r} does not name a {kind}: write module:Name, such as {example}, and run from "
            "the folder that holds the module"
        )
    find_modules_here()
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(
            f"the module {module_name!r} cannot be imported ({error}): run from the folder that "
            "holds it, and check its imports"
        ) from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise InputError(f"{spec!r}: {found!r} has no attribute {name!r}: check the spelling")
        found = getattr(found, name)
    return found


def load_problem(spec: str) -> Any:
    """The problem that `module:Name` names; a class or function is called without arguments.

    Raises:
        InputError: if there is no such module or name, it cannot be called without arguments, or
            the result lacks a member of `Problem` or has one too many.
    """
    found = load_object(spec, "problem", "reference.problems:Grid.minimal, or my_module:MyProblem")
    if callable(found):
        found = call_without_arguments(spec, found)
    try:
        check_members(found)
    except InputError as error:
        raise InputError(f"{spec!r}: {error}") from None
    return found


def call_without_arguments(spec: str, factory: Any) -> Any:
    """What a class or function gives.

    Raises:
        InputError: if it needs arguments.
    """
    try:
        inspect.signature(factory).bind()
    except TypeError as error:
        raise InputError(
            f"{spec!r} cannot be called without arguments ({error}): name a preset such as "
            "Grid.minimal, or a function that returns the instance"
        ) from None
    return factory()


def find_modules_here() -> None:
    """Lets modules of the working directory be found, also by those that import them later."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
