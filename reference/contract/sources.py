"""The source files of a user's module, and their digests."""

import ast
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from typing import Any

from reference.contract.files import read_file, sha256
from reference.contract.loading import OBJECT, find_modules_here, load_object

# Our own packages, whose versions are recorded separately.
OURS = ("fast", "pdai", "reference")


# The first digest of each module in memory, with the module spec of its import.
_IMPORTED: dict[str, tuple[Any, str]] = {}


def sources_of(part: Any, *, imported: bool = False) -> dict[str, str]:
    """SHA-256 digests of the files that an object's module consists of, by path.

    These are the file of the module and the files that it imports, at any depth, except installed
    ones; for an installed module, those of its top-level package. Paths are relative to the folder
    that holds the module or package. Import statements and imports by a literal name are followed:
    a module imported by a computed name, or a data file, is missing. Without a file, as in a shell,
    it is the digest of the object's source text.

    The part is `module:Name`, which is not imported, or a function, a class or an instance. If
    `imported`, a module in memory has the digest first computed after its import, not that of its
    present file.
    """
    module, _, _ = part.partition(":") if isinstance(part, str) else (OBJECT, "", "")
    if module != OBJECT:
        return _files(module, imported)
    made = load_object(part, "object", "my_module:Mine") if isinstance(part, str) else part
    files = _files(str(getattr(made, "__module__", "")), imported)
    text = source_text(made)
    return files if files or not text else {"": sha256(text.encode())}


def source_text(part: Any) -> str:
    """The source text of a class or function; "" if it has none."""
    try:
        return inspect.getsource(part)
    except (OSError, TypeError):
        return ""


def _files(module: str, imported: bool) -> dict[str, str]:
    place = _place_of(module)
    if place is None:
        return {}
    root, name = place
    files, top, names, seen = dict[str, str](), name.partition(".")[0], [name], set[str]()
    while names:
        name = names.pop()
        its_top = name.partition(".")[0]
        if name in seen or its_top in OURS or (_is_installed(root) and its_top != top):
            continue
        seen.add(name)
        folder, path = root, _path_in(root, name)
        if path is None:
            place = _place_of(name)
            if place is None or _is_installed(place[0]):
                continue
            folder, path = place[0], _path_in(*place)
        if path is not None:
            content = read_file(path, follow=True)
            digest = sha256(content)
            files[path.relative_to(folder).as_posix()] = (
                _when_imported(name, digest) if imported else digest
            )
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            # Importing a module also runs its packages.
            used = [name, *_imports(content, package)]
            for whole in used:
                names += accumulate(whole.split("."), "{}.{}".format)
    return files


def _is_installed(folder: Path) -> bool:
    """True if a folder holds libraries, Python's own or others."""
    standard = Path(os.__file__).parent
    return "site-packages" in folder.parts or standard in (folder, *folder.parents)


def _when_imported(name: str, digest: str) -> str:
    """The digest of a module's file: as first computed after the import, else as it is now."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is None:
        return digest
    if name not in _IMPORTED or _IMPORTED[name][0] is not spec:
        _IMPORTED[name] = (spec, digest)
    return _IMPORTED[name][1]


def _place_of(module: str) -> tuple[Path, str] | None:
    """The folder that holds a module's project, and the module's name from there."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded is not None:
        file = Path(loaded).absolute()
        names = module.split(".")
        whole = file.parent if file.name == "__init__.py" else file.with_suffix("")
        if whole.parts[-len(names) :] == tuple(names):
            return whole.parents[len(names) - 1], module
        # A script, or a module loaded from a path, has another name in `sys.modules`.
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
            elif isinstance(node, ast.Call) and node.args:
                function = getattr(node.func, "attr", getattr(node.func, "id", ""))
                named = getattr(node.args[0], "value", None)
                if function in ("import_module", "__import__") and isinstance(named, str):
                    yield resolve_name(named, package)
