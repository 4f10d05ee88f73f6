"""From a trained network to an exact object: its policy on every history of the enumerated DAG."""

from fractions import Fraction
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.laws.enumeration import Enumeration
from fast.policies.policy import Policy
from reference.fields.field import RATIONAL
from reference.lifted import Forgetful, History, LiftedDAG, lift
from reference.policies import ForwardPolicy


def to_float64(policy: Policy) -> Policy:
    """The same policy with its parameters in float64 (inside `jax.enable_x64`)."""
    return jax.tree.map(  # type: ignore[no-any-return]
        lambda leaf: leaf.astype(jnp.float64) if eqx.is_inexact_array(leaf) else leaf, policy
    )


def exact_policy(
    policy: Policy, enumeration: Enumeration, max_nodes: int
) -> tuple[LiftedDAG[Any], ForwardPolicy[Fraction]]:
    """A trained policy as an exact object on the lift by full histories.

    The network is evaluated in float64 along every history, with `unroll`; each probability is
    read as the dyadic rational that it is, and the largest of each row is set to one minus the
    others, so that rows sum to one exactly and all denominators stay powers of two. Keying the
    lift by histories is always right and compares no floating-point latents. A Markovian policy
    gets the trivial lift.

    Raises:
        TooLargeError: if the lift has more than `max_nodes` states.
    """
    is_markov = policy.is_markovian
    lifted = lift(enumeration.dag, Forgetful() if is_markov else History(), max_nodes)
    inner = [node for node, row in enumerate(lifted.dag.children) if row]
    index = enumeration.dag.index
    paths = [
        [lifted.projection[node]]
        if is_markov
        else [0, *(index[state] for state in lifted.dag.labels[node][1])]
        for node in inner
    ]
    last = np.array([len(path) - 1 for path in paths])
    # Padding repeats the last state; unroll is causal, so it does not matter.
    padded = np.stack([path + path[-1:] * (last.max() + 1 - len(path)) for path in paths])
    with jax.enable_x64(True):
        log_p = jax.jit(_unroll)(
            to_float64(policy),
            jnp.asarray(enumeration.observations[padded], jnp.float64),
            jnp.asarray(enumeration.edge[padded] >= 0),
        )
        probabilities = np.exp(np.asarray(log_p)[np.arange(len(inner)), last])
    values = [Fraction(0)] * len(lifted.dag.edges)
    for row, node in zip(probabilities, inner, strict=True):
        base_edges = enumeration.edge[lifted.projection[node]]
        at = {int(e): Fraction(float(p)) for e, p in zip(base_edges, row, strict=True) if e >= 0}
        largest = max(at, key=lambda e: at[e])
        at[largest] += 1 - sum(at.values())
        for edge in lifted.dag.out_edges[node]:
            values[edge] = at[lifted.base_edge[edge]]
    return lifted, ForwardPolicy(lifted.dag, RATIONAL, values)


def _unroll(policy: Policy, observations: jax.Array, masks: jax.Array) -> jax.Array:
    return policy.log_p_f(policy.network.unroll(observations), masks)
