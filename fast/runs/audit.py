"""The audit: a trained run as an exact object."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from fast.laws.enumeration import Enumeration
from fast.laws.exact_policy import exact_policy
from fast.laws.terminal_law import exact_law, has_exact_law, target_law
from fast.policies.policy import AnyPolicy
from fast.runs.display import slow
from fast.runs.folder import load_config, row_of_seed
from fast.runs.frozen import arithmetic
from fast.runs.job import load_run, unfinished
from reference.errors import InputError, TooLargeError
from reference.fields.field import RATIONAL
from reference.marginals import marginal, mass
from reference.metrics import kl_divergence, normalize, total_variation
from reference.policies import BackwardPolicy

# Up to this many lifted states, the audit is in exact rationals.
MAX_RATIONAL_NODES = 100_000


@dataclass(frozen=True)
class Audit:
    """Figures of a trained policy that are certain.

    Attributes:
        arithmetic: "exact rationals", or "float64".
        states: the number of states of the pointed DAG.
        trajectories: the number of complete trajectories.
        total: `sum of p_T(x)`; 1, exactly in rationals.
        tv: total variation to the target.
        kl_forward: `KL(pi || p_T)` in nats.
        kl_reverse: `KL(p_T || pi)` in nats.
        backward_mass: the least and largest `sum over tau of p_B(tau|x)`; both are 1
            unless `p_B` reads latents.
        largest_residual: the largest `|log(Z p_F(tau) / (R(x) p_B(tau|x)))|` over all trajectories,
            with the true `Z`, in nats.
        oscillation: largest minus least log residual, `Delta`.
        unfinished: the step that an unfinished run has reached, in words; else "".
    """

    arithmetic: str
    states: int
    trajectories: int
    total: Fraction | float
    tv: Fraction | float
    kl_forward: float
    kl_reverse: float
    backward_mass: tuple[Fraction | float, Fraction | float]
    largest_residual: float
    oscillation: float
    unfinished: str = ""

    @property
    def certificate(self) -> float:
        """The bound of TV that residuals give, `tanh(Delta/4)` where `p_B` has mass 1.

        Claim residual-tv-bound. With masses from m to M it is `tanh((Delta + log(M/m)) / 4)`: a
        balanced sampler then draws `x` in proportion to `R(x)` times its mass.
        """
        least, largest = map(float, self.backward_mass)
        return math.tanh((self.oscillation + math.log(largest / least)) / 4)


def audit(folder: Path, seed: int | None = None, *, accept_changed: bool = False) -> Audit:
    """Audits the last checkpoint of a run on the enumerated DAG.

    The network is evaluated in float64 on every state (Markovian) or every history
    (path-dependent), even if it was trained in float32. The seed is one of the run's, by default
    the first. Raises InputError if the folder is not a run with a checkpoint, or has no such seed,
    and TooLargeError if the problem is not enumerated, or a path-dependent policy has
    too many trajectories to sum.
    """
    config = load_config(folder, accept_changed=accept_changed)
    row = row_of_seed(folder, config.run, seed, "seed")
    with arithmetic(config.run.precision):
        setup, state = load_run(config)
        with slow("summing the law over all states or trajectories"):
            result = _audit(state.policy(row), setup.enumeration, str(folder))
        return replace(result, unfinished=unfinished(state, config.optimiser.steps))


def _audit(policy: AnyPolicy, enumeration: Enumeration | None, name: str) -> Audit:
    if not policy.is_summable:
        raise InputError(
            f"the run {name!r} has a random latent, whose trajectories cannot be summed: its "
            "report.json has the sampled figures"
        )
    if enumeration is None or not has_exact_law(policy, enumeration):
        size = (
            "more states than --max-states"
            if enumeration is None
            else f"{enumeration.dag.trajectory_count:.3g} trajectories, too many to sum for a "
            "path-dependent policy"
        )
        raise TooLargeError(
            f"the run {name!r} has {size}: its report.json has the sampled figures; train with a "
            "smaller instance (such as grid --side 6) to audit one"
        )
    law = exact_law(policy, enumeration, float64=True)
    assert law.backward_mass is not None
    assert law.log_ratio_range is not None
    low, high = (value + enumeration.log_z for value in law.log_ratio_range)
    target, p_t = target_law(enumeration).tolist(), law.probabilities.tolist()
    result = Audit(
        arithmetic="float64",
        states=len(enumeration.dag.labels),
        trajectories=enumeration.dag.trajectory_count,
        total=math.fsum(p_t),
        tv=total_variation(p_t, target),
        kl_forward=kl_divergence(target, p_t),
        kl_reverse=kl_divergence(p_t, target),
        backward_mass=(float(law.backward_mass.min()), float(law.backward_mass.max())),
        largest_residual=max(abs(low), abs(high)),
        oscillation=high - low,
    )
    try:
        lifted, forward = exact_policy(policy, enumeration, MAX_RATIONAL_NODES)
    except TooLargeError:
        return result
    p_exact = marginal(forward)
    if policy.backward.is_uniform:
        masses = mass(BackwardPolicy.uniform(enumeration.dag, RATIONAL).on(lifted))
        result = replace(result, backward_mass=(min(masses), max(masses)))
    return replace(
        result,
        arithmetic="exact rationals",
        total=sum(p_exact, start=Fraction(0)),
        tv=total_variation(p_exact, normalize(enumeration.rewards)),
    )
