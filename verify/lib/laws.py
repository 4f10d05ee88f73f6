"""The laws of policies: on terminal states by label, and on trajectories."""

from fractions import Fraction
from typing import Any, NamedTuple

from reference import ForwardPolicy, marginal, total_variation
from reference.fields.field import T


def by_label(policy: ForwardPolicy[T]) -> dict[Any, T]:
    """`p_T(x)` by the label of x."""
    dag = policy.dag
    return dict(zip((dag.labels[x] for x in dag.terminals), marginal(policy), strict=True))


class PathLaws(NamedTuple):
    """`p_F(tau)` and `R(x) p_B(tau|x)` of each trajectory."""

    p_f: list[Fraction]
    weight: list[Fraction]

    @property
    def z(self) -> Fraction:
        """The sum of `R p_B`."""
        return sum(self.weight, Fraction(0))

    @property
    def mu(self) -> list[Fraction]:
        """`R p_B / Z`."""
        z = self.z
        return [w / z for w in self.weight]

    @property
    def tv(self) -> Fraction:
        """`TV(p_F, mu)`."""
        return total_variation(self.p_f, self.mu)


def path_laws(forward: ForwardPolicy[Any], backward: Any, rewards: Any) -> PathLaws:
    """The laws of a sampler and its target on trajectories, in the order of the DAG."""
    dag = forward.dag
    reward, paths = dict(zip(dag.terminals, rewards, strict=True)), list(dag.trajectories())
    return PathLaws(
        [forward.along(tau) for tau in paths],
        [reward[dag.end(tau)] * backward.along(tau) for tau in paths],
    )
