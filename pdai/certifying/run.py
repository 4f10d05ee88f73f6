"""Certificates of runs, trained or solved."""

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from fast.runs.identity import changed_parts
from pdai.certifying.judging import Question, SamplerSource, checked_budget, checked_level, judged
from pdai.certifying.target import Real, Target
from pdai.loading import load
from pdai.solving.solved import Solved
from reference.certificates.regimes import ExactLaw
from reference.certificates.statement import Certificate, Regime
from reference.contract.errors import InputError, TooLargeError, checked
from reference.contract.files import InFolder
from reference.contract.tables import Shape
from reference.contract.text import at_most
from reference.rows.features import Features

ROWS = "the certificate covers the rows of policy.npz, from which `pdai sample` draws exactly"


class SolvedSource(SamplerSource):
    """The rows of a solved run.

    Raises InputError if it draws from a closed form, or another seed or regime is asked for.
    """

    def __init__(self, run: Solved, target: Target, of: int | None, regime: Regime | None):
        self.run = run
        folder = str(run.folder)
        if run.recipe.way != "listed":
            raise InputError(
                f"{folder!r} draws from a closed form, right as far as the formula is right, and "
                "has no rows: certify its samples, or solve a smaller instance with --way listed"
            )
        if of not in (None, 0) or regime not in (None, "E"):
            raise InputError(
                f"{folder!r} is solved: it has one sampler, which regime E certifies; leave "
                "--run-seed and --regime out"
            )
        states = len(run.flows.graph.counts)
        if states > target.max_states:
            raise TooLargeError(
                f"{folder!r} has {states:,} states, more than --max-states: raise it to have TV "
                f"in exact rationals; at most {at_most(run.tv_bound)} was proved by pdai solve"
            )
        super().__init__(folder, target)
        self.notes = [ROWS]
        if changed := "; ".join(changed_parts(run.folder)):
            self.notes.append(f"the code has changed since it was solved, and is used: {changed}")

    def exact(self, file: str | Path | None) -> ExactLaw:
        name = self.run.task.short_name
        return self.law_of_rows(self.run.exact, file, name, "the rows of policy.npz")


@checked
def certify_run(
    run: InFolder | str | Path,
    *,
    of: int | None = None,
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
    """Certify how close a run is to its target.

    Args:
        run: a run, or its folder.
        of: which of the run's seeds; by default its first.
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
        InputError: if the folder is no run, an option breaks a rule, or the requested regime is not
            possible.
    """
    level, budget = checked_level(level), checked_budget(width, samples, seconds)
    question = Question(
        regime, level, seed, budget, features, mode_states, certificate, drawn, tighten, paths
    )
    judged_run: Any = run if isinstance(run, InFolder) else load(run)
    own = Target(
        judged_run.problem, max_states, budget.seconds, log_z, target, Shape(header), if_independent
    )
    if isinstance(judged_run, Solved):
        return judged(SolvedSource(judged_run, own, of, regime), question)
    # Imported here, as solved runs need no JAX.
    from pdai.certifying.trained import RunSource

    return judged(RunSource(judged_run, own, seed, of), question)
