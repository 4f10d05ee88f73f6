"""The command `pdai`: every error is one line, and Ctrl-C stops it at once.

Imports nothing heavy before `main`: Ctrl-C may come while modules load.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from pdai.programs import kept_by_command

# The exit code of an interrupted Python program.
INTERRUPTED = 130
# The answer to no arguments.
GREETING = """\
pdai trains samplers of discrete objects whose policies may see the whole path, and says how wrong
they are. Seven things to do:

  pdai train lines --dynamics gru                    train a sampler that sees the whole path
  pdai certify runs/lines-gru-0                      say how wrong it is: here, exactly
  pdai solve lines                                   get the exact sampler, without training
  pdai posterior my.csv                              get exact edge probabilities of a table
  pdai report runs/lines-gru-0                       look at it, as one page of HTML
  pdai inspect reference.problems:Grid.minimal       look at a problem, without training
  pdai verify --claim prop:lines                     check a claim of the paper

`pdai --help` lists all commands, `pdai COMMAND --help` what each takes, with examples.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Parses the command line and runs the command; bad input exits with 2, in one message.

    An error of the system, such as a full disk, exits with 1, also in one message.
    """
    try:
        with _interrupts(), kept_by_command():
            _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _run(arguments: Sequence[str]) -> None:
    # Before anything else is loaded.
    if list(arguments) == ["--version"]:
        from pdai import __version__

        print(f"pdai {__version__}")
        return
    if not arguments:
        print(GREETING, end="")
        return
    from pdai import check_names

    # With --fail-above, 1 and 2 are answers, so that 3 stands for every failure.
    failed = 3 if any(word.startswith("--fail-above") for word in arguments) else 0
    try:
        # NumPy cannot be loaded without one on Python 3.13.
        os.getcwd()
        check_names()
    except FileNotFoundError:
        removed = "the working directory was removed: change to a folder that exists"
        print(f"pdai: {removed}", file=sys.stderr)
        sys.exit(failed or 2)
    except ImportError as error:
        print(f"pdai: {error}", file=sys.stderr)
        sys.exit(2)
    from reference.contract.errors import InputError, naming_extras, printable
    from reference.contract.files import refusal
    from reference.contract.loading import no_collection

    for stream in (sys.stdout, sys.stderr):
        # The terminal's encoding may lack characters of a file name or a state.
        with suppress(AttributeError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with naming_extras():
            with no_collection():
                from pdai.parsing import parse

                try:
                    command = parse(arguments)
                except SystemExit as ended:
                    sys.exit(ended.code and (failed or ended.code))
            command.run()
        print(end="", flush=True)
    except InputError as error:
        print(f"pdai: {printable(str(error))}", file=sys.stderr)
        sys.exit(failed or error.status)
    except MemoryError:
        print("pdai: there is not enough memory: use a smaller instance", file=sys.stderr)
        sys.exit(failed or 2)
    except BrokenPipeError:
        # The program that reads the output, such as `head`, has stopped.
        _abandon_stdout()
        sys.exit(failed or 1)
    except OSError as error:
        _abandon_stdout()
        refused = refusal(error, None) if error.filename else refusal(error, "stdout", "written")
        print(f"pdai: {printable(str(refused))}", file=sys.stderr)
        sys.exit(failed or 1)


@contextmanager
def _interrupts() -> Iterator[None]:
    """Ends the body at Ctrl-C, even where Python swallows the exception, as in a callback."""
    interrupts: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    # Another handler, such as a test's or a thread's, is kept.
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if interrupts:
        raise KeyboardInterrupt


def _abandon_stdout() -> None:
    """Drops unprinted output, on which Python would fail once more at its exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
