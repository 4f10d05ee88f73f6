"""Measurements of experiments in training, beyond the distance to the target."""

import math
import time
from functools import reduce
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array
from scipy.stats import binom

from fast.laws.enumeration import Enumeration
from fast.laws.exact_policy import exact_policy
from fast.laws.likelihood import fit_likelihood
from fast.laws.paths import Paths, forward_paths
from fast.laws.row_sampler import RowSampler
from fast.laws.terminal_law import law_of
from fast.measure.report import MEAN_BEST
from fast.measure.terminals import enumerated_report
from fast.policies.policy import Policy, uniform_policy
from fast.runs.meter import Probe
from fast.runs.setup import Setup
from fast.training.build import make_policy
from fast.training.state import TrainState
from pdai.experiments.base import ProbeName
from reference.certificates.betting import Interval
from reference.certificates.regimes import Budget, Draws, with_log_z
from reference.expressivity.memory import memory_kl
from reference.metrics import kl_divergence
from reference.posterior import StructureLearning

MAX_LIFTED = 200_000
# The draws by which trained samplers are measured; for exact draws the error is known.
DRAWS = 16_384
# The probability that a certificate is wrong, and the number of its trajectories.
LEVEL, CERTIFIED = 1e-6, 8_192

Floats = npt.NDArray[np.float64]


def aliasing(setup: Setup, state: TrainState) -> dict[str, Any]:
    """The KL of eq:max_kl between `p_3` and `p_2` of Lines, in nats, for the first seed.

    `max KL(p_F(. | p_3, tau') || p_F(. | p_2, tau))` over the walks to `p_2` and `p_3`, of laws
    over actions. This does not use `exact_policy`, as there are too many walks to `p_N`.
    """
    environment = setup.environment
    walks = [walk for place in (2, 3) for walk in _walks(place, environment.actions - 1)]
    # Padding repeats the last place; `unroll` is causal, so earlier outputs do not change.
    padded = [walk + walk[-1:] * (4 - len(walk)) for walk in walks]
    states = [[environment.encode(f"p{i}") for i in walk] for walk in padded]
    features = jnp.stack([jnp.stack([environment.observe(s) for s in row]) for row in states])
    masks = jnp.stack([environment.mask(row[-1]) for row in states])
    table = np.asarray(_log_p_f(setup.policies(state)[0], features, masks), np.float64)
    laws = {
        place: [
            np.exp(table[i, len(walk) - 1]) for i, walk in enumerate(walks) if walk[-1] == place
        ]
        for place in (2, 3)
    }
    return {"kl": max(kl_divergence(q.tolist(), p.tolist()) for q in laws[3] for p in laws[2])}


def _walks(place: int, longest: int) -> list[list[int]]:
    """All walks from `p_0` to a place, in steps of at most `longest`."""
    if place == 0:
        return [[0]]
    starts = range(max(0, place - longest), place)
    return [[*walk, place] for start in starts for walk in _walks(start, longest)]


@eqx.filter_jit
def _log_p_f(policy: Policy, features: Array, masks: Array) -> Array:
    return policy.log_p_f(policy.network.unroll(features), masks[:, None])


def memory(setup: Setup, state: TrainState) -> dict[str, Any]:
    """KL(s) of fig:setsa, in nats, averaged over `p_1, ..., p_N`; of the first seed."""
    assert setup.enumeration is not None
    lifted, forward = exact_policy(setup.policies(state)[0], setup.enumeration, MAX_LIFTED)
    kl = memory_kl(lifted, forward)
    return {"kl": float(np.mean([value for label, value in kl.items() if label != "p0"]))}


def _new_paths(policy: Policy, setup: Setup, state: TrainState) -> Paths:
    """Trajectories of a policy, in the number trained on since the last evaluation."""
    config = setup.config
    count = config.sampling.batch * max(1, round(config.optimiser.steps / config.run.evaluations))
    # No training has this many steps, so that no two seeds share random numbers.
    seed = 10**6 * config.run.seed + int(state.step[0])
    return forward_paths(policy, setup.environment, count, seed)


def best(setup: Setup, state: TrainState) -> dict[str, Any]:
    """The best states among new samples, in the number trained on since the last evaluation.

    Pairs of label and log reward, of the learned policy and of the uniform one. The samples are
    drawn anew from the current policy: samples of training are not kept.
    """
    policy = setup.policies(state)[0]

    def top(policy: Policy) -> list[list[Any]]:
        paths, first = _new_paths(policy, setup, state), dict[Any, float]()
        for i in np.argsort(-paths.log_reward, kind="stable"):
            label = setup.environment.decode(jax.tree.map(lambda leaf, i=i: leaf[i], paths.ends))
            first[str(label)] = float(paths.log_reward[i])
            if len(first) == MEAN_BEST:
                break
        return [[label, value] for label, value in first.items()]

    return {"learned": top(policy), "uniform": top(uniform_policy(policy))}


