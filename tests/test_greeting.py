"""What `pdai` says of itself: a greeting, its version, and help whose examples are understood."""

import re
import shlex
import subprocess
import sys
from importlib.metadata import version

import pytest

from pdai.cli import main
from pdai.greeting import GREETING
from pdai.parsing import COMMANDS, load_command, parse
from reference.errors import InputError
from tests.command_lines import understand

GREETED = re.findall(r"^  (pdai .*?)  ", GREETING, re.MULTILINE)
TRIED = {
    command: re.findall(r"^ +(pdai .*)$", load_command(command, ()).__doc__ or "", re.MULTILINE)
    for command in COMMANDS
}


def test_alone_it_says_five_things_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert capsys.readouterr().out == GREETING
    assert len(GREETED) == 5
    assert max(map(len, GREETING.splitlines())) < 100


def test_its_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out == f"pdai {version('pdai')}\n"


def test_a_greeting_loads_nothing_heavy() -> None:
    heavy = "{'jax', 'tyro', 'numpy', 'matplotlib'} & set(sys.modules)"
    code = f"import sys; from pdai.cli import main; main([]); sys.exit(bool({heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_each_command_has_examples() -> None:
    assert all(TRIED.values()), TRIED
    for command, lines in TRIED.items():
        assert all(line.split()[:2] == ["pdai", command] for line in lines)


@pytest.mark.parametrize("line", [*GREETED, *(line for lines in TRIED.values() for line in lines)])
def test_examples_are_understood(line: str) -> None:
    understand(shlex.split(line)[1:])


def test_control_an_example_with_a_misprint_is_seen() -> None:
    with pytest.raises(SystemExit):
        parse(["report", "runs/lines-gru-0", "--output", "lines.html"])


def test_help_shows_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("report", "train"):
        with pytest.raises(SystemExit):
            parse([command, "--help"])
        shown = capsys.readouterr().out
        assert all(line in shown for line in TRIED[command]), shown


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("train grid --encoding=natrual", "natural"),
        ("train grid --penalty hubr", "huber"),
        ("sample runs/x --format cvs", "csv"),
    ],
)
def test_a_fixed_choice_that_there_is_not_names_the_nearest(line: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"did you mean {meant}\?"):
        parse(line.split())
