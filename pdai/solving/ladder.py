"""`pdai.sampler`: the best sampler of a problem: exact if possible, else trained."""

import sys
from collections.abc import Hashable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fast.tasks import task_meant
from fast.training.compose import configure
from pdai.certifying.certify import certify
from pdai.solving.solve import Choice, solve, task_of
from pdai.solving.solved import TOLD, Solved
from reference.arguments import checked
from reference.certificates.statement import Certificate
from reference.errors import TooLargeError
from reference.exact_flows import Backward
from reference.problems.base import MAX_NODES, is_ours, kind_of_problem
from reference.problems.closed_form import ClosedForm

if TYPE_CHECKING:
    from pdai.run import Run

Floats = npt.NDArray[np.float64]


class Sampler:
    """A sampler of a problem: the way in which it was made, why, in words, and its run."""

    def __init__(
        self,
        way: Literal["closed form", "dynamic programming", "training"],
        why: str,
        run: "Solved | Run",
    ):
        self.way, self.why, self.run = way, why, run

    def __repr__(self) -> str:
        return f"Sampler(by {self.way}: {self.why}; {str(self.run.folder)!r})"

    def sample(self, count: int, *, seed: int = 0) -> list[Any]:
        """Independent terminal states; raises InputError if a number is out of range."""
        return list(self.run.sample(count, seed=seed).states)

    def log_prob(self, terminals: Sequence[Hashable]) -> Floats:
        """`log p_T(x)` of terminal states, in nats.

        Raises InputError if one is no terminal state, or the law of a trained run is estimated.
        """
        return self.run.log_prob(terminals)

    @cached_property
    def certificate(self) -> Certificate | None:
        """The distance to the target, certified; None of a closed form, without rows."""
        return None if self.way == "closed form" else certify(self.run)


@checked
def sampler(
    problem: Any,
    *,
    p_b: Backward = "uniform",
    max_states: int = MAX_NODES,
    out: str | Path | None = None,
    **options: Any,
) -> Sampler:
    """The best possible sampler of a problem; stderr says which, and why.

    A closed form, if the problem draws exact samples; else dynamic programming, if all states can
    be listed; else training. A closed form of a user's own comes after dynamic programming.

    Args:
        problem: as for `pdai.solve`.
        p_b: the backward policy of dynamic programming; a training has its own, `uniform`.
        max_states: the largest number of states to list.
        out: the run folder; by default one in `runs`, as `pdai.solve` and `pdai.train` choose it.
        options: the options of the task, and those of a training if there is one.

    Raises:
        InputError: if the problem or an option breaks a rule.
    """
    task, training = task_of(problem, options)
    if training:
        # A misspelled option is refused even if nothing will be trained.
        kind, values = task_meant(task)
        configure(kind, **{**values, **training})
    own = task.make_problem()
    name, tried = kind_of_problem(own).__name__, []
    ways: list[Choice] = ["closed-form", "listed"]
    if not is_ours(own):
        # What is listed is proved, and what a user's closed form says is not.
        ways.reverse()
    if not isinstance(own, ClosedForm):
        ways, tried = ["listed"], [f"{name} has no closed form"]
    for way in ways:
        try:
            run = solve(task, p_b=p_b, way=way, max_states=max_states, out=out)
        except TooLargeError as error:
            tried.append(str(error))
            continue
        if way == "listed":
            return _said("dynamic programming", "; ".join([*tried, run.recipe.why]), run)
        why = TOLD if run.recipe.is_told else f"{name} draws exact samples"
        return _said("closed form", why, run)
    why = "; ".join(tried)
    # Imported here, as it loads JAX, which exact samplers do not need.
    from pdai.front import train

    print(f"pdai.sampler: by training: {why}", file=sys.stderr)
    return Sampler("training", why, train(task, out=out, **training))


def _said(way: Literal["closed form", "dynamic programming"], why: str, run: Solved) -> Sampler:
    print(f"pdai.sampler: by {way}: {why}", file=sys.stderr)
    return Sampler(way, why, run)
