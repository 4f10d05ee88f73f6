"""A sampler with its expected values: the law of p_F, the residuals, and the law p_B forces."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reference import (
    RATIONAL,
    BackwardKernel,
    BackwardPolicy,
    ForwardPolicy,
    LiftedDAG,
    PointedDAG,
    Trajectory,
    cb_residuals,
    db_residuals,
    flows,
    fm_residuals,
    forward_from_backward,
    h_transform,
    marginal,
    markov_projection,
    mass,
    normalize,
    path_sums,
    subtb_residuals,
    tb_residuals,
    total_variation,
)
from verify.vectors.encoding import Json, encode_graph, encode_lift, encode_lifted_graph, numbers
from verify.vectors.logs import log_values

# Beyond these a case lists no residuals of that condition: they would be most of the folder.
MAX_PATHS = 600
MAX_CONTRASTED = 12


@dataclass(frozen=True, eq=False)
class SamplerCase:
    """What one vector is about: a forward and a backward policy, flows and rewards on a graph.

    Attributes:
        name: unique among all cases.
        about: what it is for, in a sentence.
        space: a pointed DAG, or a lift of one.
        rewards: `R(x)`, one per terminal.
        forward: `p_F`.
        backward: `p_B`: a policy, or a kernel whose rows need not sum to one.
        flow: `F` per state, with `F(x) = R(x)`; `F(s_o)` serves as `Z`.
        copied: the base policy of which `backward` is the copy on the lift, if it is one.
    """

    name: str
    about: str
    space: PointedDAG[Any] | LiftedDAG[Any]
    rewards: tuple[Fraction, ...]
    forward: ForwardPolicy[Fraction]
    backward: BackwardKernel[Fraction]
    flow: Sequence[Fraction]
    copied: BackwardPolicy[Fraction] | None = None

    @property
    def lifted(self) -> LiftedDAG[Any] | None:
        """The lift, if the graph is lifted."""
        return self.space if isinstance(self.space, LiftedDAG) else None

    def encode(self) -> Json:
        """The case as JSON, inputs first."""
        dag, lifted = self.forward.dag, self.lifted
        case: Json = {
            "id": self.name,
            "about": self.about,
            "graph": encode_lifted_graph(lifted) if lifted else encode_graph(dag),
        }
        if lifted:
            case["lift"] = encode_lift(lifted)
        case |= {
            "rewards": numbers(self.rewards),
            "p_f": numbers(self.forward.values),
            "p_b": numbers(self.backward.values),
            "p_b_kind": self._kind(),
        }
        if self.copied:
            case["base_p_b"] = numbers(self.copied.values)
        paths = dict(subtb_residuals(self.forward, self.backward, self.flow, self.rewards))
        trajectories = list(dag.trajectories())
        return case | {
            "flow": numbers(self.flow),
            "trajectories": trajectories,
            "expected": self._expected(paths, trajectories),
            "log": log_values(
                self.forward, self.backward, self.rewards, self.flow, list(paths), trajectories
            ),
        }

    def _kind(self) -> str:
        if self.copied:
            return "copied"
        return "policy" if isinstance(self.backward, BackwardPolicy) else "kernel"

    def _expected(self, paths: dict[Trajectory, Fraction], trajectories: list[Trajectory]) -> Json:
        p_f, p_b, rewards, flow = self.forward, self.backward, self.rewards, self.flow
        target = normalize(rewards)
        expected: Json = {
            "reward_sum": str(sum(rewards, Fraction(0))),
            "target": numbers(target),
            "state_visits": numbers(path_sums(p_f)),
            "marginal": numbers(marginal(p_f)),
            "total_variation": str(total_variation(marginal(p_f), target)),
            "p_b_row_sums": [
                str(sum((p_b.values[e] for e in row), Fraction(0))) if row else None
                for row in p_b.dag.in_edges
            ],
            "p_b_mass": numbers(mass(p_b)),
            "tb": numbers(r for _, r in tb_residuals(p_f, p_b, rewards, flow[0])),
            "db": numbers(r for _, r in db_residuals(p_f, p_b, flow, rewards)),
            "fm": [None, *numbers(r for _, r in fm_residuals(p_f, flow, rewards))],
        }
        if len(paths) <= MAX_PATHS:
            expected["subtb"] = [[list(path), str(r)] for path, r in paths.items()]
        if len(trajectories) <= MAX_CONTRASTED:
            number = {tau: i for i, tau in enumerate(trajectories)}
            expected["cb"] = [
                [number[tau], number[tau2], str(r)]
                for tau, tau2, r in cb_residuals(p_f, p_b, rewards)
            ]
        return expected | {"forced": self._forced()} | self._projected()

    def _forced(self) -> Json:
        forward, z = forward_from_backward(self.backward, self.rewards)
        flow = flows(self.backward, self.rewards)
        return {
            "z": str(z),
            "flow": numbers(flow),
            # Where no flow goes the row is free.
            "p_f": [
                str(value) if flow[u] > 0 else None
                for (u, _), value in zip(forward.dag.edges, forward.values, strict=True)
            ],
            "marginal": numbers(marginal(forward)),
        }

    def _projected(self) -> Json:
        if not self.lifted:
            return {}
        projected = markov_projection(self.lifted, self.forward)
        visits = path_sums(projected)
        values: Json = {
            "markov_projection": [
                str(value) if visits[u] > 0 else None
                for (u, _), value in zip(projected.dag.edges, projected.values, strict=True)
            ]
        }
        if self.copied:
            h = path_sums(self.backward)
            values["h_transform"] = [
                str(value) if h[v] > 0 else None
                for (_, v), value in zip(
                    self.lifted.dag.edges, h_transform(self.lifted, self.copied).values, strict=True
                )
            ]
        return values


class Draws:
    """Samplers on one graph, with integer weights drawn from a seed."""

    def __init__(
        self,
        name: str,
        space: PointedDAG[Any] | LiftedDAG[Any],
        rewards: tuple[Fraction, ...],
        rng: random.Random,
    ) -> None:
        self.name, self.space, self.rewards, self.rng = name, space, rewards, rng
        self.dag = space.dag if isinstance(space, LiftedDAG) else space

    def arbitrary(self) -> SamplerCase:
        """Nothing balances: p_F, p_B and flows are drawn independently."""
        flow = [Fraction(*self._weights(2)) for _ in self.dag.labels]
        for x, reward in zip(self.dag.terminals, self.rewards, strict=True):
            flow[x] = reward
        return SamplerCase(
            f"{self.name}/arbitrary",
            "p_F, p_B and flow drawn independently, so that residuals are not zero",
            self.space,
            self.rewards,
            ForwardPolicy.from_weights(self.dag, RATIONAL, self._edge_weights()),
            BackwardPolicy.from_weights(self.dag, RATIONAL, self._edge_weights()),
            flow,
        )

    def balanced(self) -> SamplerCase:
        """The p_F that a drawn p_B forces: every residual is zero, and visits are F / Z."""
        p_b = BackwardPolicy.from_weights(self.dag, RATIONAL, self._edge_weights())
        about = "the p_F forced by a drawn p_B: all residuals 0, marginal R / Z, visits F / Z"
        return self._forced("balanced", about, p_b)

    def misnormalised(self) -> SamplerCase:
        """Balance against weights that are no policy: the marginal is R b, not R."""
        p_b = BackwardKernel(self.dag, RATIONAL, [Fraction(w, 4) for w in self._edge_weights()])
        about = (
            "p_B of varying mass b(x): trajectory balance holds, and the marginal is proportional "
            "to R(x) b(x) instead of R(x)"
        )
        return self._forced("misnormalised", about, p_b)

    def copied(self) -> SamplerCase:
        """A base p_B evaluated on the lift: terminals are right, inner states are not."""
        assert isinstance(self.space, LiftedDAG)
        base = self.space.base
        weights = self._weights(len(base.edges))
        copied = BackwardPolicy.from_weights(base, RATIONAL, weights)
        about = (
            "a Markovian p_B copied onto the lift: its rows do not sum to 1 where there is memory, "
            "its mass is 1, so that the marginal is R / Z, but inner visits are not F / Z"
        )
        return self._forced("copied", about, copied.on(self.space), copied)

    def _forced(
        self,
        kind: str,
        about: str,
        p_b: BackwardKernel[Fraction],
        copied: BackwardPolicy[Fraction] | None = None,
    ) -> SamplerCase:
        p_f, _ = forward_from_backward(p_b, self.rewards)
        flow = flows(p_b, self.rewards)
        name = f"{self.name}/{kind}"
        return SamplerCase(name, about, self.space, self.rewards, p_f, p_b, flow, copied)

    def _edge_weights(self) -> list[int]:
        return self._weights(len(self.dag.edges))

    def _weights(self, count: int) -> list[int]:
        return self.rng.choices(range(1, 10), k=count)
