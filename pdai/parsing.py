"""The command line of `pdai`, read. Imports JAX only in the commands that compute."""

from collections.abc import Callable, Sequence
from dataclasses import make_dataclass
from typing import Annotated, Any, Union

import tyro

from fast.tasks import TASKS
from pdai.commands.combine import USUAL, distribute_command, stream_command
from pdai.commands.look import AuditRun, Check, Inspect, PlotRuns, SampleRun
from pdai.commands.reproduce import Reproduce
from pdai.commands.train import train_command
from pdai.commands.verify import Vectors, Verify
from reference.errors import InputError, no_such


def certify_command(_: Sequence[str]) -> type[Any]:
    """The command `pdai certify`, whose module takes a while to load."""
    from pdai.commands.certify import Certify

    return Certify


# Made when they are chosen, as their options depend on which parts they choose.
COMPOSED: dict[str, Callable[[Sequence[str]], type[Any]]] = {
    "train": train_command,
    "distribute": distribute_command,
    "stream": stream_command,
    "certify": certify_command,
}


# The commands in the order of the help; None where they are made when they are chosen.
COMMANDS: dict[str, type[Any] | None] = {
    "train": None,
    "distribute": None,
    "stream": None,
    "reproduce": Reproduce,
    "audit": AuditRun,
    "certify": None,
    "sample": SampleRun,
    "plot": PlotRuns,
    "inspect": Inspect,
    "check": Check,
    "verify": Verify,
    "vectors": Vectors,
}
# What stands first after a command that takes a problem.
PROBLEMS: dict[str, tuple[str, ...]] = {
    "train": tuple(TASKS),
    "distribute": tuple(USUAL),
    "stream": tuple(USUAL),
}


def commands(arguments: Sequence[str]) -> Any:
    """All commands as one type, with the options that the arguments choose."""
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    # Without a command all are shown; beside another, only that they are there.
    composed = {
        name: make(arguments[1:] if name == chosen else ())
        if chosen in (None, name)
        else make_dataclass(name, ())
        for name, make in COMPOSED.items()
    }
    every = {name: composed.get(name) or kind for name, kind in COMMANDS.items()}
    return Union[  # noqa: UP007  (of a computed tuple)
        tuple(Annotated[kind, tyro.conf.subcommand(name)] for name, kind in every.items())
    ]


def refuse_unknown_names(arguments: Sequence[str]) -> None:
    """Refuses a command or a problem that there is not, in a line that names the nearest.

    Raises:
        InputError: if it is none.
    """
    command, problem = (*arguments, "", "")[:2]
    known = PROBLEMS.get(command, ())
    for kind, word, there in (("command", command, COMMANDS), ("problem", problem, known)):
        if there and word and not word.startswith("-") and word not in there:
            raise InputError(no_such(kind, word, there))


def parse(arguments: Sequence[str]) -> Any:
    """The command that arguments give, ready to run.

    Raises:
        InputError: if an option is of no part that is chosen, or breaks a rule.
        SystemExit: if they cannot be parsed, or help is asked for.
    """
    refuse_unknown_names(arguments)
    return tyro.cli(
        commands(arguments),
        args=arguments,
        prog="pdai",
        description="Path-dependent discrete samplers: train them, and know how right they are",
        config=(
            tyro.conf.OmitSubcommandPrefixes,
            tyro.conf.OmitArgPrefixes,
            tyro.conf.DisallowNone,
        ),
    )
