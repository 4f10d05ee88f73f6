"""The command `pdai`. Imports JAX only in the commands that compute."""

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from pdai.commands.combine import Distribute, Stream
from pdai.commands.look import AuditRun, Check, Inspect, PlotRuns, SampleRun
from pdai.commands.reproduce import Reproduce
from pdai.commands.stochastic import Stochastic
from pdai.commands.train import Train
from pdai.commands.verify import Vectors, Verify
from reference.errors import InputError

Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Stochastic, tyro.conf.subcommand("stochastic")]
    | Annotated[Distribute, tyro.conf.subcommand("distribute")]
    | Annotated[Stream, tyro.conf.subcommand("stream")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[AuditRun, tyro.conf.subcommand("audit")]
    | Annotated[SampleRun, tyro.conf.subcommand("sample")]
    | Annotated[PlotRuns, tyro.conf.subcommand("plot")]
    | Annotated[Inspect, tyro.conf.subcommand("inspect")]
    | Annotated[Check, tyro.conf.subcommand("check")]
    | Annotated[Verify, tyro.conf.subcommand("verify")]
    | Annotated[Vectors, tyro.conf.subcommand("vectors")]
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
        command: Command = tyro.cli(
            Command,
            args=arguments,
            prog="pdai",
            description="Path-dependent discrete samplers: train them, and know how right they are",
            config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
        )
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
