"""Samplers that know the log-probability of a state: modules of PyTorch, objects, functions.

`pdai.certify(module, problem)` asks `module.log_prob` for every terminal state. Where these are too
many, `pdai.certify(samples, problem, log_prob=module)` asks for those that were drawn.
"""

import itertools
import sys
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from reference.contract.errors import InputError, shown
from reference.contract.user_code import (
    ASKED_AGAIN,
    Asked,
    Of,
    asked_again,
    called,
    has_no_order,
    number_or_infinite,
)
from reference.rows.exact import Floats

# States of a call, and the largest difference of two answers: a batch may be summed in another
# order.
BATCH, SAME = 4_096, 2.0**-9


class LogProb:
    """The log-probability of a state under a sampler, in nats, normalised over all states.

    Args:
        of: an object with `log_prob`, or the function itself.
        encode: a function from a list of states to the argument of a call, which then answers for
            all of them. By default a module of PyTorch has a tensor of the states, which are
            numbers or tuples of numbers; other functions have one state at a time.
    """

    def __init__(self, of: Any, encode: Callable[[Any], Any] | None = None):
        self.log_prob: Any = getattr(of, "log_prob", of)
        owner = type(getattr(self.log_prob, "__self__", of))
        is_torch = any(base.__module__.split(".")[0] == "torch" for base in owner.__mro__)
        self._encode = encode or (_tensor if is_torch else None)
        self.name = getattr(of, "__name__", owner.__name__)
        self._one = Asked(
            "log_prob",
            self.name,
            self.log_prob,
            lambda log, x: number_or_infinite(log, Of("log_prob", x)),
        )

    @classmethod
    def at(cls, of: Any) -> "LogProb":
        """A function or object with the default argument; one that is made already stays."""
        return of if isinstance(of, LogProb) else cls(of)

    def __call__(self, state: Hashable) -> float:
        """The log-probability of one state."""
        return float(self.many([state])[0])

    def many(self, states: Sequence[Hashable]) -> Floats:
        """The log-probabilities of states.

        Raises InputError if the answer is no number for each, is NaN, or another one when asked
        again.
        """
        if self._encode is None:
            logs = [self._one(x) for x in states]
            self._one.ask_again()
            return np.array(logs)
        distinct = [*dict.fromkeys(states)]
        starts = range(0, len(distinct), BATCH)
        batches = (self._batch(distinct[k : k + BATCH]) for k in starts)
        by_state = dict(zip(distinct, itertools.chain(*batches), strict=True))
        # In other batches, as an answer must not depend on its batch, as in training mode.
        for some in (distinct[:ASKED_AGAIN:2], distinct[1:ASKED_AGAIN:2]):
            for x, again in zip(some, self._batch(some) if some else (), strict=True):
                if (first := by_state[x]) != again and not abs(first - again) <= SAME:
                    raise asked_again(f"{self.name}: log_prob({shown(x)})", first, again)
        return np.array([by_state[x] for x in states])

    def _batch(self, states: Sequence[Hashable]) -> list[float]:
        assert self._encode is not None
        argument = called(self.name, "encode", self._encode, states)
        answer = called(self.name, "log_prob", self.log_prob, argument)
        if hasattr(answer, "detach"):
            answer = answer.detach().cpu()
        values: Any = np.empty(())
        if not has_no_order(answer):
            with suppress(TypeError, ValueError):
                values = np.ma.filled(np.ma.asarray(answer, float), np.nan)
        if values.shape != (len(states),):
            raise InputError(
                f"{self.name}: log_prob gives the shape {values.shape} for {len(states)} states: "
                "give one number for each, or encode=, which makes the argument of a list of states"
            )
        pairs = zip(values.tolist(), states, strict=True)
        return [number_or_infinite(log, Of("log_prob", x)) for log, x in pairs]


# As adapters of other libraries call what they give to `pdai.certify`.
sampler = LogProb


def _tensor(states: Sequence[Hashable]) -> Any:
    array = np.array(states)
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{shown(states[0])} is no number and no tuple of numbers, of which a tensor could be "
            "made: give pdai.adapters.log_prob.sampler(module, encode=...)"
        )
    return sys.modules["torch"].as_tensor(array)
