"""The page of the command line: what `--help` prints."""

import contextlib
import io
import os
from unittest import mock

from pdai.parsing import COMMANDS, parse
from reference.contract.errors import InputError

# What a command needs to know before it shows its options.
CHOSEN = {"train": ("six6",), "distribute": ("sets",), "stream": ("preference",)}


def command_line_page() -> str:
    """The help of every command, as Markdown."""
    parts = [
        "# Command line\n\nWhat `pdai COMMAND --help` prints. `pdai train` and `pdai certify` "
        "show the common options; with `--help-all` all of them, for `train` those of the "
        "chosen parts, here of `six6`.\n\n",
        _block(()),
    ]
    for name in COMMANDS:
        words = (name, *CHOSEN.get(name, ()))
        parts.append(f"## pdai {' '.join(words)}\n\n{_block(words)}")
        if name in ("train", "certify"):
            parts.append(f"With `--help-all`:\n\n{_block((*words, '--help-all'))}")
    return "".join(parts)


def _block(words: tuple[str, ...]) -> str:
    return f"```text\n{help_of(words)}\n```\n\n"


def help_of(words: tuple[str, ...]) -> str:
    """The output of `pdai WORDS --help`, 100 columns wide."""
    printed = io.StringIO()
    asked = words if "--help-all" in words else (*words, "--help")
    try:
        with (
            mock.patch.dict(os.environ, COLUMNS="100"),
            contextlib.redirect_stdout(printed),
            contextlib.suppress(SystemExit),
        ):
            parse(asked)
    except InputError as error:
        raise RuntimeError(f"pdai {' '.join(asked)}: {error}") from error
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())
