"""User-defined parts named as `module:Name`, and the digests of their files."""

import gc
import importlib
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import PathFinder
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reference.contract.errors import InputError, nearest, plain
from reference.contract.files import read_file, sha256

# Our own packages, whose versions are recorded separately.
OURS = ("fast", "pdai", "reference")

# The "module" of objects that cannot be imported by a name.
OBJECT = "object"
_OBJECTS: dict[str, Any] = {}

# The first digest of each module in memory, with the module spec of its import.
_IMPORTED: dict[str, tuple[Any, str]] = {}


@contextmanager
def no_collection() -> Iterator[None]:
    """Disables garbage collection in the body, which makes many objects and leaves no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load_object(spec: str, kind: str, example: str) -> Any:
    """The object that `module:Name` names; the working directory is searched.

    Args:
        spec: the name; `Name` may have dots.
        kind: the kind of object that is expected, such as "problem", for messages.
        example: the name of one, for messages.

    Raises:
        InputError: if there is no such module or name.
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
    _find_modules_here()
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


def _find_modules_here() -> None:
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


class Source(NamedTuple):
    """The file of a part's module, and its SHA-256 digests.

    Attributes:
        file: its path from the folder that the module is imported from; "" for a text in a shell.
        now: the digest of the file as it is.
        imported: the digest as first computed after the module's import, in this process.
    """

    file: str
    now: str
    imported: str


def source_of(part: str) -> Source | None:
    """The source of the part `module:Name`, which is not imported; None for one of this project.

    Without a file, as in a shell, it is the text of the object. It is None for a part that has
    neither.
    """
    module = part.partition(":")[0]
    whole: Any = None
    if module == OBJECT:
        whole = load_object(part, "object", "my_module:Mine")
        module = str(getattr(whole, "__module__", ""))
    if module.partition(".")[0] in OURS:
        return None
    path = _file_of(module)
    if path is None:
        with suppress(OSError, TypeError):
            text = sha256(inspect.getsource(whole).encode())
            return Source("", text, text)
        return None
    digest = sha256(read_file(path, follow=True))
    spec = getattr(sys.modules.get(module), "__spec__", None)
    if spec is not None and _IMPORTED.get(module, (None, ""))[0] is not spec:
        _IMPORTED[module] = (spec, digest)
    depth = len(module.split(".")) + (path.stem == "__init__")
    imported = digest if spec is None else _IMPORTED[module][1]
    return Source("/".join(path.parts[-depth:]), digest, imported)


def _file_of(module: str) -> Path | None:
    """The file of a module, which is not imported for that; None if there is none."""
    origin = getattr(sys.modules.get(module), "__file__", None)
    if origin is None:
        _find_modules_here()
        places = None
        for name in accumulate(module.split("."), "{}.{}".format):
            spec = PathFinder.find_spec(name, places)
            if spec is None:
                return None
            origin, places = spec.origin, spec.submodule_search_locations
    return Path(origin) if origin and origin != "<stdin>" else None
