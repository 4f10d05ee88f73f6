"""Networks beside the exact objects that they are, and trajectories drawn from them."""

import functools
from fractions import Fraction
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fast.balance.steps import Steps, evaluate
from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration
from fast.laws.exact_policy import exact_policy
from fast.policies.policy import Policy
from fast.sampling.actions import Exploration
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Cached, Trajectories, uniforms
from reference import RATIONAL, BackwardPolicy, LiftedSampler, Trajectory, marginal
from reference.dag import PointedDAG
from verify.crosscheck.instances import Instance, make_instance, random_policy

Floats = npt.NDArray[np.float64]


class Drawn(NamedTuple):
    """A batch: trajectories, what sampling found out, and their terms evaluated afterwards."""

    trajectories: Trajectories
    cached: Cached
    steps: Steps


@eqx.filter_jit
def _draw(policy: Policy, environment: Any, batch: int, epsilon: Any, seed: Any) -> Drawn:
    draws = uniforms(jax.random.key(seed), environment, batch)
    drawn, cached = sample_trajectories(
        policy, environment, draws, Exploration(epsilon), cache=True
    )
    return Drawn(drawn, cached, evaluate(policy, environment, drawn))


def draw(
    policy: Policy,
    environment: AbstractEnvironment,
    batch: int,
    epsilon: float = 0.0,
    seed: int = 0,
) -> Drawn:
    """Trajectories; one program whatever the share of uniform actions and the seed."""
    drawn: Drawn = _draw(policy, environment, batch, jnp.float32(epsilon), jnp.int32(seed))
    return drawn


def edges_along(enumeration: Enumeration, drawn: Trajectories) -> list[Trajectory]:
    """The trajectories as edges of the reference's DAG."""
    trajectories = []
    actions, active = np.asarray(drawn.actions), np.asarray(drawn.active)
    for row in range(len(actions)):
        node, edges = 0, []
        for action in actions[row, active[row]]:
            edges.append(int(enumeration.edge[node, action]))
            node = int(enumeration.child[node, action])
        trajectories.append(tuple(edges))
    return trajectories


def nodes_along(dag: PointedDAG[Any], trajectory: Trajectory) -> list[int]:
    """The nodes of a trajectory."""
    return [0, *(dag.edges[edge][1] for edge in trajectory)]


class Exact(NamedTuple):
    """A random policy on an instance, as a network and on a lift in rationals, with `p_T(x)`."""

    instance: Instance
    policy: Policy
    sampler: LiftedSampler[Fraction]
    p_t: tuple[Fraction, ...]


@functools.cache
def make_exact(name: str, seed: int = 0, **options: Any) -> Exact:
    """The policy of these options on the preset of that name, with a uniform `p_B` beside it."""
    instance = make_instance(name)
    policy = random_policy(instance.environment, seed, **options)
    lifted, forward = exact_policy(policy, instance.enumeration, 100_000)
    backward = BackwardPolicy.uniform(instance.enumeration.dag, RATIONAL).on(lifted)
    sampler = LiftedSampler(lifted, forward, backward)
    return Exact(instance, policy, sampler, tuple(marginal(forward)))
