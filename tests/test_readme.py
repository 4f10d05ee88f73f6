"""What the README shows works."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from pdai.parsing import parse

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_example_of_an_own_problem_runs() -> None:
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code) == 2
    assert len(code[0].splitlines()) <= 30
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code[0], "README.md", "exec"), {})
    assert printed.getvalue() == "31 47 31/540\n"


def test_the_example_of_the_front_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, front = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_module.py").write_text(problem)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_module", raising=False)
    found: dict[str, Any] = {}
    code = "from my_module import Necklaces\n" + front.replace("500", "20")
    exec(compile(code, "README.md", "exec"), found)
    assert found["run"].folder == Path("runs/necklaces-gru-0")
    assert found["more"].folder == Path("runs/necklaces-gru-0-2")


COMMANDS = re.findall(r"^pdai (.*?)(?:#.*)?$", README, re.MULTILINE)


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_are_understood(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The problem of the README's example is found where the command is given.
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "my_module.py").write_text(code[0])
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(line)
    if arguments[-1] == "--help":
        with pytest.raises(SystemExit) as stop:
            parse(arguments)
        assert stop.value.code == 0
    else:
        parse(arguments)


def test_the_readme_shows_its_commands() -> None:
    assert len(COMMANDS) >= 8
