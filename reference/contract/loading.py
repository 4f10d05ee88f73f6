"""User-defined parts named as `module:Name`: problems, losses, networks, environments."""

import importlib
import inspect
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from reference.contract.errors import InputError, nearest, plain
from reference.contract.user_code import called
from reference.problems.base import check_inherited
from reference.problems.enumeration import check_members

# The "module" of objects that cannot be imported by a name.
OBJECT = "object"
_OBJECTS: dict[str, Any] = {}


def load_object(spec: str, kind: str, example: str) -> Any:
    """The object that `module:Name` names. `Name` may have dots; the working directory is searched.

    The expected kind, such as "problem", and an example of a name are for messages. Raises
    InputError if there is no such module or name.
    """
    module_name, colon, path = spec.partition(":")
    named = [*module_name.split("."), *path.split(".")]
    is_name = colon and not module_name.endswith(".py") and all(x.isidentifier() for x in named)
    if module_name != OBJECT and not is_name:
        article = "an" if kind[0] in "aeiou" else "a"
        raise InputError(
            f"{spec!r} does not name {article} {kind}: write module:Name, such as {example}, and "
            "run from the folder that holds the module"
        )
    if module_name == OBJECT:
        if spec not in _OBJECTS:
            raise InputError(
                f"{spec!r} was given as an object in another process, and has no name to import it "
                f"by: give it again, or define it in a module as {example}"
            )
        return _OBJECTS[spec]
    find_modules_here()
    try:
        # What it sets by numpy.seterr is not for this project's computations.
        with np.errstate():
            loaded: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        # The first frame is here; those of Python's own imports say nothing.
        frames = [x for x in traceback.extract_tb(error.__traceback__) if "importlib" not in str(x)]
        where = "".join(f"; {x.filename}, line {x.lineno}" for x in frames[1:][-1:])
        raise InputError(
            f"the module {module_name!r} cannot be imported ({type(error).__name__}: "
            f"{plain(error, 300)}{where}): run from the folder that holds it, and check its imports"
        ) from error
    for name in path.split("."):
        if not hasattr(loaded, name):
            if module_name == "__main__":
                raise InputError(
                    f"{spec!r} was defined in a script, which another process cannot import: put "
                    f"it into a module of its own, as {example}, and train that"
                )
            meant = nearest(name, dir(loaded)) or ": check the spelling"
            raise InputError(f"{spec!r}: {loaded!r} has no attribute {name!r}{meant}")
        loaded = getattr(loaded, name)
    return loaded


def as_problem(problem: Any) -> Any:
    """A problem given as an object, as its class or by name.

    A class is called without arguments, and so is a function that `module:Name` names. Raises
    InputError if there is no such module or name, it cannot be called without arguments or raises,
    or the result lacks a member of `Problem` or has one too many.
    """
    made, is_named = problem, isinstance(problem, str)
    if is_named:
        example = "reference.problems:Grid.minimal, or my_module:MyProblem"
        made = load_object(problem, "problem", example)
    makes = is_named and callable(made) and not hasattr(made, "children")
    if makes or isinstance(made, type):
        made = _called(problem if is_named else problem.__name__, made)
    try:
        check_members(made)
        check_inherited(made)
        return made
    except InputError as error:
        raise InputError(f"{problem!r}: {error}" if is_named else str(error)) from None


def _called(spec: str, factory: Any) -> Any:
    """The result of calling a class or function without arguments."""
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{spec!r} cannot be called without arguments ({error}): name a preset such as "
            "Grid.minimal, or a function that returns the instance"
        ) from None
    return called("the constructor", spec, factory)


def find_modules_here() -> None:
    """Adds the working directory to the module search path."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _is_bare(part: Any) -> bool:
    """True of an instance that holds nothing, and was given nothing, when its class made it."""
    has_slots = any(base.__dict__.get("__slots__") for base in type(part).__mro__)
    # A tuple or a number with methods holds its values outside of the attributes.
    is_value = isinstance(part, tuple | list | dict | set | frozenset | str | bytes | int | float)
    if has_slots or is_value or getattr(part, "__dict__", True):
        return False
    try:
        arguments = inspect.signature(type(part)).parameters.values()
    except ValueError:
        return False
    # An argument may have gone into a variable of the class or the module.
    return all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in arguments)


def name_of(part: Any) -> str:
    """The name by which `load_object` finds a part in this process; a name is returned as it is."""
    if isinstance(part, str):
        return part
    if not callable(part) and _is_bare(part):
        return name_of(type(part))
    module, name = getattr(part, "__module__", None), getattr(part, "__qualname__", "")
    if module and name:
        try:
            if load_object(f"{module}:{name}", "object", "my_module:Name") is part:
                return f"{module}:{name}"
        except InputError:
            pass
    for spec, kept in _OBJECTS.items():
        if kept is part:
            return spec
    label = name.replace("<", "").replace(">", "").replace(".", "-") or type(part).__name__
    spec = f"{OBJECT}:{label}-{len(_OBJECTS)}"
    _OBJECTS[spec] = part
    return spec
