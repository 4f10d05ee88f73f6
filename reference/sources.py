"""The source files of a user's module, and their digests."""

import ast
import hashlib
import inspect
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from typing import Any

from reference.files import read_file
from reference.loading import OBJECT, find_modules_here, load_object

# Our own packages, whose versions are recorded separately.
OURS = ("fast", "pdai", "reference")


def sources_of(part: Any) -> dict[str, str]:
    """SHA-256 digests of the files that an object's module consists of, by path.

    These are the file of the module and the files that it imports from the same project, at any
    depth: from the folder that holds it or, for an installed module, from its top-level package.
    Paths are relative to that folder. Only import statements are followed: a module imported by a
    computed name, or a data file, is missing.

    Args:
        part: `module:Name`, which is not imported, or a function, a class or an instance.

    Returns:
        the digests; without a file, as in a shell, that of the object's source text.
    """
    module, _, _ = part.partition(":") if isinstance(part, str) else (OBJECT, "", "")
    if module != OBJECT:
        return _files(module)
    owner = load_object(part, "object", "my_module:Mine") if isinstance(part, str) else part
    files = _files(str(getattr(owner, "__module__", "")))
    text = source_text(owner)
    return files if files or not text else {"": _digest(text.encode())}


def digest_of(part: Any) -> str:
    """One digest of a function's or an object's name and of the files that `sources_of` names."""
    name = getattr(part, "__qualname__", type(part).__qualname__)
    return _digest(json.dumps([name, sources_of(part)], sort_keys=True).encode())


def source_text(part: Any) -> str:
    """The source text of a class or function; "" if it has none."""
    try:
        return inspect.getsource(part)
    except (OSError, TypeError):
        return ""


def _files(module: str) -> dict[str, str]:
    place = _place_of(module)
    if place is None:
        return {}
    root, name = place
    installed = "site-packages" in root.parts or root == Path(os.__file__).parent
    files, top, names = dict[str, str](), name.partition(".")[0], [name]
    while names:
        name = names.pop()
        path, its_top = _path_in(root, name), name.partition(".")[0]
        if path is None or its_top in OURS or (installed and its_top != top):
            continue
        key = path.relative_to(root).as_posix()
        if key not in files:
            content = read_file(path, follow=True)
            files[key] = _digest(content)
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            # Importing a module also runs its packages.
            imported = [name, *_imports(content, package)]
            names += [part for whole in imported for part in _prefixes(whole)]
    return files


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _prefixes(name: str) -> list[str]:
    return list(accumulate(name.split("."), "{}.{}".format))


def _place_of(module: str) -> tuple[Path, str] | None:
    """The folder that holds a module's project, and the module's name from there."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded is not None:
        file = Path(loaded).absolute()
        names = module.split(".")
        whole = file.parent if file.name == "__init__.py" else file.with_suffix("")
        if whole.parts[-len(names) :] == tuple(names):
            return whole.parents[len(names) - 1], module
        # A script, or a module loaded from a path, has another name.
        return file.parent, file.stem
    find_modules_here()
    for folder in map(Path, sys.path if module else ()):
        if _path_in(folder, module) is not None:
            return folder.absolute(), module
    return None


def _path_in(root: Path, name: str) -> Path | None:
    whole = root.joinpath(*name.split("."))
    paths = (whole / "__init__.py", whole.with_name(f"{whole.name}.py"))
    return next((path for path in paths if path.is_file()), None)


def _imports(content: bytes, package: str) -> Iterator[str]:
    """The names in a file's import statements that may be modules; none if it cannot be parsed."""
    with suppress(SyntaxError, ValueError, ImportError):
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = resolve_name("." * node.level + (node.module or ""), package)
                yield from (base, *(f"{base}.{alias.name}" for alias in node.names))
