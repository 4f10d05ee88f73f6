"""A Markov chain on terminal states that corrects a sampler: cut a trajectory's tail, grow another.

A step from x draws `tau ~ p_B(. | x)`, of L edges, keeps its first t edges, t uniform below L, and
grows a new tail by `p_F`, which ends in x' after L' edges in all. It is accepted with probability

    min(1, R(x') p_B(tail' | x') p_F(tail) L / (R(x) p_B(tail | x) p_F(tail') L'))

(Hastings, 1970), else x stays. `R / Z` is invariant whatever `p_F` is (claim tail-chain).
"""

from collections.abc import Sequence
from fractions import Fraction

from reference.contract.errors import InputError, checked
from reference.dag import Trajectory
from reference.marginals import mass
from reference.policies import BackwardKernel, ForwardPolicy


@checked
def tail_chain(
    forward: ForwardPolicy[Fraction],
    backward: BackwardKernel[Fraction],
    rewards: Sequence[Fraction],
) -> list[list[Fraction]]:
    """The transition matrix between terminal states, exactly; all trajectories are listed.

    Args:
        forward: `p_F`.
        backward: `p_B`, with mass 1 on the same DAG; on a lift, that of its base will do.
        rewards: `R(x) > 0`, one per `dag.terminals`.

    Raises:
        InputError: if the policies have different DAGs, the mass of `p_B` is not 1, or a reward is
            not positive.
    """
    dag = forward.dag
    if backward.dag is not dag or len(rewards) != len(dag.terminals):
        raise InputError("tail_chain: p_F, p_B and the rewards must be of one DAG: give one")
    for x, reward in zip(dag.terminals, rewards, strict=True):
        if reward <= 0:
            raise InputError(
                f"tail_chain: the reward of {dag.labels[x]!r} is {reward}, but must be positive: "
                "leave the state out"
            )
    if any(b != 1 for b in mass(backward)):
        raise InputError("tail_chain: p_B has a mass other than 1 at some state: normalise it")
    place = {x: number for number, x in enumerate(dag.terminals)}
    by_start: dict[Trajectory, list[Trajectory]] = {}
    every = list(dag.trajectories())
    for tau in every:
        for t in range(len(tau)):
            by_start.setdefault(tau[:t], []).append(tau)
    rows = [[Fraction(0)] * len(rewards) for _ in rewards]
    for tau in every:
        x = place[dag.end(tau)]
        for t in range(len(tau)):
            chosen = backward.along(tau) / len(tau)
            weight = rewards[x] * backward.along(tau[t:]) / len(tau)
            for new in by_start[tau[:t]]:
                y, proposed = place[dag.end(new)], forward.along(new[t:])
                other = rewards[y] * backward.along(new[t:]) * forward.along(tau[t:]) / len(new)
                if chosen * proposed:
                    ratio = Fraction(other / (weight * proposed))
                    accepted = min(Fraction(1), ratio)
                    rows[x][y] += chosen * proposed * accepted
                    rows[x][x] += chosen * proposed * (1 - accepted)
    return rows
