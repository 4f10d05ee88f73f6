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
