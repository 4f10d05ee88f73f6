"""Command lines that a text shows."""

from collections.abc import Sequence

import pytest

from pdai.parsing import parse


def understand(arguments: Sequence[str]) -> None:
    """Parses what follows `pdai`; one that asks for help has to get it."""
    if arguments[-1] == "--help":
        with pytest.raises(SystemExit) as stop:
            parse(arguments)
        assert stop.value.code == 0
    else:
        parse(arguments)
