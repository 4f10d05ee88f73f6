"""The parser of the command line. Imports JAX only in the commands that compute."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import MISSING, field, fields, is_dataclass, make_dataclass
from importlib import import_module
from inspect import getdoc
from io import StringIO
from itertools import takewhile
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from pdai.words import HELP, flag_values
from reference.contract.errors import InputError, no_such

ABOUT = "How wrong is your sampler? Samplers of discrete objects: judged, solved, trained"
# Shows every option of the chosen parts; --help shows the common ones.
ALL = "--help-all"

# The commands in the order of the help: for each its module in `pdai.commands`, and the class there
# or a function that makes the class from the arguments.
COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("train", "train_command"),
    "solve": ("solve", "solve_command"),
    "distribute": ("combine", "distribute_command"),
    "stream": ("combine", "stream_command"),
    "reproduce": ("reproduce", "Reproduce"),
    "posterior": ("posterior", "ExactPosterior"),
    "certify": ("certify", "Certify"),
    "theorem": ("certify", "CheckTheorem"),
    "power": ("certify", "SayPower"),
    "sample": ("look", "SampleRun"),
    "plot": ("look", "PlotRuns"),
    "report": ("look", "ReportRuns"),
    "inspect": ("look", "Inspect"),
    "check": ("look", "Check"),
    "verify": ("verify", "Verify"),
}


def load_command(name: str, arguments: Sequence[str]) -> type[Any]:
    """The class of a command, with the options that the arguments after its name choose."""
    module, attribute = COMMANDS[name]
    command: Any = getattr(import_module(f"pdai.commands.{module}"), attribute)
    if not isinstance(command, type):
        return command(arguments)  # type: ignore[no-any-return]
    is_short = ALL not in arguments and not HELP.isdisjoint(arguments)
    return _with_few_options(command) if is_short and hasattr(command, "COMMON") else command


def _with_few_options(command: Any) -> type[Any]:
    """A command whose help shows the options that its attribute `COMMON` names."""
    hidden = [
        (part.name, Annotated[part.type, tyro.conf.Suppress], field(default=part.default))
        for part in fields(command)
        if part.name not in command.COMMON and part.default is not MISSING
    ]
    made = make_dataclass(command.__name__, hidden, bases=(command,), kw_only=True, frozen=True)
    made.__doc__ = getdoc(command)
    return made


def problems(command: str) -> Sequence[str]:
    """The problems of a command that takes one; empty for others."""
    if command not in ("train", "solve", "distribute", "stream"):
        return ()
    # Imported here, as other commands have no tasks.
    from fast.tasks import TASKS

    return tuple(TASKS)


def commands(arguments: Sequence[str]) -> Any:
    """All commands as one type, with the options that the arguments choose."""
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    # Without a command, all commands are shown in full; with one, the others only by name.
    every = {
        name: load_command(name, arguments[1:] if name == chosen else ("--help",))
        if chosen in (None, name)
        else make_dataclass(name, ())
        for name in COMMANDS
    }
    return Union[  # noqa: UP007  (of a computed tuple)
        tuple(Annotated[kind, tyro.conf.subcommand(name)] for name, kind in every.items())
    ]


def _fixed_choices(kind: Any, name: str = "") -> dict[str, tuple[str, ...]]:
    """The strings of every `Literal` among the fields of dataclasses, at any depth, by field."""
    if get_origin(kind) is Literal:
        return {name: get_args(kind)}
    if get_origin(kind) is ClassVar:
        return {}
    parts = [(name, part) for part in get_args(kind)]
    if isinstance(kind, type) and is_dataclass(kind):
        parts = list(get_type_hints(kind).items())
    choices: dict[str, tuple[str, ...]] = {}
    for option, part in parts:
        choices |= _fixed_choices(part, option)
    return choices


def _with_own_problem(arguments: Sequence[str]) -> Sequence[str]:
    """`solve module:Name` as `solve custom --problem ...`; the rest as it is.

    `train` also takes options that name a part of one's own: the problem stands first.
    """
    most = {"solve": len(arguments), "train": 2}.get("".join(arguments[:1]), 0)
    for place, word in enumerate(arguments[1:most], 1):
        if ":" in word and arguments[place - 1] != "--problem":
            return [*arguments[:place], "custom", "--problem", word, *arguments[place + 1 :]]
    return arguments


def parse(arguments: Sequence[str]) -> Any:
    """The command that arguments give, ready to run.

    Raises InputError if an option belongs to no chosen part, or breaks a rule, and SystemExit if
    they cannot be parsed, or help is requested.
    """
    arguments = _with_own_problem(arguments)
    named, problem = (*arguments, "", "")[:2]
    for kind, word, names in (("command", named, COMMANDS), ("problem", problem, problems(named))):
        if kind == "problem" and names and word.endswith(".py"):
            raise InputError(f"{word!r} is a file: name the class in it, as {word[:-3]}:Name")
        if names and word and not word.startswith("-") and word not in names:
            raise InputError(no_such(kind, word, names))
    every = commands(arguments)
    if ALL in arguments or not HELP.isdisjoint(arguments):
        # Help depends on the command and the problem alone.
        arguments = [*takewhile(lambda word: not word.startswith("-"), arguments), "--help"]
    else:
        choices = _fixed_choices(every)
        for name, value in flag_values(arguments).items():
            allowed = choices.get(name, (value,))
            if not value.startswith("-") and value not in allowed:
                raise InputError(no_such(f"choice of --{name.replace('_', '-')}", value, allowed))
    printed = StringIO()
    try:
        with redirect_stderr(printed):
            command = tyro.cli(
                every,
                args=arguments,
                prog="pdai",
                description=ABOUT,
                config=(
                    tyro.conf.OmitSubcommandPrefixes,
                    tyro.conf.OmitArgPrefixes,
                    tyro.conf.DisallowNone,
                    # Help texts are docstrings; comments would cost another reading of each class.
                    tyro.conf.HelptextFromCommentsOff,
                ),
            )
    except SystemExit as end:
        error: BaseException | None = end
        while error is not None and not isinstance(error, InputError):
            error = error.__context__
        if error is not None:
            # Without the name that tyro gives to the record behind the option.
            raise InputError(str(error)) from None
        sys.stderr.write(printed.getvalue())
        raise
    sys.stderr.write(printed.getvalue())
    return command
