"""The pages of the site and of combined samplers: commands are understood, Python runs."""

import contextlib
import io
import re
import shlex
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from pdai.parsing import parse
from tests.command_lines import understand

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (
        *(ROOT / "README.md", ROOT / "pdai" / "distributed" / "README.md"),
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "records").glob("*.md")),
    )
}


def python_blocks(text: str) -> list[str]:
    """The Python of a Markdown text."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


COMMANDS = {
    name: re.findall(r"^pdai (.*?)(?:#.*)?$", text, re.MULTILINE) for name, text in PAGES.items()
}
# Those of the README's table stand in its cells.
COMMANDS["README.md"] += re.findall(r"`pdai (\w+ [^`]+)`", PAGES["README.md"])
EVERY = [(name, line) for name, lines in COMMANDS.items() for line in lines]


@pytest.mark.parametrize(("page", "line"), EVERY)
def test_the_commands_are_understood(
    page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The problems of the examples are found where the command is given.
    (tmp_path / "my_module.py").write_text(python_blocks(PAGES["docs/own_problem.md"])[0])
    (tmp_path / "necklaces.py").write_text(python_blocks(PAGES["docs/index.md"])[0])
    monkeypatch.chdir(tmp_path)
    understand(shlex.split(line))


def test_the_pages_show_commands() -> None:
    assert len(EVERY) >= 40
    with_commands = {name for name, lines in COMMANDS.items() if lines}
    assert {"README.md", "docs/index.md", "docs/training.md", "docs/certify.md"} <= with_commands


def test_what_a_review_found_has_tests_that_are_there() -> None:
    files = defaultdict[str, str](str)
    for path in (*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("verify/**/test_*.py")):
        files[path.stem] += path.read_text()
    promise = (ROOT / "PROMISE.md").read_text()
    rows = re.findall(r"^\| [GUOlp][^|]*\|.*\| ([^|]+) \|$", promise, re.M)
    assert len(rows) == 128
    for part in "; ".join(rows).split("; "):
        file, _, names = part.partition(": ")
        tests = files[f"test_{file}"]
        assert tests or part == "none", file
        for name in filter(None, names.split(", ")):
            assert re.search(rf"^(def )?test_\w*{name}", tests, re.M), (file, name)


def test_the_example_of_an_own_problem_runs() -> None:
    code = python_blocks(PAGES["docs/own_problem.md"])
    assert len(code) == 2
    assert len(code[0].splitlines()) <= 30
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code[0], "own_problem.md", "exec"), {})
    assert printed.getvalue() == "31 47 31/540\n"


@pytest.mark.long
def test_the_example_of_the_front_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, front = python_blocks(PAGES["docs/own_problem.md"])
    names = run_page(problem, "my_module", front, tmp_path, monkeypatch)
    assert names["run"].folder == Path("runs/necklaces-gru-0")
    assert names["more"].folder == Path("runs/necklaces-gru-0-2")


@pytest.mark.long
def test_the_start_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, front = python_blocks(PAGES["docs/index.md"])
    names = run_page(problem, "necklaces", front, tmp_path, monkeypatch)
    assert names["certificate"].regime == "E"


def run_page(
    problem: str, module: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The names that a page's code defines, for a problem of a module; trained for twenty steps."""
    monkeypatch.chdir(folder)
    (folder / f"{module}.py").write_text(problem)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, module, raising=False)
    names: dict[str, Any] = {}
    short = f"from {module} import Necklaces\n" + code.replace("500", "20")
    exec(compile(short, module, "exec"), names)
    return names


@pytest.mark.parametrize("page", [name for name, text in PAGES.items() if python_blocks(text)])
def test_the_python_of_the_pages_is_python(page: str) -> None:
    for code in python_blocks(PAGES[page]):
        compile(code, page, "exec")


def test_control_a_wrong_command_is_refused() -> None:
    with pytest.raises(Exception, match="no command"):
        parse(["trian", "six6"])
