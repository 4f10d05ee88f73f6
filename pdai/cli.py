"""The command `pdai`. Imports JAX only in the commands that compute."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import make_dataclass
from pathlib import Path
from typing import Annotated, Any, Union

import tyro

from pdai.commands.certify import Certify
from pdai.commands.combine import distribute_command, stream_command
from pdai.commands.look import AuditRun, Check, Inspect, PlotRuns, SampleRun
from pdai.commands.reproduce import Reproduce
from pdai.commands.stochastic import Stochastic
from pdai.commands.train import train_command
from pdai.commands.verify import Vectors, Verify
from reference.errors import InputError

# Whose options depend on which parts they choose.
COMPOSED: dict[str, Callable[[Sequence[str]], type[Any]]] = {
    "train": train_command,
    "distribute": distribute_command,
    "stream": stream_command,
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
    plain = {
        "stochastic": Stochastic,
        "reproduce": Reproduce,
        "audit": AuditRun,
        "certify": Certify,
        "sample": SampleRun,
        "plot": PlotRuns,
        "inspect": Inspect,
        "check": Check,
        "verify": Verify,
        "vectors": Vectors,
    }
    order = ("train", "stochastic", "distribute", "stream", *list(plain)[1:])
    every = {**composed, **plain}
    return Union[  # noqa: UP007  (of a computed tuple)
        tuple(Annotated[every[name], tyro.conf.subcommand(name)] for name in order)
    ]


def parse(arguments: Sequence[str]) -> Any:
    """The command that arguments give, ready to run.

    Raises:
        InputError: if an option is of no part that is chosen, or breaks a rule.
        SystemExit: if they cannot be parsed, or help is asked for.
    """
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Parses the command line and runs the command; bad input exits with 2, in one message.

    A full device exits with 1, in one message too.
    """
    # Read when JAX is imported; what is set by the user stands.
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pdai"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    # Small programs as well: a run has a hundred of them, which together take seconds.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    try:
        command = parse(sys.argv[1:] if arguments is None else arguments)
        command.run()
        print(end="", flush=True)
    except InputError as error:
        print(f"pdai: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever reads, such as `head`, has enough.
        _abandon_stdout()
        sys.exit(1)
    except OSError as error:
        # Of a write, to stdout or to a file: what cannot be opened has a name.
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        _abandon_stdout()
        print(
            "pdai: there is no space left for what is printed or written: free some; a training "
            "goes on with --resume",
            file=sys.stderr,
        )
        sys.exit(1)


def _abandon_stdout() -> None:
    """Drops what is not printed yet: Python would fail with it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
