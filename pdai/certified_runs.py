"""A run as what a certificate is of."""

from pathlib import Path
from typing import Any

from fast.laws.exact_policy import exact_policy
from fast.laws.row_sampler import RowSampler
from fast.laws.tighten import tightened
from fast.policies.backward import UniformBackward
from fast.policies.policy import AnyPolicy, Policy
from fast.runs.folder import load_config, row_of_seed
from fast.runs.frozen import arithmetic
from fast.runs.identity import changed_parts
from fast.runs.job import load_run, unfinished
from fast.runs.records import read_metrics, sha256
from pdai.proof_files import write_file
from pdai.subjects import Subject
from pdai.what_now import what_now
from reference.certificates.exact import ExactLaw, ExactSampler, exact_law
from reference.certificates.rejection import Kept, Rejection, exact_samples, rejection
from reference.errors import InputError, TooLargeError
from reference.fields.field import RATIONAL
from reference.files import read_file
from reference.policies import BackwardPolicy

NETWORK = (
    "the certificate covers the table of action probabilities, computed in float64; it does not "
    "cover `pdai sample`, which computes them in float32"
)


def run_subject(
    folder: Path,
    seed: int,
    max_states: int,
    of: int | None,
    seconds: float,
    accept_changed: bool,
) -> Subject:
    """The sampler of a run, at its last checkpoint.

    Args:
        folder: the run folder.
        seed: of draws.
        max_states: more states or histories are not enumerated.
        of: which of the run's seeds; by default its first.
        seconds: of each search.
        accept_changed: whether parts of the user's own may have changed since.

    Raises:
        InputError: if the folder is no run with a checkpoint, or has no such seed, or a random
            latent.
    """
    config = load_config(folder, accept_changed=accept_changed)
    row = row_of_seed(folder, config, of, "of")
    with arithmetic(config):
        setup, state, _ = load_run(config)
        policy = _summable(folder, setup.policies(state)[row])
    problem, stands = config.restricted(), unfinished(config, state)
    changed = "; ".join(changed_parts(folder))
    notes = (
        NETWORK,
        *([f"the run is at {stands}"] if stands else []),
        *([f"of the code as it is now, which changed since the run: {changed}"] if changed else []),
    )
    subject = Subject(str(folder), problem, seed, max_states, seconds, notes=notes)
    run = sha256(read_file(folder / "checkpoint.eqx"))
    subject.drawn_from = lambda: {"run": run, "of": row}

    def exact(file: Any) -> ExactLaw:
        enumeration = setup.enumeration
        if enumeration is None:
            raise TooLargeError(f"the run {str(folder)!r} has more states than --max-states")
        made = ExactSampler(*exact_policy(policy, enumeration, max_states))
        said = write_file(file, made, enumeration.rewards, problem, config.task.short_name)
        labels = [enumeration.dag.labels[x] for x in enumeration.dag.terminals]
        law = exact_law(made.forward, labels, enumeration.rewards)
        advice = what_now(law, enumeration, read_metrics(folder), row)
        return law._replace(notes=[*law.notes, *said, *advice])

    def sampler() -> RowSampler:
        return RowSampler(policy, setup.environment, problem, config.run.precision, seed)

    def tighter(sampler: RowSampler, steps: int) -> RowSampler:
        with arithmetic(config):
            learned = tightened(policy, setup.environment, steps, seed, seconds)
        return RowSampler(learned, setup.environment, problem, config.run.precision, seed)

    if setup.enumeration is not None:
        subject.rewards = setup.enumeration.rewards
    subject.exact, subject.sampler, subject.tightened = exact, sampler, tighter
    return subject


def exact_draws(
    folder: Path, count: int, seed: int, max_states: int, *, accept_changed: bool = False
) -> tuple[Kept, Rejection]:
    """Exact samples of a run's target, by rejection with the uniform `p_B`.

    Args:
        folder: the run folder; its first seed is taken.
        count: how many.
        seed: of the draw.
        max_states: more states or histories are not enumerated.
        accept_changed: whether parts of the user's own may have changed since.

    Raises:
        TooLargeError: if the largest weight cannot be certified, as not all is enumerated.
        InputError: if the folder is no run with a checkpoint, or has a random latent.
    """
    config = load_config(folder, accept_changed=accept_changed)
    with arithmetic(config):
        setup, state, _ = load_run(config)
        trained = _summable(folder, setup.policies(state)[0])
    if setup.enumeration is None:
        raise TooLargeError(
            f"the run {str(folder)!r} has more states than --max-states, so that its largest "
            "weight cannot be certified: leave --exact out"
        )
    lifted, forward = exact_policy(trained, setup.enumeration, max_states)
    backward = BackwardPolicy.uniform(setup.enumeration.dag, RATIONAL).on(lifted)
    found = rejection(forward, backward, setup.enumeration.rewards)
    policy = Policy(trained.network, UniformBackward(), trained.actions)
    sampler = RowSampler(policy, setup.environment, config.restricted(), config.run.precision, seed)
    return exact_samples(sampler, found.log_most, count, seed), found


def _summable(folder: Path, policy: AnyPolicy) -> Policy:
    """The policy of a run, whose trajectories have a probability each."""
    if not isinstance(policy, Policy):
        raise InputError(
            f"the run {str(folder)!r} has a random latent, so that the probability of a trajectory "
            "is an integral, and nothing can be certified: its report.json has the sampled figures"
        )
    return policy
