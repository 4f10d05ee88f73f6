"""How the source is cut: functions that fit on a screen."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_LINES = 60


def long_functions(source: str) -> dict[str, int]:
    """The functions of more than `MOST_LINES` lines, their docstrings left out."""
    lengths = {
        node.name: lines(node) - (lines(node.body[0]) if ast.get_docstring(node) else 0)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return {name: length for name, length in lengths.items() if length > MOST_LINES}


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("package", ["fast", "pdai"])
def test_no_function_is_long(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        assert long_functions(path.read_text()) == {}, path


def test_control_a_longer_function_is_seen() -> None:
    body = "    x = 1\n"
    assert long_functions("def right():\n" + body * (MOST_LINES - 1)) == {}
    told = 'def told():\n    """What it is.\n\n    And more.\n    """\n'
    assert long_functions(told + body * (MOST_LINES - 1)) == {}
    assert long_functions(told + body * MOST_LINES) == {"told": MOST_LINES + 1}
    method = "class A:\n    async def long(self):\n" + ("    " + body) * MOST_LINES
    assert long_functions(method) == {"long": MOST_LINES + 1}


def code_lines(source: str) -> dict[str, int]:
    """How many lines of code each class has: no blank lines, comments or docstrings."""
    text, tree = source.splitlines(), ast.parse(source)
    told = {
        number
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
        for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    return {
        kind.name: sum(
            bool(text[number - 1].strip())
            and not text[number - 1].strip().startswith("#")
            and number not in told
            for number in range(kind.lineno, (kind.end_lineno or kind.lineno) + 1)
        )
        for kind in tree.body
        if isinstance(kind, ast.ClassDef)
    }


def test_what_a_user_writes_is_below_forty_lines() -> None:
    found = [code_lines(path.read_text()) for path in (ROOT / "examples").glob("*.py")]
    lengths = [length for lines in found for length in lines.values()]
    assert len(lengths) >= 8
    assert max(lengths) < 40


def test_control_docstrings_and_blanks_are_not_counted() -> None:
    source = 'class A:\n    """What."""\n\n    # Why.\n    x = 1\n    y = 2\n'
    assert code_lines(source) == {"A": 3}
