"""A trained run as a sampler to be certified, advice on it, and exact samples of its target.

docs/training.md has advice for each answer.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fast.laws.enumeration import Enumeration
from fast.laws.exact_policy import exact_policy
from fast.laws.likelihood import tightened as learn_backward
from fast.laws.row_sampler import RowSampler
from fast.policies.backward import UniformBackward
from fast.policies.policy import Policy
from fast.runs.folder import row_of_seed
from fast.runs.frozen import arithmetic
from fast.runs.identity import changed_parts
from fast.runs.job import unfinished
from fast.runs.records import read_metrics
from pdai.certifying.judging import SamplerSource
from pdai.certifying.target import Target
from pdai.run import Run
from reference.certificates.regimes import ExactLaw
from reference.contract.errors import InputError, TooLargeError, plain
from reference.contract.text import small
from reference.fields.field import RATIONAL
from reference.policies import BackwardPolicy
from reference.rows.rejection import Kept, Rejection, exact_samples, rejection

NETWORK = (
    "the certificate covers the table of action probabilities, computed in float64; it does not "
    "cover `pdai sample`, which computes them in float32"
)
# The floats of a run, in words.
ROWS = "rows, which the network gives and which are closed to sum to one"
# The TV above which advice is given, and the number of terminal states that it names.
LARGE, NAMED = 0.02, 3
# A curve that lost less of its TV than this in its second half has levelled off.
LEVEL = 0.1


class RunSource(SamplerSource):
    """The sampler of a run, at its last checkpoint.

    Args:
        run: the run.
        target: the target of its problem.
        seed: the random seed of its draws.
        of: which of the run's seeds; by default its first.

    Raises InputError if the folder is no run with a checkpoint, or has no such seed, or a random
    latent, or other parameters than when the run was loaded.
    """

    def __init__(self, run: Run, target: Target, seed: int = 0, of: int | None = None):
        super().__init__(str(folder := run.folder), target)
        self.folder, self.config, self.seed = folder, run.config, seed
        self.row = row_of_seed(folder, self.config.run, of)
        run.check_current()
        policy = run.policy(of)
        if not isinstance(policy, Policy):
            raise InputError(
                f"the run {self.name!r} has a random latent, so that the probability of a "
                "trajectory is an integral, and nothing can be certified: its report.json has the "
                "sampled figures"
            )
        self.policy, self.setup = policy, run.setup
        if self.setup.enumeration is not None:
            target.known_rewards = self.setup.enumeration.rewards
        self.notes = [NETWORK]
        first, seeds = self.config.run.seed, self.config.run.seeds
        if seeds > 1:
            self.notes.append(
                f"seed {first + self.row}, of the run's seeds {first} to {first + seeds - 1}: "
                "--run-seed takes another"
            )
        if stands := unfinished(run.state, self.config.optimiser.steps):
            self.notes.append(f"the run is at {stands}")
        if changed := "; ".join(changed_parts(folder)):
            change = f"the code has changed since the run, and is used as it is: {changed}"
            self.notes.append(change)

    def exact(self, file: str | Path | None) -> ExactLaw:
        enumeration = self.setup.enumeration
        if enumeration is None:
            raise TooLargeError(f"the run {self.name!r} has no list of states (see --max-states)")
        made = exact_policy(self.policy, enumeration, self.target.max_states)
        law = self.law_of_rows(made, file, self.config.task.short_name, ROWS)
        # Half of an annealed training was for other targets.
        records = read_metrics(self.folder) if self.config.sampling.anneal <= 1 / 2 else None
        advice = what_now(law, enumeration, records, self.row, self.config.task.texts, self.folder)
        return law._replace(notes=[*law.notes, *advice])

    def walker(self) -> RowSampler:
        return self.row_sampler(self.policy)

    def tightened(self, walker: RowSampler, steps: int) -> RowSampler:
        environment, seconds = self.setup.environment, self.target.seconds
        with arithmetic(self.config.run.precision):
            learned = learn_backward(self.policy, environment, steps, self.seed, seconds)
        return self.row_sampler(learned)

    def row_sampler(self, policy: Policy) -> RowSampler:
        """A sampler that draws from the rows of a policy."""
        environment, precision = self.setup.environment, self.config.run.precision
        return RowSampler(policy, environment, self.target.problem, precision, self.seed)

    def target_draws(self, count: int) -> tuple[Kept, Rejection]:
        """Exact samples of the run's target, by rejection with the uniform `p_B`.

        Raises TooLargeError if the largest weight cannot be certified, as not all is enumerated.
        """
        enumeration, trained = self.setup.enumeration, self.policy
        if enumeration is None:
            raise TooLargeError(
                f"the run {self.name!r} has more states than --max-states, so that its largest "
                "weight cannot be certified: leave --exact out"
            )
        lifted, forward = exact_policy(trained, enumeration, self.target.max_states)
        backward = BackwardPolicy.uniform(enumeration.dag, RATIONAL).on(lifted)
        bound = rejection(forward, backward, enumeration.rewards)
        uniform = Policy(trained.network, UniformBackward(), trained.actions)
        return exact_samples(self.row_sampler(uniform), bound.log_most, count, self.seed), bound


def what_now(
    law: ExactLaw,
    enumeration: Enumeration,
    records: Sequence[Mapping[str, Any]] | None,
    row: int,
    texts: Callable[[Iterable[Any]], Sequence[str]],
    folder: Path,
) -> list[str]:
    """Three lines of advice about a run whose TV is above `LARGE`; none below.

    Args:
        law: the exact law of the run beside its target.
        enumeration: the states of its environment.
        records: those of its training; None if they are not of this target alone.
        row: the place of its seed in them.
        texts: writes states as people read them.
        folder: the run folder, for the command that continues it.
    """
    if law.tv <= LARGE:
        return []
    slope = [] if records is None else [_slope(records, row, folder)]
    return [_missing(law, texts), *slope, _least(enumeration)]


def _missing(law: ExactLaw, texts: Callable[[Iterable[Any]], Sequence[str]]) -> str:
    short = sorted((p - target, i) for i, (_, p, target) in enumerate(law.table) if p < target)
    rows = [law.table[i] for _, i in short[:NAMED]]
    named = ", ".join(
        f"{plain(text)} ({small(p)} for {small(target)})"
        for text, (_, p, target) in zip(texts([x for x, *_ in rows]), rows, strict=True)
    )
    share = -sum((gap for gap, _ in short[:NAMED]), start=Fraction(0)) / law.tv
    return (
        f"missing mass: {len(short):,} of {len(law.table):,} terminal states have too little; the "
        f"farthest below, {named}, lack {float(share):.2%} of all that is missing"
    )


def _slope(records: Sequence[Mapping[str, Any]], row: int, folder: Path) -> str:
    curve = [(record["step"], record["tv"][row]) for record in records if record.get("tv")]
    # Training has not begun at step 0, so that a difference from there is no slope.
    before = [point for point in curve if 0 < point[0] <= curve[-1][0] / 2]
    if not before:
        return "slope: TV was not recorded in the first half of the training"
    (start, high), (end, low) = before[-1], curve[-1]
    verdict = "more steps alone are unlikely to help"
    if low < (1 - LEVEL) * high:
        command = f"pdai train --resume {shlex.quote(str(folder))} --steps {2 * end}"
        verdict = f"more steps help ({command}, in all)"
    return (
        f"slope: TV went from {high:.4f} at step {start:,} to {low:.4f} at step {end:,}: {verdict}"
    )


def _least(enumeration: Enumeration) -> str:
    inner = [node for node, row in enumerate(enumeration.dag.children) if row]
    distinct = len(np.unique(enumeration.observations[inner], axis=0))
    if distinct == len(inner):
        return (
            "least TV: 0, as the network is shown the whole state (claim markov-projection); "
            "whether it is large enough is not known (what to try: docs/training.md)"
        )
    return (
        f"least TV: of {len(inner):,} states the network can tell {distinct:,} apart, so that "
        "without memory it may not be 0: show it more, or the past of these (--dynamics gru)"
    )
