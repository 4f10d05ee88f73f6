"""The linear policies of Lines as policies on a lifted DAG (eq:policya, eq:linear_rec), any `M`."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from reference.fields.field import Field, T
from reference.lifted import LiftedDAG, lift
from reference.policies import ForwardPolicy
from reference.problems.enumeration import enumerate_dag
from reference.problems.lines import Lines
from verify.lib.linear import Parameters, Vector, dot


@dataclass(frozen=True)
class LinearDynamics:
    """`a_t = a_{t-1} + (w . psi(s_t)) v` (eq:linear_rec); the latent `a_t` stands for `b a_t'`.

    The embedding is `psi(p_0), ..., psi(p_N)`; the Markovian policy has `v = w = 0`.
    """

    embedding: tuple[Vector, ...]
    parameters: Parameters

    @property
    def initial(self) -> Vector:
        """`a_0`."""
        return self.parameters.a

    def advance(self, state: str, latent: Vector) -> Vector:
        """`a_t` on arrival in `p_j`."""
        _, v, w = self.parameters
        step = dot(w, self._psi(state))
        return tuple(a + step * x for a, x in zip(latent, v, strict=True))

    def logits(self, state: str, latent: Vector, b: Sequence[Fraction]) -> Vector:
        """`W_t psi(s_t) = b (a_t . psi(s_t))`, one per action."""
        along = dot(latent, self._psi(state))
        return tuple(row * along for row in b)

    def _psi(self, state: str) -> Vector:
        return self.embedding[int(state[1:])]


class LinearPolicy(NamedTuple):
    """A linear policy with the lift that it lives on."""

    lifted: LiftedDAG[str]
    forward: ForwardPolicy[Any]


@lru_cache(maxsize=1)
def _lifted(problem: Lines, dynamics: LinearDynamics) -> LiftedDAG[str]:
    """Made once for all b."""
    return lift(enumerate_dag(problem), dynamics)


def linear_policy(
    problem: Lines, dynamics: LinearDynamics, b: Sequence[Fraction], field: Field[T]
) -> LinearPolicy:
    """`p_F(.|p_i, W) = softmax(W psi(p_i) + mask)` (eq:policya, repaired), with `W = b a'`.

    Actions are to advance by 1, ..., M and, last, to stop: b has `M + 1` entries. The mask adds
    minus infinity to steps beyond `p_N`. (The paper multiplies the logits by 1 or minus infinity,
    which makes an action of negative logit certain and one of logit zero undefined, and lists no
    action to stop.) The field has an exponential: FLOAT64, or BALL for an enclosure of every
    probability.
    """
    lifted = _lifted(problem, dynamics)
    values = [field.zero] * len(lifted.dag.edges)
    for node, row in enumerate(lifted.dag.out_edges):
        if not row:
            continue
        state, latent = lifted.dag.labels[node]
        here = int(state[1:])
        logits = dynamics.logits(state, latent, b)
        chosen = []
        for edge in row:
            child = lifted.base.labels[lifted.base.edges[lifted.base_edge[edge]][1]]
            # Stopping is the last action; a step by k is action k - 1.
            chosen.append(logits[-1 if child[0] == "q" else int(child[1:]) - here - 1])
        largest = max(chosen)
        weights = [field.exp(field.convert(logit - largest)) for logit in chosen]
        total = field.sum(weights)
        for edge, weight in zip(row, weights, strict=True):
            values[edge] = weight / total
    return LinearPolicy(lifted, ForwardPolicy(lifted.dag, field, values))
