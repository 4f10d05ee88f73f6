"""How far a sampler with a random latent is from its target, by samples."""

from dataclasses import asdict, dataclass, fields
from typing import Any

import equinox as eqx
import jax
import numpy as np

from fast.balance.losses import log_ratio
from fast.environments import AbstractEnvironment
from fast.measure.enumeration import Enumeration, Floats
from fast.measure.report import mean_of, target_law, uniform_law
from fast.stochastic.densities import Normal
from fast.stochastic.policy import StochasticPolicy
from fast.stochastic.trajectories import draw_noise, evaluate, sample_latent_trajectories
from reference.metrics import Estimate, total_variation

BLOCK = 4_096
SAMPLES, CURVE_SAMPLES = 2**16, 2**13
FLOORS = 200


@dataclass(frozen=True)
class SampledLaw:
    """The marginal over the terminals, of samples.

    Attributes:
        counts: how often each terminal was drawn, one per `dag.terminals`.
        log_z: the mean of `-f(tau)`, an estimate of a lower bound of `log Z`, in nats.
    """

    counts: Floats
    log_z: Estimate

    @property
    def probabilities(self) -> Floats:
        """The shares."""
        shares: Floats = self.counts / self.counts.sum()
        return shares


@dataclass(frozen=True)
class StochasticReport:
    """The end of a run.

    Attributes:
        tv: total variation between the sampled marginal and the target, one per seed.
        floor: the same of as many exact samples: mean and standard deviation of one such distance.
        samples: how many.
        uniform: the same, exact, of the walk that chooses uniformly among the legal actions.
        log_z: the learned one, one per seed, in nats.
        bound: the mean of `-f(tau)`, at most `log Z` on average, one per seed.
        true_log_z: the true one.
        parameters: how many numbers are trained.
    """

    tv: tuple[float, ...]
    floor: tuple[float, float]
    samples: int
    uniform: float
    log_z: tuple[float, ...]
    bound: tuple[Estimate, ...]
    true_log_z: float
    parameters: int

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "StochasticReport":
        """What `to_json` made; what was stored beside it is left out."""
        values: dict[str, Any] = {field.name: data[field.name] for field in fields(cls)}
        for name in ("tv", "floor", "log_z"):
            values[name] = tuple(values[name])
        values["bound"] = tuple(Estimate(**estimate) for estimate in values["bound"])
        return cls(**values)


def sampled_marginal(
    policy: StochasticPolicy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    target: Normal,
    samples: int,
    seed: int,
) -> SampledLaw:
    """Draws trajectories from `xi` and `p_F`, in whole blocks, and counts where they end."""
    counts = np.zeros(len(enumeration.dag.labels))
    bounds = []
    for start in range(0, samples, BLOCK):
        key = jax.random.fold_in(jax.random.key(seed), start)
        actions, active, ratio = jax.tree.map(
            np.asarray, _sample_block(policy, environment, target, key)
        )
        node = np.zeros(BLOCK, np.int64)
        for action, is_active in zip(actions.T, active.T, strict=True):
            node = np.where(is_active, enumeration.child[node, action], node)
        counts += np.bincount(node, minlength=len(counts))
        bounds.append(-ratio.astype(np.float64))
    terminals = np.array(enumeration.dag.terminals)
    return SampledLaw(counts[terminals], mean_of(np.concatenate(bounds)))


def sampled_distance(law: SampledLaw, enumeration: Enumeration) -> float:
    """The total variation between the shares and the target: too large, by about the floor."""
    distance: float = total_variation(law.probabilities.tolist(), target_law(enumeration).tolist())
    return distance


def floor_of(enumeration: Enumeration, samples: int) -> tuple[float, float]:
    """Mean and standard deviation of the distance of as many exact samples from the target."""
    target = target_law(enumeration)
    drawn = np.random.default_rng(0).multinomial(samples, target, size=FLOORS) / samples
    distances = np.abs(drawn - target).sum(1) / 2
    return float(distances.mean()), float(distances.std(ddof=1))


def uniform_distance(enumeration: Enumeration) -> float:
    """The total variation between the uniform walk's terminal law and the target, exact."""
    walk, target = uniform_law(enumeration), target_law(enumeration)
    distance: float = total_variation(walk.tolist(), target.tolist())
    return distance


@eqx.filter_jit
def _sample_block(
    policy: StochasticPolicy, environment: AbstractEnvironment[Any], target: Normal, key: jax.Array
) -> tuple[jax.Array, ...]:
    noise = draw_noise(key, environment, BLOCK, policy.start.means.shape[1])
    drawn = sample_latent_trajectories(policy, environment, noise)
    steps = evaluate(policy, environment, target, drawn, drawn.latents)
    return drawn.base.actions, drawn.base.active, log_ratio(steps)
