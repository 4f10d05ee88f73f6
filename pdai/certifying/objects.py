"""Certificates of objects: samplers of trajectories, and those that know log-probabilities."""

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pdai.adapters.log_prob import LogProb
from pdai.adapters.stepping import SteppedSampler
from pdai.certifying.judging import Question, SamplerSource, checked_budget, checked_level, judged
from pdai.certifying.samples import DRAWN_FROM
from pdai.certifying.target import Real, Target
from reference.certificates.recorded import EXCESS, REWARD_TOLERANCE, Likeliest, check_mass
from reference.certificates.regimes import ExactLaw, law_beside_target
from reference.certificates.state_texts import Outside
from reference.certificates.statement import Certificate, Regime
from reference.contract.errors import InputError, check_type, checked, shown
from reference.contract.tables import Shape
from reference.contract.text import at_most
from reference.contract.user_code import called
from reference.problems.base import MAX_LOG_REWARD
from reference.problems.enumeration import exponential
from reference.problems.members import as_problem
from reference.rows.features import Features
from reference.rows.importance import Walks
from reference.rows.walks import LogRewards, Sampler

# The error of a log-probability in float32, a sum over some steps, relative to one plus its size.
ROUNDING = 2.0**-20


@runtime_checkable
class HasLogProb(Protocol):
    """An object that knows the log-probability of a terminal state, in nats."""

    def log_prob(self, terminal: Any) -> Any:
        """The log-probability of a terminal state, or those of many."""
        ...


class LogProbSource(SamplerSource):
    """A sampler that knows the log-probability of a terminal state, asked at each of them.

    Raises InputError if there is no target.
    """

    conditions = (DRAWN_FROM,)

    def __init__(self, log_prob: LogProb, target: Target):
        super().__init__(log_prob.name, target)
        self._log_prob = log_prob
        if target.problem is None:
            raise InputError(f"{self.name} has log_prob, but no target: give a problem, or a law")

    def exact(self, file: str | Path | None) -> ExactLaw:
        dag, rewards = self.target.dag(), self.target.rewards
        labels: list[Hashable] = [dag.labels[x] for x in dag.terminals]
        logs = self._log_prob.many(labels).tolist()
        # In float64, whoever has less than e^-745 would be taken for one that is never drawn.
        values = [
            exponential(Fraction(min(log, 1.0))) if log > -MAX_LOG_REWARD else Fraction(0)
            for log in logs
        ]
        total = sum(values, start=Fraction(0))
        gap = float(abs(total - 1))
        check_mass(float(total), f"the {len(labels):,} terminal states")
        off = f"the probabilities, as answered, are divided by their sum, 1 up to {at_most(gap)}"
        spread = -math.fsum(float(p) * log for p, log in zip(values, logs, strict=True) if p)
        if total < 1 - ROUNDING * (1 + spread):
            if abs(math.fsum(2.0**log for log in logs) - 1) <= EXCESS:
                raise InputError(
                    f"the probabilities of all terminal states sum to {float(total):.6g}, and to 1 "
                    "in base 2: give natural logarithms"
                )
            off = "the probability that is missing lies outside of the terminal states"
            labels, values = [*labels, Outside()], [*values, 1 - total]
            rewards, total = [*rewards, Fraction(0)], Fraction(1)
        floats = "probabilities, by their logarithms"
        law = law_beside_target([p / total for p in values], labels, rewards, floats)
        return law._replace(notes=[*law.notes, off])

    def walker(self) -> Sampler:
        raise InputError(
            f"{self.name} has log_prob, which is asked at every terminal state, and these are more "
            "than max_states, or another regime than E is asked for: give samples, and log_prob= "
            "beside them"
        )


class DrawingSource(SamplerSource, Sampler):
    """A sampler of trajectories, such as one of another library; its answers are checked."""

    def __init__(self, sampler: Sampler, target: Target):
        super().__init__(type(sampler).__name__, target)
        self.ends: list[Hashable] = []
        self._likeliest = Likeliest()
        self._sampler = sampler
        if type(sampler).__module__.partition(".")[0] != "pdai":
            self.conditions = [DRAWN_FROM]
        self._rewards = None if target.problem is None else LogRewards(target.problem)
        self._before: Walks | None = None

    def exact(self, file: str | Path | None) -> ExactLaw | None:
        if self.target.problem is None or not isinstance(self._sampler, SteppedSampler):
            return None
        target = self.target
        return self._sampler.exact(target.dag(), target.rewards, target.max_states)

    def walker(self) -> "DrawingSource":
        return self

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        # The rewards of a problem need the terminal states.
        labels = labels or self._rewards is not None
        walks = self._walks("draw", partial(self._sampler.draw, labels=labels), count)
        if self._before is not None and _repeats(self._before, walks):
            raise InputError(
                f"{self.name}: draw gives the same trajectories again, and fresh, independent ones "
                "are needed: is the seed set in each call?"
            )
        self._before = walks
        if not self.ends:
            self.target.check_drawn(self.name, walks.terminals)
        self.ends += walks.terminals
        self._likeliest.add(walks.terminals, walks.log_p_f)
        return walks

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        walks = self._walks("draw_backward", self._sampler.draw_backward, terminals)
        if list(walks.terminals) != list(terminals):
            raise InputError(
                f"{self.name}: draw_backward gives trajectories that end in "
                f"{shown(walks.terminals)}, but was asked for {shown(terminals)}: give one for each"
            )
        return walks

    def findings(self) -> Sequence[str]:
        self._likeliest.check_drawn(self.ends)
        return self._sampler.findings()

    def _walks(self, method: str, function: Callable[..., Any], argument: Any) -> Walks:
        walks = called(self.name, method, function, argument)
        check_type(self.name, f"the answer of {method}", walks, Walks)
        walks = _checked_walks(what := f"{self.name}: {method}", walks)
        if self._rewards is None:
            return walks
        if len(walks.terminals) != len(walks.error):
            raise InputError(
                f"{what} gives no terminal states, of which the problem has the rewards: give "
                "them, or leave the problem out and give log Z"
            )
        own = [
            self._rewards.confirm(x, r, REWARD_TOLERANCE * (1 + abs(r)), "sampler")
            for x, r in zip(walks.terminals, walks.log_reward.tolist(), strict=True)
        ]
        log_reward, off = np.array([[log.value, log.error] for log in own]).reshape(-1, 2).T
        # The object's error is that of its whole sum, log R included.
        other = np.where(log_reward == walks.log_reward, 0.0, off)
        return walks._replace(log_reward=log_reward, error=walks.error + other)


