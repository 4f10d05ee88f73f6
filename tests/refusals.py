"""Refusals: an error in one line, in these words, that leaves nothing behind."""

import contextlib
import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from reference.contract.errors import InputError, TooLargeError


def refused(
    words: str, call: Callable[..., object], *arguments: Any, kind: type[InputError] = InputError
) -> str:
    """The message of a call that must be refused, made in an empty folder.

    Args:
        words: a regular expression that the message matches.
        call: what is refused.
        arguments: those of the call.
        kind: the error; what is too large has one of its own.
    """
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        with pytest.raises(kind, match=words) as refusal:
            call(*arguments)
        assert [*Path().iterdir()] == []
    message = str(refusal.value)
    assert "\n" not in message
    assert isinstance(refusal.value, TooLargeError) == issubclass(kind, TooLargeError)
    return message


def refuses(
    call: Callable[..., object],
    *rows: tuple[Any, ...],
    kind: type[InputError] = InputError,
    marks: Sequence[pytest.MarkDecorator] = (),
) -> Callable[[Any], None]:
    """A test for each row: its arguments, of a call that is refused, and the words of the message.

    Args:
        call: with the arguments of a row; `whole` where a row has the call itself.
        rows: the arguments, and last the words.
        kind: the error.
        marks: of the test.
    """

    @pytest.mark.parametrize("row", rows, ids=[row[-1] for row in rows])
    def test(row: tuple[Any, ...]) -> None:
        *arguments, words = row
        refused(words, call, *arguments, kind=kind)

    for mark in marks:
        mark(test)
    return test


# The call of a row that has the whole of it.
whole = operator.call
