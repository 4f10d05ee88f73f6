"""A trained network as an exact policy on the lift of the enumerated DAG by full histories."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fast.laws.enumeration import Enumeration
from fast.laws.walk import policy_step, to_float64
from fast.policies.policy import Policy
from reference.rows.exact import ExactSampler, closed_rows, exact_row, exact_sampler


def exact_policy(policy: Policy, enumeration: Enumeration, max_nodes: int) -> ExactSampler:
    """A trained policy in exact rows on the lift by full histories.

    The network is evaluated in float64 along every history, step by step as `RowSampler` does, and
    its rows are closed as there (`reference.rows.exact`). A Markovian policy gets the trivial lift.

    Args:
        policy: the network and its backward policy.
        enumeration: the enumerated problem.
        max_nodes: the most states of the lift.

    Raises:
        TooLargeError: if the lift has more.
    """

    def rows(paths: list[list[int]]) -> Iterator[list[Fraction]]:
        last = np.array([len(path) - 1 for path in paths])
        # Padding repeats the last state; rows after the last are not read.
        padded = np.stack([path + path[-1:] * (last.max() + 1 - len(path)) for path in paths])
        masks = enumeration.edge[padded] >= 0
        log_p: list[Any] = []
        with jax.enable_x64(True):
            precise, latent = to_float64(policy), None
            for step in range(padded.shape[1]):
                seen = jnp.asarray(enumeration.observations[padded[:, step]], jnp.float64)
                latent, _, logs = policy_step(precise, latent, seen, jnp.asarray(masks[:, step]))
                log_p.append(np.asarray(logs))
        at = last, np.arange(len(paths))
        closed = closed_rows(np.stack(log_p)[at], masks[at[::-1]])
        for path, row in zip(paths, closed.tolist(), strict=True):
            edges = enumeration.edge[path[-1]].tolist()
            probability = dict(zip(edges, exact_row(row), strict=True))
            yield [probability[edge] for edge in enumeration.dag.out_edges[path[-1]]]

    return exact_sampler(enumeration.dag, rows, max_nodes, is_markovian=policy.is_markovian)
