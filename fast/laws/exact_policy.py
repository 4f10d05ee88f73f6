"""A trained network as an exact policy on the lift of the enumerated DAG by full histories."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fast.laws.enumeration import Enumeration
from fast.laws.walk import policy_step, to_float64
from fast.policies.policy import Policy
from reference.fields.field import RATIONAL
from reference.lifted import Forgetful, History, LiftedDAG, lift
from reference.policies import ForwardPolicy
from reference.rows.exact import closed_rows, exact_row


def exact_policy(
    policy: Policy, enumeration: Enumeration, max_nodes: int
) -> tuple[LiftedDAG[Any], ForwardPolicy[Fraction]]:
    """A trained policy as an exact object on the lift by full histories.

    The network is evaluated in float64 along every history, step by step as `RowSampler` does, and
    its rows are closed as there (`reference.rows.exact`). Keying the lift by histories is
    always right and compares no floating-point latents. A Markovian policy gets the trivial lift.
    Raises TooLargeError if the lift has more than `max_nodes` states.

    Args:
        policy: the sampler.
        enumeration: the listed states, with their features and rewards.
        max_nodes: the largest number of states of the lift.
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
    # Padding repeats the last state; rows after the last are not read.
    padded = np.stack([path + path[-1:] * (last.max() + 1 - len(path)) for path in paths])
    masks = enumeration.edge[padded] >= 0
    log_p: list[Any] = []
    with jax.enable_x64(True):
        precise, latent = to_float64(policy), None
        for step in range(padded.shape[1]):
            seen = jnp.asarray(enumeration.observations[padded[:, step]], jnp.float64)
            latent, _, rows = policy_step(precise, latent, seen, jnp.asarray(masks[:, step]))
            log_p.append(np.asarray(rows))
    at = last, np.arange(len(inner))
    values = [Fraction(0)] * len(lifted.dag.edges)
    for row, node in zip(closed_rows(np.stack(log_p)[at], masks[at[::-1]]), inner, strict=True):
        edges = enumeration.edge[lifted.projection[node]].tolist()
        probability = dict(zip(edges, exact_row(row.tolist()), strict=True))
        for edge in lifted.dag.out_edges[node]:
            values[edge] = probability[lifted.base_edge[edge]]
    return lifted, ForwardPolicy(lifted.dag, RATIONAL, values)
