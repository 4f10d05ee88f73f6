"""A Markov chain on terminal states that corrects a sampler: cut a trajectory's tail, grow another.

A step from x draws `tau ~ p_B(. | x)`, of L edges, keeps its first t edges, t uniform below L, and
grows a new tail by `p_F`, which ends in x' after L' edges in all. It is accepted with probability

    min(1, R(x') p_B(tail' | x') p_F(tail) L / (R(x) p_B(tail | x) p_F(tail') L'))

(Hastings, 1970), else x stays. `R / Z` is invariant whatever `p_F` is (claim tail-chain).
"""

from collections.abc import Sequence
from fractions import Fraction

from reference.balance import check_same_dag, rewards_by_node
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
    check_same_dag(forward, backward)
    dag, rewards = forward.dag, [*rewards_by_node(forward, rewards).values()]
    if any(b != 1 for b in mass(backward)) or min(rewards) <= 0:
        raise InputError(
            "tail_chain: rewards must be positive, and p_B have mass 1 at every state: leave the "
            "state out, or normalise p_B"
        )
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
