"""What becomes of an attack."""

import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from reference.errors import InputError

# How an attack may end. The last three are failures.
Ending = Literal["refused", "answered rightly", "wrong in silence", "foreign error", "hung"]
FAILURES: tuple[Ending, ...] = ("wrong in silence", "foreign error", "hung")


class Outcome(NamedTuple):
    """How one attack ended.

    Attributes:
        ending: in a word.
        story: what was done, and what came of it, for failures.
    """

    ending: Ending
    story: str = ""


class HungError(BaseException):
    """An attack took too long; nothing of ours catches it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stops the body after so many seconds, in the main thread."""

    def stop(*_: object) -> None:
        raise HungError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def attempted(
    story: str,
    call: Callable[[], Any],
    is_right: Callable[[Any], bool],
    seconds: float = 10.0,
) -> Outcome:
    """How a call ends.

    Args:
        story: what is called, with what.
        call: does it.
        is_right: whether what it answers is right.
        seconds: that it may take.
    """
    try:
        with limited(seconds):
            answer = call()
    except InputError:
        return Outcome("refused")
    except HungError:
        return Outcome("hung", f"{story}: no answer in {seconds:.0f} s")
    except Exception:
        return Outcome("foreign error", f"{story}\n{traceback.format_exc(limit=-3)}")
    if is_right(answer):
        return Outcome("answered rightly")
    return Outcome("wrong in silence", f"{story}: {answer!r:.200}")
