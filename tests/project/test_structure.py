"""The form of the source: functions on a screen, names, one module that opens files."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 60


def long_functions(tree: ast.AST) -> dict[str, int]:
    """The functions of more than `MOST_LINES` lines, their docstrings left out."""
    lengths = {
        node.name: lines(node) - (lines(node.body[0]) if ast.get_docstring(node) else 0)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return {name: length for name, length in lengths.items() if length > MOST_LINES}


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_control_a_longer_function_is_seen() -> None:
    body = "    x = 1\n"
    assert long_functions(ast.parse("def right():\n" + body * (MOST_LINES - 1))) == {}
    documented = 'def told():\n    """What it is.\n\n    And more.\n    """\n'
    assert long_functions(ast.parse(documented + body * (MOST_LINES - 1))) == {}
    assert long_functions(ast.parse(documented + body * MOST_LINES)) == {"told": MOST_LINES + 1}
    method = "class A:\n    async def long(self):\n" + ("    " + body) * MOST_LINES
    assert long_functions(ast.parse(method)) == {"long": MOST_LINES + 1}


def vague_names(source: str) -> set[str]:
    """The variables and arguments whose names would do for any value."""
    names = {getattr(n, "id", getattr(n, "arg", "")) for n in ast.walk(ast.parse(source))}
    return names & {"found", "told", "there"}


def test_names_say_what_the_values_are() -> None:
    files = subprocess.check_output(["git", "ls-files", "*.py"], cwd=ROOT, text=True).split()
    assert "tests/project/test_structure.py" in files
    assert [file for file in files if vague_names((ROOT / file).read_text())] == []
    # Control.
    assert len(vague_names("def f(told): there = [found for found in told]")) == 3


# What opens, reads or writes a file by its name; figures and archives are written to memory first.
OPENERS = re.compile(
    r"((.*\.)?(open|fdopen|read_text|read_bytes|write_text|write_bytes|touch|symlink_to|mkstemp"
    r"|NamedTemporaryFile|fromfile|tofile|loadtxt|savetxt|genfromtxt|memmap|copy2|copyfile|copytree)"
    r"|(np|numpy|jnp)\.(load|save)|shutil\.(copy|move)|os\.(replace|rename|link|symlink|mkfifo))"
)
# The module of files; a lock on a folder; the null device, for a standard output that is closed.
MAY_OPEN = {
    "reference/contract/files.py": None,
    "fast/runs/files.py": {"os.open"},
    "pdai/cli.py": {"os.open"},
}


def openers(tree: ast.AST) -> set[str]:
    """The calls that open, read or write a file, other than by `reference.contract.files`."""
    calls = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return {call for call in calls if OPENERS.fullmatch(call)}


@pytest.mark.parametrize("package", ["reference", "fast", "pdai", "verify"])
def test_functions_are_short_and_files_are_opened_in_one_module(package: str) -> None:
    # Tests, which `verify` has too, plant files of their own.
    files = [path for path in (ROOT / package).rglob("*.py") if not path.name.startswith("test_")]
    assert files
    for path in files:
        tree = ast.parse(path.read_text())
        assert package not in ("fast", "pdai") or long_functions(tree) == {}, path
        allowed = MAY_OPEN.get(path.relative_to(ROOT).as_posix(), set())
        assert allowed is None or openers(tree) <= allowed, path


def test_control_what_opens_a_file_is_seen() -> None:
    calls = ("open", "path.open", "os.open", "Path(name).write_text", "np.load", "os.replace")
    for call in calls:
        assert openers(ast.parse(f"with suppress(OSError):\n    x = {call}(name, 1)")) == {call}
    for call in ("opened", "np.savez", "name.replace", "Config.load", "open_certificate"):
        assert openers(ast.parse(f"{call}(name)")) == set()


def code_lines(source: str) -> dict[str, int]:
    """The number of lines of code of each class: no blank lines, comments or docstrings."""
    text, tree = source.splitlines(), ast.parse(source)
    docstrings = {
        number
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
        for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    return {
        kind.name: sum(
            bool(text[number - 1].strip())
            and not text[number - 1].strip().startswith("#")
            and number not in docstrings
            for number in range(kind.lineno, (kind.end_lineno or kind.lineno) + 1)
        )
        for kind in tree.body
        if isinstance(kind, ast.ClassDef)
    }


def test_what_a_user_writes_is_below_forty_lines() -> None:
    by_file = [code_lines(path.read_text()) for path in (ROOT / "examples").glob("*.py")]
    lengths = [length for lines in by_file for length in lines.values()]
    assert len(lengths) >= 8
    assert max(lengths) < 40


def test_control_docstrings_and_blanks_are_not_counted() -> None:
    source = 'class A:\n    """What."""\n\n    # Why.\n    x = 1\n    y = 2\n'
    assert code_lines(source) == {"A": 3}


def public(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """The public functions of three or more arguments, and methods of public classes, by name."""
    homes = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    functions = {
        f"{getattr(home, 'name', '')}.{node.name}": node
        for home in homes
        for node in home.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    return {
        name: node
        for name, node in functions.items()
        if not name.startswith("_")
        and len({a.arg for a in (*node.args.args, *node.args.kwonlyargs)} - {"self", "cls"}) >= 3
    }


def undescribed(trees: dict[str, ast.Module]) -> set[str]:
    """Those without `Args`, by file; methods take them from another class's of their name."""
    functions = {
        (file, name): x for file, tree in trees.items() for name, x in public(tree).items()
    }
    described = {key for key, x in functions.items() if "Args:" in (ast.get_docstring(x) or "")}
    inherited = {name.split(".")[1] for _, name in described if not name.startswith(".")}
    return {
        f"{file}: {name}"
        for file, name in functions.keys() - described
        if name.startswith(".") or name.split(".")[1] not in inherited
    }


@pytest.mark.parametrize("package", ["reference", "fast", "pdai"])
def test_arguments_of_public_functions_are_described(package: str) -> None:
    trees = {str(path): ast.parse(path.read_text()) for path in (ROOT / package).rglob("*.py")}
    assert undescribed(trees) == set()


def test_control_an_argument_that_is_not_described_is_seen() -> None:
    described = 'class A:\n    def f(self, a, b, c):\n        """X.\n\n        Args:\n"""\n'
    inherits = "class B:\n    def f(self, a, b, c): ...\n    def g(self, a, b): ...\n"
    trees = {"a": ast.parse(described + inherits + "def _h(a, b, c): ...")}
    assert undescribed(trees) == set()
    trees["b"] = ast.parse("def f(a, b, *, c): ...")
    assert undescribed(trees) == {"b: .f"}