def met(setup: Setup, state: TrainState) -> dict[str, Any]:
    """The mass of the target's best 1 % of strings met by as many samples as `best` draws.

    Of the learned policy, of the uniform one, and of exact draws in expectation; a string counts
    once. Rewards are sums or products over positions.
    """
    problem, policy, record = setup.problem, setup.policies(state)[0], dict[str, float]()
    outer = np.add.outer if problem.form == "sum" else np.multiply.outer
    rewards = reduce(outer, np.array(problem.terms, np.float64))
    size = math.ceil(rewards.size / 100)
    least = np.partition(rewards, -size, axis=None)[-size]
    mass = np.where(rewards >= least, rewards, 0.0) / rewards[rewards >= least].sum()
    for name, sampler in (("learned", policy), ("uniform", uniform_policy(policy))):
        tokens = np.asarray(_new_paths(sampler, setup, state).ends.tokens)
        places = np.ravel_multi_index(tokens.T - 1, rewards.shape)
        record[name] = float(mass.ravel()[np.unique(places)].sum())
    missed = np.log1p(-rewards / rewards.sum()) * len(tokens)
    return record | {"exact": float((mass * -np.expm1(missed)).sum())}


def projection(setup: Setup, state: TrainState) -> dict[str, Any]:
    """A Markovian network fitted to trajectories of the last policy (claim markov-projection)."""
    return _refitted(setup, state, setup.policies(state)[0])


def likelihood(setup: Setup, state: TrainState) -> dict[str, Any]:
    """A Markovian network fitted to exact draws of the target."""
    assert setup.enumeration is not None
    return _refitted(setup, state, setup.enumeration)


def _refitted(setup: Setup, state: TrainState, source: Policy | Enumeration) -> dict[str, Any]:
    """The figures of a Markovian network of the same size, as `instead`, only at the last step."""
    config, environment = setup.config, setup.environment
    if state.step[0] < config.optimiser.steps:
        return {}
    assert setup.enumeration is not None
    form = {"dynamics": "markov", "hidden_layers": 2, "parameters": config.dynamics.parameters}
    fitted = fit_likelihood(
        source,
        make_policy(config.changed(**form), environment, key=jax.random.key(config.run.seed)),
        environment,
        optimiser=config.optimiser,
        batch=config.sampling.batch,
        seed=config.run.seed,
    )
    law = law_of(fitted, environment, setup.enumeration, final=True, seed=config.run.seed)
    report = enumerated_report(
        [fitted], None, environment, setup.enumeration, [law], config.run.seed
    ).to_json()
    return {
        "instead": {
            "learned": report["learned"][0], "exact": report["exact"], "tv_kind": report["tv_kind"],
            "curve": [], "probes": [],
        }
    }  # fmt: skip


def edges(setup: Setup, state: TrainState) -> dict[str, Any]:
    """The processor seconds of this process so far; at the end, errors of edge marginals.

    The errors are those of the learned policy, of the uniform one, and, in expectation, of the same
    number of exact draws. If nothing is enumerated, there is also a certified interval of the TV of
    trajectories, as from `pdai certify`.
    """
    record: dict[str, Any] = {"processor": time.process_time()}
    if state.step[0] < setup.config.optimiser.steps:
        return record
    policy, problem = setup.policies(state)[0], setup.config.problem()
    exact, seed = marginals_of(problem), setup.config.run.seed
    for name, sampler in (("learned", policy), ("uniform", uniform_policy(policy))):
        final = forward_paths(sampler, setup.environment, DRAWS, seed).ends
        record[name] = distance(np.asarray(final.adjacency, np.float64).mean(0), exact)
    record["exact"] = spread_of_draws(exact)
    if setup.enumeration is None:
        rows = RowSampler(policy, setup.environment, problem, setup.config.run.precision, seed)
        log_z = problem.log_z()
        interval = Interval(log_z.value - log_z.error, log_z.value + log_z.error)
        bound = with_log_z(rows, interval, LEVEL, Budget(samples=CERTIFIED), Draws())
        record["certified"] = list(bound.interval)
    return record


def marginals_of(problem: StructureLearning) -> Floats:
    """The exact probability of each edge; the row is where it starts."""
    return np.array([[float(p) for p in row] for row in problem.edge_marginals()])


def distance(marginals: Floats, exact: Floats) -> float:
    """The mean of `|p - p*|` over the `n (n - 1)` possible edges."""
    pairs = ~np.eye(len(exact), dtype=bool)
    return float(np.abs(marginals - exact)[pairs].mean())


def spread_of_draws(exact: Floats, draws: int = DRAWS) -> float:
    """The expectation of `distance` for the edge frequencies of a number of exact draws.

    `E |K - N p| = 2 p (1 - p) N P(K' = k)` of a binomial K, with K' one of `N - 1` and `k` the
    largest integer up to `N p` (De Moivre; Diaconis and Zabell, 1991).
    """
    p = exact[~np.eye(len(exact), dtype=bool)]
    mean = 2 * p * (1 - p) * binom.pmf(np.floor(draws * p), draws - 1, p)
    return float(mean.mean())


PROBES: dict[ProbeName, Probe] = {
    "aliasing": aliasing,
    "memory": memory,
    "best": best,
    "met": met,
    "projection": projection,
    "likelihood": likelihood,
    "edges": edges,
}
