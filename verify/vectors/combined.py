"""Samplers combined into one, each with its own memory: aggregating balance (prop:apx:dist)."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from reference import (
    RATIONAL,
    BackwardPolicy,
    Forgetful,
    ForwardPolicy,
    History,
    LiftedDAG,
    PointedDAG,
    Sampler,
    aggregated_residuals,
    forward_from_backward,
    forward_from_law,
    lift,
    marginal,
    normalize,
    pointed_dag,
)
from verify.lib.named_dags import DIAMOND
from verify.vectors.encoding import Json, encode_graph, encode_lift, encode_lifted_graph, numbers


@dataclass(frozen=True, eq=False)
class CombinationCase:
    """Clients, each balanced with rewards of its own, and a sampler that combines them."""

    name: str
    about: str
    combined: Sampler[Fraction]
    clients: Sequence[tuple[Sampler[Fraction], tuple[Fraction, ...]]]

    def encode(self) -> Json:
        """The case as JSON, inputs first."""
        base = self.combined.lifted.base
        trajectories = list(base.trajectories())
        number = {tau: i for i, tau in enumerate(trajectories)}
        samplers = [sampler for sampler, _ in self.clients]
        rewards = [row for _, row in self.clients]
        return {
            "id": self.name,
            "about": self.about,
            "base": encode_graph(base),
            "combined": _encode(self.combined),
            "clients": [
                _encode(sampler) | {"rewards": numbers(row)} for sampler, row in self.clients
            ],
            "trajectories": trajectories,
            "expected": {
                "aggregated": [
                    [number[tau], number[tau2], str(residual)]
                    for tau, tau2, residual in aggregated_residuals(self.combined, samplers)
                ],
                "target": numbers(normalize([prod(x) for x in zip(*rewards, strict=True)])),
                "marginal": numbers(marginal(self.combined.forward)),
                "client_marginals": [numbers(marginal(sampler.forward)) for sampler in samplers],
            },
        }


def combination_cases() -> Iterator[CombinationCase]:
    """A right combination, a wrong one, and the control that only looks right."""
    rng = random.Random(0)
    history, forgetful = lift(DIAMOND, History()), lift(DIAMOND, Forgetful())
    rewards = [(Fraction(1), Fraction(2)), (Fraction(3), Fraction(1))]
    clients = [
        (_balanced(lifted, row, rng), row)
        for lifted, row in zip((history, forgetful), rewards, strict=True)
    ]
    yield CombinationCase(
        "product-of-two",
        "clients with and without memory; the combined sampler has their product as target, so "
        "every residual is zero",
        _balanced(history, (Fraction(3), Fraction(2)), rng),
        clients,
    )
    yield CombinationCase(
        "not-the-product",
        "the same clients, and a sampler balanced with other rewards: residuals are not zero",
        _balanced(history, (Fraction(3), Fraction(3)), rng),
        clients,
    )
    yield _client_with_a_zero()


def _balanced(
    lifted: LiftedDAG[Any], rewards: tuple[Fraction, ...], rng: random.Random
) -> Sampler[Fraction]:
    weights = rng.choices(range(1, 10), k=len(lifted.dag.edges))
    p_b = BackwardPolicy.from_weights(lifted.dag, RATIONAL, weights)
    return Sampler(lifted, forward_from_backward(p_b, rewards)[0], p_b)


def _client_with_a_zero() -> CombinationCase:
    dag: PointedDAG[str] = pointed_dag(
        {"o": ["a", "b"], "a": ["c"], "b": ["c", "y"], "c": ["x"], "x": [], "y": []}
    )
    lifted = lift(dag, Forgetful())
    b_to_c = dag.edges.index((dag.index["b"], dag.index["c"]))
    without = BackwardPolicy.from_weights(
        lifted.dag, RATIONAL, [int(e != b_to_c) for e in range(len(dag.edges))]
    )
    rewards = (Fraction(1), Fraction(1))
    client = Sampler(lifted, forward_from_backward(without, rewards)[0], without)
    # The trajectory through that edge appears in no constraint (0 = 0): its law is free.
    uniform = BackwardPolicy.uniform(lifted.dag, RATIONAL)
    p_f = forward_from_law(
        ForwardPolicy.uniform(lifted.dag, RATIONAL),
        lambda tau: uniform.along(tau) * (7 if b_to_c in tau else 1) / 5,
    )
    return CombinationCase(
        "client-with-a-zero",
        "the client's p_B is zero on one edge: every residual of the combination is zero, and its "
        "marginal gives 4/5 and 1/5 to the terminals of a uniform target (prop:apx:dist needs "
        "p_B > 0)",
        Sampler(lifted, p_f, uniform),
        [(client, rewards)],
    )


def _encode(sampler: Sampler[Fraction]) -> Json:
    lifted = encode_lift(sampler.lifted)
    return {
        "graph": encode_lifted_graph(sampler.lifted),
        "projection": lifted["projection"],
        "base_edge": lifted["base_edge"],
        "p_f": numbers(sampler.forward.values),
        "p_b": numbers(sampler.backward.values),
    }
