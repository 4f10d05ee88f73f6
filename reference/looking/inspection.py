"""The figures of a problem: its graph, its lift by the full history, and its target."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from contextlib import suppress
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

from reference.contract.errors import InputError
from reference.contract.text import count_text
from reference.dag import Pictured, PointedDAG
from reference.fields.field import FLOAT64, log_float
from reference.policies import BackwardPolicy
from reference.problems.base import MAX_NODES, Problem
from reference.problems.enumeration import enumerate_dag, enumerate_rewards, exact_reward, parts_of
from reference.solve import flows

S = TypeVar("S", bound=Hashable)

ONE_TERMINAL = (
    "there is a single terminal state, as a state without children is terminal: is a stop action "
    "missing?"
)


class Inspection(NamedTuple, Generic[S]):
    """A problem, enumerated.

    Attributes:
        name: the problem's class.
        dag: the states and edges.
        rewards: `R(x)`, one per `dag.terminals`.
        depth: the number of edges of a longest trajectory.
        history_states: the number of states of the lift by the full history.
        z: `Z`, the sum of the rewards.
        entropy: the entropy of the target `R / Z`, in nats.
        overlooked: the number of states with children to which the problem still gives a reward.
    """

    name: str
    dag: PointedDAG[S]
    rewards: tuple[Fraction, ...]
    depth: int
    history_states: int
    z: Fraction
    entropy: float
    overlooked: int = 0

    def _repr_html_(self) -> str:
        return Pictured._repr_html_(self)  # type: ignore[arg-type]  # a named tuple has no mixins

    def _repr_svg_(self) -> str:
        return Pictured._repr_svg_(self)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        # Thousands of rewards would bury the figures.
        return f"Inspection({self.name}: {', '.join(map(' '.join, self.rows().items()))})"

    def rows(self) -> dict[str, str]:
        """Name and value of every figure, as text."""
        return {
            **figures(self.dag),
            "states of the lift by the full history": count_text(self.history_states),
            "Z, the sum of the rewards": _text(self.z),
            "log Z, nats": f"{log_float(self.z):.12g}",
            "least reward": _text(min(self.rewards)),
            "largest reward": _text(max(self.rewards)),
            "entropy of the target, nats": (
                f"{self.entropy:.6f} (uniform: {math.log(len(self.rewards)):.6f})"
            ),
        }

    @property
    def hint(self) -> str:
        """A sentence on a likely mistake in the problem; "" if none is seen."""
        if len(self.rewards) == 1:
            return ONE_TERMINAL
        if not self.overlooked:
            return ""
        return (
            f"{self.overlooked:,} of {len(self.dag.labels):,} states are never answers, as they "
            "have children, though `reward` accepts them: is a stop child missing?"
        )

    def flow(self) -> list[float]:
        """The state flow under the uniform backward policy, per node."""
        backward = BackwardPolicy.uniform(self.dag, FLOAT64)
        return flows(backward, [FLOAT64.convert(reward) for reward in self.rewards])


def figures(dag: PointedDAG[Any]) -> dict[str, str]:
    """The name and value of every figure of a DAG, as text."""
    return {
        "states": f"{len(dag.labels):,}",
        "edges": f"{len(dag.edges):,}",
        "terminals": f"{len(dag.terminals):,}",
        "depth (longest trajectory, in edges)": f"{max(dag.depths):,}",
        "complete trajectories": count_text(dag.trajectory_count),
    }


def inspect_problem(problem: Problem[S], max_nodes: int = MAX_NODES) -> Inspection[S]:
    """Enumerates a problem and describes it.

    Raises TooLargeError beyond `max_nodes` states, InputError at the first rule that it breaks.
    """
    dag = enumerate_dag(problem, max_nodes)
    rewards = enumerate_rewards(problem, dag)
    z = sum(rewards, Fraction(0))
    inner = sum(count for count, row in zip(dag.path_counts, dag.children, strict=True) if row)
    return Inspection(
        name=type(problem).__name__,
        dag=dag,
        rewards=rewards,
        depth=max(dag.depths),
        history_states=inner + len(dag.terminals),
        z=z,
        entropy=log_float(z) - math.fsum(float(r / z) * log_float(r) for r in rewards),
        overlooked=_overlooked(problem, dag, dict(zip(dag.terminals, rewards, strict=True))),
    )


def _overlooked(problem: Problem[S], dag: PointedDAG[S], rewards: dict[int, Fraction]) -> int:
    """The number of inner states with a reward, and without a child that stops there.

    Such a child is terminal, and has a part of a kind that no inner state has, or the reward of the
    state that it leaves without being that state with parts more. Rewards of inner states are no
    sign of a mistake if all terminals have one depth: prefixes are then no objects.
    """
    if len({dag.depths[x] for x in rewards}) == 1:
        return 0
    inner = [v for v, row in enumerate(dag.children) if row]
    kinds = {_kind(part) for v in inner for part in _parts(dag.labels[v])}

    def stops(label: S, own: Fraction, x: int) -> bool:
        before, after = _parts(label), _parts(dag.labels[x])
        is_marked = not kinds.issuperset(map(_kind, after))
        return is_marked or (rewards[x] == own and not Counter(before) < Counter(after))

    count = 0
    for v in inner:
        label, ends = dag.labels[v], [x for x in dag.children[v] if x in rewards]
        with suppress(InputError):
            own = exact_reward(problem, label)
            count += not any(stops(label, own, x) for x in ends)
    return count


def _parts(state: Any) -> Iterable[Any]:
    return state if isinstance(state, str) else parts_of(state)


def _kind(part: Any) -> tuple[type, bool]:
    """The kind of a part: -1, "." or "stop" is another than numbers, and True than False."""
    return type(part), part if isinstance(part, bool) else str(part).isalnum()


def _text(value: Fraction) -> str:
    """A short fraction as it is, a long one as its logarithm, since it may exceed floats."""
    if value.numerator.bit_length() + value.denominator.bit_length() <= 64:
        return f"{value}" if value.denominator == 1 else f"{value} = {float(value):.6g}"
    return f"exp({log_float(value):.12g})"