def _repeats(before: Walks, walks: Walks) -> bool:
    """True if trajectories begin with earlier ones, which independent draws never do.

    Trajectories are compared by their numbers. The probability that forty uncommon ones recur at
    the same places is at most 2^-40.
    """
    size = min(len(before.error), len(walks.error))
    one, other = (np.stack([w.log_p_f[:size], w.log_weight[:size]]) for w in (before, walks))
    if not np.array_equal(one, other):
        return False
    return size - int(np.unique(one, axis=1, return_counts=True)[1].max(initial=0)) >= 40


def _checked_walks(what: str, walks: Walks) -> Walks:
    """A user's trajectories; raises InputError unless columns are of one length and in range."""
    columns = {}
    for name, column in zip(Walks._fields[1:], walks[1:], strict=True):
        values = np.asarray(column)
        if values.dtype.kind not in "fiu" or values.ndim != 1 or len(values) != np.size(walks[1]):
            raise InputError(
                f"{what} gives {name} = {shown(column)}, but must give one real number for each "
                "trajectory, in an array of one axis"
            )
        columns[name] = values.astype(float)
    for name in ("log_p_f", "log_p_b"):
        above = columns[name] - np.abs(columns["error"])
        if above.max(initial=0.0) > 1e-6:
            raise InputError(
                f"{what} gives {name} = {columns[name].max():g}, but the logarithm of a "
                "probability is at most 0: give sums of log-probabilities, in nats"
            )
    if (columns["error"] < 0).any():
        raise InputError(f"{what} gives an error below 0: give a bound of the rounding, in nats")
    if len(walks.terminals) not in (0, len(columns["error"])):
        raise InputError(
            f"{what} gives {len(walks.terminals)} terminals for {len(columns['error'])} "
            "trajectories: give each its own"
        )
    return Walks(walks.terminals, **columns)


@checked
def certify_object(
    sampler: Sampler | HasLogProb,
    problem: Any = None,
    *,
    regime: Regime | None = None,
    log_z: Any = None,
    target: Sequence[Hashable] | str | Path | None = None,
    header: bool | None = None,
    if_independent: bool = False,
    width: Real = 0.01,
    samples: int = 100_000,
    seconds: Real = 60.0,
    level: Real = 1e-6,
    seed: int = 0,
    paths: int = 1,
    features: Features | None = None,
    mode_states: Sequence[Hashable] = (),
    max_states: int = 100_000,
    drawn: Callable[[int], None] | None = None,
) -> Certificate:
    """Certify how close an object is to its target.

    Args:
        sampler: a sampler of trajectories, such as one of `pdai.adapters`; or an object with
            `log_prob(x)`, which is asked at every terminal state.
        problem: the problem, its class or `module:Name`, or a law.
        regime: E, Z, S or N; by default the first in this order that is possible.
        log_z: log Z in nats, or a lower and an upper bound of it; by default the problem's.
        target: independent samples of the target for regime S, or a file of them.
        header: whether the first line of that file names its columns.
        if_independent: whether those samples are taken for independent, untested.
        width: the width of the interval at which drawing stops.
        samples: the most trajectories that are drawn.
        seconds: the most seconds of drawing.
        level: the probability with which each bound may fail, at most.
        seed: the random seed of the draws.
        paths: the number of backward paths to each terminal state, to bound their TV.
        features: a function from a terminal state to numbers in [0, 1] by name.
        mode_states: terminal states whose probabilities are reported.
        max_states: the most states or histories that are enumerated.
        drawn: receives the number of trajectories drawn so far.

    Raises:
        InputError: if the object, the problem or an option breaks a rule, or the requested regime
            is not possible.
    """
    level, budget = checked_level(level), checked_budget(width, samples, seconds)
    question = Question(
        regime, level, seed, budget, features, mode_states, drawn=drawn, paths=paths
    )
    judged_problem = None if problem is None else as_problem(problem)
    shape = Shape(header)
    own = Target(judged_problem, max_states, budget.seconds, log_z, target, shape, if_independent)
    if isinstance(sampler, Sampler):
        return judged(DrawingSource(sampler, own), question)
    return judged(LogProbSource(LogProb.at(sampler), own), question)
