"""What the README shows works."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
import tyro

from pdai.cli import Command

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_example_of_an_own_problem_runs() -> None:
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code) == 1
    assert len(code[0].splitlines()) <= 30
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code[0], "README.md", "exec"), {})
    assert printed.getvalue() == "31 47 31/540\n"


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
            _parse(arguments)
        assert stop.value.code == 0
    else:
        _parse(arguments)


def test_the_readme_shows_its_commands() -> None:
    assert len(COMMANDS) >= 8


def _parse(arguments: list[str]) -> None:
    tyro.cli(
        Command,
        args=arguments,
        prog="pdai",
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
    )
