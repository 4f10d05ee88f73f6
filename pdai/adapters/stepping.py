"""A sampler of another library, stepped in batches; its rows are drawn from exactly."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from reference.certificates.importance import Walks
from reference.certificates.rows import choose_all
from reference.certificates.sums import Floats, Ints, PathSums, soft_rows
from reference.certificates.walks import LONGEST
from reference.errors import InputError
from reference.problems.base import exact_reward
from reference.problems.closed_form import Enclosure

# What float32 may do to a log reward, relative to its size and one: a thousand roundings.
FLOAT32_ERROR = 2.0**-14


class Logits(NamedTuple):
    """Rows of logits.

    Attributes:
        values: shape (batch, n).
        mask: which entries are legal.
    """

    values: Any
    mask: Any


class WayBack(NamedTuple):
    """How the last step is undone.

    Attributes:
        logits: of `p_B` over the parents.
        taken: which parent a trajectory came from.
        counts: False where a step has one parent for certain, as stopping does.
    """

    logits: Logits
    taken: Ints
    counts: Any


class Steps(Protocol):
    """What a library must be asked."""

    def start(self, count: int) -> Any:
        """A batch of initial states."""
        ...

    def forward(self, states: Any) -> Logits:
        """The logits of `p_F`."""
        ...

    def move(self, states: Any, actions: Ints, active: Any) -> tuple[Any, Any, WayBack]:
        """The next states, which of them are terminal, and how they are undone.

        Those that are not active have ended, and stay as they are.
        """
        ...

    def ends(self, states: Any) -> tuple[list[Hashable], Floats]:
        """Labels and `log R`, in nats, of terminal states."""
        ...


class SteppedSampler:
    """Another library's sampler, to be certified.

    Args:
        steps: the library.
        problem: of this project, whose exact rewards count, and with which the library's must
            agree; None to take the library's, to float32.
        label: from a label of the library to one of the problem.
        seed: of the draws.
    """

    def __init__(
        self,
        steps: Steps,
        problem: Any = None,
        label: Callable[[Any], Hashable] | None = None,
        seed: int = 0,
    ):
        self.steps, self.problem, self.label = steps, problem, label
        self.rng = np.random.default_rng(seed)
        self._rewards: dict[Hashable, Enclosure] = {}

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh, independent trajectories of `p_F`."""
        states, sums = self.steps.start(count), PathSums(count)
        active = np.ones(count, bool)
        for _ in range(LONGEST):
            logits = self.steps.forward(states)
            open_mask = np.where(active[:, None], np.asarray(logits.mask), True)
            values = np.where(active[:, None], np.asarray(logits.values), 0.0)
            rows = soft_rows(values, open_mask)
            action = choose_all(rows, self.rng)
            sums.forward(rows, action, active)
            states, ended, back = self.steps.move(states, action, active)
            counted = active & np.asarray(back.counts)
            mask = np.where(counted[:, None], np.asarray(back.logits.mask), True)
            values = np.where(counted[:, None], np.asarray(back.logits.values), 0.0)
            sums.backward(soft_rows(values, mask), back.taken, counted)
            active = active & ~np.asarray(ended)
            if not active.any():
                break
        else:
            raise InputError(f"a trajectory has more than {LONGEST:,} steps: is there a cycle?")
        terminals, given = self.steps.ends(states)
        if self.label is not None:
            terminals = list(map(self.label, terminals))
        rewards = [self._reward(x, r) for x, r in zip(terminals, given.tolist(), strict=True)]
        log_reward = np.array([reward.value for reward in rewards])
        error = sums.error(log_reward) + np.array([reward.error for reward in rewards])
        return Walks(terminals, sums.log_p_f, sums.log_p_b, log_reward, error)

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """Refused: not written for other libraries."""
        raise InputError(
            "samplers of other libraries are not drawn backwards: give log Z, for regime Z"
        )

    def findings(self) -> Sequence[str]:
        """Whose rewards these are."""
        if self.problem is not None:
            return [
                "rewards are the problem's, with which the library's agree on all that was drawn"
            ]
        return [
            "rewards are the library's own, and what float32 may do to them widens the interval"
        ]

    def _reward(self, x: Hashable, given: float) -> Enclosure:
        tolerance = FLOAT32_ERROR * (1 + abs(given))
        if self.problem is None:
            return Enclosure(given, tolerance)
        if x not in self._rewards:
            log = Enclosure.log_of(exact_reward(self.problem, x))
            self._rewards[x] = Enclosure(log.value, log.error + 2.0**-50)
        own = self._rewards[x]
        if not abs(own.value - given) <= tolerance:
            raise InputError(
                f"log R({x!r}) is {given:.9g} in the library, {own.value:.9g} in the problem: "
                "certify against the reward that was trained on, or correct one of them"
            )
        return own
