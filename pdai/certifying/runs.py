"""A trained run as a sampler to be certified, and exact samples of its target."""

from pathlib import Path

from fast.laws.exact_policy import exact_policy
from fast.laws.likelihood import tightened as learn_backward
from fast.laws.row_sampler import RowSampler
from fast.policies.backward import UniformBackward
from fast.policies.policy import AnyPolicy, Policy
from fast.runs.folder import row_of_seed
from fast.runs.frozen import arithmetic
from fast.runs.identity import changed_parts
from fast.runs.job import unfinished
from fast.runs.records import read_metrics
from pdai.certifying.options import CertifyOptions
from pdai.certifying.sources import SamplerSource
from pdai.certifying.target import Target
from pdai.certifying.what_now import what_now
from pdai.run import Run
from reference.certificates.regimes import ExactLaw
from reference.contract.errors import InputError, TooLargeError
from reference.fields.field import RATIONAL
from reference.policies import BackwardPolicy
from reference.rows.rejection import Kept, Rejection, exact_samples, rejection

NETWORK = (
    "the certificate covers the table of action probabilities, computed in float64; it does not "
    "cover `pdai sample`, which computes them in float32"
)


# The floats of a run, in words.
ROWS = "rows, which the network gives and which are closed to sum to one"


class RunSource(SamplerSource):
    """The sampler of a run, at its last checkpoint; the options' seeds and limits are used.

    Raises InputError if the folder is no run with a checkpoint, or has no such seed, or a random
    latent, or other parameters than when the run was loaded.
    """

    def __init__(self, run: Run, options: CertifyOptions):
        self.folder, self.options, self.config = (folder := run.folder), options, run.config
        self.digest = run.digest
        self.row = row_of_seed(folder, self.config.run, options.of, "of")
        run.check_current()
        self.policy = _summable(folder, run.policy(options.of))
        self.setup = run.setup
        rewards = None if self.setup.enumeration is None else self.setup.enumeration.rewards
        target = Target(run.problem, options.max_states, options.seconds, rewards)
        super().__init__(str(folder), target)
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
            raise TooLargeError(f"the run {self.name!r} has more states than --max-states")
        made = exact_policy(self.policy, enumeration, self.target.max_states)
        law = self._law(made, file, self.config.task.short_name, ROWS)
        texts = self.config.task.texts
        advice = what_now(law, enumeration, read_metrics(self.folder), self.row, texts)
        return law._replace(notes=[*law.notes, *advice])

    def walker(self) -> RowSampler:
        return self.row_sampler(self.policy)

    def tightened(self, walker: RowSampler, steps: int) -> RowSampler:
        seed, seconds = self.options.seed, self.options.seconds
        with arithmetic(self.config.run.precision):
            learned = learn_backward(self.policy, self.setup.environment, steps, seed, seconds)
        return self.row_sampler(learned)

    def row_sampler(self, policy: Policy) -> RowSampler:
        """A sampler that draws from the rows of a policy."""
        environment, precision = self.setup.environment, self.config.run.precision
        return RowSampler(policy, environment, self.target.problem, precision, self.options.seed)

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
        lifted, forward = exact_policy(trained, enumeration, self.options.max_states)
        backward = BackwardPolicy.uniform(enumeration.dag, RATIONAL).on(lifted)
        bound = rejection(forward, backward, enumeration.rewards)
        uniform = Policy(trained.network, UniformBackward(), trained.actions)
        sampler, seed = self.row_sampler(uniform), self.options.seed
        return exact_samples(sampler, bound.log_most, count, seed), bound


def _summable(folder: Path, policy: AnyPolicy) -> Policy:
    """The policy of a run; raises if its latent is random."""
    if not isinstance(policy, Policy):
        raise InputError(
            f"the run {str(folder)!r} has a random latent, so that the probability of a trajectory "
            "is an integral, and nothing can be certified: its report.json has the sampled figures"
        )
    return policy
