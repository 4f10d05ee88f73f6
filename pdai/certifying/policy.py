"""Certificates of policies: functions from states to rows of numbers."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pdai.certifying.judging import Question, SamplerSource, checked_budget, checked_level, judged
from pdai.certifying.target import Real, Target
from reference.certificates.regimes import ExactLaw
from reference.certificates.statement import Certificate, Regime
from reference.contract.errors import InputError, TooLargeError, checked
from reference.contract.loading import load_object, name_of
from reference.contract.tables import Shape
from reference.problems.members import as_problem
from reference.rows.features import Features
from reference.rows.functions import BackwardRows, ForwardRows, Gives, Takes
from reference.rows.walks import Walker


class FunctionSource(SamplerSource):
    """A function from states or histories to rows over the children.

    Args:
        name: its name in reports.
        target: the target of its problem.
        rows: the function, read as its rows of p_F.
        p_b: a function from a state to a row over its parents; by default uniform.
        seed: the random seed of its draws.
    """

    notes = (
        "assumes that the sampler and the problem are functions (PROMISE.md, 1): a hundred answers "
        "were asked for again in another order; where states are listed, equal ones were compared "
        "on a hundred walks",
    )

    def __init__(
        self,
        name: str,
        target: Target,
        rows: ForwardRows,
        p_b: Callable[[Any], Any] | None,
        seed: int,
    ):
        super().__init__(name, target)
        self.rows, self.p_b, self.seed = rows, p_b, seed

    def exact(self, file: str | Path | None) -> ExactLaw:
        made = self.rows.exact(self.target.dag(), self.target.max_states)
        return self.law_of_rows(made, file, name_of(type(self.target.problem)), self.rows.floats())

    def walker(self) -> Walker:
        problem, dag = self.target.problem, None
        with suppress(TooLargeError):
            dag = self.target.dag()
        backward = BackwardRows(problem, self.p_b, dag)
        return Walker(problem, self.rows, backward, self.seed, self.target.seconds)

    def tightened(self, walker: Walker, steps: int) -> Walker:
        return walker.reversed(steps, self.target.seconds)


@checked
def certify_policy(
    policy: Callable[[Any], Any] | str,
    problem: Any = None,
    *,
    takes: Takes = "state",
    gives: Gives = "probabilities",
    p_b: Callable[[Any], Any] | None = None,
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
    tighten: int = 0,
    paths: int = 1,
    features: Features | None = None,
    mode_states: Sequence[Hashable] = (),
    max_states: int = 100_000,
    certificate: str | Path | None = None,
    drawn: Callable[[int], None] | None = None,
) -> Certificate:
    """Certify how close a policy is to its target.

    Args:
        policy: a function to a row of numbers, one per child of a state, or `module:name` of it.
        problem: the problem, its class or `module:Name`, or a law.
        takes: the argument of the function: a state, a list of states, a history or a list of
            these.
        gives: the numbers in its rows.
        p_b: a function from a state to a row over its parents; by default uniform.
        regime: E, Z, S or N; by default the first in this order that is possible.
        log_z: log Z in nats, or a lower and an upper bound of it; by default the problem's.
        target: independent samples of the target for regime S, or a file of them.
        header: whether the first line of that file names its columns.
        if_independent: whether those samples are taken for independent, untested.
        width: the width of the interval at which drawing stops.
        samples: the most trajectories that are drawn.
        seconds: the most seconds of drawing, and of learning p_B.
        level: the probability with which each bound may fail, at most.
        seed: the random seed of the draws.
        tighten: the steps of 256 trajectories in which p_B is learned first.
        paths: the number of backward paths to each terminal state, to bound their TV.
        features: a function from a terminal state to numbers in [0, 1] by name.
        mode_states: terminal states whose probabilities are reported.
        max_states: the most states or histories that are enumerated.
        certificate: a file of a certificate to write, and to check.
        drawn: receives the number of trajectories drawn so far.

    Raises:
        InputError: if the policy, the problem or an option breaks a rule, or the requested regime
            is not possible.
    """
    level, budget = checked_level(level), checked_budget(width, samples, seconds)
    question = Question(
        regime, level, seed, budget, features, mode_states, certificate, drawn, tighten, paths
    )
    if problem is None:
        raise InputError(
            f"{policy!r} gives rows over the children of states, but no problem is given: add "
            "--problem my_module:MyProblem"
        )
    judged_problem, shape = as_problem(problem), Shape(header)
    own = Target(judged_problem, max_states, budget.seconds, log_z, target, shape, if_independent)
    if isinstance(policy, str):
        name, function = policy, load_object(policy, "sampler", "my_module:policy")
    else:
        name, function = getattr(policy, "__name__", type(policy).__name__), policy
    rows = ForwardRows(function, judged_problem, takes, gives)
    return judged(FunctionSource(name, own, rows, p_b, seed), question)
