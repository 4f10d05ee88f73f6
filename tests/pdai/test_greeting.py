"""What `pdai` says of itself: a greeting, its version, and help whose examples are understood."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from importlib.metadata import version

import pytest

from fast.parts import BACKWARD, CHOICES, DYNAMICS, LOSSES
from pdai.arguments import options_class, scan
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


def test_alone_it_says_seven_things_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert capsys.readouterr().out == GREETING
    assert len(GREETED) == 7
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


@pytest.mark.parametrize("part", CHOICES)
def test_the_summary_of_a_part_begins_its_docstring(part: str) -> None:
    for name, entry in CHOICES[part].entries.items():
        assert (CHOICES[part][name].__doc__ or "").startswith(entry.summary), name
        assert CHOICES[part][name].name == name


def test_help_shows_the_parts_and_few_options_and_help_all_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = {}
    for flag in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            parse(["train", "six6", "--dynamics", "gru", flag])
        # Without colours.
        shown[flag] = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    options = set(re.findall(r"^\W*(--[a-z][a-z-]*)", shown["--help"], re.MULTILINE))
    assert len(options - {"--help", "--help-all"}) <= 12
    every = set(re.findall(r"^\W*(--[a-z][a-z-]*)", shown["--help-all"], re.MULTILINE))
    assert options < every
    assert {"--skip", "--replay", "--epsilon"} <= every - options
    words = {flag: " ".join(text.replace("│", " ").split()) for flag, text in shown.items()}
    for flag, kind in (("--help", DYNAMICS), ("--help", LOSSES), ("--help-all", BACKWARD)):
        assert all(f"{name}: " in words[flag] for name in kind)
    assert "--help-all shows every option" in words["--help"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train six6 --steps 0", "steps is 0, but must be at least 1"),
        (
            "train lines --loss subtb --subtb-lambda 2",
            "subtb_lambda is 2.0, but must lie in (0, 1]",
        ),
    ],
)
def test_an_option_that_breaks_a_rule_is_refused_in_its_own_words(line: str, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse(line.split())
    assert str(refusal.value) == message


def test_what_cannot_be_parsed_is_still_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["train", "lines", "--length", "x"])
    assert "--length INT" in capsys.readouterr().err


def test_the_common_options_have_the_defaults_of_the_parts() -> None:
    for line in ("lines", "six6 --dynamics gaussian", "graphs"):
        scanned = scan([*line.split(), "--help"], "six6")
        short = options_class(scanned, {})().common
        every = options_class(scanned._replace(asks_help=False), {})()
        full = {f.name: getattr(g, f.name) for g in vars(every).values() for f in fields(g)}
        assert all(full[name] == value for name, value in vars(short).items())


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
