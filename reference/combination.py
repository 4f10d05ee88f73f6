"""Samplers combined into one: aggregated (prop:apx:dist) and streaming (prop:apx:sm) balance.

The condition compares complete trajectories of the *base* DAG, each lifted into every sampler's own
lift: the samplers may differ in latents, dynamics and backward policies. Samplers of several base
DAGs, and rewards that do not fit, raise InputError.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any, Generic

from reference.balance import Rewards, check_same_field, crossed, rewards_by_node
from reference.contract.errors import InputError, check_fields, checked
from reference.dag import Trajectory
from reference.fields.field import Field, T
from reference.lifted import LiftedDAG
from reference.policies import BackwardKernel, ForwardPolicy


@dataclass(frozen=True, eq=False)
class LiftedSampler(Generic[T]):
    """A path-dependent sampler: a lift, and the two policies on it.

    Attributes:
        lifted: the lift of the base DAG.
        forward: `p_F` on `lifted.dag`.
        backward: `p_B`, a policy or a kernel, on `lifted.dag`.
    """

    lifted: LiftedDAG[Any]
    forward: ForwardPolicy[T]
    backward: BackwardKernel[T]

    def __post_init__(self) -> None:
        check_fields(self)
        check_same_field(self.forward, self.backward)
        for name, policy in (("forward", self.forward), ("backward", self.backward)):
            if policy.dag is not self.lifted.dag:
                raise InputError(
                    f"LiftedSampler: the {name} policy does not live on this lift: build it on "
                    "lifted.dag"
                )

    def along(self, trajectory: Trajectory) -> tuple[T, T]:
        """`p_F(tau)` and `p_B(tau|x)` of a trajectory of the base DAG."""
        above = self.lifted.above(trajectory)
        return self.forward.along(above), self.backward.along(above)


@checked
def product_rewards(field: Field[T], factors: Sequence[Sequence[T | int]]) -> tuple[T, ...]:
    """The combined target `prod R_t(x)`, one per terminal.

    Args:
        field: the arithmetic of the numbers.
        factors: `R_t`, one sequence per client or chunk, all over the same terminals.

    Raises:
        InputError: if no factor is given, the factors have different terminals, or their product is
            zero at every one, so that there is no target.
    """
    if not len(factors):
        raise InputError("product_rewards: no factor given, so there is no target")
    rows = [field.numbers(row, f"factor {number}") for number, row in enumerate(factors)]
    for number, factor in enumerate(rows):
        if not all(map(field.nonnegative, factor)):
            raise InputError(f"product_rewards: factor {number} has a number that is not >= 0")
        if len(factor) != len(rows[0]):
            raise InputError(
                f"product_rewards: factor {number} has {len(factor)} terminals, and factor 0 "
                f"{len(rows[0])}: give rewards of one and the same PointedDAG"
            )
    products = tuple(_product(field, row) for row in zip(*rows, strict=True))
    if not any(field.positive(product) for product in products):
        raise InputError(
            f"product_rewards: the product of {len(factors)} factors is zero at each of the "
            f"{len(products)} terminals, so that there is no target: some terminal must have a "
            "positive reward from every factor"
        )
    return products


@checked
def check_clients(clients: Sequence[LiftedSampler[T]]) -> None:
    """Checks the hypotheses of both conditions on the combined samplers.

    A client with `p_B(tau|x) = 0` makes the conditions say `0 = 0` about `tau`, and a wrong law
    passes (prop:apx:dist, claim and control). Raises InputError for such a client, for none, or for
    clients with different base DAGs.
    """
    _check_base(clients)
    field, base = clients[0].forward.field, clients[0].lifted.base
    for tau in base.trajectories():
        for number, client in enumerate(clients):
            if not field.positive(client.along(tau)[1]):
                raise InputError(
                    f"client number {number} has p_B(tau|x) = 0 on the trajectory "
                    f"{list(base.states(tau))}, about which the balance conditions then say "
                    "nothing: give it a backward policy that is positive on every edge"
                )


@checked
def aggregated_residuals(
    combined: LiftedSampler[T], clients: Sequence[LiftedSampler[T]]
) -> Iterator[tuple[Trajectory, Trajectory, T]]:
    """Aggregating balance (eq:apx:dist), for every pair of complete base trajectories.

    With `r(tau) = p_F(tau) / p_B(tau|x)` of the combined sampler and `r_t` of client `t`, the
    condition `r(tau) prod r_t(tau') = r(tau') prod r_t(tau)`, multiplied by all denominators. It
    makes `p_T` proportional to `prod R_t`, if each client is balanced with its `R_t` and no
    `p_B^(t)(tau|x)` is zero. (The paper prints `p_B(tau'|x)` for `p_B(tau'|x')`.)
    """
    _check_base(clients, combined)
    field = combined.forward.field
    sides = []
    for tau in combined.lifted.base.trajectories():
        p_f, p_b = combined.along(tau)
        parts = [client.along(tau) for client in clients]
        sides.append(
            (
                tau,
                p_f * _product(field, (b for _, b in parts)),
                p_b * _product(field, (f for f, _ in parts)),
            )
        )
    yield from crossed(sides)


@checked
def streaming_residuals(
    current: LiftedSampler[T], previous: LiftedSampler[T], rewards: Rewards[T]
) -> Iterator[tuple[Trajectory, Trajectory, T]]:
    """Streaming balance (eq:apx:sm), for every pair of complete base trajectories.

    `r_T(tau) R_T(x') r_{T-1}(tau') = r_T(tau') R_T(x) r_{T-1}(tau)` with `r = p_F / p_B`,
    multiplied by all denominators: the current sampler then has `p_T` proportional to `R_T` times
    the terminal law of the previous one, if no previous `p_B(tau|x)` is zero. (The paper prints
    `p_B(tau'|x)` for `p_B(tau'|x')`.)

    Args:
        current: the sampler of step `T`.
        previous: the sampler of step `T - 1`.
        rewards: `R_T(x)`, one per terminal of the base DAG, or by state.
    """
    _check_base([previous], current)
    base = current.lifted.base
    # A lift has the terminals of its base, in the same order.
    reward = dict(
        zip(base.terminals, rewards_by_node(current.forward, rewards).values(), strict=True)
    )
    sides = []
    for tau in base.trajectories():
        (p_f, p_b), (f, b) = current.along(tau), previous.along(tau)
        sides.append((tau, p_f * b, p_b * reward[base.end(tau)] * f))
    yield from crossed(sides)


def _product(field: Field[T], values: Iterable[T]) -> T:
    return reduce(mul, values, field.one)


def _check_base(clients: Sequence[LiftedSampler[T]], *combined: LiftedSampler[T]) -> None:
    if not len(clients):
        raise InputError("no client given, so there is nothing to combine")
    samplers = [*combined, *clients]
    check_same_field(*(sampler.forward for sampler in samplers))
    for number, sampler in enumerate(samplers):
        if sampler.lifted.base is not samplers[0].lifted.base:
            raise InputError(
                f"sampler number {number} lifts another base DAG than the first: lift one and the "
                "same PointedDAG in every sampler"
            )
