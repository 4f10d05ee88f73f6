"""The core without its rooms: `python .ci/core_alone.py FOLDER` copies the tree, less the rooms.

Of `pdai` stays what importing `pdai.front` loads, the module of `pdai.train`. A file of `tests`,
`verify` or `examples` goes if it needs something that went: itself, by what it imports, or by a
fixture.
"""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("reference.certificates", "reference.posterior", "benchmarks")
CORE = ("reference", "fast")
TRAINING = "pdai.front"
# Of the tree: its pages, sizes and commits.
OF_THE_TREE = "tests/project"
ABOVE = ("tests", "verify", "examples")


def name_of(file: Path) -> str:
    """The name of the module in a file."""
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


@cache
def tree_of(module: str) -> tuple[ast.stmt, ...] | None:
    """The statements of a module of ours."""
    place = ROOT / module.replace(".", "/")
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((tuple(ast.parse(x.read_text()).body) for x in files if x.is_file()), None)


@cache
def faces(package: str) -> dict[str, str]:
    """The modules of the names that a package loads when they are used."""
    if package == "pdai":
        values = (x.value for x in tree_of("pdai") or () if isinstance(x, ast.Assign))
        return next(ast.literal_eval(x) for x in values if isinstance(x, ast.Dict))
    stub = ROOT / package.replace(".", "/") / "__init__.pyi"
    words = [line.split() for line in stub.read_text().splitlines()] if stub.is_file() else []
    return {name: package + module for _, module, _, name, *_ in words}


def imports(nodes: Iterator[ast.AST], *, within: bool) -> Iterator[str]:
    """The names of what is imported: at the top, or also within functions and from lazy `pdai`."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            for alias in node.names:
                yield faces(node.module).get(alias.name, f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pdai":
            yield faces("pdai").get(node.attr, "pdai")
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif within or isinstance(node, ast.If | ast.Try | ast.With):
            yield from imports(ast.iter_child_nodes(node), within=within)


def closure(names: Iterator[str], *, within: bool = False) -> set[str]:
    """Modules of ours with all that they import; of tests also within functions, if so asked."""
    every, due = set[str](), list(names)
    while due:
        name = due.pop()
        tree = tree_of(name)
        if name in every or tree is None:
            continue
        every.add(name)
        inner = within and name.startswith(ABOVE)
        due += [name.rpartition(".")[0], *imports(iter(tree), within=inner)]
    return every


def needs(file: Path) -> set[str]:
    """The modules that a file above the product needs, with the fixtures of its folders."""
    tree = tree_of(name_of(file)) or ()
    used = {x.arg for node in tree for x in ast.walk(node) if isinstance(x, ast.arg)}
    needed = closure(iter([name_of(file)]), within=file.name.startswith("test_"))
    for folder in file.parents:
        fixtures = name_of(folder / "conftest.py")
        needed |= closure(iter([fixtures]))
        for node in tree_of(fixtures) or ():
            if isinstance(node, ast.FunctionDef) and node.name in used:
                needed |= closure(imports(iter(node.body), within=True), within=True)
    return needed


def main(folder: Path) -> None:
    """Makes the copy, and says what it holds."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files = [Path(name) for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    gone = {file for file in files if name_of(file).startswith(ROOMS)}
    core = [x for x in files if x.parts[0] in CORE and x not in gone]
    training = closure(iter([TRAINING, *map(name_of, core)]))
    if rooms := sorted(name for name in training if name.startswith(ROOMS)):
        sys.exit(f"the core or {TRAINING} imports {', '.join(rooms)}")
    gone |= {x for x in files if x.parts[0] == "pdai" and name_of(x) not in training}
    modules = {name_of(file) for file in gone}
    gone |= {x for x in files if str(x).startswith(OF_THE_TREE)}
    above = [x for x in files if x.suffix == ".py" and x.parts[0] in ABOVE]
    gone |= {file for file in above if needs(file) & modules}
    kept = [file for file in files if file not in gone]
    for file in kept:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, folder / file)
    tests = sum(file.name.startswith("test_") for file in kept)
    print(f"{len(kept)} of {len(files)} files, {tests} of them tests")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
